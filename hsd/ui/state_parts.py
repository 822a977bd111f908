"""The parts of the state that belong to one page each; :mod:`hsd.ui.state` puts them together."""

from __future__ import annotations

from dataclasses import dataclass, field

from hsd.data.tasks import TASKS

QUICK_TRAINING = ("epochs=60", "model.n_modes=64", "model.channels=4", "model.hidden=16")
"""Settings with which the default run of the page Training ends within a minute on two cores."""


def item(default, url: str = "", choices: tuple = (), low: float | None = None, high: float | None = None):
    """A field of the state: default, name in the URL (none: its path), and what values it may have."""
    return field(default=default, metadata={"url": url, "choices": choices, "low": low, "high": high})


@dataclass(frozen=True)
class MeshState:
    """Which mesh: a gallery shape of about n vertices, or an uploaded file by its key in the store.

    repair : steps of hsd.mesh.repair in order;  scale : positions are multiplied by it;  unit : its name, for captions
    fill_triangles, radius : how a graph or a point cloud becomes a complex (radius 0: automatic)
    defect, edges, clip : what the Mesh page marks ("" : all), whether it draws edges, where it cuts tets
    """

    name: str = item("torus", "mesh")
    n: int = item(2000, "n", low=1, high=200_000)
    upload: str = item("", "file")
    repair: tuple[str, ...] = item((), "repair")
    max_hole: int = item(12, "hole", low=3, high=500)
    scale: float = item(1.0, "scale", low=1e-12, high=1e12)
    unit: str = item("", "unit")
    fill_triangles: bool = item(False, "fill")
    radius: float = item(0.0, "radius", low=0.0, high=1e300)
    defect: str = item("", "defect")
    edges: bool = item(False, "wire0")
    clip: float = item(0.55, "clip0", low=0.0, high=1.0)


@dataclass(frozen=True)
class ModesState:
    """Harmonic Modes: the mode shown (column by eigenvalue), what is drawn over it, where tets are cut.

    turn, partner, rotation : rotation of the mode within its block towards another mode of it, degrees
    """

    mode: int = item(0, "mode", low=0, high=100_000)
    turn: bool = item(False, "turn")
    partner: int = item(-1, "partner", low=-1, high=100_000)
    rotation: float = item(0.0, "rot", low=-360.0, high=360.0)
    arrows: bool = item(True, "arrows")
    generators: bool = item(True, "loops")
    edges: bool = item(False, "wire")
    clip: float = item(0.55, "clip", low=0.0, high=1.0)


@dataclass(frozen=True)
class DecompositionState:
    """Hodge Decomposition; the field itself is ``AppState.field`` (a key of the store), or without one a preset.

    weight_… : where the sliders in the page start;  time : of the heat flow, in units of L²
    show : view;  tool : what a click does;  selected : id of the point that strength and width belong to
    entry : how the field enters ("form": its cochain, "vectors": node vectors through ♭);  loop : generator drawn
    """

    preset: str = item("mixture", "preset")
    weight_exact: float = item(1.0, "wd", low=-2.0, high=2.0)
    weight_coexact: float = item(1.0, "wdelta", low=-2.0, high=2.0)
    weight_harmonic: float = item(1.0, "wgamma", low=-2.0, high=2.0)
    time: float = item(0.0, "t", low=0.0, high=1e6)
    show: str = item("parts", "show", ("parts", "potentials", "heat", "zeros", "checks"))
    tool: str = item("look", "tool", ("look", "source", "sink", "vortex"))
    strength: float = item(1.0, "strength", low=-3.0, high=3.0)
    width: float = item(0.2, "width", low=0.02, high=1.0)
    depth: float = item(0.0, "depth", low=0.0, high=2.0)
    selected: str = item("", "point")
    entry: str = item("form", "entry", ("form", "vectors"))
    arrows: bool = item(True, "arrows3")
    loop: int = item(-1, "loop", low=-1, high=100_000)
    broken: str = item("", "broken", ("", "wrong star", "flipped sign"))
    clip: float = item(0.55, "clip3", low=0.0, high=1.0)


