"""What the Tasks page shows, without its layout: cached grounds, samples and pictures, titles, words on conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from hsd import __version__
from hsd.data.blocks import WIDTH
from hsd.data.dataset import Dataset
from hsd.data.file_task import OWN, FileTask
from hsd.data.ground import Ground
from hsd.data.tasks import TASKS, task
from hsd.data.tasks.base import Realisation, Task
from hsd.errors import HsdError, InputError
from hsd.mesh.mesh import Mesh
from hsd.ui import cached, task_files
from hsd.ui.page import Domain, condition_sentence, device_words
from hsd.ui.state import AppState
from hsd.viz import build
from hsd.viz.task_sample import Sample, Shown, file_sample, history, hodge_parts, mass_size, record_sample, task_sample
from hsd.viz.task_scene import Picture, Place, picture_of, slice_place

NODES = (0, 1500, 3000, 7000)
SPLITS = {"making": "By making", "states": "States", "hodge": "Hodge parts"}
SPACES = {"slice": "Cut z = 0", "ball": "In space"}
N_GLYPHS = 420
"""Arrows a panel; panels are small."""


@st.cache_resource(show_spinner=False)
def titles() -> dict[str, str]:
    """Name → title of the tasks, and of the visitor's own file."""
    return {name: task(name).title for name in TASKS} | {OWN: "Own dataset file"}


def nodes_of(state: AppState) -> list[int]:
    """Resolutions to choose from, that of the link included."""
    return sorted({*NODES, state.tasks.nodes})


@dataclass(frozen=True, eq=False)
class Loaded:
    """The sample in force and where it is from: a task (which a file may be, too) or a dataset file, never both.

    key : determines the sample, for caches;  star, bc : in force
    """

    key: tuple
    sample: Sample
    task: Task | None = None
    data: Dataset | None = None
    star: str = "galerkin"
    bc: str = "absolute"

    @property
    def mesh(self) -> Mesh:
        return self.sample.ground.mesh

    @property
    def n_samples(self) -> int:
        """Samples to step through: those of the file, or as many as the state can count."""
        return self.data.n_samples if self.data is not None else 1_000_000

    @property
    def splits(self) -> tuple[str, ...]:
        return ("making" if self.sample.making else "states", "hodge")


def loaded(state: AppState) -> Loaded | None:
    """The sample in force; None where no dataset file is chosen yet.  Raises HsdError."""
    choice = state.tasks
    if choice.name != OWN:
        return drawn_sample(choice.name, choice.nodes, state.seed, choice.sample)
    if not choice.file:
        return None
    path = task_files.path_of(choice.file)
    data = task_files.dataset_of(path)
    number = min(choice.sample, data.n_samples - 1)
    version = task_files.stamp(path)
    ground = _file_ground(version, int(data.mesh_of_sample[number]), data)
    key = (*version, number)
    return Loaded(key, _file_sample(key, data, ground), None, data, data.schema.star, data.schema.bc)


def file_sample_of(reference: str, i: int) -> Loaded:
    """Sample i (or the last) of a dataset file, by its key or path, as a task's.  Raises HsdError."""
    if not reference:
        raise InputError("There is no dataset file yet: give one at the left under Own dataset file.", "no_file")
    path = task_files.path_of(reference)
    version, data = task_files.stamp(path), task_files.dataset_of(path)
    made = _file_task(version, data)
    number = min(i, data.n_samples - 1)
    ground = _file_ground(version, int(data.mesh_of_sample[number]), data)
    key = (*version, number)
    return Loaded(key, _file_sample(key, data, ground), made, None, made.star, made.bc)


@st.cache_resource(max_entries=8, show_spinner=False)
def _file_task(version: tuple, _data: Dataset) -> FileTask:
    return FileTask(_data)


def drawn_sample(name: str, nodes: int, seed: int, i: int) -> Loaded:
    """Sample i of a seed of a task, on a mesh of about ``nodes`` vertices (0: the task's default)."""
    made, ground = ground_of(name, nodes)
    key = (name, nodes, seed, i)
    return Loaded(key, _sample(*key, made, ground), made)


def ground_of(name: str, nodes: int) -> tuple[Task, Ground]:
    """The task and its domain with about ``nodes`` vertices (0: the task's default)."""
    return _ground(name, nodes)


@st.cache_resource(max_entries=8, show_spinner="Making the domain of the task")
def _ground(name: str, nodes: int) -> tuple[Task, Ground]:
    with cached.HEAVY:
        made = task(name)
        return made, Ground(made.mesh(nodes or None))


@st.cache_resource(max_entries=48, show_spinner="Making the sample")
def _sample(name: str, nodes: int, seed: int, i: int, _task: Task, _ground: Ground) -> Sample:
    with cached.HEAVY:
        if not _task.time_dependent:
            return task_sample(_task, _ground, seed, i)
        first = i - i % WIDTH
        made = _neighbours(name, nodes, seed, first, _task, _ground)
        return record_sample(_task, _ground, _task.sample(seed, i), made[i - first : i - first + 1])


@st.cache_resource(max_entries=12, show_spinner=False)
def _neighbours(name: str, nodes: int, seed: int, first: int, _task: Task, _ground: Ground) -> Realisation:
    """Samples first … first + WIDTH − 1: a flow solves so many at once in the time of one, with equal results."""
    return _task.realise(_task.samples(seed, first, first + WIDTH), _ground)


@st.cache_resource(max_entries=4, show_spinner="Reading the mesh of the dataset")
def _file_ground(version: tuple, mesh: int, _data: Dataset) -> Ground:
    return Ground(_data.meshes[mesh], _data.schema.star, _data.schema.bc)


