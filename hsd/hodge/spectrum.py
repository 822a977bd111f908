"""Hodge spectral bases: harmonic modes first, then exact and coexact modes in stated numbers."""

from __future__ import annotations

from functools import cached_property
from math import ceil, comb

import numpy as np
import scipy.sparse as sp

from hsd.errors import InputError, Notice, require_whole
from hsd.hodge.eigen import CoexactModes, coexact_modes
from hsd.hodge.solver import HodgeSolver, require_degree
from hsd.linalg import Progress, blocks, silent
from hsd.mesh.mesh import Mesh

PARTS_IN_ORDER = ("harmonic", "exact", "coexact")
BLOCK_GAP = 1e-4
"""Neighbouring eigenvalues closer than this (relative) belong to one block; a complete basis ends between blocks."""


class HodgeBasis:
    """All harmonic k-modes and the lowest exact and coexact ones: Φᵀ ⋆ Φ = I, Δ Φ = Φ diag(λ).

    n_exact, n_coexact : numbers asked for; capped at what exists, and with ``complete_blocks`` lowered to the last
                         complete block (relative gap > 1e-4), each with a notice
    bc, star           : as in :class:`hsd.dec.operators.DEC`; ``solver`` shares factorisations
    progress           : called with (stage, fraction);  use_cache: ask the disk cache first

    modes       : (N_k, n) on all k-simplices; columns harmonic, then exact, then coexact, each by eigenvalue
    eigenvalues : (n,), unit⁻²; exactly 0 for harmonic modes
    part        : (n,) of "harmonic", "exact", "coexact"
    following   : part → the next eigenvalue that is not in the basis (inf: there is none)
    notices     : k_capped, block_completed, block_cut

    Modes of neighbouring degrees match: exact modes of degree k+1 are d φ/√λ of the coexact modes φ of degree k.
    Raises InputError (degree, n_modes), SolverError (incomplete_spectrum).
    """

    def __init__(
        self,
        mesh: Mesh,
        k: int,
        n_exact: int,
        n_coexact: int,
        bc: str = "absolute",
        star: str = "galerkin",
        *,
        complete_blocks: bool = True,
        solver: HodgeSolver | None = None,
        progress: Progress = silent,
        use_cache: bool = True,
        notices: tuple[Notice, ...] = (),
    ):
        require_degree(mesh, k)
        require_whole("number of exact modes", n_exact)
        require_whole("number of coexact modes", n_coexact)
        if n_exact < 0 or n_coexact < 0:
            raise InputError(f"Numbers of modes must not be negative; got {n_exact} and {n_coexact}.", "n_modes")
        self.k = k
        self.solver = solver or HodgeSolver(mesh, star, bc)
        dec = self.solver.dec
        progress("harmonic forms", None)
        columns = [self.solver.harmonic(k).orthonormal]
        values = [np.zeros(columns[0].shape[1])]
        self.following: dict[str, float] = {}
        notes = list(notices)
        for part, degree, asked in (("exact", k - 1, n_exact), ("coexact", k, n_coexact)):
            found = _coexact(self.solver, degree, asked, progress, use_cache)
            n = _number_used(found, asked, part, complete_blocks, notes)
            lam, phi = found.values[:n], found.vectors[:, :n]
            columns.append((dec.d(degree) @ phi) / np.sqrt(lam) if part == "exact" else phi)
            values.append(lam)
            self.following[part] = float(found.values[n]) if n < len(found.values) else found.following
        self.modes = dec.extend(k, np.concatenate(columns, axis=1))
        self.eigenvalues = np.concatenate(values)
        self.part = np.repeat(np.array(PARTS_IN_ORDER), [len(v) for v in values])
        self.notices = tuple(notes)

    @property
    def mesh(self) -> Mesh:
        return self.solver.mesh

    @property
    def bc(self) -> str:
        return self.solver.dec.bc

    @property
    def star(self) -> str:
        return self.solver.dec.kind

    @property
    def n_modes(self) -> int:
        return self.modes.shape[1]

    def index(self, part: str) -> np.ndarray:
        """Column numbers of a part."""
        return np.flatnonzero(self.part == part)

    @cached_property
    def star_modes(self) -> np.ndarray:
        """⋆Φ on all k-simplices (zero on the boundary where relative), (N_k, n)."""
        dec = self.solver.dec
        return dec.extend(self.k, dec.star(self.k) @ self.modes[dec.free(self.k)])

    def coefficients(self, omega: np.ndarray) -> np.ndarray:
        """c = Φᵀ ⋆ ω, (N_k, …) → (n, …).  Raises InputError (shape, not_numeric, non_finite_field)."""
        return self._free_star_modes.T @ self.solver.dec.restrict(self.k, omega)

    @cached_property
    def _free_star_modes(self) -> np.ndarray:
        """Rows of the free simplices of :attr:`star_modes`; that array itself where all are free."""
        free = self.solver.dec.free(self.k)
        return self.star_modes if len(free) == len(self.star_modes) else self.star_modes[free]

    def synthesise(self, c: np.ndarray) -> np.ndarray:
        """Φ c, (n, …) → (N_k, …).  Raises InputError (shape)."""
        if np.shape(c)[:1] != (self.n_modes,):
            raise InputError(f"This basis has {self.n_modes} coefficients; got shape {np.shape(c)}.", "shape")
        return self.modes @ c

    @cached_property
    def residuals(self) -> np.ndarray:
        """‖K φ − λ ⋆φ‖ / (‖K φ‖ + ‖λ ⋆φ‖) per mode, for harmonic modes the backward error of dφ = 0, δφ = 0; (n,).

        Rounding in the stiffest cells enters with λ_max/λ, so very flat cells show here long before λ is wrong;
        norms and Rayleigh quotients of all modes are checked when they are computed.
        """
        dec = self.solver.dec
        phi = self.modes[dec.free(self.k)]
        energy = dec.stiffness(self.k) @ phi
        mass = (dec.star(self.k) @ phi) * self.eigenvalues
        out = np.linalg.norm(energy - mass, axis=0) / np.maximum(
            np.linalg.norm(energy, axis=0) + np.linalg.norm(mass, axis=0), np.finfo(float).tiny
        )
        for i in self.index("harmonic"):
            out[i] = max(dec.closedness(self.k, phi[:, i]), dec.coclosedness(self.k, phi[:, i]))
        return out

    @cached_property
    def multiplicity_blocks(self) -> list[np.ndarray]:
        """Column numbers of each block of (nearly) equal eigenvalues of one part."""
        out = []
        for part in PARTS_IN_ORDER:
            columns = self.index(part)
            if part == "harmonic":
                out += [columns] if len(columns) else []
            else:
                out += [columns[b] for b in blocks(self.eigenvalues[columns], BLOCK_GAP)]
        return out

    def is_cut(self, part: str) -> bool:
        """True when the next eigenvalue of the part, left out, belongs to the last block."""
        columns = self.index(part)
        following = self.following.get(part, np.inf)
        if part == "harmonic" or len(columns) == 0 or not np.isfinite(following):
            return False
        return bool(following - self.eigenvalues[columns[-1]] <= BLOCK_GAP * following)


