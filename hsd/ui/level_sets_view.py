"""What Level Sets shows, without its layout: level sets of the sample in force in caches, scene, cases, words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st

from hsd.cli_output import write_npz
from hsd.mesh.io import save_mesh
from hsd.ui import comparison_models, task_view
from hsd.ui import comparison_view as shared
from hsd.ui.comparison_answers import Ready, model_key
from hsd.ui.comparison_code import lines_of, path_here
from hsd.ui.comparison_export import file_name
from hsd.ui.comparison_models import Model
from hsd.ui.comparison_work import Outcome
from hsd.ui.export import mesh_files
from hsd.ui.held_out import Pass
from hsd.ui.level_sets_work import STEPS, LevelField, level_field, limits_of
from hsd.ui.state import AppState
from hsd.viz.best_view import best_direction
from hsd.viz.controls import Camera
from hsd.viz.level_sets import Layer, Leveled, layer_of, levels_scene
from hsd.viz.level_sets_figures import LevelCurve, levels_figure
from hsd.viz.palettes import MODELS
from hsd.viz.scene import Scene
from hsd.viz.style import Ink
from hsd.viz.task_scene import Place, symbol_of

NOISE = 0.02
"""Vorticity of the truth's cochain, of that of its node values, below which the latter is discretisation error."""


@dataclass(frozen=True, eq=False)
class Levels:
    """The sample's level sets: truth, models, and the shortest bar that counts as a fraction of the truth's range."""

    truth: LevelField
    found: Mapping[Model, LevelField]
    least: float

    @property
    def limits(self) -> tuple[float, float]:
        return limits_of(self.truth.values)


def levels_of(state: AppState, ready: Ready, answers: Mapping[Model, Outcome]) -> Levels:
    """Level sets of the truth and of every answer."""
    least, truth = state.levels.least / 100, shared.truth_of(ready)
    true = _field(("truth",), ready.key, least, ready, truth)
    found = {m: _field(model_key(ready, m), ready.key, least, ready, a.nodes) for m, a in answers.items()}
    return Levels(true, found, least)


@st.cache_resource(max_entries=192, show_spinner=False)
def _field(who: tuple, key: tuple, least: float, _ready: Ready, _nodes: np.ndarray) -> LevelField:
    yardstick = comparison_models.yardstick_of(_ready.task, _ready.ground)
    return level_field(yardstick, _nodes, shared.truth_of(_ready), least)


def camera_of(ready: Ready, levels: Levels, step: int, token: str) -> Camera | None:
    """A look at the side on which most components of truth and models lie; None for a plane cut."""
    place = task_view.place_of(ready.mesh, "slice")
    if place.cut is not None:
        return None
    return Camera(token, _direction(tuple(model_key(ready, m) for m in levels.found), ready.key, step, place, levels))


@st.cache_resource(max_entries=32, show_spinner=False)
def _direction(who: tuple, key: tuple, step: int, _place: Place, _levels: Levels) -> tuple[float, float, float]:
    level, sets = level_at(_levels, step), []
    for field in (_levels.truth, *_levels.found.values()):
        labels = field.tree.labels(field.values, level)
        sets += [np.flatnonzero(labels == j) for j in np.unique(labels[labels >= 0])]
    return best_direction(_place.surface.mesh_points, sets)


# ---- pictures ----------------------------------------------------------------------------------------------------


def scene_of(state: AppState, ready: Ready, levels: Levels) -> Scene:
    """The linked views."""
    place = task_view.place_of(ready.mesh, "slice")
    low, high = levels.limits
    least = levels.least * (high - low)
    name = place.surface.name
    true = _layer(("truth",), ready.key, name, levels.least, place, "Truth", levels.truth, least, None)
    layers = [true]
    for model, field in levels.found.items():
        key = model_key(ready, model)
        layers.append(_layer(key, ready.key, name, levels.least, place, model.title, field, least, true))
    step, symbol = state.levels.step, symbol_words(ready)
    return levels_scene(place, layers, (low, high), symbol, step, theme=state.theme, caption=caption(state, ready))


@st.cache_resource(max_entries=192, show_spinner=False)
def _layer(
    who: tuple, key: tuple, place: str, share: float, _place: Place, _title: str, _field: LevelField, _least: float,
    _like: Layer | None,
) -> Layer:  # fmt: skip
    return layer_of(_place, Leveled(_title, _field.values, _field.tree, _field.counts), _least, _like)