@st.cache_resource(max_entries=48, show_spinner="Reading the sample")
def _file_sample(key: tuple, _data: Dataset, _ground: Ground) -> Sample:
    return file_sample(_data, _ground, key[-1])


# ---- pictures ----------------------------------------------------------------------------------------------------


def place_of(mesh: Mesh, space: str) -> Place:
    """Where fields are drawn: the surface, the ball, or its cut z = 0."""
    return _place(mesh.content_hash, "slice" if mesh.dim == 3 and space == "slice" else "ball", mesh)


@st.cache_resource(max_entries=12, show_spinner="Preparing the picture")
def _place(key: str, space: str, _mesh: Mesh) -> Place:
    if space == "slice":
        return slice_place(_mesh)
    surface = cached.surface_of(_mesh)
    glyphs = build.glyphs_of(_mesh, surface, N_GLYPHS) if _mesh.dim >= 2 else None
    return Place(_mesh, surface, glyphs)


def parts_of(ready: Loaded, split: str) -> tuple[Shown, ...]:
    """What the target (or the state, at all times) is split into."""
    if split == "hodge":
        return _hodge(ready.key, ready.sample)
    return ready.sample.making


@st.cache_resource(max_entries=48, show_spinner="Splitting the field")
def _hodge(key: tuple, _sample: Sample) -> tuple[Shown, ...]:
    with cached.HEAVY:
        return hodge_parts(_sample, _sample.target if _sample.states is None else _sample.states)


def picture_in(ready: Loaded, split: str, space: str) -> Picture:
    """All arrays of the picture, one object a view, so that the viewer is sent it once."""
    return _picture(ready.key, split, space, ready)


@st.cache_resource(max_entries=16, show_spinner="Preparing the picture")
def _picture(key: tuple, split: str, space: str, _ready: Loaded) -> Picture:
    return picture_of(place_of(_ready.mesh, space), _ready.sample, parts_of(_ready, split))


def history_of(ready: Loaded) -> dict[str, np.ndarray]:
    """Curves of the trajectory."""
    return _history(ready.key, ready.sample)


@st.cache_resource(max_entries=48, show_spinner=False)
def _history(key: tuple, _sample: Sample) -> dict[str, np.ndarray]:
    return history(_sample)


def sizes_of(ready: Loaded) -> dict[str, float]:
    """What drifts of the curves are measured by."""
    return {name: mass_size(ready.sample) for name in history_of(ready) if name.startswith("∫")}


# ---- words -------------------------------------------------------------------------------------------------------


def domain_of(state: AppState, ready: Loaded | None) -> Domain:
    """Header and provenance of the page."""
    if ready is None:
        return Domain(None, ("", ""), f"Tasks · {device_words()} · hsd {__version__}")
    mesh, kinds = ready.mesh, ("vertices", "edges", "triangles", "tetrahedra")
    sizes = [f"{n:,}".replace(",", "\u202f") for n in (mesh.complex.n_vertices, mesh.complex.n(mesh.dim))]
    badges = (f"{mesh.name}: {sizes[0]} vertices", f"{sizes[1]} {kinds[mesh.dim]}")
    return Domain(mesh, badges, " · ".join(f"{k} {v}" for k, v in provenance_record(state, ready).items()))


def provenance_record(state: AppState, ready: Loaded) -> dict[str, str]:
    """What the picture and every exported file were made from."""
    mesh = ready.mesh
    out = {"task": ready.task.name if ready.task else "own data", "sample": str(ready.key[-1])}
    if ready.task is not None:
        out |= {"seed": str(state.seed), "nodes": str(state.tasks.nodes or ready.task.config.n_nodes)}
    else:
        out["file"] = ready.data.path.name
    out |= {"mesh": mesh.name, "mesh_hash": mesh.content_hash, "star": ready.star, "boundary": ready.bc}
    return out | {"device": device_words(), "version": __version__}


def conditions(ready: Loaded) -> str:
    """Boundary condition, star and sign convention in words."""
    words = condition_sentence(ready.mesh, ready.sample.target.degree, ready.bc, ready.star)
    return f"{words} Node values are read through one sharp map, the one that models are scored on."


def caption(ready: Loaded, split: str, space: str) -> str:
    """The sentence under the picture."""
    sample, picture = ready.sample, picture_in(ready, split, space)
    what = f"Sample {ready.key[-1]}" + (f" of seed {ready.key[2]}" if ready.task else f" of {ready.data.path.name}")
    text = f"{what}. Target, states and parts share one scale."
    if sample.states is not None:
        text += " The slider plays the trajectory in the page."
        text += " Arrows: the velocity." if sample.carrier is not None else ""
    elif split == "hodge":
        text += " Hodge parts of the target; parts that are zero to rounding are left out."
    elif sample.making:
        text += " Parts by the making of the target; they add up to it."
    if picture.end < picture.top:
        letter = picture.target.symbol
        text += f" Colours of {letter} end at its 98 % quantile; the largest length is {picture.top:.3g}."
    if ready.mesh.dim == 3 and space == "slice":
        text += " Plane cut z = 0: colour is the length, arrows the in-plane part."
    return text


def step_of(state: AppState, ready: Loaded) -> int:
    """Step of the player in force."""
    n = len(ready.sample.times)
    return n // 2 if state.tasks.step < 0 else min(state.tasks.step, n - 1)


def kept_open(state: AppState) -> tuple[Loaded | None, str]:
    """The sample in force, or None and the sentence that says why there is none."""
    try:
        return loaded(state), ""
    except HsdError as error:
        return None, error.message
