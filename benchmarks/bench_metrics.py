"""Scoring: 600 samples at about 3000 nodes with every metric, β0 at nine levels included.

    python benchmarks/bench_metrics.py                  # the four kinds of targets; two threads
    python benchmarks/bench_metrics.py --samples 60     # a quick look
    python benchmarks/bench_metrics.py --device cuda    # fields and physics on the GPU, level sets on the CPU

Predictions are the truth plus 30 % noise: smooth ones (a mix of low modes) and white ones, which have many more local
maxima and so are the slowest for the level sets.  Making the yardstick (once a mesh) is timed apart.
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
from hsd.mesh.primitives import gallery
from hsd.metrics import Yardstick, metrics_of, score

LIMIT = 20.0
TARGETS = (
    ("car_wing", 1, "flux"),
    ("torus", 1, "flux"),
    ("torus", 0, "scalar"),
    ("ball_with_cavity", 2, "flux"),
)
HEAD = "| mesh | V | form | metrics | columns | noise | yardstick s | score s | ms a sample | slowest |"


def fields(yardstick: Yardstick, n: int, noise: str, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """n true forms of random low modes and predictions of them, (n, N_k) each."""
    modes = torch.from_numpy(np.linalg.solve(yardstick_gram(yardstick), yardstick.modes.numpy().T))  # (n_modes, N_k)
    truth = torch.from_numpy(rng.standard_normal((n, len(modes)))) @ modes
    if noise == "smooth":
        return truth + 0.3 * torch.from_numpy(rng.standard_normal((n, len(modes)))) @ modes, truth
    size = truth.std(dim=1, keepdim=True)
    return truth + 0.3 * size * torch.from_numpy(rng.standard_normal(truth.shape)), truth


def yardstick_gram(yardstick: Yardstick) -> np.ndarray:
    modes = yardstick.modes.numpy()
    return modes.T @ modes


def measure(name: str, degree: int, reading: str, n_nodes: int, samples: int, device: str) -> list[str]:
    mesh = gallery(name, n_nodes)
    start = time.perf_counter()
    yardstick = Yardstick.of(Ground(mesh), degree, reading)
    zero = torch.zeros(1, yardstick.n_simplices, dtype=torch.float64)
    yardstick.parts(zero.numpy())  # factors once
    made = time.perf_counter() - start
    rows = []
    for noise in ("smooth", "white"):
        p, g = (x.to(device) for x in fields(yardstick, samples, noise, np.random.default_rng(0)))
        for cochains in (False, True) if degree else (False,):
            given = {"prediction_form": p, "truth_form": g}
            if not cochains:
                shape = (samples, yardstick.n_vertices, yardstick.n_components)
                sharp = [
                    x if yardstick.sharp is None else torch.sparse.mm(yardstick.sharp, x.cpu().T).T for x in (p, g)
                ]
                given = {k: x.reshape(shape).to(device) for k, x in zip(("prediction", "truth"), sharp)}
            start = time.perf_counter()
            scores = score(yardstick, **given)
            whole = time.perf_counter() - start
            spent = {}
            for metric in metrics_of(yardstick):
                start = time.perf_counter()
                score(yardstick, **given, names=[metric])
                spent[metric] = time.perf_counter() - start
            slowest = max(spent, key=spent.get)
            rows.append(
                f"| {name} | {yardstick.n_vertices} | {degree}-form, {reading} | {len(scores.samples)} | "
                f"{'nodes and cochains' if cochains else 'nodes'} | {noise} | {made:.1f} | {whole:.2f} | "
                f"{1e3 * whole / samples:.1f} | {slowest} {spent[slowest]:.2f} s |"
            )
            print(rows[-1] + ("" if whole < LIMIT * samples / 600 else " too slow"), flush=True)
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