def figure_of(state: AppState, levels: Levels, ink: Ink):
    """β0 and IoU against the threshold."""
    curves = [LevelCurve("truth", MODELS["truth"], levels.truth.counts, None)]
    curves += [LevelCurve(m.title, m.look, f.counts, f.overlaps) for m, f in levels.found.items()]
    return levels_figure(100 * np.array(STEPS), curves, state.levels.step, ink)


# ---- words -------------------------------------------------------------------------------------------------------


def symbol_words(ready: Ready) -> str:
    """The field whose level sets are compared."""
    target = ready.sample.target
    if not target.is_vector:
        return symbol_of(target)
    return "|ω|" if ready.mesh.dim == 2 else f"|{symbol_of(target)}|"


def field_words(ready: Ready) -> str:
    """The same in a sentence."""
    target = ready.sample.target
    if not target.is_vector:
        return f"Level sets of {target.title}."
    if ready.mesh.dim == 2:
        of = "δ of the flux 1-form" if target.reading == "flux" else "⋆d of the circulation 1-form"
        return (
            f"Level sets of the vorticity's size |ω|, ω = {of} that one flat map makes of node values, at the vertices."
        )
    return f"Level sets of the length of {target.title}; drawn where the components in the ball meet z = 0."


def noise_words(ready: Ready) -> str:
    """A sentence where the truth has no vorticity but what sharp and flat make of it, "" elsewhere."""
    return _noise_words(ready.key, ready) if ready.sample.target.is_vector and ready.mesh.dim == 2 else ""


@st.cache_resource(max_entries=64, show_spinner=False)
def _noise_words(key: tuple, _ready: Ready) -> str:
    from hsd.metrics.pair import Pair

    yardstick = comparison_models.yardstick_of(_ready.task, _ready.ground)
    form, nodes = _ready.sample.target.values, shared.truth_of(_ready)[None]
    own = Pair.of_forms(yardstick, form, form).vorticities[1]
    seen = Pair.of_nodes(yardstick, nodes, nodes).vorticities[1]
    if float(own.norm()) > NOISE * float(seen.norm()):
        return ""
    return (
        "The truth of this sample has no vorticity: what is drawn is the discretisation error of node values. Compare "
        "its length on Model Comparison, or train on a potential of it (a 0-form), whose level sets mean something."
    )


def caption(state: AppState, ready: Ready) -> str:
    """The sentence under the picture."""
    text = f"{shared.sample_words(state, ready)} {field_words(ready)} "
    text += "Each component of {u ≥ t} has a colour, if possible that of the truth's in the same place; grey: below t"
    return text + (", dark: left out by the filter." if state.levels.least else ".")


def level_at(levels: Levels, step: int) -> float:
    """Threshold of a step."""
    low, high = levels.limits
    return low + STEPS[step] * (high - low)


# ---- the test set ------------------------------------------------------------------------------------------------


def cases_of(state: AppState, found: Pass, step: int):
    """Cases by kind: "agree" at a step, where the favourite alone is right; "differ" at any of the nine levels."""
    from hsd.metrics.disagreement import agreement_cases, disagreement_cases
    from hsd.metrics.levels import LevelRule

    rule = LevelRule(STEPS, state.levels.least / 100)
    counts = {m.key: d.counts(rule) for m, d in found.found.items()}
    errors = {m.key: d.relative_l2 for m, d in found.found.items()}
    truth = found.truth.counts(rule)
    agree = agreement_cases(truth, counts, errors, step, favourite_of(state, found))
    return {"agree": agree, "differ": disagreement_cases(truth, counts, errors, range(10, 100, 10))}


def favourite_of(state: AppState, found: Pass) -> str:
    """The model that is to be right: the state's where it takes part, else the first HSD, else the first."""
    keys = [m.key for m in found.found]
    if state.levels.favourite in keys:
        return state.levels.favourite
    own = [m.key for m in found.found if comparison_models.manifest_of(m)["model"] == "hsd"]
    return next(iter([*own, *keys]), "")


def case_rows(found: Pass, cases) -> dict[str, list]:
    """One row a case: sample, threshold, β0 of the truth, and β0 with the error of every model in it."""
    titles = {m.key: m.title for m in found.found}
    rows: dict[str, list] = {"sample": [], "threshold, %": [], "β0 truth": []}
    names = dict.fromkeys(key for case in cases for key in case.counts)
    rows |= {f"{titles[key]}: β0 (L²)": [] for key in names}
    for case in cases:
        rows["sample"].append(int(found.numbers[case.row]))
        rows["threshold, %"].append(case.level)
        rows["β0 truth"].append(case.truth)
        for key in names:
            text = f"{case.counts[key]} ({case.errors[key]:.3f})" if key in case.counts else ""
            rows[f"{titles[key]}: β0 (L²)"].append(text)
    return rows


