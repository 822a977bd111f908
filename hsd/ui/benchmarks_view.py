"""What the Benchmarks page shows: task, protocol and part chosen in the sidebar, and sentences on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import streamlit as st

from hsd import __version__
from hsd.data.tasks import TASKS, task
from hsd.data.tasks.base import Task
from hsd.experiments.suites import EPOCHS, FULL_EPOCHS, SAMPLES
from hsd.experiments.tables import SHORT
from hsd.experiments.trivial import DATA, TRIVIAL, Trivial, trivial_of
from hsd.metrics.definitions import DEFINITIONS
from hsd.ui import benchmarks_data as data
from hsd.ui import benchmarks_tables as tables
from hsd.ui.benchmarks_data import Found, Protocol, Run
from hsd.ui.benchmarks_files import origin_of
from hsd.ui.bound import bound_segments, bound_selectbox
from hsd.ui.page import Domain
from hsd.ui.state import get_state


@dataclass(frozen=True, eq=False)
class View:
    """What the page shows.  runs : of the task's table under one protocol;  part : in force;  note: why not the one
    asked for."""

    found: Found
    task: Task
    runs: list[Run]
    protocol: Protocol | None
    part: str
    note: str

    @cached_property
    def trivial(self) -> Trivial:
        """Linear ridge and trivial predictors on the protocol's data, or the card's where nothing is run."""
        words = {key: getattr(self.protocol, key) for key in DATA} if self.protocol else {}
        given = words or {"n_samples": SAMPLES, "n_nodes": None, "n_train": 0}
        return trivial_of(self.found.folder, self.task.name, given, self.part)


def found() -> Found:
    return data.found_in(data.results_folder())


def domain_of(found: Found) -> Domain:
    """Header and provenance of a page without a mesh."""
    n = len(found.runs)
    words = f"{n} record{'' if n == 1 else 's'}"
    origin = " · ".join(f"{name} {value}" for name, value in origin_of(found).items() if name != "version")
    return Domain(None, (words, ""), f"{origin} · hsd {__version__}")


def sidebar(found: Found) -> View:
    """Which task, protocol, part of the data and metric."""
    titles = {name: task(name).title for name in TASKS}
    with st.sidebar:
        name = bound_selectbox("Task", "benchmarks.task", list(titles), titles.get)
        runs = data.table_runs(found, name)
        offered = {protocol.key: protocol for protocol in data.protocols(runs)}
        if len(offered) > 1:
            bound_selectbox("Protocol", "benchmarks.protocol", list(offered), lambda key: offered[key].words)
        bound_segments("Part of the data", "benchmarks.part", ("test", "validation"), str)
        metrics = [
            m for m in SHORT if any((r.record.get(p) or {}).get(m) is not None for r in runs for p in tables.PARTS)
        ]
        bound_selectbox(
            "Metric in plots", "benchmarks.metric", metrics or ["relative_l2"], lambda m: DEFINITIONS[m].title
        )
    state = get_state().benchmarks
    protocol = offered.get(state.protocol) or next(iter(offered.values()), None)
    chosen = data.runs_under(runs, protocol)
    part, note = part_in_force(chosen, state.part)
    return View(found, task(name), chosen, protocol, part, note)


def part_in_force(runs: list[Run], wish: str) -> tuple[str, str]:
    """Test where any run has been scored on it, else validation with the reason."""
    if wish == "test" and runs and not any(run.record.get("test") for run in runs):
        return "validation", "The test part has not been read for any of these runs: **validation** is shown."
    return wish, ""


# ---- words ----


def protocol_words(view: View) -> str:
    """What every run of the table was given, beside the paper's protocol."""
    if view.protocol is None:
        return ""
    p, epochs = view.protocol, EPOCHS.get(view.task.name, FULL_EPOCHS)
    budget = (
        f"{p.minutes:g} minutes each ({2 * p.minutes:g} core-minutes on a CPU)" if p.minutes else f"{p.epochs} epochs"
    )
    nodes = p.n_nodes or view.task.config.n_nodes
    longer = [run for run in view.runs if run.protocol != p]
    full = not p.minutes and p.n_samples >= 3000 and p.epochs >= epochs and not p.n_train
    text = f"Scores on **{view.part}**. Every run: {budget}, {p.n_samples} samples of seed 0, {nodes} nodes asked."
    text += f" Rows with ({longer[0].protocol.minutes:g} min) had that: the best baselines again." if longer else ""
    cut = sum(run.record["cut"] is not None for run in view.runs)
    text += f" {cut} of {len(view.runs)} were cut short by a budget (column protocol)." if cut else ""
    if full:
        return f"{text} This is the paper's protocol."
    return f"{text} That is a part of the paper's protocol (3000 samples, {epochs} epochs)."


def trivial_words(view: View) -> str:
    known, suite = view.trivial, data.suite_of(view.task.name)
    if not known.errors:
        return (
            "Linear ridge and trivial predictors are not computed for these samples; a table of the suite computes "
            f"them (python -m hsd benchmark {suite} --table)."
        )
    names = ", ".join(TRIVIAL[name] for name in known.errors)
    where = "the same samples" if known.part == view.part else f"the {known.part} samples of the task's card"
    return f"Rows without training ({names}): relative L² of node values on {where}."


def standing_words(view: View) -> list[str]:
    """HSD's rank and margin in a few sentences, or why there is none."""
    found = tables.standing_of(view.runs, view.task.name, view.part)
    if found is None:
        there = any(run.label == "hsd" for run in view.runs)
        lacking = "no baseline has a" if there else "it has no"
        return [f"HSD has no rank here yet: {lacking} record under this protocol."]
    first = [SHORT[m] for m, (rank, _) in found["ranks"].items() if rank == 1]
    n = max(n for _, n in found["ranks"].values())
    led = f"leads in {', '.join(first)}" if first else "leads in no metric"
    out = [f"HSD {led} ({n} models compared, on {view.part})."]
    tie = tables.tie_words(view.runs, view.part, found)
    return [
        *out,
        *tables.margin_words(found, view.task.name),
        *([tie] if tie else []),
        *tables.limit_words(view.runs, view.part),
    ]
