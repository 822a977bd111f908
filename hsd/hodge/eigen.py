"""Coexact eigenmodes of every degree: the part of the spectrum of which all the rest is made.

Exact k-modes are d of coexact (k−1)-modes divided by √λ (Hodge isomorphism), so only coexact modes need solving:
k = 0 by the scalar Laplacian, k = dim−1 in the space of top cells, k = 1 in tetrahedra with gradients projected out.
Every spectrum is proven complete by an inertia count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from hsd.dec.operators import DEC
from hsd.errors import InputError, SolverError
from hsd.hodge.cache import cache_key, cached
from hsd.hodge.solver import HodgeSolver
from hsd.linalg import Factor, Pencil, Progress, blocks, canonical_signs, low_spectrum, silent

ACCURACY = 1e-6
"""Relative error of norms and Rayleigh quotients above which modes are refused."""
SAME = 1e-9
"""Eigenvalues within this relative distance are one eigenvalue; its eigenspace gets a canonical basis."""


CANON = 2
"""Version of :func:`canonical_vectors`: bases, and domains made of them, of another one are not read from the cache."""


@dataclass(frozen=True, eq=False)
class CoexactModes:
    """The lowest coexact k-modes: values (m,) ascending; vectors (n_k, m) on free simplices, ⋆-orthonormal.

    following : the next eigenvalue (inf: there is none);  available : how many coexact k-modes exist.
    """

    values: np.ndarray
    vectors: np.ndarray
    following: float
    available: int


def coexact_modes(
    solver: HodgeSolver, k: int, n: int, progress: Progress = silent, use_cache: bool = True
) -> CoexactModes:
    """At least min(n, available) lowest coexact k-modes, 0 ≤ k < dim; the disk cache is asked first."""
    dec = solver.dec
    if not 0 <= k < dec.dim:
        raise InputError(f"Coexact modes exist for degrees 0 to {dec.dim - 1}; got {k}.", "degree")
    available = solver.rank_d(k)
    wanted = min(n, available)
    if wanted <= 0:
        return CoexactModes(np.zeros(0), np.zeros((dec.n(k), 0)), np.inf if available == 0 else 0.0, available)

    shorter = solver.known_modes.get(k)
    if shorter is not None and len(shorter.values) >= wanted:
        return shorter

    def compute() -> dict[str, np.ndarray]:
        progress(f"coexact {k}-modes", None)
        pencil, lift, drop = _pencil(solver, k)
        kept = shorter or CoexactModes(np.zeros(0), np.zeros((dec.n(k), 0)), 0.0, available)
        start = (kept.values, drop(kept.values, kept.vectors)) if len(kept.values) else None
        values, vectors, following = low_spectrum(pencil, wanted, progress, start)
        first = len(kept.values)  # the known pairs are the lowest ones and stay as they are
        new = lift(values[first:], vectors[:, first:])
        new = canonical_vectors(new, dec.star(k), values[first:], dec.mesh.content_hash)
        _check_accuracy(solver, k, values[first:], new)
        vectors = np.concatenate([kept.vectors, new], axis=1)
        return {"values": values, "vectors": vectors, "following": np.array(following)}

    if use_cache:
        key = cache_key(f"coexact-{CANON}", dec.mesh.content_hash, k, dec.kind, dec.bc, dec.consistent_mass)
        entry = cached(key, lambda e: len(e["values"]) >= wanted, compute)
    else:
        entry = compute()
    solver.known_modes[k] = CoexactModes(entry["values"], entry["vectors"], float(entry["following"]), available)
    return solver.known_modes[k]


def _check_accuracy(solver: HodgeSolver, k: int, values: np.ndarray, u: np.ndarray) -> None:
    """Raise SolverError (inaccurate_spectrum) unless uᵀ⋆u = 1 and ‖du‖² = λ hold to ACCURACY."""
    if not len(values):
        return
    dec = solver.dec
    du = dec.d(k) @ u
    rayleigh = np.einsum("ij,ij->j", du, dec.star(k + 1) @ du)
    gram = u.T @ (dec.star(k) @ u)
    error = max(np.abs(rayleigh / values - 1).max(), np.abs(gram - np.eye(len(values))).max())
    if not error <= ACCURACY:
        raise SolverError(
            f"The coexact {k}-modes of {dec.mesh.name} came out right only to {error:.1e}, not to {ACCURACY:g}: "
            "cells are too flat or too unequal; mend the thinnest cells (see the report's quality).",
            "inaccurate_spectrum",
        )


def canonical_vectors(vectors: np.ndarray, star: sp.spmatrix, values: np.ndarray, seed_text: str) -> np.ndarray:
    """Eigenvectors with the freedom taken out: a fixed basis of each repeated eigenvalue's space, then signs.

    Inside a block the basis is the Q factor of the block's coefficients of fixed pseudo-random fields, so that it does
    not depend on how the solver happened to rotate it.
    """
    out = vectors.copy()
    groups = [b for b in blocks(values, SAME) if b.stop - b.start > 1]
    if groups:
        widest = max(b.stop - b.start for b in groups)
        probes = star @ probe_fields(seed_text, vectors.shape[0], widest)
        for block in groups:
            width = block.stop - block.start
            q, r = np.linalg.qr(vectors[:, block].T @ probes[:, :width])
            out[:, block] = vectors[:, block] @ (q * np.where(np.diag(r) < 0, -1.0, 1.0))
    return canonical_signs(out)


def probe_fields(seed_text: str, n: int, m: int) -> np.ndarray:
    """(n, m) of which the first columns do not depend on m, or a basis would on the widest block of its spectrum."""
    first = random_fields(seed_text, 1, n, 2)
    return np.concatenate([first, *(random_fields(seed_text, salt, n, 1) for salt in range(2, m))], axis=1)[:, :m]


def random_fields(seed_text: str, salt: int, n: int, m: int) -> np.ndarray:
    """(n, m) standard normal numbers that depend on the text and salt only."""
    seed = int.from_bytes(hashlib.sha256(f"{seed_text}/{salt}".encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal((n, m))


# ---- the three pencils -----------------------------------------------------------------------------------------------


def _pencil(solver: HodgeSolver, k: int):
    """The pencil whose low spectrum is that of coexact k-modes, and the maps of its vectors to k-cochains and back.

    Both maps take (values, vectors).
    """
    if k == 0:
        return _scalar_pencil(solver)
    if k == solver.dec.dim - 1:
        return _top_pencil(solver)
    return _curl_pencil(solver)


def _shifted(dec: DEC, k: int, shift: float) -> Callable[[], Factor]:
    """() ↦ the factorisation of d_kᵀ⋆_{k+1}d_k + shift ⋆_k, made at the first call."""
    return cache(lambda: Factor(dec.upper_stiffness(k) + shift * dec.star(k), dec.ordering))


def _counter(solver: HodgeSolver, k: int):
    """c ↦ number of coexact eigenvalues below c: negative pivots of K − c⋆ minus the exact dimension of ker d_k."""
    dec = solver.dec
    stiffness, star = dec.upper_stiffness(k), dec.star(k)
    kernel = dec.n(k) - solver.rank_d(k)
    return lambda c: Factor(stiffness - c * star, dec.ordering).n_negative() - kernel


def _starter(solver: HodgeSolver, size: int):
    text = solver.dec.mesh.content_hash
    return lambda seed: random_fields(text, 100 + seed, size, 1)[:, 0]


def _dense(matrix: np.ndarray, mass: np.ndarray | None, n_wanted: int):
    values, vectors = scipy.linalg.eigh(0.5 * (matrix + matrix.T), mass)
    return values[-n_wanted:], vectors[:, -n_wanted:]


def _scalar_pencil(solver: HodgeSolver):
    dec = solver.dec
    stiffness, star = dec.upper_stiffness(0), dec.star(0)
    shift = 0.1 / solver.scale2
    factor = _shifted(dec, 0, shift)
    diagonal = dec.star_solver(0).diagonal
    constants = solver.harmonic(0).orthonormal
    if diagonal is None:
        weighted = star @ constants

        def inverse(y):
            x = factor().solve(y)
            return x - constants @ (weighted.T @ x)

        def dense():
            return _dense(stiffness.toarray(), star.toarray(), solver.rank_d(0))
    else:  # scale to a standard problem: no mass products in the iteration
        root = np.sqrt(diagonal)
        kernel = root[:, None] * constants

        def inverse(y):
            x = root * factor().solve(root * y)
            return x - kernel @ (kernel.T @ x)

        def dense():
            scaled = sp.diags(1 / root) @ stiffness @ sp.diags(1 / root)
            return _dense(scaled.toarray(), None, solver.rank_d(0))

    pencil = Pencil(
        size=dec.n(0),
        inverse=inverse,
        shift=shift,
        mass=star if diagonal is None else None,
        n_wanted=solver.rank_d(0),
        count_below=_counter(solver, 0),
        start=_starter(solver, dec.n(0)),
        dense=dense,
    )
    if diagonal is None:
        return pencil, _same, _same
    return pencil, lambda values, vectors: vectors / root[:, None], lambda values, u: u * root[:, None]


def _top_pencil(solver: HodgeSolver):
    """Coexact (n−1)-modes through their images in the top cells.

    With r = ⋆_n^{1/2} and A = d ᵀ⋆_n d + s⋆_{n−1}, Woodbury's formula gives
    (r d ⋆_{n−1}⁻¹ dᵀ r + s)⁻¹ = (1 − r d A⁻¹ dᵀ r)/s, so ⋆_{n−1} is never inverted.
    """
    dec = solver.dec
    k = dec.dim - 1
    d = dec.d(k)
    root = np.sqrt(dec.star(k + 1).diagonal())
    lifted = (sp.diags(root) @ d).tocsr()
    lowered = lifted.T.tocsr()
    shift = 1.0 / solver.scale2
    factor = _shifted(dec, k, shift)
    kernel = root[:, None] * solver.harmonic(k + 1).orthonormal

    def inverse(y):
        x = (y - lifted @ factor().solve(lowered @ y)) / shift
        return x - kernel @ (kernel.T @ x)

    def dense():
        return _dense((lifted @ dec.star_solver(k).solve(lowered.toarray())), None, solver.rank_d(k))

    def lift(values, vectors):
        u = factor().solve(lowered @ vectors)
        return u * ((values + shift) / np.sqrt(values))

    pencil = Pencil(
        size=dec.n(k + 1),
        inverse=inverse,
        shift=shift,
        mass=None,
        n_wanted=solver.rank_d(k),
        count_below=_counter(solver, k),
        start=_starter(solver, dec.n(k + 1)),
        dense=dense,
    )
    return pencil, lift, lambda values, u: (lifted @ u) / np.sqrt(values)


def _curl_pencil(solver: HodgeSolver):
    """Coexact 1-modes of tetrahedra: (d₁ᵀ⋆₂d₁ + s⋆₁)⁻¹ with gradients and harmonic forms projected out each time."""
    dec = solver.dec
    star = dec.star(1)
    harmonic = solver.harmonic(1).orthonormal
    weighted = star @ harmonic

    def project(x):
        x = x - dec.d(0) @ solver.project_gradient(x)
        return x - harmonic @ (weighted.T @ x)

    start = _starter(solver, dec.n(1))
    pencil = Pencil(
        size=dec.n(1),
        inverse=lambda y: project(solver.curl_factor[1].solve(y)),
        shift=solver.curl_factor[0],
        mass=star,
        n_wanted=solver.rank_d(1),
        count_below=_counter(solver, 1),
        start=lambda seed: project(start(seed)),
        dense=lambda: _dense(dec.upper_stiffness(1).toarray(), star.toarray(), solver.rank_d(1)),
    )
    return pencil, _same, _same


def _same(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return vectors
