"""Widgets and areas of Model Comparison: the sidebar, the canvas, what lies below it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st

from hsd.ui import checkpoint_files, task_files, task_view
from hsd.ui import comparison_answers as work
from hsd.ui import comparison_compose as compose
from hsd.ui import comparison_models as models
from hsd.ui import comparison_view as view
from hsd.ui.bound import (
    bound_multiselect,
    bound_number,
    bound_segments,
    bound_selectbox,
    bound_slider,
    bound_toggle,
    fill,
    is_old,
)
from hsd.ui.browser import previous_and_next
from hsd.ui.comparison_answers import Ready
from hsd.ui.comparison_lines import lines_scene, theme_of
from hsd.ui.comparison_models import Model
from hsd.ui.comparison_subject import STEP
from hsd.ui.comparison_work import Outcome, Rollout
from hsd.ui.space import figure_ink
from hsd.ui.state import AppState, get_state, update
from hsd.ui.viewer import show
from hsd.ui.vtk_scene import show_vtk_scene
from hsd.viz import comparison_scene as draw
from hsd.viz.comparison_figures import Curve, rollout_figure
from hsd.viz.palettes import MODELS as LOOKS
from hsd.viz.scene import Scene

SHOWS = {"maps": "Maps", "pair": "A | B", "time": "Steps", "lines": "Streamlines"}
QUANTITIES = {"vectors": "Vectors", "magnitude": "Length", "component": "Component", "vorticity": "Vorticity"}
SPACES = {"slice": "Cut z = 0", "free": "Free slice"}
DEVICES = {"auto": "GPU if there", "cpu": "CPU", "cuda": "GPU"}
PICK = "comparison/pick"
MANY = 6
"""Models from which on the canvas has two bands."""


# ---- sidebar -----------------------------------------------------------------------------------------------------


def sidebar(ready: Ready | None) -> None:
    """Task, sample, models, and how they are drawn."""
    choice_sidebar(ready)
    lines = ready is not None and ready.mesh.dim == 3 and get_state().comparison.show == "lines"
    if ready is not None and not lines:  # streamlines have one look
        with st.sidebar:
            _drawing_widgets(get_state(), ready)


def choice_sidebar(ready: Ready | None, compose_here: bool = True) -> None:
    """Task, sample and models, the same on every page that compares; ``compose_here``: samples can be composed."""
    with st.sidebar:
        titles = task_view.titles()
        bound_selectbox("Task", "comparison.task", titles, titles.get, on_change=_other_task)
        if get_state().comparison.task == task_view.OWN:
            _file_widgets(ready)
        else:
            _sample_widgets(get_state(), ready, compose_here)
        _model_widgets(get_state(), ready)


def _other_task() -> None:
    """A composed sample and the point selected belong to the task before."""
    update(
        **{"comparison.composed": "", "comparison.selected": -1, "comparison.edit": False, "comparison.show": "maps"}
    )


def _file_widgets(ready: Ready | None) -> None:
    """The visitor's dataset file, and which of its samples."""
    if get_state().comparison.composed:  # of a link: nothing can be composed here
        compose.ended()
    if ready is None or task_files.refused():
        task_files.file_box()
        return
    _steps(ready.task.config.n_samples - 1, of_file=True)
    with st.expander("Another dataset file"):
        task_files.file_box()


def _sample_widgets(state: AppState, ready: Ready | None, compose_here: bool) -> None:
    if state.comparison.composed:
        if not compose_here:
            st.button("Back to drawn samples", key="comparison:ended", on_click=compose.ended, width="stretch")
        elif ready is not None:
            bound_toggle("Edit on the canvas", "comparison.edit")
            compose.panel(get_state(), ready.task, ready.sample.record)
        return
    _steps()
    if not compose_here:
        return
    st.button(
        "Compose from this sample", key="comparison:compose", on_click=compose.started, args=(False,), width="stretch",
        help=f"Place, move and delete a {compose.word(state.comparison.task)} on the canvas, and turn dials.",
    )  # fmt: skip


def _steps(last: int = 999_999, of_file: bool = False) -> None:
    """Number of the sample up to ``last``, and steps through them; samples of a file have no seed."""
    left, right = st.columns(2)
    asked = get_state().comparison.sample
    bound_number("Sample", "comparison.sample", 0, last, 1, where=left)
    if of_file:
        lost = f"There is no sample {asked}; the last one is shown. " if asked > last else ""
        right.caption(f"{lost}0 to {last}, those of the file")
    else:
        bound_number("Seed", "seed", 0, 2**31 - 1, 1, where=right)
    previous_and_next("comparison", partial(_stepped, last=last))


