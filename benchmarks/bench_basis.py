"""Spectral bases: our route against eigsh on the full pencil, as ratios in one run.

    python benchmarks/bench_basis.py                      # torus 3k … 100k, cavity mesh, decomposition, small things
    python benchmarks/bench_basis.py --sizes 3000 10000   # a quick look
    python benchmarks/bench_basis.py --million            # 64 modes of Δ_0 and harmonic 1-forms at 1 million vertices

Every measurement runs in a process of its own with one BLAS thread: CPU seconds of the eigen-work (one core; assembly
included, mesh generation not; they do not see what else the machine does), and peak memory above that of the process
with the mesh loaded.  ``ours`` contains the completeness check and writes no cache.  Baselines: scipy's
eigsh(K, 64, ⋆₁, sigma=−0.1/L²) with its own factorisation (default ordering) and with ours (minimum degree, symmetric
mode) as OPinv, same K and ⋆₁, tol 0.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from hsd.hodge.decomposition import Decomposer
from hsd.hodge.solver import HodgeSolver
from hsd.hodge.spectrum import HodgeBasis, lowest_modes
from hsd.linalg import Factor
from hsd.mesh.primitives import gallery

N_MODES = 64
HEAD = (
    "| spectrum | V | star | baseline ordering | ours CPU s | eigsh CPU s | ratio | ours MB | eigsh MB | "
    "eigsh misses | max Δλ/λ | residual |"
)


def resident_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


class Peak:
    """Highest resident memory above the start, sampled every 5 ms."""

    def __enter__(self):
        self.base = self.top = resident_mb()
        self.running = True
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()
        self.start = time.process_time()
        return self

    def _watch(self):
        while self.running:
            self.top = max(self.top, resident_mb())
            time.sleep(0.005)

    def __exit__(self, *_):
        self.seconds = time.process_time() - self.start
        self.running = False
        self.thread.join()
        self.top = max(self.top, resident_mb())

    @property
    def result(self) -> dict:
        return {"seconds": self.seconds, "peak_mb": self.top - self.base}


# ---- workers, each in a process of its own ---------------------------------------------------------------------


def ours(name: str, n: int, star: str, degrees: tuple[int, ...]) -> dict:
    mesh = gallery(name, n)
    with Peak() as peak:
        solver = HodgeSolver(mesh, star)
        bases = [lowest_modes(mesh, k, N_MODES, solver=solver, use_cache=False) for k in degrees]
    values = [np.sort(b.eigenvalues).tolist() for b in bases]
    residual = max(float(b.residuals.max()) for b in bases)
    return {**peak.result, "values": values, "counts": list(mesh.complex.counts), "residual": residual}


def baseline(name: str, n: int, star: str, degrees: tuple[int, ...], ordering: str) -> dict:
    from scipy.sparse.linalg import LinearOperator, eigsh

    mesh = gallery(name, n)
    values = []
    with Peak() as peak:
        solver = HodgeSolver(mesh, star)
        shift = 0.1 / solver.scale2
        for k in degrees:
            stiffness, mass = solver.dec.stiffness(k), solver.dec.star(k).tocsc()
            if stiffness.sparse is None:  # ⋆_{k−1} is not diagonal: saddle-point form of the same pencil
                values.append(_saddle(solver.dec, k, shift))
                continue
            matrix = stiffness.sparse.tocsc()
            inverse = None
            if ordering == "ours":
                factor = Factor(matrix + shift * mass)
                inverse = LinearOperator(matrix.shape, matvec=factor.solve, dtype=float)
            rng = np.random.default_rng(0)
            found = eigsh(matrix, N_MODES, mass, sigma=-shift, OPinv=inverse, v0=rng.standard_normal(matrix.shape[0]))[
                0
            ]
            values.append(np.sort(found).tolist())
    return {**peak.result, "values": values}


def _saddle(dec, k: int, shift: float) -> list[float]:
    """Shift-invert of (K + s⋆) with K = dᵀ⋆d + ⋆d⋆⁻¹dᵀ⋆ through the sparse block system in (x, ⋆⁻¹dᵀ⋆x)."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import LinearOperator, eigsh, splu

    mass = dec.star(k)
    weak = dec.weak_codifferential(k)
    block = sp.bmat([[dec.upper_stiffness(k) + shift * mass, weak.T], [weak, -dec.star(k - 1)]], format="csc")
    lu = splu(block)
    n, extra = mass.shape[0], weak.shape[0]
    inverse = LinearOperator((n, n), matvec=lambda y: lu.solve(np.concatenate([y, np.zeros(extra)]))[:n], dtype=float)
    v0 = np.random.default_rng(0).standard_normal(n)
    return np.sort(eigsh(mass, N_MODES, mass, sigma=-shift, OPinv=inverse, v0=v0)[0]).tolist()


