"""Where a number comes from: tables whose cells open the record behind them, and the record itself in a dialog."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from hsd.data.tasks import task
from hsd.experiments.tables import NOTHING, SHORT
from hsd.metrics.definitions import DEFINITIONS
from hsd.ui.benchmarks_data import Found, Run, command_of
from hsd.ui.benchmarks_tables import ENTRY, MODEL, Table, columns_of
from hsd.ui.bound import bound_selectbox
from hsd.ui.space import figure_ink
from hsd.ui.state import get_state, update
from hsd.viz.benchmark_figures import learning_figure
from hsd.viz.palettes import model_look

CLEARED = "benchmarks/cleared"
"""How often a record was closed: part of the tables' keys, so that the cell that opened it is chosen no more."""
SMALL = ("exact", "coexact", "harmonic", "mass drift", "flux drift", "source", "MSE", "paper's MSE")
WHOLE = ("parameters", "samples", "epochs", "MB", "GPU MB", "vertices", "seeds", "samples a step")
ONE_DIGIT = ("training s", "preparation s", "forward ms", "core-min", "s an epoch", "CPU ms", "step ms")
WIDTHS = {"mesh": 105, "config": 320}
"""Of texts that are wider than what the browser sees of them first."""


def column_config(table: Table) -> dict[str, Any]:
    """How numbers are written: whole, seconds, small ones with an exponent, the others with four digits."""
    out: dict[str, Any] = {ENTRY: None}
    for name in table:
        if name in (MODEL, "variant"):  # as wide as "copy of the input", "grid fiber, without projection"
            out[name] = st.column_config.TextColumn(pinned=True, width=135 if name == MODEL else 215)
        elif name in WIDTHS:
            out[name] = st.column_config.TextColumn(width=WIDTHS[name])
        elif name in WHOLE:
            out[name] = st.column_config.NumberColumn(format="localized")
        elif name in ONE_DIGIT:
            out[name] = st.column_config.NumberColumn(format="%.1f")
        elif name == "ratio":
            out[name] = st.column_config.NumberColumn(format="×%.3g")
        elif name.removesuffix(" ± ") in SMALL:
            out[name] = st.column_config.NumberColumn(format="%.2e")
        elif any(isinstance(value, float) for value in table[name]):
            out[name] = st.column_config.NumberColumn(format="%.4f")
    return out


def plain_table(table: Table, key: str) -> None:
    """A sortable table that opens nothing."""
    st.dataframe(
        table, hide_index=True, column_config=column_config(table), key=key, placeholder=NOTHING, height="content"
    )


def linked_table(table: Table, key: str) -> None:
    """A sortable table; a click on a cell opens the record that the row is from."""
    name = f"{key}/{st.session_state.get(CLEARED, 0)}"
    st.dataframe(
        table,
        hide_index=True,
        column_config=column_config(table),
        height="content" if len(table[ENTRY]) < 18 else 640,
        key=name,
        placeholder=NOTHING,
        on_select=partial(_chosen, name, tuple(table[ENTRY])),
        selection_mode="single-cell",
    )


def _chosen(key: str, entries: tuple[str, ...]) -> None:
    cells = st.session_state[key]["selection"]["cells"]
    if cells and entries[cells[0][0]]:
        update(**{"benchmarks.record": entries[cells[0][0]]})


def record_choice(runs: list[Run], key: str) -> None:
    """The same by keyboard: a list of the records of a table."""
    names = {run.record[ENTRY]: f"{run.title}: {run.record[ENTRY]}" for run in runs}
    if not names:
        return
    options = ["", *names]
    if get_state().benchmarks.record in options:
        bound_selectbox(
            "Open a record", "benchmarks.record", options, lambda entry: names.get(entry, "choose, or click a cell"),
            name=key, width=520,
        )  # fmt: skip


def closed() -> None:
    """The dialog was left."""
    update(**{"benchmarks.record": ""})
    st.session_state[CLEARED] = st.session_state.get(CLEARED, 0) + 1


def open_record(found: Found) -> None:
    """The dialog of the record in force, or a sentence where it is gone."""
    entry = get_state().benchmarks.record
    if not entry:
        return
    run = found.by_entry(entry)
    if run is None:
        st.warning(f"There is no record {entry} any more; the link is of another set of results.")
        return
    title = f"{run.title} on {task(run.record['task']).title}"
    st.dialog(title, width="large", on_dismiss=closed)(partial(show, run))()


def show(run: Run) -> None:
    """Config, seed, data, versions, checksum, curve and the command that makes it again."""
    record = run.record
    training = record["training"]
    budget = f"{record['minutes']:g} minutes" if record["minutes"] else f"{record['epochs']} epochs"
    st.markdown(
        f"`{record[ENTRY]}` · seed {record['seed']} · budget {budget} · "
        f"**{run.state}** · {training['epochs']} epochs, {training['n_train']} samples trained on, "
        f"{training['training_seconds']:.0f} s of computing on {training.get('device') or 'an unnamed device'}"
    )
    left, right = st.columns([1, 1])
    with left:
        st.dataframe(
            metric_rows(record), hide_index=True, key="benchmarks/record/metrics", placeholder=NOTHING,
            column_config={n: st.column_config.NumberColumn(format="%.4g") for n in ("validation", "test", "test ±")},
        )  # fmt: skip
        if not record.get("test"):
            st.caption("The test part has not been read for this run.")
    with right:
        if record.get("curve", {}).get("epoch"):
            figure = learning_figure(record["curve"], model_look(run.label, record["model"]), figure_ink(get_state()))
            st.plotly_chart(figure, theme=None, key="benchmarks/record/curve", alt="Learning curve of the run")
        st.markdown("**Config** (what differs from the task's defaults, then all of it)")
        st.json({"config": record["config"], "model_config": record.get("model_config", {})}, expanded=1)
    st.markdown("**Data**")
    st.code(record["data"].get("command", "not recorded"), language="bash", wrap_lines=True)
    st.markdown("**Made again by** (elsewhere, for comparison)")
    st.code(command_of(run), language="bash", wrap_lines=True)
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    st.caption(f"Weights sha256 {record['sha256']} · {versions} · {record['parameters']:,} parameters")
    text = json.dumps(record, ensure_ascii=False, indent=1).encode()
    st.download_button(
        "Record as JSON", text, f"{record[ENTRY]}.json", "application/json", key="benchmarks/record/json",
        on_click="ignore",
    )  # fmt: skip


def metric_rows(record: Mapping[str, Any]) -> Table:
    """Metric, mean on validation and test, standard deviation over the test samples."""
    parts = [record.get(key) or {} for key in ("validation", "test", "test_std")]
    names = [name for name in DEFINITIONS if any(part.get(name) is not None for part in parts)]
    rows = [[SHORT.get(name, DEFINITIONS[name].title), *(part.get(name) for part in parts)] for name in names]
    return columns_of(rows, ("metric", "validation", "test", "test ±"))
