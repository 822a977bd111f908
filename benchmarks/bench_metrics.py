"""Scoring: 600 samples at about 3000 nodes with every metric, β0 at nine levels included.

    python benchmarks/bench_metrics.py                  # the four kinds of targets; two threads
    python benchmarks/bench_metrics.py --samples 60     # a quick look
    python benchmarks/bench_metrics.py --device cuda    # fields and physics on the GPU, level sets on the CPU

Predictions are the truth plus 30 % noise: smooth ones (a mix of low modes) and white ones, which have many more local
maxima and so are the slowest for the level sets.  Making the yardstick (once a mesh, with its modes) is timed apart.
CPU seconds add up all cores and do not see what else the machine does; the limit is held against them.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch

from hsd.data.ground import Ground
from hsd.hodge.spectrum import HodgeBasis
from hsd.mesh.primitives import gallery
from hsd.metrics import Yardstick, score
from hsd.metrics.pair import node_values
from hsd.metrics.yardstick import N_MODES

LIMIT = 20.0
TARGETS = (
    ("car_wing", 1, "flux"),
    ("torus", 1, "flux"),
    ("torus", 0, "scalar"),
    ("ball_with_cavity", 2, "flux"),
)
HEAD = "| mesh | V | form | metrics | columns | noise | yardstick s | wall s | CPU s | CPU ms a sample | S_β0 CPU s |"


def fields(basis: HodgeBasis, n: int, noise: str, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """n true forms of random low modes and predictions of them, (n, N_k) each."""
    truth = rng.standard_normal((n, basis.n_modes)) @ basis.modes.T
    if noise == "smooth":
        error = rng.standard_normal((n, basis.n_modes)) @ basis.modes.T
    else:
        error = truth.std(axis=1, keepdims=True) * rng.standard_normal(truth.shape)
    return torch.from_numpy(truth + 0.3 * error), torch.from_numpy(truth)


def measure(name: str, degree: int, reading: str, n_nodes: int, samples: int, device: str) -> list[str]:
    mesh = gallery(name, n_nodes)
    start = time.perf_counter()
    ground = Ground(mesh)
    n_exact = N_MODES // 2 if degree else 0
    basis = HodgeBasis(mesh, degree, n_exact, N_MODES - n_exact, solver=ground.solver, use_cache=False)
    yardstick = Yardstick.of(ground, degree, reading, basis)
    zero = torch.zeros(1, yardstick.n_simplices, dtype=torch.float64)
    yardstick.parts(zero.numpy())  # factors once
    made = time.perf_counter() - start
    rows = []
    for noise in ("smooth", "white"):
        p, g = (x.to(device) for x in fields(basis, samples, noise, np.random.default_rng(0)))
        for cochains in (False, True) if degree else (False,):
            given = {"prediction_form": p, "truth_form": g}
            if not cochains:
                there = yardstick.to(p.device)
                given = {"prediction": node_values(there, p), "truth": node_values(there, g)}
            clock, cpu = time.perf_counter(), time.process_time()
            scores = score(yardstick, **given)
            wall, cpu = time.perf_counter() - clock, time.process_time() - cpu
            topology = time.process_time()
            score(yardstick, **given, names=["s_beta0"])
            topology = time.process_time() - topology
            rows.append(
                f"| {name} | {yardstick.n_vertices} | {degree}-form, {reading} | {len(scores.samples)} | "
                f"{'nodes and cochains' if cochains else 'nodes'} | {noise} | {made:.1f} | {wall:.1f} | {cpu:.1f} | "
                f"{1e3 * cpu / samples:.1f} | {topology:.1f} |"
            )
            print(rows[-1] + ("" if cpu < LIMIT * samples / 600 else " over the limit"), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=600)
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    print(
        f"{platform.processor() or platform.machine()}, {args.threads} threads, torch {torch.__version__}, "
        f"{args.device}; load {os.getloadavg()[0]:.1f}; {args.samples} samples, limit {LIMIT:g} s for 600\n"
    )
    print(HEAD)
    print("|" + "---|" * HEAD.count(" |"))
    for target in TARGETS:
        measure(*target, args.nodes, args.samples, args.device)
    print(f"\npeak memory of the whole run {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
