"""Sparse linear algebra used everywhere: factor-once solvers, inertia counts, complete low spectra.

SuperLU (through scipy) with minimum-degree ordering of A + Aᵀ and diagonal pivots is the one direct solver.  Its traps
(Fortran order, float64, 32-bit indices) are dealt with here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from itertools import count, pairwise

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu
from threadpoolctl import ThreadpoolController

from hsd.errors import SolverError, check_choice

Progress = Callable[[str, float | None], None]
"""Called with a stage in words and the fraction done (None: unknown)."""


def silent(stage: str, fraction: float | None = None) -> None:
    """The progress callback that does nothing."""


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager:
    """Context in which BLAS uses one thread: Lanczos makes many small products, for which waking threads costs more
    than it gains (tenfold when another program shares the cores)."""
    return _blas().limit(limits=1, user_api="blas")


ORDERINGS = ("minimum_degree", "nested_dissection", "natural", "columns")


class Factor:
    """Factorisation of a square sparse matrix, reused for many right-hand sides.

    ordering : "minimum_degree" (of A + Aᵀ; best on surfaces) or "nested_dissection" (METIS; in tetrahedra 2 to 10 times
               faster), both with diagonal pivots for definite or quasi-definite symmetric A; "natural" for triangular
               matrices (no fill); "columns" (COLAMD, partial pivoting) for anything else
    Raises SolverError (singular_matrix) when a pivot is exactly zero.
    Source: Demmel, Eisenstat, Gilbert, Li, Liu, SuperLU, 1999; Karypis, Kumar, METIS, 1998.
    """

    def __init__(self, matrix: sp.spmatrix, ordering: str = "minimum_degree"):
        check_choice("ordering", ordering, ORDERINGS)
        matrix = sp.csc_matrix(matrix, dtype=np.float64)
        self.shape = matrix.shape
        self._lu = None
        self._order = None
        if matrix.shape[0] == 0:
            return
        if ordering == "nested_dissection":
            self._order = _nested_dissection(matrix)
            matrix = matrix[self._order][:, self._order]
        if matrix.nnz < 2**31:
            matrix.indices = matrix.indices.astype(np.int32, copy=False)
            matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
        diagonal = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        order, more = {
            "minimum_degree": ("MMD_AT_PLUS_A", diagonal),
            "nested_dissection": ("NATURAL", diagonal),
            "natural": ("NATURAL", diagonal),
            "columns": ("COLAMD", {}),
        }[ordering]
        try:
            self._lu = splu(matrix, permc_spec=order, **more)
        except RuntimeError as error:
            raise SolverError(
                f"A {matrix.shape[0]}×{matrix.shape[1]} matrix is singular and cannot be factored ({error}).",
                "singular_matrix",
            ) from error

    def solve(self, rhs: np.ndarray, transpose: bool = False) -> np.ndarray:
        """x with A x = rhs (Aᵀ x = rhs), rhs (n,) or (n, m)."""
        rhs = np.asarray(rhs, dtype=np.float64)
        if self._lu is None or rhs.size == 0:
            return np.zeros_like(rhs)
        trans = "T" if transpose else "N"
        if self._order is None:
            return self._lu.solve(np.asfortranarray(rhs), trans=trans)
        out = np.empty_like(rhs)
        out[self._order] = self._lu.solve(np.asfortranarray(rhs[self._order]), trans=trans)
        return out

    def n_negative(self) -> int:
        """Number of negative eigenvalues of a symmetric matrix, by Sylvester's law of inertia.

        Valid because rows and columns were permuted alike (checked): the signs of the pivots are then those of the
        eigenvalues.  Raises SolverError (inertia) when the pivoting left the diagonal.
        """
        if self._lu is None:
            return 0
        if not np.array_equal(self._lu.perm_r, self._lu.perm_c):
            raise SolverError("The inertia count needs diagonal pivots, but a pivot was exchanged.", "inertia")
        return int((self._lu.U.diagonal() < 0).sum())


def _nested_dissection(matrix: sp.csc_matrix) -> np.ndarray:
    """Fill-reducing order of a matrix of symmetric pattern by METIS, (n,)."""
    import pymetis

    # METIS crashes on one-sided edges, which rounding makes (0 here, 1e-18 there): the structure is symmetrised
    coo = sp.coo_matrix(matrix)
    off = coo.row != coo.col
    ones = np.ones(int(off.sum()), np.int8)
    half = sp.csr_matrix((ones, (coo.row[off], coo.col[off])), shape=matrix.shape)
    pattern = (half + half.T).tocsr()
    graph = pymetis.CSRAdjacency(pattern.indptr.astype(np.int32), pattern.indices.astype(np.int32))
    return np.asarray(pymetis.nested_dissection(graph)[0], dtype=np.int64)


def diagonal_of(matrix: sp.spmatrix) -> np.ndarray | None:
    """The diagonal of a matrix without off-diagonal entries, else None."""
    coo = sp.coo_matrix(matrix)
    return np.asarray(matrix.diagonal()) if np.array_equal(coo.row, coo.col) else None


class MassSolver:
    """⋆⁻¹ for a symmetric positive definite mass matrix; diagonal ones are divided, others factored on first use."""

    def __init__(self, matrix: sp.spmatrix, ordering: str = "minimum_degree"):
        self._matrix = matrix
        self._ordering = ordering
        self.diagonal = diagonal_of(matrix)
        self._factor: Factor | None = None

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        if self.diagonal is not None:
            return rhs / (self.diagonal if rhs.ndim == 1 else self.diagonal[:, None])
        if self._factor is None:
            self._factor = Factor(self._matrix, self._ordering)
        return self._factor.solve(rhs)


def orthonormalise(vectors: np.ndarray, mass: sp.spmatrix, rounds: int = 2) -> np.ndarray:
    """Vectors with the same span and Vᵀ ⋆ V = I, by Cholesky of the Gram matrix, repeated.  (N, b) → (N, b)"""
    for _ in range(rounds if vectors.shape[1] else 0):
        gram = vectors.T @ (mass @ vectors)
        scale = 1 / np.sqrt(np.diag(gram))
        chol = np.linalg.cholesky(gram * np.outer(scale, scale))
        vectors = scipy.linalg.solve_triangular(chol, (vectors * scale).T, lower=True).T
    return vectors


# ---- complete low spectra ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pencil:
    """What :func:`low_spectrum` needs to know of a symmetric semidefinite pencil K x = λ M x.

    size         : number of unknowns
    inverse      : y ↦ (K + s M)⁻¹ y for y = M x, restricted to the wanted subspace (kernel and the like removed)
    shift        : s > 0
    mass         : M as an operator on (size,) or (size, m) arrays, None for the identity
    n_wanted     : dimension of the wanted subspace
    count_below  : c ↦ number of wanted eigenvalues below c, from an inertia count
    start        : deterministic start vector (size,), inside the wanted subspace
    dense        : () ↦ (eigenvalues, vectors) of the whole wanted subspace, for small problems
    """

    size: int
    inverse: Callable[[np.ndarray], np.ndarray]
    shift: float
    mass: sp.spmatrix | None
    n_wanted: int
    count_below: Callable[[float], int]
    start: Callable[[int], np.ndarray]
    dense: Callable[[], tuple[np.ndarray, np.ndarray]]


DENSE_SIZE = 400
CUT_GAP = 1e-6
SOLVING = "eigenpairs"
SOLVES_PER_VECTOR = 2.7
"""Solves that Lanczos takes per vector of its basis, as measured; for the progress bar only."""


def low_spectrum(
    pencil: Pencil,
    n: int,
    progress: Progress = silent,
    known: tuple[np.ndarray, np.ndarray] | None = None,
    tol: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, float]:
    """At least n lowest wanted eigenpairs of a pencil (fewer only where fewer exist), proven complete.

    Shift-invert Lanczos (ARPACK) for n and some guard pairs, then an inertia count at a cut in a gap above the n-th;
    copies of repeated eigenvalues that ARPACK has dropped are found by runs deflated by all that is known.
    ``known`` pairs (values, vectors), the lowest ones of an earlier call, are kept and extended.
    Returns all pairs below the cut, values (m,) ascending, m ≥ n, M-orthonormal vectors (size, m), and the next
    eigenvalue (inf: there is none).
    Raises SolverError (incomplete_spectrum, no_convergence).
    Source: Lehoucq, Sorensen, Yang, ARPACK Users' Guide, 1998; Parlett, The Symmetric Eigenvalue Problem, 1998, ch. 3.
    """
    n = min(n, pencil.n_wanted)
    if n <= 0:
        return np.zeros(0), np.zeros((pencil.size, 0)), np.inf
    guard = max(4, n // 8)
    if pencil.size <= DENSE_SIZE or 3 * (n + guard) > pencil.n_wanted:
        values, vectors = pencil.dense()
        best = n
        if n < len(values):
            best, gap = _cut(values[: n + guard + 1], n)
            counted = pencil.count_below(0.5 * (values[best - 1] + values[best])) if gap > CUT_GAP else best
            if counted != best:
                raise _badly_scaled(best, values[best - 1], counted)
        return values[:best], vectors[:, :best], float(values[best]) if best < len(values) else np.inf
    with one_blas_thread():
        return _iterative_spectrum(pencil, n, guard, progress, known, tol)


def _badly_scaled(found: int, cut: float, counted: int) -> SolverError:
    return SolverError(
        f"{found} eigenvalues were found up to {cut:.6g}, but the inertia count gives {counted}: cells are too flat or "
        "too unequal for a reliable spectrum; mend the thinnest cells (see the report's quality).",
        "incomplete_spectrum",
    )


def _cut(values: np.ndarray, n: int) -> tuple[int, float]:
    """The highest place ≥ n for a cut between ascending values whose relative gap is comparable to the widest one."""
    gaps = (values[n:] - values[n - 1 : -1]) / values[n:]
    wide = np.flatnonzero(gaps >= 0.3 * gaps.max())
    return n + int(wide[-1]), float(gaps[wide[-1]])


def _iterative_spectrum(
    pencil: Pencil,
    n: int,
    guard: int,
    progress: Progress,
    known: tuple[np.ndarray, np.ndarray] | None,
    tol: float,
) -> tuple[np.ndarray, np.ndarray, float]:
    values, vectors = known or (np.zeros(0), np.zeros((pencil.size, 0)))
    ask, seed = n + guard - len(values), 0
    for _ in range(12):
        found, new = _deflated_arpack(pencil, vectors, ask, seed, tol, progress)
        seed += 1
        values = np.concatenate([values, found])
        vectors = np.concatenate([vectors, new], axis=1)
        order = np.argsort(values, kind="stable")
        values, vectors = values[order], vectors[:, order]
        if len(values) <= n and len(values) < pencil.n_wanted:
            ask = n + guard - len(values)
            continue
        progress("checking completeness", None)
        best, gap = _cut(values, n)
        if gap < CUT_GAP:  # the guard pairs end inside one block: look further up
            ask = max(8, n // 4)
            continue
        cut = 0.5 * (values[best - 1] + values[best])
        missing = pencil.count_below(cut) - best
        if missing == 0:
            return values[:best], vectors[:, :best], float(values[best])
        if missing < 0:
            raise _badly_scaled(best, cut, best + missing)
        progress(f"{missing} copies of repeated eigenvalues still missing", None)
        ask = missing + 2
    raise SolverError(f"The {n} lowest eigenpairs could not be proven complete in 12 rounds.", "incomplete_spectrum")


def _deflated_arpack(
    pencil: Pencil, known: np.ndarray, ask: int, seed: int, tol: float, progress: Progress = silent
) -> tuple[np.ndarray, np.ndarray]:
    """``ask`` lowest eigenpairs orthogonal to the known ones."""
    m_known = known if pencil.mass is None else pencil.mass @ known
    ask = min(ask, pencil.n_wanted - known.shape[1], pencil.size - 2)
    if ask <= 0:
        return np.zeros(0), np.zeros((pencil.size, 0))

    def deflate(x: np.ndarray) -> np.ndarray:
        return x - known @ (m_known.T @ x) if known.shape[1] else x

    ncv = min(pencil.size - 1, max(2 * ask + 1, 40))
    solves = count(1)

    def step() -> None:
        done = next(solves)
        if done % 8 == 0:
            progress(SOLVING, min(0.97, done / (SOLVES_PER_VECTOR * ncv)))

    def standard(x: np.ndarray) -> np.ndarray:
        step()
        return deflate(pencil.inverse(deflate(x)))

    def shifted_inverse(mx: np.ndarray) -> np.ndarray:
        step()
        return deflate(pencil.inverse(mx - m_known @ (known.T @ mx)))

    v0 = deflate(pencil.start(seed))
    shape = (pencil.size, pencil.size)
    try:
        if pencil.mass is None:
            op = LinearOperator(shape, matvec=standard, dtype=np.float64)
            theta, vectors = eigsh(op, k=ask, which="LA", v0=v0, ncv=ncv, tol=tol, maxiter=200)
        else:
            # shift-invert mode: eigsh hands y = M x; (I − Q Qᵀ M) acts as y − M Q (Qᵀ y) before the solve
            mass = LinearOperator(shape, matvec=lambda x: pencil.mass @ x, dtype=np.float64)
            inverse = LinearOperator(shape, matvec=shifted_inverse, dtype=np.float64)
            shifted, vectors = eigsh(
                mass, k=ask, M=mass, sigma=0.0, OPinv=inverse, which="LM", v0=v0, ncv=ncv, tol=tol, maxiter=200
            )
            theta = 1.0 / shifted
    except ArpackNoConvergence as error:  # what has converged is kept: the inertia count says what is missing
        if not len(error.eigenvalues):
            raise SolverError(
                f"The eigen-solver found none of {ask} pairs; ask for fewer modes, or mend very thin cells (the "
                "eigenvalues of very thin bars lie too close together).",
                "no_convergence",
            ) from error
        theta = error.eigenvalues if pencil.mass is None else 1.0 / error.eigenvalues
        vectors = error.eigenvectors
    values = 1.0 / theta - pencil.shift
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]


def canonical_signs(vectors: np.ndarray) -> np.ndarray:
    """Columns multiplied by ±1: among entries within 1e-6 of the largest magnitude the one of smallest index is > 0."""
    if vectors.size == 0:
        return vectors
    size = np.abs(vectors)
    lead = np.argmax(size >= (1 - 1e-6) * size.max(axis=0), axis=0)
    sign = np.sign(vectors[lead, np.arange(vectors.shape[1])])
    return vectors * np.where(sign == 0, 1.0, sign)


def blocks(values: np.ndarray, gap: float) -> list[slice]:
    """Runs of ascending values whose neighbours differ by less than gap relative to the larger one."""
    if len(values) == 0:
        return []
    cuts = np.flatnonzero(np.diff(values) > gap * np.abs(values[1:])) + 1
    edges = [0, *cuts.tolist(), len(values)]
    return [slice(a, b) for a, b in pairwise(edges)]
