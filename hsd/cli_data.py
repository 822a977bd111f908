"""``python -m hsd data generate | check | card``: dataset files of the physical tasks, and of anybody."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

from hsd.cli_progress import Progress
from hsd.cli_text import whole_number
from hsd.errors import HsdError, InputError


def add_commands(parser: argparse.ArgumentParser) -> None:
    """The actions of ``data``; each sets ``run`` to its function."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    make = actions.add_parser("generate", help="make samples of a task and write them to a dataset file")
    make.add_argument("task", metavar="TASK", help="external_aerodynamics, … (an unknown name lists all)")
    make.add_argument("--samples", type=whole_number, default=None, help="number of samples (the task's, 3000)")
    make.add_argument("--nodes", type=whole_number, default=None, help="number of vertices aimed at (the task's)")
    make.add_argument("--seed", type=whole_number, default=0, help="seed of samples and split (0)")
    make.add_argument("--out", type=Path, required=True, help="dataset file to write, .npz")
    make.add_argument("--workers", type=whole_number, default=1, help="processes; the file is the same for all (1)")
    _add_settings(make)
    make.add_argument("--overwrite", action="store_true", help="replace the file, or the parts of another run")
    make.add_argument("--progress", action="store_true", help="report progress even where there is no terminal")
    make.set_defaults(run=run_generate)

    check = actions.add_parser("check", help="say what is wrong with a dataset file, a sentence for each defect")
    check.add_argument("file", metavar="FILE", type=Path, help="dataset file (.npz)")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(run=run_check)

    card = actions.add_parser("card", help="what a task is like: energies, dimensions, floors, trivial predictors")
    card.add_argument("task", metavar="TASK")
    card.add_argument("--samples", type=whole_number, default=1000, help="number of samples looked at (1000)")
    card.add_argument("--nodes", type=whole_number, default=None, help="number of vertices aimed at (the task's)")
    card.add_argument("--seed", type=whole_number, default=0, help="seed of samples and split (0)")
    _add_settings(card)
    card.add_argument("--json", action="store_true", help="print one JSON object, also for an error")
    card.add_argument("--out", type=Path, default=None, help="write the JSON object to a file")
    card.add_argument("--progress", action="store_true", help="report progress even where there is no terminal")
    card.set_defaults(run=run_card)

    worker = actions.add_parser("worker")  # started by generate
    worker.add_argument("folder", type=Path)
    worker.set_defaults(run=run_worker)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="replace an entry of the task's config, e.g. --set velocity=rotation; may be repeated",
    )


def _settings(args: argparse.Namespace) -> dict:
    from hsd.data.plan import parse_setting

    return dict(parse_setting(text) for text in args.set)


def _progress(args: argparse.Namespace) -> Progress:
    live = sys.stderr.isatty()
    return Progress(sys.stderr if live or args.progress else None, live)


def run_generate(args: argparse.Namespace) -> None:
    from hsd.data.generate import generate

    with _progress(args) as progress:
        out = generate(
            args.task,
            args.out,
            args.samples,
            args.nodes,
            args.seed,
            workers=args.workers,
            config=_settings(args),
            overwrite=args.overwrite,
            progress=progress,
        )
    sys.stdout.write(_summary(out) + f" {out.stat().st_size / 1e6:.3g} MB.\n")


def _summary(path: Path) -> str:
    from hsd.data.dataset import Dataset

    data = Dataset(path)
    mesh = data.meshes[0]
    shape = f"{len(data.meshes)} meshes" if len(data.meshes) > 1 else f"{mesh.complex.n_vertices} vertices"
    task = f" of {data.schema.task}" if data.schema.task else ""
    return f"{path} holds {data.n_samples} samples{task} on {shape}."


def run_check(args: argparse.Namespace) -> None:
    from hsd.data.check import check_dataset, notes_on_training

    findings = check_dataset(args.file)
    notes = notes_on_training(args.file) if not findings else []
    if args.json:
        found, said = ([{"kind": f.kind, "message": f.message} for f in some] for some in (findings, notes))
        about = {"file": str(args.file), "good": not found, "findings": found, "not_trainable": said}
        sys.stdout.write(json.dumps(about) + "\n")
    else:
        for finding in findings:
            sys.stdout.write(f"[{finding.kind}] {finding.message}\n")
        if not findings:
            sys.stdout.write(_summary(args.file) + " No defects found.\n")
        for note in notes:
            sys.stdout.write(f"Not trainable [{note.kind}]: {note.message}\n")
    if findings:
        sys.stdout.flush()
        raise SystemExit(1)


def run_card(args: argparse.Namespace) -> None:
    from hsd.cli_card import card_text
    from hsd.data.card import task_card
    from hsd.hodge.cache import write_atomically

    with _progress(args) as progress:
        card = task_card(args.task, args.samples, args.nodes, args.seed, config=_settings(args), progress=progress)
    text = json.dumps(card, allow_nan=False, ensure_ascii=False, indent=1) + "\n"
    if args.out is not None:
        write_atomically(args.out, text.encode())
    if args.json or args.out is None:
        sys.stdout.write(text if args.json else card_text(card) + "\n")


def run_worker(args: argparse.Namespace) -> None:
    """Answers on the standard output: the number of each chunk, or one JSON object for an error."""
    from hsd.data.generate import PLAN, serve_chunks

    if not (args.folder / PLAN).is_file():
        raise InputError(f"{args.folder} is no folder of parts; workers are started by `data generate`.", "no_file")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it

    def answer(text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    try:
        serve_chunks(args.folder, sys.stdin, answer)
    except HsdError as error:
        answer(json.dumps({"error": {"kind": error.kind, "message": error.message}}))
        raise SystemExit(1) from error