def _stepped(by: int, last: int) -> None:
    st.session_state[STEP] = 1 if by > 0 else -1
    update(**{"comparison.sample": min(max(get_state().comparison.sample + by, 0), last)})


def _model_widgets(state: AppState, ready: Ready | None) -> None:
    own = state.comparison.task == task_view.OWN
    family = ready.task.family if ready is not None else state.comparison.task
    labels = models.shipped_labels(family)
    if labels:
        chosen = [name for name in state.comparison.models if name in labels]
        key = "comparison:models"
        fill(key, chosen)
        st.multiselect(
            "Models", labels, chosen, lambda name: LOOKS[name].name, key=key, on_change=_models_chosen,
            args=(labels,), placeholder="none",
            help="Shipped with the program. HSD (paper) is HSD as published, HSD (tiny) its smallest form.",
        )  # fmt: skip
    runs = models.own_runs({family, None} if own else {family}, state.own_runs)
    if runs:
        bound_multiselect("Own runs and files", "own_runs", list(runs), runs.get, placeholder="none")
    with st.expander("Bring a checkpoint"):
        checkpoint_files.box()
    if not own:
        _mesh_widget(state)
    bound_segments("Device", "comparison.device", list(DEVICES), DEVICES.get)


def _mesh_widget(state: AppState) -> None:
    nodes = [0, *view.REMESH]
    nodes = nodes if state.comparison.nodes in nodes else sorted({*nodes, state.comparison.nodes})
    bound_segments(
        "Remesh", "comparison.nodes", nodes, lambda n: str(n) if n else "as trained",
        help="Nodes of the mesh; “as trained” is the mesh of the models' training. Mesh-free models run on all.",
    )  # fmt: skip


def _models_chosen(labels: tuple[str, ...]) -> None:
    """Labels that the task at hand lacks stay chosen for the other tasks."""
    if is_old("comparison:models"):
        return
    kept = tuple(name for name in get_state().comparison.models if name not in labels)
    update(**{"comparison.models": (*st.session_state["comparison:models"], *kept)})


def _drawing_widgets(state: AppState, ready: Ready) -> None:
    target, dim = ready.sample.target, ready.mesh.dim
    quantities = draw.quantities_of(target, dim)
    if len(quantities) > 1:
        bound_segments("Colour", "comparison.quantity", list(quantities), QUANTITIES.get)
        if get_state().comparison.quantity == "component":
            bound_segments("Component", "comparison.axis", list(draw.AXES))
    if dim == 3:
        bound_segments("Draw", "comparison.space", list(SPACES), SPACES.get)
        if get_state().comparison.space == "free":
            left, right = st.columns(2)
            bound_slider("Turn °", "comparison.turn", -180.0, 180.0, 5.0, where=left)
            bound_slider("Tilt °", "comparison.tilt", -90.0, 90.0, 5.0, where=right)


# ---- canvas ------------------------------------------------------------------------------------------------------


def canvas(state: AppState, ready: Ready, found: Mapping[Model, Outcome]) -> Scene:
    """The linked views; returns the scene of the maps or of what is shown."""
    shows = ["maps"] + (["pair"] if len(found) > 1 else [])
    shows += (["time"] if ready.is_stepped else []) + (["lines"] if ready.mesh.dim == 3 else [])
    left, middle, right = st.columns([2, 1, 1], vertical_alignment="bottom")
    if len(shows) > 1:
        with left:
            bound_segments("Show", "comparison.show", shows, SHOWS.get, label_visibility="collapsed")
    what = get_state().comparison.show if get_state().comparison.show in shows else "maps"
    board = view.board_of(state, ready, found)
    if what in ("pair", "lines") and found:
        _ab_widgets(board, (middle, right), ("a", "b") if what == "pair" else ("a",))
        state = get_state()
    if what == "lines":
        _lines(state, ready, found, board)
        return draw.maps_scene(board, draw.Drawing())
    if what == "time":
        return _time(state, ready, found, right)
    drawing = _drawing(state, ready, board)
    if what == "pair":
        a, b = view.pair_of(state, board)
        scene = draw.pair_scene(board, a, b, drawing)
    else:
        scene = draw.maps_scene(board, drawing)
    _show(scene, state, ready)
    return scene


def _drawing(state: AppState, ready: Ready, board: draw.Board) -> draw.Drawing:
    choice = state.comparison
    free = ready.mesh.dim == 3 and choice.space == "free"
    composing = bool(choice.composed and choice.edit)
    return draw.Drawing(
        theme=state.theme,
        caption=view.caption(state, ready, board),
        clip=choice.clip if free else None,
        normal=draw.plane_normal(choice.turn, choice.tilt),
        tool=compose.tool(state),
        markers=draw.markers_of(ready.sample.record, board.place, choice.selected) if composing else (),
        step=choice.step,
    )