def summary(state: AppState, found: Pass, cases, step: int) -> str:
    """What the search found, in words."""
    n, titles = len(found.numbers), {m.key: m.title for m in found.found}
    who = titles.get(favourite_of(state, found), "")
    agree, differ = len(cases["agree"]), len(cases["differ"])
    if len(found.found) < 2:
        return "Choose at least two models to compare their topology."
    if agree:
        one = cases["agree"][0]
        wrong = ", ".join(titles[key] for key in one.wrong)
        first = (
            f"At {step} % truth and {who} agree on β0 where another model does not in {agree} of {n} samples, most "
            f"clearly in sample {found.numbers[one.row]} (β0 = {one.truth}; wrong: {wrong})."
        )
    else:
        first = (
            f"These {n} samples have none on which truth and {who} agree on β0 at {step} % and another model does not."
        )
    second = f" Models whose errors lie within 10 % differ in β0 at one of nine levels in {differ} of {n} samples."
    return first + (second if differ else f" No two models with errors within 10 % differ in β0 in these {n} samples.")


# ---- files -------------------------------------------------------------------------------------------------------


def level_fields(state: AppState, levels: Levels) -> dict[str, np.ndarray]:
    """Fields and labels of components at the threshold, (n_vertices,) each; label −1: below it."""
    t, out = level_at(levels, state.levels.step), {}
    for name, field in _named(levels).items():
        out[f"field_{name}"] = field.values
        out[f"component_{name}"] = field.tree.labels(field.values, t)
    return out


def level_files(state: AppState, ready: Ready, levels: Levels, provenance: Mapping[str, str]) -> dict:
    """Fields and components as NPZ (with β0 and IoU at all steps) and VTP or VTU, as ``download_row`` takes them."""

    def write(suffix: str, path: Path) -> None:
        arrays = level_fields(state, levels)
        if suffix != ".npz":
            save_mesh(ready.mesh, path, point_data=arrays, cell_data={}, provenance=provenance)
            return
        arrays |= {"fractions": np.array(STEPS), "threshold": np.array(level_at(levels, state.levels.step))}
        for name, field in _named(levels).items():
            arrays |= {f"betti0_{name}": field.counts, f"iou_{name}": field.overlaps}
        write_npz(path, **arrays, provenance=np.array(json.dumps(provenance)))

    return mesh_files(ready.mesh.dim, write)


def _named(levels: Levels) -> dict[str, LevelField]:
    return {"truth": levels.truth} | {file_name(m): f for m, f in levels.found.items()}


def code(state: AppState, ready: Ready, levels: Levels) -> str:
    """The lines of Python that make the numbers at the threshold."""
    use, name = lines_of(state, ready), ready.task.name
    path = next((path_here(str(m.path)) for m in levels.found), f"assets/checkpoints/{name}/hsd.safetensors")
    imports = "\n".join(use.imports)
    return f"""# in the folder of the program
import numpy as np
from hsd.data.ground import Ground
from hsd.metrics import LevelRule, Pair
from hsd.metrics.topology import betti0_counts, iou, s_beta0
from hsd.training.evaluate import yardstick_of
{imports}

path = "{path}"
{use.problem}
mesh = {use.mesh}
predictor = {use.predictor}
domain = predictor.domain
made = problem.realise([{use.record}], Ground(mesh, problem.star, problem.bc))
prediction = predictor(domain, made.inputs["{ready.task.inputs[0].name}"], made.coefficients)
yardstick = yardstick_of(domain, "{use.family}")
truth = Pair.of_forms(yardstick, made.target, made.target).nodes_g
rule = LevelRule(({STEPS[state.levels.step]},), min_persistence={levels.least})
pair = Pair.of_nodes(yardstick, prediction.nodes, truth, rule=rule)
print("β0 of prediction and truth", *betti0_counts(pair), "IoU", iou(pair).item())
nine = Pair.of_nodes(yardstick, prediction.nodes, truth, rule=LevelRule(min_persistence={levels.least}))
print("S_β0", s_beta0(nine).item(), "IoU", iou(nine).item())"""
