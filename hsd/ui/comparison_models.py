"""Which models Model Comparison offers for a task, and each of them made ready on a mesh, in bounded caches.

A model is a label of a shipped checkpoint, or ``run:ID`` for a run of one's own or for checkpoint files brought along.
Whatever keeps one from taking part is an HsdError with one sentence; nothing of it touches the other models.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from hsd.data.file_task import OWN, FileTask
from hsd.data.splits import PARTS, split_codes
from hsd.data.tasks.base import Task
from hsd.errors import HsdError, InputError
from hsd.linalg import Progress as Stages
from hsd.linalg import silent
from hsd.ui import checkpoint_files
from hsd.ui.shelf import Shelf
from hsd.ui.state_parts import ComparisonState
from hsd.ui.store import KEY
from hsd.viz.palettes import MODELS as LOOKS
from hsd.viz.palettes import Look, model_look

if TYPE_CHECKING:
    from hsd.data.domain import Domain
    from hsd.data.ground import Ground
    from hsd.metrics.yardstick import Yardstick
    from hsd.training.predictor import Predictor

RUN = "run:"
MISSING = "models without a checkpoint"
STAMPED = re.compile(r".+-(\d{4}-\d{6})-[0-9a-f]{4}")
"""Ids that the page Training makes: data, model, month and day, time, four digits."""
SIZES = ("n_nodes", "n_samples", "loss_weights")
"""Entries of a task's config that do not change what is to be predicted."""
TURN = threading.Lock()
"""Held by one prediction at a time, so that two visitors take turns model by model."""


@dataclass(frozen=True)
class Model:
    """One model to compare.  key: its name in caches and files;  title: short, for panels;  path: its checkpoint."""

    key: str
    title: str
    path: Path
    look: Look


def checkpoints_folder() -> Path:
    """Where shipped checkpoints are looked for: ``$HSD_CHECKPOINTS``, else those that came with the program."""
    from hsd.experiments.shipped import CHECKPOINTS

    return Path(os.environ.get("HSD_CHECKPOINTS") or CHECKPOINTS)


def shipped_labels(task: str) -> tuple[str, ...]:
    """Labels of a task's shipped checkpoints that are there."""
    from hsd.experiments.shipped import LABELS, shipped_path

    root = checkpoints_folder()
    return tuple(label for label in LABELS if shipped_path(task, label, root).is_file())


def own_runs(names: Set[str | None], chosen: Sequence[str] = ()) -> dict[str, str]:
    """Finished runs and checkpoints brought, of the tasks named (None: of own data), and the chosen ones, whatever
    became of them → what lists call them: the same whatever the task in force is, and never two the same."""
    from hsd.training.jobs import runs_folder

    root = runs_folder()
    runs = sorted(root.glob("*/model.safetensors"), key=_when, reverse=True) if root.is_dir() else []
    found: dict[str, str] = {}
    for path in (*checkpoint_files.kept(), *runs):
        manifest = _json(str(path.with_suffix(".json")), stamp(path)[0])
        key = path.parent.name
        if manifest is not None and (manifest.get("task") in names or key in chosen):
            model = str(manifest.get("model"))
            found[key] = file_title(path, model) if KEY.fullmatch(key) else run_title(key, model)
            if manifest.get("task") is None and (data := _data_of(path.parent)):
                found[key] += f" · {data}"
    found |= {name: run_title(name) for name in chosen if name not in found}
    counts = Counter(found.values())
    return {key: title if counts[title] == 1 else f"{title} · {key[-8:]}" for key, title in found.items()}


