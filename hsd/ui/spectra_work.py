"""The spectrum of a sample's truth and of models' answers in one Hodge basis, and of their errors.  No Streamlit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hsd.data.ground import square_norms
from hsd.errors import InputError
from hsd.hodge.spectral_energy import by_eigenvalue

if TYPE_CHECKING:
    from hsd.experiments.over_samples import Bench, Digest


@dataclass(frozen=True, eq=False)
class Spectrum:
    """One field's coefficients by eigenvalue.

    coefficients : (n,) cᵢ = ⟨φᵢ, ω⟩_⋆;  total: ‖ω‖²_⋆
    errors : (n,) those of ω − ω_truth;  error_total: ‖ω − ω_truth‖²_⋆
    """

    coefficients: np.ndarray
    total: float
    errors: np.ndarray
    error_total: float

    @property
    def energies(self) -> np.ndarray:
        return self.coefficients**2

    @property
    def error_energies(self) -> np.ndarray:
        return self.errors**2


@dataclass(frozen=True, eq=False)
class Frame:
    """The modes in order of eigenvalue: column of the basis, eigenvalue, part (n,), and blocks of equal eigenvalues."""

    columns: np.ndarray
    eigenvalues: np.ndarray
    part: np.ndarray
    blocks: list[np.ndarray]

    @classmethod
    def of(cls, bench: Bench) -> Frame:
        basis = bench.basis
        columns = by_eigenvalue(basis)
        number = np.argsort(columns)
        blocks = sorted((np.sort(number[b]) for b in basis.multiplicity_blocks), key=lambda b: int(b[0]))
        return cls(columns, basis.eigenvalues[columns], basis.part[columns], blocks)

    def summed(self, energies: np.ndarray) -> np.ndarray:
        """Energies (…, n) → sums over blocks (…, n_blocks), which do not depend on the modes chosen in a block."""
        return np.stack([energies[..., b].sum(axis=-1) for b in self.blocks], axis=-1)

    @property
    def block_eigenvalues(self) -> np.ndarray:
        return np.array([self.eigenvalues[b].mean() for b in self.blocks])

    @property
    def block_part(self) -> np.ndarray:
        return np.array([self.part[b[0]] for b in self.blocks])


def spectrum_of(bench: Bench, nodes: np.ndarray, truth: np.ndarray) -> Spectrum:
    """Spectrum of node values (n_vertices, C) and of their difference to the truth's, both through one flat map.

    Raises InputError (not_finite).
    """
    from hsd.metrics.pair import Pair

    pair = Pair.of_nodes(bench.yardstick, np.array(nodes)[None], np.array(truth)[None])
    form, wrong = pair.forms_p.numpy(), pair.form_error.numpy()
    if not np.isfinite(form).all():
        raise InputError("A field that is not finite has no spectrum.", "not_finite")
    star, order = bench.ground.dec.star(bench.basis.k), by_eigenvalue(bench.basis)
    totals = [float(square_norms(star, f)[0]) for f in (form, wrong)]
    c, e = (bench.coefficients(f)[0][order] for f in (form, wrong))
    return Spectrum(c, totals[0], e, totals[1])


def cut_rows(frame: Frame, truth: Spectrum, found: Mapping[str, Spectrum], cut: int) -> dict[str, list]:
    """Where the error lies: in the ``cut`` lowest modes, in the others of the basis, outside of it; and by part.

    All relative to ‖truth‖_⋆; squares of kept, beyond and outside add up to the square of the error.
    """
    parts = [p for p in ("harmonic", "exact", "coexact") if (frame.part == p).any()]
    names = ("model", "error", f"in the {cut} kept", "beyond, in the basis", "outside the basis")
    rows: dict[str, list] = {name: [] for name in (*names, *(f"{p} modes" for p in parts))}
    kept = np.arange(len(frame.columns)) < cut
    scale = np.sqrt(truth.total) or 1.0
    for title, one in found.items():
        e = one.error_energies
        outside = max(one.error_total - float(e.sum()), 0.0)
        squares = (one.error_total, e[kept].sum(), e[~kept].sum(), outside, *(e[frame.part == p].sum() for p in parts))
        for column, value in zip(rows.values(), (title, *(float(np.sqrt(s)) / scale for s in squares))):
            column.append(value)
    return rows


def mode_rows(frame: Frame, truth: Spectrum, found: Mapping[str, Spectrum]) -> dict[str, list]:
    """The data of the plots: one row a mode."""
    rows: dict[str, list] = {
        "mode": list(range(len(frame.columns))),
        "part": [str(p) for p in frame.part],
        "eigenvalue": frame.eigenvalues.tolist(),
        "truth |c|²": truth.energies.tolist(),
    }
    for title, one in found.items():
        rows[f"{title} |c|²"] = one.energies.tolist()
        rows[f"{title} error |c|²"] = one.error_energies.tolist()
    return rows


@dataclass(frozen=True, eq=False)
class Band:
    """Quartiles over samples of the energy in each block of equal eigenvalues, (n_blocks,) each."""

    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray


def band_of(frame: Frame, digest: Digest, errors: bool = False) -> Band:
    """Quartiles of |c|² of one field (or of its error) over the samples of a digest; samples not finite left out."""
    energies = (digest.error_energies if errors else digest.energies)[:, frame.columns]
    good = energies[np.isfinite(energies).all(axis=1) & np.isfinite(digest.relative_l2)]
    if not len(good):
        nothing = np.full(len(frame.blocks), np.nan)
        return Band(nothing, nothing, nothing)
    return Band(*np.quantile(frame.summed(good), (0.25, 0.5, 0.75), axis=0))
