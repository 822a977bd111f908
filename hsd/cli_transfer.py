"""``python -m hsd transfer``: checkpoints on other meshes of their task's shape, not retrained."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from hsd.cli_progress import Progress
from hsd.cli_text import count, table, whole_number
from hsd.errors import InputError


def add_command(commands: argparse._SubParsersAction) -> None:
    move = commands.add_parser("transfer", help="errors of checkpoints on coarser and finer meshes of their task")
    move.add_argument("checkpoints", nargs="+", metavar="CKPT", type=Path, help="checkpoints or run folders")
    move.add_argument("--nodes", nargs="+", type=whole_number, default=None, help="vertices aimed at, each (1500 7000)")
    move.add_argument("--samples", type=count, default=None, help="samples, at most (64)")
    move.add_argument("--part", choices=("test", "validation"), default="test", help="whose samples (test)")
    move.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    move.add_argument(
        "--json",
        type=Path,
        default=None,
        metavar="F",
        dest="to",
        help="put the rows into a file, where they replace those of the same checkpoints, and leave all others",
    )
    move.add_argument("--readme", action="store_true", help="put the file's table into the README")
    move.add_argument("--progress", action="store_true", help="report progress even where there is no terminal")
    move.set_defaults(run=run_transfer)


def joined(path: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows beside those of other checkpoints that a file has, by checkpoint and then as they come.

    Raises InputError (bad_table) where the file holds something else.
    """
    if not path.is_file():
        return rows
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(before, list):
            raise TypeError("no list")
        kept = [row for row in before if row["checkpoint"] not in {new["checkpoint"] for new in rows}]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path} is no table of transfer errors; name another file.", "bad_table") from error
    return sorted(kept + rows, key=lambda row: row["checkpoint"])


def run_transfer(args: argparse.Namespace) -> None:
    from hsd.experiments.records import rounded, text_of
    from hsd.experiments.tables import put_block
    from hsd.experiments.transfer import NODES, SAMPLES, transfer
    from hsd.experiments.transfer_table import NOTE, markdown, samples
    from hsd.hodge.cache import write_atomically

    if args.readme and not args.to:
        raise InputError("--readme shows the rows of a file; name it with --json.", "bad_option")
    live = sys.stderr.isatty()
    n_samples = SAMPLES if args.samples is None else args.samples
    with Progress(sys.stderr if live or args.progress else None, live) as progress:
        rows = transfer(args.checkpoints, args.nodes or NODES, n_samples, args.device, progress, args.part)
    if args.to:
        table_rows = joined(args.to, [rounded(row.as_dict()) for row in rows])
        write_atomically(args.to, text_of(table_rows).encode())
        if args.readme:
            put_block("transfer", markdown(table_rows))
    lines = [
        [
            row.checkpoint,
            row.task,
            f"{row.n_nodes}{' (trained)' if row.trained_here else ''}",
            row.n_vertices,
            "refused" if row.error is None else f"{row.error:.4f}",
            None if row.ratio is None else f"{row.ratio:.3f}",
            None if row.error_fine is None else f"{row.error_fine:.4f}",
            None if row.ratio_fine is None else f"{row.ratio_fine:.3f}",
            f"{row.truth_gap:.4f}",
        ]
        for row in rows
    ]
    head = ["checkpoint", "task", "nodes", "vertices", "error", "ratio", "to fine", "ratio", "own truth to fine"]
    sys.stdout.write(table(lines, head) + "\n")
    for sentence in dict.fromkeys(row.refused for row in rows if row.refused):
        sys.stdout.write(f"[other_mesh] {sentence}\n")
    sys.stdout.write(f"{NOTE.format('ratio')}\n{samples([row.as_dict() for row in rows])} of the {args.part} part.\n")