def _when(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0  # just deleted


def _data_of(folder: Path) -> str:
    """Name of the dataset file of a run of own data, "" where that is not known."""
    file = folder / "run.json"
    told = _json(str(file), int(_when(file))) or {}
    return Path(str(told.get("data") or "")).name


def file_title(path: Path, model: str) -> str:
    """What a checkpoint that a visitor brought is called: its model and, where that says more, its file."""
    name = LOOKS[model].name if model in LOOKS else model
    return f"{name} {path.stem[:20]}" if path.stem != model else f"{name} (file)"


def run_title(run: str, model: str = "") -> str:
    """ "HSD 28 Nov 12:35:57" where the id says when the run was begun, else the id; short enough for a panel."""
    found = STAMPED.fullmatch(run)
    name = LOOKS[model].name if model in LOOKS else model
    try:
        begun = datetime.strptime(f"2000{found[1]}", "%Y%m%d-%H%M%S") if found else None  # a leap year; not shown
    except ValueError:
        begun = None
    return f"{name} {begun:%d %b %H:%M:%S}".strip() if begun else run


@lru_cache(maxsize=256)
def _json(path: str, stamp: int) -> dict[str, Any] | None:
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def chosen_models(task: str, labels: Sequence[str], runs: Sequence[str]) -> tuple[list[Model], dict[str, str]]:
    """The models of a choice in the order of the registry, own runs last; key → sentence of those without a file.

    task : whose shipped checkpoints are meant;  OWN: none are
    """
    from hsd.experiments.shipped import LABELS, shipped_path

    models, refused, root = [], {}, checkpoints_folder()
    for label in (name for name in LABELS if name in labels):
        path = shipped_path(task, label, root)
        if path.is_file():
            models.append(Model(label, LOOKS[label].name, path, LOOKS[label]))
    refused |= _not_there(task, labels, {model.key for model in models})
    counts: Counter[str] = Counter()
    for run in runs:
        try:
            path = path_of(run)
            name = (_json(str(path.with_suffix(".json")), stamp(path)[0]) or {}).get("model", "")
        except (HsdError, OSError) as error:
            refused[RUN + run] = error.message if isinstance(error, HsdError) else f"{run} cannot be read: {error}."
            continue
        title = file_title(path, name) if KEY.fullmatch(run) else run_title(run, name)
        if any(other.title == title for other in models):
            title = run
        models.append(Model(RUN + run, title, path, model_look(title, name, counts[name])))
        counts[name] += 1
    return models, refused


def _not_there(task: str, labels: Sequence[str], found: Set[str]) -> dict[str, str]:
    """Sentences on labels that stand for no model, and on models that have no checkpoint for the task (which none can
    have for own data)."""
    from hsd.experiments.shipped import LABELS

    out = {
        label: f"There is no model {label!r}; known: {', '.join(LABELS)}." for label in labels if label not in LABELS
    }
    missing = [LOOKS[label].name for label in labels if label in LABELS and label not in found]
    if missing and task != OWN and tuple(labels) != ComparisonState().models:
        out[MISSING] = f"No checkpoint came with this task for {', '.join(missing)}; train one on the page Training."
    return out


def path_of(run: str) -> Path:
    """The checkpoint of a run by its id, or of files that a visitor brought by their key.

    Raises InputError (no_run, not_done), StoreError (expired).
    """
    from hsd.training.jobs import checkpoint_of

    return checkpoint_files.path_of(run) if KEY.fullmatch(run) else checkpoint_of(run)


def manifest_of(model: Model) -> Mapping[str, Any]:
    """The manifest, read again when the files change.  Raises InputError (see hsd.training.checkpoint)."""
    return _manifest(str(model.path), *stamp(model.path))


def stamp(path: Path) -> tuple[int, int]:
    """Changes with either file of a checkpoint; (0, 0) where one is missing."""
    try:
        both = path.stat(), path.with_suffix(".json").stat()
    except OSError:
        return 0, 0
    return max(s.st_mtime_ns for s in both), sum(s.st_size for s in both)


@st.cache_resource(max_entries=64, show_spinner=False)
def _manifest(path: str, stamp: int, size: int) -> Mapping[str, Any]:
    from hsd.training.checkpoint import read_manifest

    return read_manifest(path)


def check_task(model: Model, task: Task) -> None:
    """Refuse checkpoints of another task, or of this one with another equation.  Raises InputError (other_task)."""
    manifest = manifest_of(model)
    is_file = isinstance(task, FileTask)
    if is_file and manifest["task"] is None:
        return  # whether its fields are those of the file the signature says (other_signature)
    if manifest["task"] is None:
        raise InputError(
            f"{model.title} was trained on a dataset file of one's own, not on {task.title}; choose “Own dataset file” "
            "under Task to see it.",
            "other_task",
        )
    if manifest["task"] != task.family:
        here = f"data like {task.title}" if is_file else task.name
        raise InputError(
            f"{model.title} was trained on {manifest['task']}, not on {here}; choose that task, or another model.",
            "other_task",
        )
    own = json.loads(json.dumps(task.config_dict))
    differing = [
        f"{key} = {value}"
        for key, value in (manifest.get("task_config") or {}).items()
        if key not in SIZES and own.get(key) != value
    ]
    if differing:
        raise InputError(
            f"{model.title} was trained on another form of {task.title} ({', '.join(differing)}), whose truth is not "
            "the one shown; choose another model.",
            "other_task",
        )


def own_nodes(models: Sequence[Model]) -> int:
    """Vertices aimed at on the mesh that most of the models were trained on; 0 where none says."""
    said = []
    for model in models:
        try:
            said.append(int(manifest_of(model)["domain"].get("n_nodes", 0)))
        except HsdError:
            continue
    return Counter(said).most_common(1)[0][0] if said else 0


def part_of_sample(model: Model, seed: int, i: int) -> str:
    """ "train", "validation" or "test" where the sample belongs to the model's data, else "unseen"."""
    data = manifest_of(model).get("data") or {}
    n, split = data.get("n_samples"), (data.get("split") or {}).get("seed", data.get("seed"))
    if data.get("seed") != seed or not isinstance(n, int) or i >= n or split is None:
        return "unseen"
    return _parts(n, int(split))[i]


@lru_cache(maxsize=16)
def _parts(n: int, seed: int) -> tuple[str, ...]:
    names = {code: name for name, code in PARTS.items()}
    return tuple(names[int(code)] for code in split_codes(n, seed))


def test_scores(model: Model) -> Mapping[str, float] | None:
    """Metrics on the test part from the records that came with the program; None where none is of this checkpoint."""
    from hsd.experiments.records import RESULTS, read_json

    manifest = manifest_of(model)
    if "protocol" not in manifest:
        return None
    record = read_json(RESULTS / "runs" / f"{manifest['protocol']['entry']}.json") or {}
    return record.get("test") if record.get("sha256") == manifest["sha256"] else None


# ---- made ready --------------------------------------------------------------------------------------------------


def device_of(wish: str) -> tuple[str, str]:
    """The device in force, and a sentence where it is not the one wished for."""
    from hsd.training.run import chosen_device

    leave_a_core()
    try:
        return chosen_device(wish), ""
    except InputError:
        return "cpu", "There is no GPU here, so the models run on the CPU."


@lru_cache(maxsize=1)
def leave_a_core() -> None:
    """One core is left to the browser and the server's other threads, which PyTorch's own would wait for and push
    aside; fewer threads than that are left as they are."""
    import torch

    torch.set_num_threads(max(1, min(torch.get_num_threads(), (os.cpu_count() or 2) - 1)))


def device_name(device: str) -> str:
    """The device in words."""
    import torch

    if device.startswith("cuda"):
        return torch.cuda.get_device_name()
    return f"CPU, {torch.get_num_threads()} thread{'s' if torch.get_num_threads() > 1 else ''}"


_domains: Shelf[Domain] = Shelf(5)


def domain_of(model: Model, task: Task, ground: Ground, device: str, progress: Stages = silent) -> Domain:
    """The mesh with the number of modes that a model reads; shared by all models of that number."""
    about = manifest_of(model)["domain"]
    n_modes, grid = int(about["n_modes"]), int(about["grid_size"])

    def make() -> Domain:
        from hsd.data.domain import Domain
        from hsd.data.domain_arrays import DomainSpec

        spec = DomainSpec.of(task, n_modes, grid)
        fields, frame = task.built_on(ground)
        return Domain.from_mesh(ground.mesh, spec, fields, frame, progress, ground).to(device)

    return _domains.get((task.name, ground.mesh.content_hash, n_modes, grid, device), make)


def prepare(model: Model, task: Task, ground: Ground, device: str, progress: Stages) -> None:
    """Make ready what a model's first answer on a mesh takes, with its stages.  Raises as :func:`predictor_of`."""
    predictor = predictor_of(model, task, ground, device, progress)
    if predictor.model.fiber_lifts(predictor.model.config) is not None:
        progress("factors of the resolvents", None)
        predictor.domain.prepare_fiber()
    progress("metrics", None)
    yardstick_of(task, ground)


def predictor_of(model: Model, task: Task, ground: Ground, device: str, progress: Stages = silent) -> Predictor:
    """A model on a mesh.  Raises InputError (of the checkpoint; other_task, other_mesh, other_signature)."""
    check_task(model, task)
    _check_mesh(model, task, ground)
    domain = domain_of(model, task, ground, device, progress)
    try:
        return _predictor(str(model.path), stamp(model.path), ground.mesh.content_hash, device, domain)
    except InputError as error:
        if error.kind != "other_signature":
            raise
        raise InputError(
            f"{model.title} was trained on other fields than {task.equation}; choose a model that was trained on data "
            f"like {task.title}.",
            "other_signature",
        ) from error


@st.cache_resource(max_entries=24, show_spinner=False)
def _predictor(path: str, stamp: tuple, mesh: str, device: str, _domain: Domain) -> Predictor:
    from hsd.training.predictor import predictor_on

    return predictor_on(path, _domain, notify=lambda notice: None)  # the page says them: comparison_view.mesh_words


def _check_mesh(model: Model, task: Task, ground: Ground) -> None:
    """Mesh-bound models have weights that fit no other mesh; said before they are put together."""
    from hsd.models.registry import model_class

    manifest = manifest_of(model)
    cls, own = model_class(manifest["model"]), manifest["domain"]
    bound = not cls.mesh_free or manifest["model_config"].get("variant") == "paper"
    if bound and own["mesh_hash"] != ground.mesh.content_hash:
        way = "choose “as trained” under Remesh" if not isinstance(task, FileTask) else "give a file with that mesh"
        raise InputError(
            f"{model.title} is bound to the mesh that it was trained on ({own['mesh_name']}, {own['n_vertices']} "
            f"vertices) and cannot run on this one ({ground.mesh.complex.n_vertices} vertices); {way} to see it.",
            "other_mesh",
        )


def yardstick_of(task: Task, ground: Ground) -> Yardstick:
    """What all models are scored with on a mesh."""
    return _yardstick(task.name, ground.mesh.content_hash, task, ground)


@st.cache_resource(max_entries=4, show_spinner=False)
def _yardstick(name: str, mesh: str, _task: Task, _ground: Ground) -> Yardstick:
    from hsd.metrics.yardstick import Yardstick
    from hsd.training.evaluate import VORTICITY_TASKS

    target = _task.target
    return Yardstick.of(_ground, target.degree, target.reading, is_vorticity=_task.family in VORTICITY_TASKS)
