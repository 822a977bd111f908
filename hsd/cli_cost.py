"""``python -m hsd cost``: what checkpoints' models cost on this machine, measured in one run."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from hsd.cli_progress import Progress
from hsd.cli_text import count, positive


def add_command(commands: argparse._SubParsersAction) -> None:
    cost = commands.add_parser(
        "cost", help="preparation, forward pass, training step and memory of checkpoints' models"
    )
    cost.add_argument("checkpoints", nargs="+", metavar="CKPT", type=Path, help="checkpoints or run folders")
    cost.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    cost.add_argument("--threads", type=count, default=None, help="CPU threads (all)")
    cost.add_argument("--seconds", type=positive, default=None, help="time of the warm repeats of one figure (2)")
    cost.add_argument("--json", type=Path, default=None, metavar="F", dest="to", help="also write the rows to a file")
    cost.add_argument("--readme", action="store_true", help="put the table into the README")
    cost.add_argument("--progress", action="store_true", help="report progress even where there is no terminal")
    cost.add_argument("--one", type=Path, default=None, metavar="DATA", help=argparse.SUPPRESS)
    cost.set_defaults(run=run_cost)


def run_cost(args: argparse.Namespace) -> None:
    from hsd.experiments.cost import SECONDS, costs, machine, measure
    from hsd.experiments.cost_table import SCHEMA, markdown
    from hsd.experiments.records import rounded, text_of
    from hsd.experiments.tables import put_block
    from hsd.hodge.cache import write_atomically
    from hsd.processes import OtherWork
    from hsd.training.run import chosen_device

    seconds = args.seconds or SECONDS
    if args.one:  # the process of one model
        found = measure(args.checkpoints[0], args.one, args.device, seconds, args.threads or 1)
        sys.stdout.write(json.dumps(found.as_dict()) + "\n")
        return
    live, threads = sys.stderr.isatty(), args.threads or os.cpu_count() or 1
    device = chosen_device(args.device)
    where, others = machine(device, threads), OtherWork()
    with Progress(sys.stderr if live or args.progress else None, live) as progress:
        rows = [row.as_dict() for row in costs(args.checkpoints, device, threads, seconds, progress)]
    where["load"] = round(others.cores(), 2)
    if args.to:
        write_atomically(args.to, text_of({"schema": SCHEMA, "machine": where, "rows": rounded(rows)}).encode())
    text = markdown(rows, where)
    sys.stdout.write(text)
    if args.readme:
        put_block("cost", text)
