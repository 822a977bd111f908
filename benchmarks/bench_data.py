"""Making of datasets: seconds and peak memory a task, against the targets.

    python benchmarks/bench_data.py                                  # 3000 samples at 3000 nodes, two workers
    python benchmarks/bench_data.py --samples 300 --tasks magnetostatics torus_helmholtz
    python benchmarks/bench_data.py --cards                          # task cards of 1000 samples too

Every task runs in a process of its own, whose workers are its children: wall seconds of the whole command (mesh,
samples, writing), CPU seconds of all processes, and the largest resident memory of a worker and of the process that
assembles the file.  Where other programs share the cores, CPU seconds over two are what two idle cores would need.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import scipy

from hsd.data.generate import generate
from hsd.data.tasks import TASKS

TARGETS = {
    "external_aerodynamics": 60,
    "ellipsoid_aerodynamics": 60,
    "torus_helmholtz": 60,
    "magnetostatics": 180,
    "toroidal_transport": 180,
    "vorticity_dynamics": 180,
}
"""Wall seconds for 3000 samples at 3000 nodes on two cores."""
HEAD = "| task | wall s | CPU s | CPU s / 2 | target s | worker MB | assembler MB | file MB |"


def mega(kilobytes: int) -> float:
    return kilobytes * 1024 / 1e6


def measure(name: str, samples: int, nodes: int, workers: int) -> dict:
    """One run in this process; call it once a process, since peaks never fall."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        out = generate(name, Path(folder) / "data.npz", samples, nodes, workers=workers)
        wall = time.perf_counter() - start
        size = out.stat().st_size
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = sum(u.ru_utime + u.ru_stime for u in (own, children))
    return {
        "wall": wall,
        "cpu": cpu,
        "worker": mega(children.ru_maxrss),
        "own": mega(own.ru_maxrss),
        "file": size / 1e6,
    }


def card_seconds(name: str) -> tuple[float, float]:
    """Wall and CPU seconds of the card of 1000 samples, bases not cached."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "hsd", "data", "card", name, "--samples", "1000", "--nodes", "3000", "--json"],
            env={**os.environ, "HSD_CACHE": folder},
            cwd=Path(__file__).resolve().parent.parent,
            stdout=subprocess.DEVNULL,
            check=True,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tasks", nargs="+", choices=sorted(TASKS), default=list(TARGETS))
    parser.add_argument("--cards", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one, args.samples, args.nodes, args.workers)))
        return
    print(f"{args.samples} samples at {args.nodes} nodes, {args.workers} workers; {os.cpu_count()} cores, load "
          f"{os.getloadavg()[0]:.1f}; Python {platform.python_version()}, numpy {np.__version__}, scipy "
          f"{scipy.__version__}\n\n{HEAD}\n|{'---|' * HEAD.count('| ')}")  # fmt: skip
    for name in args.tasks:
        words = ["--one", name, "--samples", args.samples, "--nodes", args.nodes, "--workers", args.workers]
        done = subprocess.run(
            [sys.executable, __file__, *map(str, words)], stdout=subprocess.PIPE, text=True, check=True
        )
        m = json.loads(done.stdout)
        cells = [f"{x:.1f}" for x in (m["wall"], m["cpu"], m["cpu"] / 2)] + [str(TARGETS[name])]
        cells += [f"{m[key]:.0f}" for key in ("worker", "own", "file")]
        print("| " + " | ".join([name, *cells]) + " |", flush=True)
    if args.cards:
        print("\n| card of 1000 samples | wall s | CPU s |\n|---|---|---|")
        for name in args.tasks:
            wall, cpu = card_seconds(name)
            print(f"| {name} | {wall:.1f} | {cpu:.1f} |", flush=True)


if __name__ == "__main__":
    main()