@dataclass(frozen=True)
class SpectrumState:
    """Spectral Energy: the field looked at, number of modes kept (0: half of them), what is drawn and how.

    source : "composed" (``AppState.field``), "file:" and a field of the mesh file, or a preset of hsd.dec.preset_fields
    of : a field on the mesh in force, or the models of ``ComparisonState`` on its sample;  kept: modes kept there
    """

    source: str = item("waves", "source")
    axis: str = item("x", "axis", ("x", "y", "z"))
    cut: int = item(0, "cut", low=0, high=100_000)
    log: bool = item(True, "log")
    sums: bool = item(False, "sums")
    arrows: bool = item(True, "arrows2")
    clip: float = item(0.55, "clip2", low=0.0, high=1.0)
    of: str = item("field", "of", ("field", "models"))
    kept: int = item(0, "kept", low=0, high=100_000)
    band: bool = item(True, "band")


@dataclass(frozen=True)
class TasksState:
    """Tasks: which sample of which task, or of the dataset file ``file`` (key in the store or a path; name "own").

    nodes : vertices aimed at (0: the task's);  split : what the target is split into;  space : how tets are drawn
    step : of the trajectory (-1: the middle);  card : samples of a card computed here (0: the shipped card)
    The seed is ``AppState.seed``.
    """

    name: str = item("external_aerodynamics", "task", (*TASKS, "own"))
    sample: int = item(0, "sample", low=0, high=999_999)
    nodes: int = item(0, "nodes", low=0, high=20_000)
    split: str = item("making", "split", ("making", "states", "hodge"))
    space: str = item("slice", "space", ("slice", "ball"))
    step: int = item(-1, "step", low=-1, high=100_000)
    arrows: bool = item(True, "arrows4")
    clip: float = item(0.5, "clip4", low=0.0, high=1.0)
    file: str = item("", "data")
    card: int = item(0, "card", low=0, high=10_000)


@dataclass(frozen=True)
class TrainingState:
    """Training: what a new run is made from, and how runs are looked at.

    task : name, or "own" for the dataset file ``tasks.file``;  samples, nodes : of its data (seed: ``AppState.seed``)
    model, settings : entries "key=value" that replace those of the training config ("model.key=value": of the model's)
    device : see hsd.training.run.DEVICES;  run : id of the run shown ("" : the newest);  overlay : ids drawn with it
    smooth : weight of the past in the smoothed curves;  log_x, log_y : axes;  sample : of the validation part
    """

    task: str = item("ellipsoid_aerodynamics", "train", (*TASKS, "own"))
    samples: int = item(600, "train_n", low=10, high=100_000)
    nodes: int = item(1000, "train_nodes", low=100, high=20_000)
    model: str = item("hsd", "train_model")
    settings: tuple[str, ...] = item(QUICK_TRAINING, "train_set")
    device: str = item("auto", "train_device", ("auto", "cpu", "cuda"))
    run: str = item("", "run")
    overlay: tuple[str, ...] = item((), "with")
    smooth: float = item(0.6, "smooth", low=0.0, high=0.98)
    log_x: bool = item(False, "logx")
    log_y: bool = item(True, "logy")
    sample: int = item(0, "val", low=0, high=999_999)


UNSEEN = 3
"""A sample of seed 0 in the test part of the data that shipped checkpoints were trained with (1000, split 0)."""


