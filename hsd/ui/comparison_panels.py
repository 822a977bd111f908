"""Widgets and areas of Model Comparison: the sidebar, the canvas, what lies below it."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from hsd.hodge.decomposition import PARTS
from hsd.ui import comparison_answers as work
from hsd.ui import comparison_compose as compose
from hsd.ui import comparison_export as export
from hsd.ui import comparison_models as models
from hsd.ui import comparison_tables as tables
from hsd.ui import comparison_view as view
from hsd.ui import task_view
from hsd.ui.bound import (
    bound_multiselect,
    bound_number,
    bound_segments,
    bound_selectbox,
    bound_slider,
    bound_toggle,
)
from hsd.ui.comparison_answers import Ready
from hsd.ui.comparison_lines import lines_scene, theme_of
from hsd.ui.comparison_models import Model
from hsd.ui.comparison_work import Outcome
from hsd.ui.export import download_row, figure_html, table_csv
from hsd.ui.space import figure_ink
from hsd.ui.state import AppState, get_state, update
from hsd.ui.viewer import show
from hsd.ui.vtk_scene import show_vtk_scene
from hsd.viz import comparison_scene as draw
from hsd.viz.comparison_figures import Curve, parts_figure, rollout_figure
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
    if ready is not None:
        with st.sidebar:
            _drawing_widgets(get_state(), ready)


def choice_sidebar(ready: Ready | None, compose_here: bool = True) -> None:
    """Task, sample and models, the same on every page that compares; ``compose_here``: samples can be composed."""
    with st.sidebar:
        titles = {name: title for name, title in task_view.titles().items() if name != task_view.OWN}
        bound_selectbox("Task", "comparison.task", titles, titles.get, on_change=_other_task)
        state = get_state()
        _sample_widgets(state, ready, compose_here)
        _model_widgets(state)


def _other_task() -> None:
    """A composed sample and the point selected belong to the task before."""
    update(
        **{"comparison.composed": "", "comparison.selected": -1, "comparison.edit": False, "comparison.show": "maps"}
    )


def _sample_widgets(state: AppState, ready: Ready | None, compose_here: bool) -> None:
    if state.comparison.composed:
        if not compose_here:
            st.button("Back to drawn samples", key="comparison:ended", on_click=compose.ended, width="stretch")
        elif ready is not None:
            bound_toggle("Edit on the canvas", "comparison.edit")
            compose.panel(get_state(), ready.task, ready.sample.record)
        return
    left, right = st.columns(2)
    bound_number("Sample", "comparison.sample", 0, 999_999, 1, where=left)
    bound_number("Seed", "seed", 0, 2**31 - 1, 1, where=right)
    left, right = st.columns(2)
    options = {"on_click": _stepped, "width": "stretch"}
    left.button("Prev", key="comparison:previous", args=(-1,), shortcut="j", **options)
    right.button("Next", key="comparison:next", args=(1,), shortcut="k", **options)
    if not compose_here:
        return
    st.button(
        "Compose from this sample", key="comparison:compose", on_click=compose.started, args=(False,), width="stretch",
        help=f"Place, move and delete a {compose.word(state.comparison.task)} on the canvas, and turn dials.",
    )  # fmt: skip


def _stepped(by: int) -> None:
    update(**{"comparison.sample": max(get_state().comparison.sample + by, 0)})


def _model_widgets(state: AppState) -> None:
    labels = models.shipped_labels(state.comparison.task)
    if labels:
        chosen = [name for name in state.comparison.models if name in labels]
        key = "comparison:models"
        if st.session_state.get(key) != chosen:
            st.session_state[key] = chosen
        st.multiselect(
            "Models", labels, format_func=lambda name: LOOKS[name].name, key=key, on_change=_models_chosen,
            placeholder="none",
        )  # fmt: skip
    runs = models.own_runs(state.comparison.task, state.own_runs)
    if runs:
        bound_multiselect("Own runs", "own_runs", list(runs), runs.get, placeholder="none")
    nodes = [0, *view.REMESH]
    nodes = nodes if state.comparison.nodes in nodes else sorted({*nodes, state.comparison.nodes})
    bound_segments(
        "Remesh", "comparison.nodes", nodes, lambda n: str(n) if n else "own",
        help="Nodes of the mesh; “own” is the one that the models were trained on. Mesh-free models run on all.",
    )  # fmt: skip
    bound_segments("Device", "comparison.device", list(DEVICES), DEVICES.get)


def _models_chosen() -> None:
    """Labels that the task at hand lacks stay chosen for the other tasks."""
    state = get_state()
    labels = models.shipped_labels(state.comparison.task)
    kept = tuple(name for name in state.comparison.models if name not in labels)
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
        scene = draw.pair_scene(board, a, b, view.wiped(ready, board, a, b), drawing)
    else:
        scene = draw.maps_scene(board, drawing)
    _show(scene, state, ready, what)
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


def _show(scene: Scene, state: AppState, ready: Ready, what: str) -> None:
    columns = scene.columns_of_panels or 1
    rows = 1 + max(scene.cell_of(i) for i in range(len(scene.panels))) // columns
    height = {1: 300, 2: 410}.get(rows, 740)
    space = state.comparison.space if ready.mesh.dim == 3 else "surface"
    key = f"comparison/{ready.task.name}/{what}/{space}"
    show(scene, key, height=height, on_pick=_picked(key), on_place=compose.placed, on_controls=_moved)


def _picked(key: str):
    def keep(pick) -> None:
        st.session_state[PICK] = (key, pick)

    return keep


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
        _show(scene, state, ready, "time")
    with right:
        curves = [Curve(m.title, m.look, r.times, r.curves) for m, r in rolled.items()]
        true = Curve("truth", LOOKS["truth"], truth.times, truth.curves)
        figure = rollout_figure(true, curves, min(state.comparison.step, steps), figure_ink(state))
        st.plotly_chart(figure, theme=None, key="comparison/curves", alt="Conserved quantities against time")
        st.caption(
            f"Each model is applied to its own output {steps} times; trained for one step, T = "
            f"{ready.task.config.duration:g}. The truth is solved over the whole time."
        )
    return scene


def _lines(state: AppState, ready: Ready, found, board: draw.Board) -> None:
    theme = theme_of(state, st.context.theme.type == "dark")
    shown = {"Truth": view.truth_of(ready)}
    if board.shots:
        key = view.pair_of(state, board)[0].key
        shown |= {m.title: answer.nodes for m, answer in found.items() if m.key == key}
    for (title, nodes), place in zip(shown.items(), st.columns(len(shown))):
        with place:
            st.markdown(f"**{title}**")
            show_vtk_scene(lines_scene(ready.mesh, title, nodes, board.truth.end, theme), f"comparison/lines/{title}")
    st.caption("Streamlines from points inside 0.6 of the ball, coloured by the length of B on one scale.")


def refusals(state: AppState, ready: Ready) -> None:
    """One sentence for each model that takes no part, and a way on."""
    for title, sentence in ready.refused.items():
        left, right = st.columns([8, 2], vertical_alignment="center")
        left.warning(sentence)
        run = title.removeprefix(models.RUN)
        if run in state.own_runs:
            right.button("Leave it out", key=f"comparison:out:{run}", on_click=_left_out, args=(run,), width="stretch")


def _left_out(run: str) -> None:
    update(own_runs=tuple(name for name in get_state().own_runs if name != run))


# ---- below -------------------------------------------------------------------------------------------------------


def details(state: AppState, ready: Ready, found: Mapping[Model, Outcome], scene: Scene) -> None:
    """Tables, exports, code; only the open tab is made."""
    makers = {
        "This sample": lambda: sample_tab(state, ready, found),
        "Hodge parts": lambda: parts_tab(state, found),
        "Point": lambda: point_tab(found, scene),
        "Cost": lambda: cost_tab(ready, found),
        "Test set": lambda: test_tab(ready, found),
        "Export": lambda: export_tab(state, ready, found, scene),
        "Code": lambda: st.code(export.code(state, ready, found), language="python"),
    }
    if not found:
        makers = {name: makers[name] for name in ("Point", "Export")}
    for tab, make in zip(
        st.tabs(list(makers), key=f"comparison/tabs{len(makers)}", on_change="rerun"), makers.values()
    ):
        if tab.open:
            with tab:
                make()


def metrics_here(ready: Ready):
    return tables.metrics_of(models.yardstick_of(ready.task, ready.ground))


def sample_tab(state: AppState, ready: Ready, found: Mapping[Model, Outcome]) -> None:
    metrics = metrics_here(ready)
    rows = tables.score_rows({model: answer.scores for model, answer in found.items()}, metrics)
    _numbers(rows, "comparison/scores", metrics)
    st.caption(f"{view.sample_words(state, ready)} Computed on: {'; '.join({a.device for a in found.values()})}.")
    with st.expander("Formulas"):
        st.markdown("\n".join(f"- {line}" for line in tables.formula_lines(metrics)))


def _numbers(rows: dict, key: str, metrics: Mapping) -> None:
    helps = {m.title: m.formula for m in metrics.values()}
    config = {name: st.column_config.NumberColumn(format="%.4g", help=helps.get(name)) for name in list(rows)[1:]}
    st.dataframe(rows, hide_index=True, column_config=config | {tables.MODEL: _pinned()}, key=key)


def _pinned():
    return st.column_config.TextColumn(pinned=True)


def parts_tab(state: AppState, found: Mapping[Model, Outcome]) -> None:
    errors = tables.part_errors(found)
    figure = parts_figure(errors, figure_ink(state))
    left, right = st.columns([6, 4])
    with left:
        st.plotly_chart(figure, theme=None, key="comparison/parts", alt="Error of every model by Hodge part")
    with right:
        rows = tables.part_rows(errors)
        config = {name: st.column_config.NumberColumn(format="%.3g") for name in list(rows)[1:]}
        st.dataframe(rows, hide_index=True, column_config=config, key="comparison/parts table")
        st.caption(
            f"‖π(ωₚ − ω)‖ / ‖ω‖ in ⋆, ω the truth, for π onto the {', '.join(PARTS)} part: of the cochain where a "
            "model makes one, else of the flat of its node values."
        )


def point_tab(found: Mapping[Model, Outcome], scene: Scene) -> None:
    _, pick = st.session_state.get(PICK, ("", None))
    rows = tables.point_table(scene, pick, [model.title for model in found])
    if rows is None:
        st.caption("Click a point on any panel: the values of the truth and of all models there stand here.")
        return
    config = {name: st.column_config.NumberColumn(format="%.6g") for name in list(rows)[1:] if name != "what"}
    st.dataframe(rows, hide_index=True, column_config=config, key="comparison/point")
    x, y, z = pick.position
    st.caption(f"At ({x:.4g}, {y:.4g}, {z:.4g}), float64, interpolated linearly between vertices.")


def cost_tab(ready: Ready, found: Mapping[Model, Outcome]) -> None:
    bar = view.Bar()
    costs = work.costs_of(ready, found, bar)
    bar.done()
    rows = tables.cost_rows(list(found), costs)
    config = {
        "latency, ms": st.column_config.NumberColumn(format="%.1f"),
        "memory, MB": st.column_config.NumberColumn(format="%.1f"),
        "parameters": st.column_config.NumberColumn(format="localized"),
        tables.MODEL: _pinned(),
    }
    st.dataframe(rows, hide_index=True, column_config=config, key="comparison/cost")
    st.caption(
        "Latency: median of the warm runs, one sample, physical values in and out. Memory: peak of the arrays that a "
        "prediction makes. Parameters: trained real numbers."
    )


def test_tab(ready: Ready, found: Mapping[Model, Outcome]) -> None:
    metrics = metrics_here(ready)
    rows, missing = tables.test_rows(list(found), metrics)
    if rows[tables.MODEL]:
        _numbers(rows, "comparison/test", metrics)
        st.caption("Means over the test part, read once by the benchmark that made the checkpoint.")
    if missing:
        st.caption(f"No record of the test set came with: {', '.join(missing)}.")


def export_tab(state: AppState, ready: Ready, found: Mapping[Model, Outcome], scene: Scene) -> None:
    st.markdown(
        "Sheet: all panels as PNG for papers. CSV: the table. NPZ, VTP, VTU: input, truth, predictions, errors. Files "
        "carry task, sample, mesh, checksums of the weights, device and version. Link: *Copy link* above."
    )
    files: dict = {"Sheet (PNG)": ("_sheet.png", lambda: export.sheet(scene), "image/png")}
    origin = export.record_of(state, ready, found)
    if found:
        metrics = metrics_here(ready)
        rows = tables.score_rows({model: answer.scores for model, answer in found.items()}, metrics)
        files["CSV"] = (".csv", lambda: table_csv(rows, origin), "text/csv")
    files |= export.field_files(state, ready, found)
    if found:
        figure = parts_figure(tables.part_errors(found), figure_ink(state))
        files["HTML: Hodge parts"] = ("_parts.html", lambda: figure_html(figure, origin), "text/html")
    download_row(files, export.stem(state, ready), "comparison")
