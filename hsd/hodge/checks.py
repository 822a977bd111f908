"""The identities behind a decomposition as numbers, and what becomes of them when an operator is wrong on purpose.

"wrong star"   : δ is taken with ⋆_k = identity while the field was decomposed with the true star.
"flipped sign" : in d one k-simplex counts with the wrong sign, as if the mesh stored it backwards in one place only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from hsd.errors import check_choice
from hsd.hodge.decomposition import PARTS, Decomposition
from hsd.hodge.solver import HodgeSolver

ZERO = 1e-10
"""Backward errors up to this count as zero."""
BREAKS = ("", "wrong star", "flipped sign")


@dataclass(frozen=True, eq=False)
class Check:
    """One identity: its name in symbols, backward error, whether it holds, and |·| where it should be zero.

    where : (N_j,) |expression| on j-simplices over the largest sum of the sizes of its terms
    degree : j;  why : a sentence where it fails
    """

    name: str
    value: float
    holds: bool
    where: np.ndarray
    degree: int
    why: str = ""


@dataclass(frozen=True, eq=False)
class Checks:
    """The four identities, the inner products under the star in use, Pythagoras, and what was broken.

    inner      : (3, 3) ⟨part, part⟩ / ‖ω‖² in the order exact, coexact, harmonic
    pythagoras : |‖ω‖² − Σ ‖part‖²| / ‖ω‖²
    flipped    : number of the k-simplex with the wrong sign, or −1
    """

    checks: tuple[Check, ...]
    inner: np.ndarray
    pythagoras: float
    broken: str
    flipped: int = -1

    @property
    def hold(self) -> bool:
        return all(c.holds for c in self.checks) and self.pythagoras <= ZERO and self.orthogonality <= ZERO

    @property
    def orthogonality(self) -> float:
        """Largest |⟨part, other part⟩| / ‖ω‖²."""
        return float(np.abs(self.inner - np.diag(np.diag(self.inner))).max())


WHY = {
    "wrong star": (
        "δ is the adjoint of d only for the star of the inner product. With ⋆ = identity instead it is another "
        "operator: d of anything is untouched, but δδβ and δγ no longer vanish and the parts are no longer orthogonal."
    ),
    "flipped sign": (
        "dd = 0 needs every simplex to be counted with one sign everywhere. With the sign of one simplex wrong in d, "
        "what was closed gets a defect on its {faces}; δ does not use this matrix, so its checks stay."
    ),
}
FACES = {0: "edges", 1: "triangles", 2: "tetrahedra"}


def zero_checks(solver: HodgeSolver, parts: Decomposition, omega: np.ndarray, broken: str = "") -> Checks:
    """d dα, δ δβ, dγ, δγ of a decomposition of ω (N_k,), with the operators as they are or broken on purpose."""
    check_choice("break", broken, BREAKS)
    dec, k = solver.dec, parts.k
    free = {part: dec.restrict(k, getattr(parts, part)) for part in PARTS}
    d, weak_in, star, flipped = dec.d(k), dec.boundary(k), dec.star(k), -1
    if broken == "wrong star":
        star = sp.identity(dec.n(k), format="csr")
    if broken == "flipped sign" and d.nnz:
        inside = np.abs(free["exact"]) + np.abs(free["harmonic"])
        column = int(np.argmax(inside * (np.diff(d.tocsc().indptr) > 0)))
        signs = np.ones(dec.n(k))
        signs[column] = -1.0
        d, flipped = d @ sp.diags(signs), int(dec.free(k)[column])
    rows = []
    for name, part, matrix, x, degree in (
        ("d dα", "exact", d, free["exact"], k + 1),
        ("δ δβ", "coexact", weak_in, star @ free["coexact"], k - 1),
        ("dγ", "harmonic", d, free["harmonic"], k + 1),
        ("δγ", "harmonic", weak_in, star @ free["harmonic"], k - 1),
    ):
        rest = matrix @ x
        value = _relative(matrix, x, rest)
        size = parts.energies[part]
        if size <= 1e-24 * parts.energies["total"]:
            value = 0.0  # the part is rounding alone: there is nothing to check
        holds = value <= ZERO
        why = "" if holds else WHY.get(broken, "The mesh is too badly shaped for this accuracy.")
        terms = (abs(matrix) @ np.abs(x)).max(initial=0.0) or 1.0
        where = dec.extend(degree, np.abs(rest) / terms) if 0 <= degree <= dec.dim else np.zeros(0)
        rows.append(Check(name, value, holds, where, degree, why.format(faces=FACES.get(k, "cofaces"))))
    stacked = np.stack([free[p] for p in PARTS], axis=1)
    products = stacked.T @ (star @ stacked)
    whole = dec.restrict(k, omega)
    total = float(whole @ (star @ whole))
    pythagoras = abs(total - np.trace(products)) / total if total > 0 else 0.0
    inner = products / total if total > 0 else products
    return Checks(tuple(rows), inner, float(pythagoras), broken, flipped)


def _relative(matrix: sp.spmatrix, x: np.ndarray, rest: np.ndarray) -> float:
    total = float((abs(matrix) @ np.abs(x)).sum())
    return float(np.abs(rest).sum()) / total if total > 0 else 0.0