@dataclass(frozen=True)
class ComparisonState:
    """Model Comparison: which sample of which task, which models, and how they are drawn (seed: ``AppState.seed``).

    task : name, or "own" for the dataset file ``tasks.file``
    models : labels of shipped checkpoints, beside ``AppState.own_runs``;  device : see hsd.training.run.DEVICES
    composed : key in the store of a sample that the visitor composed ("" : sample ``sample`` as the task draws it)
    nodes : vertices aimed at (0: the models' own mesh);  show, quantity, axis : what the panels hold
    a, b : labels that are blinked and wiped ("" : the first two);  space : how tets are drawn
    turn, tilt, clip : plane of the free slice, degrees and 0…1;  steps : how often a model is applied to its own output
    edit : the canvas composes;  selected, strength, width : the point that the sliders move
    """

    task: str = item("toroidal_transport", "problem", (*TASKS, "own"))
    models: tuple[str, ...] = item(("hsd", "fno3d", "geo_fno", "deeponet"), "models")
    device: str = item("auto", "device", ("auto", "cpu", "cuda"))
    sample: int = item(UNSEEN, "case", low=0, high=999_999)
    composed: str = item("", "composed")
    nodes: int = item(0, "remesh", low=0, high=20_000)
    show: str = item("maps", "compare", ("maps", "pair", "time", "lines"))
    quantity: str = item("vectors", "quantity", ("vectors", "magnitude", "component", "vorticity"))
    axis: str = item("x", "component", ("x", "y", "z"))
    a: str = item("", "a")
    b: str = item("", "b")
    space: str = item("slice", "cut3", ("slice", "free"))
    turn: float = item(0.0, "turn2", low=-180.0, high=180.0)
    tilt: float = item(90.0, "tilt", low=-90.0, high=90.0)
    clip: float = item(0.5, "clip5", low=0.0, high=1.0)
    step: int = item(1, "step2", low=0, high=100)
    steps: int = item(4, "steps", low=1, high=20)
    edit: bool = item(False, "edit")
    selected: int = item(-1, "blob", low=-1, high=1000)
    strength: float = item(1.0, "strength2", low=-3.0, high=3.0)
    width: float = item(0.15, "width2", low=0.05, high=1.2)


@dataclass(frozen=True)
class LevelsState:
    """Level Sets, on the sample and the models of ``ComparisonState``.

    step : of the threshold, per cent of the truth's range;  least: shortest bars that count, per cent of the range
    samples : how many test samples are looked through, here and on Spectral Energy
    favourite : model that shall be right
    """

    step: int = item(50, "level", low=0, high=100)
    least: int = item(0, "least", low=0, high=50)
    samples: int = item(32, "tests", low=1, high=10_000)
    favourite: str = item("hsd", "favourite")


@dataclass(frozen=True)
class BenchmarksState:
    """Benchmarks.  part : of the data that scores are of ("test" where it has been read);  metric : in the plots

    protocol : key of the budget and data that a table is of ("" : the one with most models)
    record : name of the record that is open;  tab : title of the open tab
    """

    task: str = item("toroidal_transport", "bench", tuple(TASKS))
    part: str = item("test", "part", ("test", "validation"))
    metric: str = item("relative_l2", "metric")
    protocol: str = item("", "protocol")
    record: str = item("", "record")
    tab: str = item("Results", "tab")


@dataclass(frozen=True)
class LearnState:
    """Learn: which lesson, and the controls of each lesson.  Answers are not here: a link must not give them away.

    form : degree shown in lesson 1;  ell : of the function in lesson 2;  flip : a sign of d is wrong in lesson 3
    shape : surface of lessons 4 and 5;  holes : discs cut out in lesson 5, ``field`` its harmonic field
    rim, plate : boundary condition and shape of lesson 6;  degree, cut : of lesson 7
    blind, time : surface and step of the time slider of lesson 8
    asked : presenter mode shows the question of the lesson, in place of its text
    """

    lesson: int = item(1, "lesson", low=1, high=8)
    asked: bool = item(False, "question")
    form: int = item(0, "form", low=0, high=2)
    ell: int = item(1, "ell", low=1, high=3)
    flip: bool = item(False, "flip")
    closed: str = item("sphere", "surface3", ("sphere", "torus", "moebius"))
    shape: str = item("torus", "surface", ("sphere", "torus", "double_torus"))
    holes: int = item(0, "holes", low=0, high=2)
    field: int = item(0, "gamma", low=0, high=16)
    rim: str = item("absolute", "rim", ("absolute", "relative"))
    plate: str = item("annulus", "plate", ("annulus", "disk_three_holes"))
    degree: int = item(0, "degree", low=0, high=1)
    cut: int = item(16, "keep", low=1, high=64)
    blind: str = item("torus", "surface8", ("torus", "double_torus"))
    time: int = item(8, "time", low=0, high=24)
