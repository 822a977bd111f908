"""Widgets and areas of Level Sets: the sidebar, the canvas with its slider, curves and table, the search, the tabs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
import streamlit as st

from hsd.ui import comparison_compose as compose
from hsd.ui import comparison_export as files
from hsd.ui import comparison_panels, held_out
from hsd.ui import level_sets_view as view
from hsd.ui.bound import bound_selectbox, bound_slider
from hsd.ui.comparison_answers import Ready
from hsd.ui.comparison_models import Model
from hsd.ui.comparison_work import Outcome
from hsd.ui.export import download_row, figure_html, table_csv
from hsd.ui.level_sets_view import Levels
from hsd.ui.level_sets_work import component_rows, curve_rows, level_rows
from hsd.ui.space import figure_ink
from hsd.ui.state import AppState, get_state, update
from hsd.ui.viewer import show
from hsd.viz.palettes import COMPONENTS, FILTERED

HALF = 50
"""Per cent of the range at which the paper's figure stands."""
SEARCH = "levels:search"


def sidebar(ready: Ready | None) -> None:
    """Task, sample, models, and the persistence filter."""
    comparison_panels.choice_sidebar(ready, compose_here=False)
    with st.sidebar:
        bound_slider(
            "Persistence filter, %", "levels.least", 0, 50, 1,
            help="Components that join a higher one within this share of the truth's range do not count. 0: all do.",
        )  # fmt: skip