def decomposition(n: int) -> dict:
    mesh = gallery("torus", n)
    omega = np.random.default_rng(0).standard_normal((mesh.complex.n(1), 20))
    with Peak() as peak:
        decomposer = Decomposer(mesh, 1)
        decomposer(omega[:, 0])
    times = []
    for column in omega.T:
        start = time.process_time()
        result = decomposer(column)
        times.append(time.process_time() - start)
    return {**peak.result, "ms": float(np.median(times) * 1e3), "residual": result.residual}


def topology(n: int) -> dict:
    mesh = gallery("torus", n)
    with Peak() as peak:
        solver = HodgeSolver(mesh)
        betti = solver.betti
        basis = solver.harmonic(1)
    worst = max(solver.dec.coclosedness(1, g) for g in basis.dual.T)
    return {**peak.result, "betti": betti, "coclosed": worst, "vertices": mesh.complex.n_vertices}


def million(n: int) -> dict:
    mesh = gallery("torus", n)
    out = {"vertices": mesh.complex.n_vertices}
    with Peak() as peak:
        basis = HodgeBasis(mesh, 0, 0, N_MODES, use_cache=False)
    out["modes"] = {**peak.result, "n_modes": basis.n_modes, "residual": float(basis.residuals.max())}
    del basis
    with Peak() as peak:
        solver = HodgeSolver(mesh)
        gamma = solver.harmonic(1).dual
    out["harmonic"] = {**peak.result, "coclosed": max(solver.dec.coclosedness(1, g) for g in gamma.T)}
    return out


WORKERS = {f.__name__: f for f in (ours, baseline, decomposition, topology, million)}


def run(worker: str, *arguments) -> dict:
    """Run a worker in a fresh process and return its JSON."""
    command = [sys.executable, __file__, "--worker", worker, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{worker}{arguments} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


# ---- tables ----------------------------------------------------------------------------------------------------


def missing(found: list[list[float]], complete: list[list[float]]) -> int:
    """Eigenvalues of the complete list, below the highest one found, that have no partner in the found list."""
    lost = 0
    for ours_values, theirs in zip(complete, found):
        theirs, top = np.array(theirs), max(theirs)
        used = np.zeros(len(theirs), bool)
        for value in ours_values:
            if value > top * (1 + 1e-7):
                break
            free = np.flatnonzero(~used & (np.abs(theirs - value) <= 1e-6 * max(top, 1e-30)))
            if len(free):
                used[free[0]] = True
            else:
                lost += 1
    return lost


def difference(found: list[list[float]], complete: list[list[float]]) -> float:
    """Largest |λ − λ'| relative to the largest λ, over lists of one length."""
    return max(
        float(np.abs(np.array(a[: len(b)]) - np.array(b[: len(a)])).max() / max(b)) for a, b in zip(found, complete)
    )


def compare(label: str, name: str, n: int, star: str, degrees: tuple[int, ...]) -> None:
    mine = run("ours", name, n, star, degrees)
    counts = mine["counts"]
    orderings = ("default", "ours") if len(degrees) == 1 else ("default",)
    for ordering in orderings:
        other = run("baseline", name, n, star, degrees, ordering)
        lost = missing(other["values"], mine["values"])
        ratio = other["seconds"] / mine["seconds"]
        same = f"{difference(other['values'], mine['values']):.1e}" if lost == 0 else "—"
        print(
            f"| {label} | {counts[0]:,} | {star} | {ordering} | {mine['seconds']:.2f} | {other['seconds']:.2f} | "
            f"**{ratio:.1f}×** | {mine['peak_mb']:.0f} | {other['peak_mb']:.0f} | {lost} | "
            f"{same} | {mine['residual']:.0e} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[3000, 10000, 30000, 100000])
    parser.add_argument("--no-tets", action="store_true", help="leave out the cavity mesh")
    parser.add_argument("--million", action="store_true", help="only the 1-million-vertex figures")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(WORKERS[options.worker[0]](*json.loads(options.worker[1]))))
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d')}\n")
    if options.million:
        print(json.dumps(run("million", 1_000_000), indent=1))
        return
    print(HEAD)
    print("|---" * HEAD.count(" | ") + "|---|")
    for n in options.sizes:
        for star in ("galerkin", "diagonal"):
            compare("torus Δ₁, 64", "torus", n, star, (1,))
    if options.sizes:
        compare("icosphere Δ₁, 64", "sphere", 10000, "galerkin", (1,))
    if not options.no_tets:
        compare("cavity Δ₀+Δ₁+Δ₂, 64 each", "ball_with_cavity", 3000, "galerkin", (0, 1, 2))
    print()
    one = run("decomposition", 10000)
    print(
        f"decomposition of a 1-form on the 10k torus: first {one['seconds']:.2f} s with factorisation, then "
        f"{one['ms']:.1f} ms a field (residual {one['residual']:.0e})"
    )
    two = run("topology", 30000)
    print(
        f"Betti numbers {tuple(two['betti'])} and harmonic 1-forms of the torus with {two['vertices']:,} vertices: "
        f"{two['seconds']:.2f} s (coclosed to {two['coclosed']:.0e})"
    )
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import hsd"], cwd=Path(__file__).resolve().parent.parent, check=True)
    print(f"start of Python and import of hsd: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
