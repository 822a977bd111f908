"""``python -m hsd benchmark``: a suite of runs, resumable, and the tables made from its results."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

from hsd.cli_progress import Progress
from hsd.cli_text import table, whole_number


def add_command(commands: argparse._SubParsersAction) -> None:
    bench = commands.add_parser("benchmark", help="train and score a suite of models; resumable")
    bench.add_argument("suite", metavar="SUITE", help="main, small, ablation_transport, … (a wrong name lists all)")
    bench.add_argument("--out", type=Path, required=True, help="folder of the runs and results")
    bench.add_argument("--tasks", nargs="*", default=None, metavar="TASK", help="only these tasks")
    bench.add_argument("--models", nargs="*", default=None, metavar="LABEL", help="only rows of these labels")
    bench.add_argument("--minutes", type=float, default=None, help="another budget a row")
    bench.add_argument("--queue", action="store_true", help="run what has no result yet (default: only list)")
    bench.add_argument("--table", action="store_true", help="print the table; reads the test part of finished rows")
    bench.add_argument("--json", type=Path, default=None, help="with --table: write the rows to this file")
    bench.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    bench.add_argument("--workers", type=whole_number, default=1, help="processes that make the data (1)")
    bench.add_argument("--progress", action="store_true", help="report progress even where there is no terminal")
    bench.set_defaults(run=run_benchmark)


def run_benchmark(args: argparse.Namespace) -> None:
    from dataclasses import replace

    from hsd.experiments.queue import line_of, read_result, run_queue
    from hsd.experiments.report import markdown
    from hsd.experiments.report import table as rows_of
    from hsd.experiments.suites import suite

    entries = [
        entry
        for entry in suite(args.suite)
        if (args.tasks is None or entry.task in args.tasks) and (args.models is None or entry.label in args.models)
    ]
    if args.minutes:
        entries = [replace(entry, minutes=args.minutes) for entry in entries]
    if args.queue:
        stopping: list[bool] = []
        previous = signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
        live = sys.stderr.isatty()
        try:
            with Progress(sys.stderr if live or args.progress else None, live) as progress:

                def say(line: str) -> None:
                    sys.stdout.write(line + "\n")
                    sys.stdout.flush()

                run_queue(entries, args.out, args.device, progress, say, lambda: bool(stopping), args.workers)
        finally:
            signal.signal(signal.SIGTERM, previous)
    if args.table:
        rows = rows_of(entries, args.out, True, args.device)
        if args.json:
            args.json.write_text(json.dumps({"suite": args.suite, "rows": rows}, indent=1), encoding="utf-8")
        sys.stdout.write(markdown(rows) + "\n")
    elif not args.queue:
        lines = []
        for entry in entries:
            known = read_result(args.out / entry.name)
            lines.append([entry.name, "to do" if known is None else line_of(known).partition(": ")[2]])
        sys.stdout.write(table(lines, ["entry", "state"]) + "\n")