def canvas(state: AppState, ready: Ready, levels: Levels) -> None:
    """Truth and models; the slider moves the threshold in the page."""
    scene = view.scene_of(state, ready, levels)
    jumped = st.session_state.get(SEARCH, {}).get("at")
    if jumped == (state.seed, state.comparison.sample, state.levels.step):  # look where the components are
        scene = replace(scene, camera=view.camera_of(ready, levels, state.levels.step, f"{jumped}"))
    columns = scene.columns_of_panels or 1
    rows = -(-len(scene.panels) // columns)
    show(scene, f"levels/{ready.task.name}", height={1: 300}.get(rows, 260 * rows), on_controls=_moved)


def _moved(values: Mapping[str, float]) -> None:
    if "level" in values:
        update(**{"levels.step": round(values["level"])})


def numbers(state: AppState, ready: Ready, levels: Levels, answers: Mapping[Model, Outcome]) -> None:
    """Curves beside the table at the threshold."""
    left, right = st.columns([9, 11] if state.theme == "projector" else [6, 5])  # the whole table at either size
    with left:
        figure = view.figure_of(state, levels, figure_ink(state))
        st.plotly_chart(figure, theme=None, key="levels/curves", alt="Number of components against the threshold")
    with right:
        st.markdown(f"**At {state.levels.step} %: t = {view.level_at(levels, state.levels.step):.5g}**")
        titled = {m.title: f for m, f in levels.found.items()}
        errors = {m.title: float(a.scores["relative_l2"]) for m, a in answers.items()}
        rows = level_rows(levels.truth, titled, errors, state.levels.step)
        config = {name: st.column_config.NumberColumn(format="%.3f") for name in list(rows)[2:]}
        config["field"] = st.column_config.TextColumn(pinned=True)
        st.dataframe(rows, hide_index=True, column_config=config, key="levels/table", placeholder="–")
        st.caption(
            "S(t) = exp(−|β0_p − β0_g| / max(β0_g, 1)) and IoU(t) = |A_p ∩ A_g| / |A_p ∪ A_g| of A = {u ≥ t}, by area "
            "or volume; S_β0 and IoU: their means over 10 %, 20 % … 90 % of the truth's range. Components are those of "
            "the subcomplex of vertices ≥ t; ties count as in."
        )


# ---- search ------------------------------------------------------------------------------------------------------


def search(ready: Ready) -> None:
    """Buttons that jump to samples where models disagree; the first press computes the test samples."""
    if len(ready.models) < 2:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        wanted = None
        if st.button(
            "Find a disagreement", key="levels:differ", type="primary", icon=":material/compare_arrows:",
            help="Jumps to a test sample and a threshold where models with similar L² errors differ in β0.",
        ):  # fmt: skip
            wanted = "differ"
        if st.button(
            "Figure of the paper", key="levels:agree", icon=":material/find_in_page:",
            help="Jumps to a test sample where truth and HSD agree at 50 % of the range and another model does not.",
        ):  # fmt: skip
            wanted = "agree"
        memory = st.session_state.get(SEARCH, {})
        if memory.get("of") == _searched(ready):
            st.caption(memory["words"])
    if wanted is not None:
        _jump(ready, wanted)


def _searched(ready: Ready) -> tuple:
    """What a search was about; its words are shown only there."""
    return ready.task.name, ready.mesh.content_hash, ready.models, get_state().levels.least


def _jump(ready: Ready, kind: str) -> None:
    found = held_out.computed(ready)
    if found is None:
        return
    state = get_state()
    cases = view.cases_of(state, found, HALF)
    words = view.summary(state, found, cases, HALF)
    memory, of = st.session_state.get(SEARCH, {}), _searched(ready)
    listed, again = cases[kind], (memory.get("of"), memory.get("kind")) == (of, kind)
    turn = (memory["turn"] + 1) % len(listed) if listed and again else 0
    st.session_state[SEARCH] = {"of": of, "kind": kind, "turn": turn, "words": words}
    if listed:
        case = listed[turn]
        number = int(found.numbers[case.row])
        more = f" Shown: case {turn + 1} of {len(listed)}, sample {number} at {case.level} %; again for the next."
        st.session_state[SEARCH]["words"] = words + more
        st.session_state[SEARCH]["at"] = (found.seed, number, case.level)
        go(found.seed, number, case.level)
    st.rerun()


def go(seed: int, sample: int, step: int) -> None:
    """Show a sample at a threshold."""
    compose.ended()
    update(seed=seed, **{"comparison.sample": sample, "levels.step": step})


# ---- below -------------------------------------------------------------------------------------------------------


def details(state: AppState, ready: Ready, levels: Levels, answers: Mapping[Model, Outcome]) -> None:
    """Tabs; only the open one is made."""
    makers = {
        "Test set": lambda: test_tab(state, ready),
        "Components": lambda: components_tab(state, ready, levels),
        "Data and export": lambda: data_tab(state, ready, levels, answers),
        "Code": lambda: st.code(view.code(state, ready, levels), language="python"),
    }
    for tab, make in zip(st.tabs(list(makers), key="levels/tabs", on_change="rerun"), makers.values()):
        if tab.open:
            with tab:
                make()


def test_tab(state: AppState, ready: Ready) -> None:
    found = held_out.offered(ready, "levels", "Look through {n} test samples")
    if found is None:
        return
    titles = {m.key: m.title for m in found.found}
    if len(titles) > 1:
        update(**{"levels.favourite": view.favourite_of(get_state(), found)})
        bound_selectbox("Model that is to be right", "levels.favourite", list(titles), titles.get)
    state = get_state()
    cases = view.cases_of(state, found, state.levels.step)
    st.markdown(view.summary(state, found, cases, state.levels.step))
    who = titles.get(view.favourite_of(state, found), "")
    names = {
        "agree": f"Truth and {who} agree at {state.levels.step} %, another not",
        "differ": "Models with similar errors differ in β0",
    }
    for kind, listed in cases.items():
        if not listed:
            continue
        with st.expander(f"{names[kind]}: {len(listed)} samples", expanded=True):
            picked = st.dataframe(
                view.case_rows(found, listed), hide_index=True, key=f"levels/{kind}/{len(listed)}", on_select="rerun",
                selection_mode="single-row",
            )  # fmt: skip
            rows = picked["selection"]["rows"]
            if rows:
                case = listed[rows[0]]
                number = int(found.numbers[case.row])
                words = f"Show sample {number} at {case.level} %"
                st.button(words, key=f"levels/go/{kind}", on_click=go, args=(found.seed, number, case.level))


def components_tab(state: AppState, ready: Ready, levels: Levels) -> None:
    names = {"": "truth"} | {m.key: m.title for m in levels.found}
    key = st.segmented_control("Field", list(names), format_func=names.get, default="", key="levels/whose") or ""
    field = levels.truth if not key else next(f for m, f in levels.found.items() if m.key == key)
    mass, low_high = ready.ground.vertex_measure, levels.limits
    least = levels.least * (low_high[1] - low_high[0])
    drawn = view.scene_of(state, ready, levels).panels[list(names).index(key)].superlevel
    level, palette = view.level_at(levels, state.levels.step), [*COMPONENTS, FILTERED]
    whose = replace(field.tree, parent=drawn.parent, death=drawn.death).roots(level)  # the peak that gives the colour
    rows = component_rows(field, level, mass, least, [palette[drawn.colour[j]] for j in whose])
    config = {"share of the domain": st.column_config.NumberColumn(format="percent")}
    table = pd.DataFrame(rows).style.map(lambda c: f"background-color: {c}; color: {c}", subset=["colour"])
    st.dataframe(table, hide_index=True, column_config=config, key="levels/components")
    st.caption(
        "Persistence: maximum minus the threshold at which the component joins a higher one; none: it never does."
    )


def data_tab(state: AppState, ready: Ready, levels: Levels, answers: Mapping[Model, Outcome]) -> None:
    rows = curve_rows(levels.truth, {m.title: f for m, f in levels.found.items()})
    st.dataframe(rows, hide_index=True, height=260, key="levels/data")
    origin = files.record_of(state, ready, answers) | {
        "threshold_percent": str(state.levels.step),
        "least_persistence_percent": str(state.levels.least),
    }
    figure = view.figure_of(state, levels, figure_ink(state))
    scene = view.scene_of(state, ready, levels)
    download_row(
        {
            "CSV": (".csv", lambda: table_csv(rows, origin), "text/csv"),
            **view.level_files(state, ready, levels, origin),
            "HTML: curves": ("_curves.html", lambda: figure_html(figure, origin), "text/html"),
        },
        f"levels_{files.stem(state, ready)}",
        "levels",
    )
    st.caption(f"The picture of {len(scene.panels)} panels saves itself: camera button, lower right of the canvas.")
