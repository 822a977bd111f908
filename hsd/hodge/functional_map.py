"""Hodge bases on another mesh of one shape: transferred bases, functional maps and how far whole eigen-blocks turn.

Single modes of a repeated eigenvalue are arbitrary on each mesh, and meshes split a repeated eigenvalue differently;
what can be compared are the spans of whole blocks, cut only where both spectra have a gap.
Source: Ovsjanikov et al. 2012 (functional maps); Davis, Kahan 1970 (angles between eigen-spaces).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hsd.errors import InputError
from hsd.hodge.spectrum import PARTS_IN_ORDER, HodgeBasis
from hsd.hodge.transfer import Transfer
from hsd.linalg import one_blas_thread
from hsd.mesh.mesh import Mesh

GAP = 0.02
"""Relative gap that both spectra must have where two blocks part."""


@dataclass(frozen=True, eq=False)
class TransferredBasis:
    """A basis on the target mesh in the order of the source's modes: Φᵀ ⋆ Φ = I, every column purely of its part.

    modes       : (N_k, n);  part, eigenvalues : (n,), those of the source
    rayleigh    : (n,) φᵀ ⋆Δφ on the target, unit⁻²; near the eigenvalues for coexact modes (order 1)
                  and, in degree 0, for all; rough for exact ones, whose δ is not controlled
    defect      : per block of the source's ``multiplicity_blocks``, ‖Gram − I‖₂ before modes were made orthonormal
    """

    modes: np.ndarray
    part: np.ndarray
    eigenvalues: np.ndarray
    rayleigh: np.ndarray
    defect: np.ndarray


@dataclass(frozen=True, eq=False)
class BlockMatch:
    """Columns of one block: in both bases they are of one part and of neighbouring eigenvalues without common gap.

    defect   : ‖C_bᵀ C_b − I‖₂ of the block's own square of C: 0 where C only rotates inside the block
    distance : ‖P_source − P_target‖₂ of the spans on the target, the sine of the largest angle; 0 … 1
    """

    part: str
    source: np.ndarray
    target: np.ndarray
    defect: float
    distance: float


@dataclass(frozen=True, eq=False)
class FunctionalMap:
    """C = Φ_tᵀ ⋆ T Φ_s, (n_t, n_s): coefficients on the source → coefficients on the target; blocks common to both."""

    matrix: np.ndarray
    blocks: tuple[BlockMatch, ...]


def transfer_basis(basis: HodgeBasis, target: Mesh, transfer: Transfer | None = None) -> TransferredBasis:
    """A Hodge basis of one mesh as an orthonormal basis of the same parts on another mesh of the shape.

    Harmonic modes go by class, exact and coexact ones by projection; modes of each part are then made orthonormal
    symmetrically (the nearest orthonormal set, G → Φ G^{−1/2}).
    Raises what :class:`hsd.hodge.transfer.Transfer` raises, InputError (solver_mismatch, modes_merged).
    """
    transfer = _transfer_for(basis, target, transfer)
    k, dec = basis.k, transfer.target_solver.dec
    with one_blas_thread():
        moved = np.zeros((dec.n(k), basis.n_modes))
        grams = np.zeros((basis.n_modes, basis.n_modes))
        for part in PARTS_IN_ORDER:
            columns = basis.index(part)
            if len(columns) == 0:
                continue
            x = dec.restrict(k, transfer.transfer_part(k, part, basis.modes[:, columns]))
            gram = x.T @ (dec.star(k) @ x)
            values, vectors = np.linalg.eigh(gram)
            if values[0] <= 1e-10 * values[-1]:
                raise InputError(
                    f"{len(columns)} {part} modes of degree {k} become dependent on {transfer.target.name}; "
                    "use fewer modes or a finer target.",
                    "modes_merged",
                )
            moved[:, columns] = x @ ((vectors / np.sqrt(values)) @ vectors.T)
            grams[np.ix_(columns, columns)] = gram
        energy = np.einsum("in,in->n", moved, dec.stiffness(k) @ moved)
    defect = [np.linalg.norm(grams[np.ix_(b, b)] - np.eye(len(b)), 2) for b in basis.multiplicity_blocks]
    return TransferredBasis(dec.extend(k, moved), basis.part.copy(), basis.eigenvalues.copy(), energy, np.array(defect))


def functional_map(
    source: HodgeBasis, target: HodgeBasis, transfer: Transfer | None = None, gap: float = GAP
) -> FunctionalMap:
    """C = Φ_tᵀ ⋆ T Φ_s with the plain transfer T, and the blocks that both bases have whole.

    gap : relative gap of both spectra between two blocks.  Raises InputError (basis_mismatch, solver_mismatch) and
    what :class:`hsd.hodge.transfer.Transfer` raises.
    """
    if (source.k, source.bc, source.star) != (target.k, target.bc, target.star):
        raise InputError(
            f"A functional map needs two bases of one degree, boundary condition and star; got degree {source.k} "
            f"({source.bc}, {source.star}) and {target.k} ({target.bc}, {target.star}).",
            "basis_mismatch",
        )
    if transfer is None:
        transfer = Transfer(source.mesh, target.mesh, source_solver=source.solver, target_solver=target.solver)
    transfer = _transfer_for(source, target.mesh, transfer)
    dec = transfer.target_solver.dec
    with one_blas_thread():
        moved = transfer(source.k, source.modes)
        matrix = target.star_modes.T @ moved
        free = dec.restrict(source.k, moved)
        gram = free.T @ (dec.star(source.k) @ free)
    matches = []
    for part, a, b in _common_blocks(source, target, gap):
        c = matrix[np.ix_(b, a)]
        # cosines between the spans: C (TᵀT)^{-1/2} of the block
        root = np.linalg.cholesky(gram[np.ix_(a, a)])
        cosine = np.linalg.svd(np.linalg.solve(root, c.T), compute_uv=False)
        sine = float(np.sqrt(max(1.0 - min(cosine.min(), 1.0) ** 2, 0.0)))
        matches.append(BlockMatch(part, a, b, float(np.linalg.norm(c.T @ c - np.eye(len(a)), 2)), sine))
    return FunctionalMap(matrix, tuple(matches))


def _transfer_for(basis: HodgeBasis, target: Mesh, transfer: Transfer | None) -> Transfer:
    if transfer is None:
        return Transfer(basis.mesh, target, source_solver=basis.solver, bc=basis.bc, star=basis.star)
    dec = transfer.source_solver.dec
    same = transfer.source.content_hash == basis.mesh.content_hash and (dec.bc, dec.kind) == (basis.bc, basis.star)
    if not same or transfer.target.content_hash != target.content_hash:
        raise InputError(
            f"The transfer goes from {transfer.source.name} to {transfer.target.name} ({dec.bc}, {dec.kind}), the "
            f"basis is of {basis.mesh.name} ({basis.bc}, {basis.star}) and the target {target.name}; they must agree.",
            "solver_mismatch",
        )
    return transfer


def _common_blocks(source: HodgeBasis, target: HodgeBasis, gap: float):
    """(part, source columns, target columns) of blocks that end at a gap of both spectra."""
    for part in PARTS_IN_ORDER:
        a, b = source.index(part), target.index(part)
        if part == "harmonic":
            if len(a):
                yield part, a, b
            continue
        n = min(len(a), len(b))
        cut = np.ones(n, bool)  # after column i
        for basis, columns in ((source, a), (target, b)):
            following = basis.following.get(part, np.inf)
            values = np.append(basis.eigenvalues[columns], following)[: n + 1]
            cut &= values[1:] - values[:-1] > gap * values[:-1]
        ends = np.flatnonzero(cut) + 1
        for start, end in zip(np.append(0, ends[:-1]), ends):
            yield part, a[start:end], b[start:end]
