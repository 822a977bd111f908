"""``python -m hsd pretrain``: train the checkpoints that the program ships, the most wanted first, within a budget."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hsd.cli_progress import Progress
from hsd.cli_text import count, positive, table, whole_number
from hsd.processes import StopWish


def add_command(commands: argparse._SubParsersAction) -> None:
    pre = commands.add_parser("pretrain", help="train the shipped checkpoints, the most wanted first; resumable")
    pre.add_argument("--tasks", nargs="+", default=None, metavar="TASK", help="only these tasks")
    pre.add_argument("--models", nargs="+", default=None, metavar="LABEL", help="only these: hsd, fno3d, hsd-paper, …")
    pre.add_argument(
        "--budget-minutes", type=positive, default=60.0, metavar="N", help="of the session, by the clock (60)"
    )
    pre.add_argument(
        "--minutes",
        type=positive,
        default=None,
        metavar="M",
        help="budget of one run: core-minutes on a CPU (12, which is 6 minutes on two cores), minutes on a GPU (6)",
    )
    pre.add_argument(
        "--protocol",
        choices=("clock", "full"),
        default="clock",
        help="clock: equal time for all on 1000 samples; full: 3000 samples and the paper's epochs, or --minutes",
    )
    pre.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    pre.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder of the runs (weights, logs, states)"
    )
    pre.add_argument("--checkpoints", type=Path, default=None, metavar="DIR", help="where to ship (assets/checkpoints)")
    pre.add_argument("--results", type=Path, default=None, metavar="DIR", help="records (assets/results if it exists)")
    pre.add_argument("--archive", type=Path, default=None, metavar="F", help=".tar.gz of checkpoints and records")
    pre.add_argument("--jobs", type=count, default=1, help="runs at once on one GPU (1)")
    pre.add_argument("--threads", type=count, default=None, help="CPU threads of each run (all)")
    pre.add_argument("--workers", type=count, default=1, help="processes that make the data (1)")
    pre.add_argument("--plan", action="store_true", help="print the plan and stop")
    pre.add_argument("--progress", action="store_true", help="report progress even where there is no terminal")
    for name in ("--n-samples", "--n-nodes", "--epochs"):  # other sizes, for trials
        pre.add_argument(name, type=whole_number, default=None, help=argparse.SUPPRESS)
    pre.set_defaults(run=run_pretrain)


def run_pretrain(args: argparse.Namespace) -> int:
    from hsd.experiments.pretrain import Session, pack, plan, pretrain, wanted
    from hsd.experiments.queue import CORES
    from hsd.experiments.records import Records
    from hsd.experiments.shipped import CHECKPOINTS
    from hsd.training.run import chosen_device

    minutes = args.minutes and args.minutes / (CORES if chosen_device(args.device) == "cpu" else 1)
    entries = wanted(args.tasks, args.models, minutes, args.protocol, args.n_samples, args.n_nodes, args.epochs)
    root, records = args.checkpoints or CHECKPOINTS, Records.of(args.results, args.out)
    if args.plan:
        _show(plan(entries, root, records, args.out))
        return 0
    live = sys.stderr.isatty()
    with StopWish() as stopping, Progress(sys.stderr if live or args.progress else None, live) as progress:
        session = Session(
            root, records, args.out, 60 * args.budget_minutes, args.device, args.jobs, args.threads,
            args.workers, progress, _say, stopping,
        )  # fmt: skip
        steps = pretrain(entries, session)
    left = [step for step in steps if step.is_open]
    if left and not session.done and not stopping():
        _say(
            f"The budget of {args.budget_minutes:g} minutes did not suffice for any training; give more with "
            "--budget-minutes."
        )
    if left:
        _say(f"{len(left)} of {len(steps)} are left to do; the same command goes on.")
        _show(left)
    else:
        _say(f"All {len(steps)} are done.")
    if args.archive:
        size = pack(args.archive, root, records)
        _say(f"{args.archive}: {size / 1e6:.1f} MB, to be unpacked in assets.")
    return stopping.exit_code if left else 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _show(steps) -> None:
    _say(table([[step.entry.name, step.text] for step in steps], ["entry", "state"]))
