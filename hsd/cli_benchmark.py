"""``python -m hsd benchmark``: a suite of runs, resumable, and the tables made from its records."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hsd.cli_progress import Progress
from hsd.cli_text import count, positive, table
from hsd.errors import InputError
from hsd.processes import StopWish

if TYPE_CHECKING:
    from hsd.experiments.suites import Entry


def add_command(commands: argparse._SubParsersAction) -> None:
    bench = commands.add_parser("benchmark", help="train and score a suite of models; resumable")
    words = "main (if left out), long, seeds, full, small, ablation_transport, … (a wrong name lists all)"
    bench.add_argument("suite", nargs="?", default="main", metavar="SUITE", help=words)
    bench.add_argument("--out", type=Path, default=Path("out"), help="folder of the runs: weights, logs (out)")
    bench.add_argument(
        "--results", type=Path, default=None, metavar="DIR", help="records (assets/results if it exists)"
    )
    bench.add_argument("--tasks", nargs="+", default=None, metavar="TASK", help="only these tasks")
    bench.add_argument(
        "--models",
        nargs="+",
        default=None,
        metavar="LABEL",
        help="only rows of these labels; of suites of the best baselines any",
    )
    bench.add_argument(
        "--minutes", type=positive, default=None, help="another budget a row (minutes on two cores, or GPU)"
    )
    bench.add_argument("--queue", action="store_true", help="run what has no record yet (default: only list)")
    bench.add_argument(
        "--table",
        action="store_true",
        help="print the tables and, of a whole suite, write them beside the records; reads the test part, once a row",
    )
    bench.add_argument(
        "--part",
        choices=("test", "validation"),
        default="test",
        help="whose metrics the tables show; validation leaves the test part unread (test)",
    )
    bench.add_argument("--readme", action="store_true", help="put the written table into the README")
    bench.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    bench.add_argument("--threads", type=count, default=None, help="CPU threads of each run (all)")
    bench.add_argument("--workers", type=count, default=1, help="processes that make the data (1)")
    bench.add_argument("--progress", action="store_true", help="report progress even where there is no terminal")
    bench.set_defaults(run=run_benchmark)


def check_names(name: str, entries: Sequence[Entry], tasks: list[str] | None, labels: list[str] | None) -> None:
    """Raises InputError (no_entry) where a suite has no row of a task or label, or none of both."""
    for what, chosen in (("task", tasks), ("label", labels)):
        known = list(dict.fromkeys(getattr(e, what) for e in entries))
        for one in chosen or ():
            if one not in known:
                raise InputError(f"The suite {name} has no {what} {one!r}; it has {', '.join(known)}.", "no_entry")
    if not any((tasks is None or e.task in tasks) and (labels is None or e.label in labels) for e in entries):
        raise InputError(
            f"The suite {name} has no row of {', '.join(labels)} on {', '.join(tasks)}; `benchmark {name}` lists all.",
            "no_entry",
        )


def run_benchmark(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from hsd.experiments.queue import known_result, line_of, run_queue
    from hsd.experiments.records import Records
    from hsd.experiments.report import table as rows_of
    from hsd.experiments.report import trivial_table
    from hsd.experiments.suites import BEST, chosen, shown, suite
    from hsd.experiments.tables import markdown, put_into_readme, read_results, results_of, write_results

    records = Records.of(args.results, args.out)

    def named(entries):
        return [
            replace(e, minutes=args.minutes) if args.minutes else e
            for e in entries
            if (args.tasks is None or e.task in args.tasks) and (args.models is None or e.label in args.models)
        ]

    check_names(args.suite, suite(args.suite), args.tasks, args.models)
    entries = named(chosen(args.suite, records) if args.models is None else suite(args.suite))
    if not entries and args.suite in BEST:
        raise InputError(
            f"The suite {args.suite} takes the best baselines of main, of which {records.folder} has no record; run "
            "them first (python -m hsd benchmark main --queue), or name some with --models.",
            "no_baseline",
        )
    is_whole = args.tasks is None and args.models is None and not args.minutes
    if args.readme and not is_whole:
        raise InputError("The README shows whole suites; leave out --tasks, --models and --minutes.", "bad_option")
    live = sys.stderr.isatty()
    with StopWish() as stopping, Progress(sys.stderr if live or args.progress else None, live) as progress:
        if args.queue:
            run_queue(entries, args.out, args.device, progress, _say, stopping, args.workers, args.threads, records)
        if args.table and not stopping():
            in_table = entries if args.minutes else named(shown(args.suite))
            rows = rows_of(in_table, args.out, records, args.device, progress, part=args.part)
            there = {row["task"] for row in rows}
            trivial = trivial_table([e for e in in_table if e.task in there], records, args.part, progress)
            results = results_of(args.suite, rows, args.part, trivial)
            if is_whole:
                write_results(results, records)
            _say(markdown(results))
    if stopping():
        return stopping.exit_code
    if args.readme:
        put_into_readme(read_results(args.suite, records))
    if not (args.queue or args.table or args.readme):
        lines = []
        for entry in entries:
            known = known_result(entry, args.out, records)
            lines.append([entry.name, "to do" if known is None else line_of(known).partition(": ")[2]])
        _say(table(lines, ["entry", "state"]))
    return 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