def _coexact(solver: HodgeSolver, degree: int, n: int, progress: Progress, use_cache: bool) -> CoexactModes:
    if not 0 <= degree < solver.dec.dim:
        n_simplices = solver.dec.n(degree) if degree >= 0 else 0
        return CoexactModes(np.zeros(0), np.zeros((n_simplices, 0)), np.inf, 0)
    return coexact_modes(solver, degree, n, progress, use_cache)


def _number_used(found: CoexactModes, asked: int, part: str, complete: bool, notices: list[Notice]) -> int:
    n = min(asked, found.available)
    if asked > found.available:
        notices.append(
            Notice("k_capped", f"{asked} {part} modes were asked for; {found.available} exist and are all given.")
        )
    values = np.append(found.values, found.following)
    if n == 0 or n >= found.available or values[n] - values[n - 1] > BLOCK_GAP * values[n]:
        return n
    gaps = np.flatnonzero(np.diff(values[:n]) > BLOCK_GAP * values[1:n])
    if complete:
        lower = int(gaps[-1]) + 1 if len(gaps) else 0
        notices.append(
            Notice(
                "block_completed",
                f"{n} {part} modes would cut a block of equal eigenvalues; the lowest {lower} are used instead.",
            )
        )
        return lower
    notices.append(
        Notice(
            "block_cut",
            f"The {part} modes end after the {n} lowest, inside a block of equal eigenvalues, where single modes are "
            f"arbitrary; {int(gaps[-1]) + 1 if len(gaps) else 0} or some more than {n} would keep blocks whole.",
        )
    )
    return n


