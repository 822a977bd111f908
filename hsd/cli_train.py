"""``python -m hsd train | resume | evaluate | predict | models | tasks``."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hsd.cli_progress import Progress, duration
from hsd.cli_text import count, table, whole_number
from hsd.errors import HsdError, InputError
from hsd.processes import INTERRUPT_CODE, StopWish

if TYPE_CHECKING:
    from hsd.training.run import RunSpec

PARTS = ("validation", "test", "train")


def add_commands(commands: argparse._SubParsersAction) -> None:
    """The commands on operators; each sets ``run`` to its function."""
    train = commands.add_parser("train", help="train a model on a task, or on a dataset file")
    train.add_argument("task", metavar="TASK", help="name of a task, or a dataset file (.npz)")
    train.add_argument("model", metavar="MODEL", help="hsd, hsd-tiny, fno3d, … (see `models`)")
    train.add_argument("--out", type=folder_name, required=True, help="run folder: settings, log, state, checkpoint")
    train.add_argument("--samples", type=whole_number, default=None, help="samples of the task's dataset (3000)")
    train.add_argument("--nodes", type=whole_number, default=None, help="vertices aimed at (the task's)")
    train.add_argument("--data-seed", type=whole_number, default=0, help="seed of samples and split (0)")
    train.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    train.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="entry of the training config (epochs=50, or minutes=6 in its place, batch_size=64, lr=1e-3, …), of the "
        "model's config (model.layers=8) or of the task's (task.velocity=rotation); may be repeated.  Minutes are of "
        "computing: on a CPU its seconds over the threads, without waiting, start-up and validation; on a GPU wall "
        "clock of the steps",
    )
    _add_running(train)
    train.set_defaults(run=run_train)

    resume = commands.add_parser("resume", help="go on with a run that was stopped or killed")
    resume.add_argument("folder", metavar="DIR", type=Path)
    _add_running(resume)
    resume.add_argument("--finish", action="store_true", help="train no more, make a checkpoint of the best weights")
    resume.set_defaults(run=run_resume)

    score = commands.add_parser("evaluate", help="all metrics of a checkpoint on a dataset")
    score.add_argument("checkpoint", metavar="CKPT", type=Path, help="a checkpoint, or a run folder")
    score.add_argument(
        "--data", type=Path, help="dataset file (default: that of the run folder, or made from the recorded seed)"
    )
    score.add_argument("--part", choices=PARTS, default="validation", help="part of its split (validation)")
    score.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    score.add_argument("--json", action="store_true", help="print one JSON object")
    _add_progress(score)
    score.set_defaults(run=run_evaluate)

    predict = commands.add_parser("predict", help="predictions of a checkpoint for the samples of a dataset file")
    predict.add_argument("checkpoint", metavar="CKPT", type=Path, help="a checkpoint, or a run folder")
    predict.add_argument("--input", type=Path, required=True, help="dataset file with the inputs")
    predict.add_argument("--out", type=Path, required=True, help=".npz to write: sample and mesh numbers, nodes, forms")
    predict.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    _add_progress(predict)
    predict.set_defaults(run=run_predict)

    models = commands.add_parser("models", help="the models: parameters on each task, what each reads")
    models.add_argument("--nodes", type=whole_number, default=300, help="size of the domains they are counted on (300)")
    models.add_argument("--json", action="store_true", help="print one JSON object")
    models.set_defaults(run=run_models)

    tasks = commands.add_parser("tasks", help="the tasks and their equations")
    tasks.add_argument("--json", action="store_true", help="print one JSON object")
    tasks.set_defaults(run=run_tasks)


def folder_name(text: str) -> Path:
    """A path; an empty text, as of a variable that is not set, is none."""
    if not text:
        raise argparse.ArgumentTypeError("the name of a folder is empty")
    return Path(text)


def _add_running(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=count, default=None, help="CPU threads (all)")
    parser.add_argument("--workers", type=count, default=1, help="processes that make the data (1)")
    parser.add_argument(
        "--steps", type=whole_number, default=0, help="stop after so many optimiser steps (0: no limit)"
    )
    parser.add_argument("--queue", action="store_true", help="wait until no other queued run trains on the device")
    _add_progress(parser)


def _add_progress(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--progress", action="store_true", help="report progress even where there is no terminal")


def _progress(args: argparse.Namespace) -> Progress:
    live = sys.stderr.isatty()
    return Progress(sys.stderr if live or args.progress else None, live)


# ---- commands ----------------------------------------------------------------------------------------------------


def run_train(args: argparse.Namespace) -> int:
    with StopWish(_speaks()) as stopping:  # from the start: torch takes seconds to load, and is not to be interrupted
        return _begun(args, stopping)


def _begun(args: argparse.Namespace, stopping: StopWish) -> int:
    from hsd.training.parallel import is_alone
    from hsd.training.refusal import check_run, discard
    from hsd.training.run import make_folder, use_threads

    with _said_once():
        spec = _spec_of(args)
        check_run(spec)
        use_threads(args.threads)
        is_new = not args.out.exists()
        held_nothing = is_new or (args.out.is_dir() and not any(args.out.iterdir()))
        make_folder(args.out, spec)
    try:
        return _run(args.out, args, stopping)
    except (HsdError, OSError):
        if held_nothing and is_alone():
            discard(args.out, is_new)
        raise


def _spec_of(args: argparse.Namespace) -> RunSpec:
    from hsd.data.plan import parse_setting
    from hsd.models.registry import model_named
    from hsd.training.config import TrainingConfig
    from hsd.training.run import RunSpec

    model, entries = model_named(args.model)
    of_task = [text.removeprefix("task.") for text in args.set if text.startswith("task.")]
    rest = [text for text in args.set if not text.startswith("task.")]
    training = TrainingConfig(model, entries).with_entries(rest)
    if training.minutes and any(text.startswith("epochs=") for text in rest):
        raise InputError("A run has one budget: set either epochs or minutes, not both.", "bad_config")
    is_file = args.task.endswith(".npz")
    if not is_file and Path(args.task).is_file():
        raise InputError(
            f"{args.task} is no dataset file (.npz): make one of your fields (README: Tasks, data and operators), or "
            "name a task.",
            "unknown_format",
        )
    if is_file and (of_task or args.samples or args.nodes):
        raise InputError("A dataset file has its samples already; leave out --samples, --nodes and task.…", "bad_run")
    return RunSpec(
        training,
        task=None if is_file else args.task,
        task_config=dict(parse_setting(text) for text in of_task),
        n_samples=args.samples,
        n_nodes=args.nodes,
        data_seed=args.data_seed,
        data=str(Path(args.task).resolve()) if is_file else None,
        device=args.device,
    )


def run_resume(args: argparse.Namespace) -> int:
    with StopWish(_speaks()) as stopping:
        from hsd.training.run import read_folder, use_threads

        with _said_once():
            read_folder(args.folder)
            use_threads(args.threads)
        return _run(args.folder, args, stopping, args.finish)


def _speaks() -> bool:
    """Whether this process is the one of a ``torchrun`` that speaks, told without loading torch."""
    return os.environ.get("RANK", "0") == "0"


@contextlib.contextmanager
def _said_once() -> Iterator[None]:
    """Of the processes that ``torchrun`` starts on a machine the first one says what is wrong with their settings; the
    others only end."""
    try:
        yield
    except HsdError as error:
        if os.environ.get("LOCAL_RANK", "0") != "0":
            raise SystemExit(1) from error
        raise


def _run(folder: Path, args: argparse.Namespace, stopping: StopWish, finish: bool = False) -> int:
    """Train; returns the exit code."""
    from hsd.training.jobs import STOPPED, tail
    from hsd.training.run import read_folder
    from hsd.training.word import Word

    spec, before, speaks = read_folder(folder), len(tail(folder)), _speaks()
    with Word(folder, speaks) as word:
        try:
            path, code = _trained(folder, spec, args, stopping, finish), stopping.exit_code
        except KeyboardInterrupt:  # the second Ctrl-C: it goes on from the state last saved
            path, code = None, INTERRUPT_CODE
        if not speaks:  # of several processes the first one tells: it may still be saving
            return 0
        if path is None:
            said = f"{STOPPED} `python -m hsd resume {shlex.quote(str(folder))}` goes on with it."
        else:
            code, entries = 0, tail(folder)
            epochs = f"{len(entries)} epoch{'s' * (len(entries) != 1)}"
            if len(entries) == before and not finish:
                sys.stdout.write(f"The run in {folder} was finished already.\n")
            said = (
                f"{spec.training.model}: best validation relative L2 {entries[-1]['best']:.4g} after {epochs} "
                f"({duration(entries[-1]['seconds'])} of training). Checkpoint: {path}"
            )
        word.say(said)
        sys.stdout.write(said + "\n")
    return code


def _trained(folder: Path, spec: RunSpec, args: argparse.Namespace, stopping: StopWish, finish: bool) -> Path | None:
    """The checkpoint, or None where the run was stopped before its end."""
    from hsd.training.jobs import goes_on, wait_for_device
    from hsd.training.run import check_data, chosen_device, run

    live, note = sys.stderr.isatty(), [""]
    with Progress(sys.stderr if _speaks() and (live or args.progress) else None, live) as progress:

        def shown(stage: str, fraction: float | None = None) -> None:
            progress(stage, fraction, note[0])

        def report(entry: dict) -> None:
            note[0] = (
                f"epoch {entry['epoch'] + 1}, train {entry['train_loss']:.4g}, "
                f"validation {entry['validation']:.4g} (best {entry['best']:.4g})"
            )
            if entry["total_steps"]:
                shown("training", entry["step"] / entry["total_steps"])

        lock = None
        if args.queue and _speaks():
            check_data(spec)
            lock = wait_for_device(folder, chosen_device(spec.device), stopping)
        path = None
        if not stopping():  # asked to stop while it trains, it ends at the next step, its state kept
            path = run(
                folder, shown, report, stopping, args.workers, args.steps, finish,
                lambda: args.queue and goes_on(folder),
            )  # fmt: skip
        if lock is not None:
            lock.release()
        return path


def _note(notice: str) -> None:
    sys.stderr.write(f"note: {notice}\n")


def run_evaluate(args: argparse.Namespace) -> None:
    from hsd.metrics.registry import COCHAIN_METRICS, METRICS
    from hsd.training.evaluate import evaluate_meshes
    from hsd.training.loading import dataset_of_checkpoint, predictors
    from hsd.training.run import checkpoint_in, own_data_of

    given, args.checkpoint = args.checkpoint, checkpoint_in(args.checkpoint)
    if args.data is None and given.is_dir():
        args.data = own_data_of(given)
    with _progress(args) as progress:
        dataset = dataset_of_checkpoint(args.checkpoint, args.data, progress)
        made = predictors(args.checkpoint, dataset, args.part, args.device, progress, notify=_note)
        scores, latency = evaluate_meshes(made, dataset, args.part, progress=progress)
    means, spread, count = scores.mean, scores.std, len(dataset.part(args.part))
    if args.json:
        about = {"checkpoint": str(args.checkpoint), "part": args.part, "data": str(dataset.path)}
        about |= {"samples": count, "meshes": len(dataset.meshes)}
        sys.stdout.write(json.dumps({**about, "mean": means, "std": spread, "latency_ms": latency}) + "\n")
        return
    titles = METRICS | COCHAIN_METRICS
    rows = [[titles[n].title, f"{means[n]:.5g}", f"{spread[n]:.3g}", titles[n].formula] for n in means]
    sys.stdout.write(table(rows, ["metric", "mean", "std", "formula"]) + "\n")
    on = f" on {len(dataset.meshes)} meshes" if len(dataset.meshes) > 1 else ""
    now = f"a prediction of one sample takes {latency:.1f} ms here and now (median of a few, warm)"
    sys.stdout.write(f"{args.part}, {count} samples{on}; {now}.\n")


def run_predict(args: argparse.Namespace) -> None:
    import io

    import numpy as np

    from hsd.hodge.cache import write_atomically
    from hsd.training.loading import dataset_of_checkpoint, predict_all, predictors
    from hsd.training.run import checkpoint_in

    if args.out.suffix != ".npz":
        raise InputError(f"Predictions are written as .npz; give --out such a name (got {args.out}).", "suffix")
    if args.out.resolve() == args.input.resolve():
        raise InputError(
            f"--out {args.out} is the input itself, which would be lost; choose another file for the predictions.",
            "same_file",
        )
    args.checkpoint = checkpoint_in(args.checkpoint)
    with _progress(args) as progress:
        dataset = dataset_of_checkpoint(args.checkpoint, args.input, progress)
        made = predictors(args.checkpoint, dataset, None, args.device, progress, notify=_note)
        fields = predict_all(made, dataset, progress)
    arrays = {"sample": np.arange(dataset.n_samples), "mesh_of_sample": np.asarray(dataset.mesh_of_sample)}
    arrays["nodes"] = fields.nodes.astype(np.float32)
    if fields.forms is not None:
        arrays["forms"] = fields.forms.astype(np.float32)
    file = io.BytesIO()
    np.savez(file, **arrays)
    write_atomically(args.out, file.getvalue())
    on = f" on {len(dataset.meshes)} meshes, short rows ending in zeros" if len(dataset.meshes) > 1 else ""
    sys.stdout.write(f"{args.out} holds predictions for {len(fields.nodes)} samples{on}.\n")


def run_models(args: argparse.Namespace) -> None:
    from hsd.models.presets import TINIER_ALREADY
    from hsd.training.loading import model_table

    rows = model_table(args.nodes)
    if args.json:
        sys.stdout.write(json.dumps(rows) + "\n")
        return
    tasks = list(next(iter(rows.values()))["parameters"])
    head = ["MODEL", "title", *tasks, "other meshes", "reads"]
    lines = [
        [
            name,
            row["title"],
            *(f"{row['parameters'][t]:,}" for t in tasks),
            "yes" if row["mesh_free"] else "no",
            row["reads"],
        ]
        for name, row in rows.items()
    ]
    sys.stdout.write(table(lines, head) + "\nTrained real numbers (complex ones count twice); buffers do not count.\n")
    sys.stdout.write(f"On {' and '.join(TINIER_ALREADY)} hsd is as small as hsd-tiny already, or smaller.\n")


def run_tasks(args: argparse.Namespace) -> None:
    from hsd.data.tasks import TASKS, task

    rows = {name: {"title": task(name).title, "equation": task(name).equation} for name in TASKS}
    if args.json:
        sys.stdout.write(json.dumps(rows) + "\n")
        return
    lines = [[name, row["title"], row["equation"]] for name, row in rows.items()]
    sys.stdout.write(table(lines, ["task", "title", "equation"]) + "\n")