def _show(scene: Scene, state: AppState, ready: Ready) -> None:
    columns = scene.columns_of_panels or 1
    rows = 1 + max(scene.cell_of(i) for i in range(len(scene.panels))) // columns
    height = {1: 300, 2: 410}.get(rows, 740)
    space = state.comparison.space if ready.mesh.dim == 3 else "surface"
    # one viewer for maps, pair and steps: it keeps its camera, and the shapes that the graphics memory holds
    key = f"comparison/{ready.task.name}/{space}"
    show(scene, key, height=height, on_pick=_picked, on_place=compose.placed, on_controls=_moved)


def _picked(pick) -> None:
    st.session_state[PICK] = pick


def _moved(values: Mapping[str, float]) -> None:
    """Sliders of the viewer were released."""
    if "step" in values:
        update(**{"comparison.step": round(values["step"])})
    if "clip" in values:
        update(**{"comparison.clip": float(values["clip"])})


def _ab_widgets(board: draw.Board, places, names) -> None:
    titles = {shot.key: shot.title for shot in board.shots}
    a, b = view.pair_of(get_state(), board)
    for name, shot, place in zip(names, (a, b), places):
        path = f"comparison.{name}"
        if getattr(get_state().comparison, name) not in titles:
            update(**{path: shot.key})
        bound_selectbox(name.upper(), path, list(titles), titles.get, where=place, label_visibility="collapsed")


def _time(state: AppState, ready: Ready, found, place) -> Scene:
    """Repeated steps: the player, and curves beside it."""
    with place:
        steps = bound_number("Steps", "comparison.steps", 1, 20, 1, help="How often a model sees its own output.")
    truth = work.true_rollout_of(ready, steps)
    bar = view.Bar()
    rolled = work.rollouts_of(ready, found, steps, bar)
    bar.done()
    board = view.time_board_of(state, ready, truth, rolled, steps)
    n = ready.task.config.n_snapshots
    scene = draw.time_scene(board, truth.times[::n], _drawing(state, ready, board))
    left, right = st.columns([7, 3])
    with left:
        _show(scene, state, ready)
    with right:
        curves = [Curve(m.title, m.look, r.times, r.curves) for m, r in rolled.items()]
        true = Curve("truth", LOOKS["truth"], truth.times, truth.curves)
        figure = rollout_figure(
            true, curves, min(state.comparison.step, steps), mass_sizes(ready, truth), figure_ink(state)
        )
        st.plotly_chart(figure, theme=None, key="comparison/curves", alt="Conserved quantities against time")
        st.caption(
            f"Each model is applied to its own output {steps} times; trained for one step, T = "
            f"{ready.task.config.duration:g}. The truth is solved over the whole time."
        )
    return scene


def mass_sizes(ready: Ready, truth: Rollout) -> dict[str, float]:
    """What drifts of ∫u are measured by: ∫|u| at the beginning."""
    size = float(ready.ground.vertex_measure @ np.abs(truth.states[0]))
    return {name: size for name in truth.curves if name.startswith("mass")}


def _lines(state: AppState, ready: Ready, found, board: draw.Board) -> None:
    theme = theme_of(state, st.context.theme.type == "dark")
    shown = {"Truth": view.truth_of(ready)}
    if board.shots:
        key = view.pair_of(state, board)[0].key
        shown |= {m.title: answer.nodes for m, answer in found.items() if m.key == key}
    for (title, nodes), place in zip(shown.items(), st.columns(len(shown))):
        with place:
            st.markdown(f"**{title}**")
            scene = lines_scene(ready.mesh, title, nodes, view.longest(ready), theme)
            show_vtk_scene(scene, f"comparison/lines/{title}")
    st.caption("Streamlines from the same points inside 0.6 of the ball, coloured by the length of B on one scale.")


def refusals(state: AppState, ready: Ready) -> None:
    """One sentence for each model that takes no part, and a way on."""
    keys = {model.title: model.key for model in ready.models}
    for title, sentence in ready.refused.items():
        left, right = st.columns([8, 2], vertical_alignment="center")
        left.warning(sentence)
        run = keys.get(title, title).removeprefix(models.RUN)
        if run in state.own_runs or title in state.comparison.models:
            right.button("Leave it out", key=f"comparison:out:{run}", on_click=_left_out, args=(run,), width="stretch")


def _left_out(name: str) -> None:
    """Take a run or a label out of what is chosen."""
    state = get_state()
    kept = {"own_runs": state.own_runs, "comparison.models": state.comparison.models}
    update(**{path: tuple(other for other in names if other != name) for path, names in kept.items()})