def lowest_modes(
    mesh: Mesh,
    k: int,
    n: int,
    bc: str = "absolute",
    star: str = "galerkin",
    *,
    complete_blocks: bool = False,
    solver: HodgeSolver | None = None,
    progress: Progress = silent,
    use_cache: bool = True,
) -> HodgeBasis:
    """The n lowest modes of Δ_k whatever their part, all harmonic ones included, labelled by part.

    Merges the exact and coexact lists, each computed as far as needed.  Capped with notice ``k_capped``.
    """
    require_degree(mesh, k)
    solver = solver or HodgeSolver(mesh, star, bc)
    dec = solver.dec
    require_whole("number of modes", n)
    if n < 1:
        raise InputError(f"The number of modes must be at least 1; got {n}.", "n_modes")
    rest = max(n - solver.betti[k], 0)
    degrees = {part: degree for part, degree in (("exact", k - 1), ("coexact", k)) if 0 <= degree < dec.dim}
    share = {part: comb(dec.dim - 1, degree) for part, degree in degrees.items()}  # Weyl's law of coexact modes
    ask = {part: ceil(1.02 * rest * share[part] / sum(share.values())) for part in degrees}
    while True:
        found = {part: coexact_modes(solver, degrees[part], ask[part], progress, use_cache) for part in degrees}
        values = {part: np.append(f.values, f.following) for part, f in found.items()}
        merged = np.sort(np.concatenate([f.values for f in found.values()])) if found else np.zeros(0)
        limit = min((f.following for f in found.values()), default=np.inf)
        lacking = rest - int(np.searchsorted(merged, limit, side="right"))
        if lacking <= 0 or not np.isfinite(limit):
            break
        short = min(found, key=lambda part: found[part].following)
        ask[short] = len(found[short].values) + (lacking + 1) // 2
    top = merged[min(rest, len(merged)) - 1] if rest and len(merged) else -np.inf
    use = {part: int(np.searchsorted(values[part][:-1], top, side="right")) for part in found}
    surplus = sum(use.values()) - rest
    if surplus > 0 and "coexact" in use:
        use["coexact"] -= min(surplus, use["coexact"])
    capped = Notice("k_capped", f"{n} modes of degree {k} were asked for; {dec.n(k)} exist and are all given.")
    return HodgeBasis(
        mesh,
        k,
        use.get("exact", 0),
        use.get("coexact", 0),
        complete_blocks=complete_blocks,
        solver=solver,
        progress=progress,
        use_cache=use_cache,
        notices=(capped,) if n > dec.n(k) else (),
    )


def spectral_derivative(lower: HodgeBasis, upper: HodgeBasis) -> sp.csr_matrix:
    """M_d = Φ_{k+1}ᵀ ⋆ d Φ_k, (n_{k+1}, n_k): √λ on matching coexact–exact pairs, zero elsewhere.

    The codifferential in coefficients is M_δ = M_dᵀ.  Raises InputError (basis_mismatch) unless both bases belong to
    one mesh, star and boundary condition and to neighbouring degrees.
    """
    same = lower.mesh.content_hash == upper.mesh.content_hash and lower.bc == upper.bc and lower.star == upper.star
    if not same or upper.k != lower.k + 1:
        raise InputError(
            f"M_d needs bases of degrees k and k+1 of one mesh, star and boundary condition; got degrees {lower.k} and "
            f"{upper.k}" + ("." if same else " of different meshes, stars or conditions."),
            "basis_mismatch",
        )
    cols, rows = lower.index("coexact"), upper.index("exact")
    n = min(len(cols), len(rows))
    root = np.sqrt(lower.eigenvalues[cols[:n]])
    return sp.csr_matrix((root, (rows[:n], cols[:n])), shape=(upper.n_modes, lower.n_modes))
