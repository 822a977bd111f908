"""What lies below the canvas of Model Comparison: tables, exports, code; only the open tab is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from hsd.hodge.decomposition import PARTS
from hsd.ui import comparison_answers as work
from hsd.ui import comparison_export as export
from hsd.ui import comparison_models as models
from hsd.ui import comparison_tables as tables
from hsd.ui import comparison_view as view
from hsd.ui.comparison_answers import Ready
from hsd.ui.comparison_code import path_here
from hsd.ui.comparison_models import Model
from hsd.ui.comparison_panels import PICK
from hsd.ui.comparison_work import Outcome
from hsd.ui.export import download_row, figure_html, table_csv
from hsd.ui.markdown import literal
from hsd.ui.space import figure_ink
from hsd.ui.state import AppState
from hsd.viz.comparison_figures import parts_figure
from hsd.viz.scene import Scene

BUSY = 1.5
"""Wall clock over computing time from which the page says that the machine was busy."""


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
    helps = {m.title: literal(m.formula) for m in metrics.values()}
    config = {
        name: st.column_config.NumberColumn(format=number_format(values), help=helps.get(name))
        for name, values in list(rows.items())[1:]
    }
    st.dataframe(rows, hide_index=True, column_config=config | {tables.MODEL: _pinned()}, key=key)


def number_format(values: Sequence[float | None]) -> str:
    """One format of a column: powers of ten where a value is below a thousandth."""
    return "%.3e" if any(v is not None and 0 < abs(v) < 1e-3 for v in values) else "%.4g"


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
    pick = st.session_state.get(PICK)
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
    load = max((cost.load for cost in costs.values()), default=0.0)
    if load > BUSY:
        st.warning(f"Other work slowed these times: they are up to {load:.1f} times the computing time.")
        st.button("Measure again", key="comparison:measure", on_click=work.forget_costs)


def test_tab(ready: Ready, found: Mapping[Model, Outcome]) -> None:
    metrics = metrics_here(ready)
    rows, missing = tables.test_rows(list(found), metrics)
    if rows[tables.MODEL]:
        _numbers(rows, "comparison/test", metrics)
        st.caption(tables.test_words(ready.mesh, [model for model in found if model.title not in missing]))
    own = [model for model in found if model.key.startswith(models.RUN)]
    shipped = [title for title in missing if title not in [model.title for model in own]]
    if shipped:
        st.caption(
            f"No test numbers came with: {', '.join(shipped)}. The test part is read once, when all runs of a table "
            "are done; until then Benchmarks has their validation numbers."
        )
    if own:
        data = f" --data {path_here(str(ready.file.data.path))}" if ready.file is not None else ""
        st.caption("Own runs and files are measured on the test part by:")
        lines = [f"python -m hsd evaluate {path_here(str(m.path))}{data} --part test" for m in own]
        st.code("\n".join(lines), language="bash")


def export_tab(state: AppState, ready: Ready, found: Mapping[Model, Outcome], scene: Scene) -> None:
    st.markdown(
        "Sheet: all panels as PNG for papers. CSV: the table. NPZ, VTP, VTU: input, truth, predictions, errors. Files "
        "carry task, sample, mesh, checksums of the weights, device and version. Link: *Copy link* above."
    )
    origin = export.record_of(state, ready, found)
    files: dict = {"Sheet (PNG)": ("_sheet.png", lambda: export.sheet(scene, origin), "image/png")}
    if found:
        metrics = metrics_here(ready)
        rows = tables.score_rows({model: answer.scores for model, answer in found.items()}, metrics)
        files["CSV"] = (".csv", lambda: table_csv(rows, origin), "text/csv")
    files |= export.field_files(state, ready, found)
    if found:
        figure = parts_figure(tables.part_errors(found), figure_ink(state))
        files["HTML: Hodge parts"] = ("_parts.html", lambda: figure_html(figure, origin), "text/html")
    download_row(files, export.stem(state, ready), "comparison")
