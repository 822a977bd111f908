"""The tabs of the Benchmarks page: each says what is recorded, what is not, and the command that makes it."""

from __future__ import annotations

import streamlit as st

from hsd.experiments import published
from hsd.experiments.cost_table import NOTE as COST_NOTE
from hsd.experiments.suites import CORE_TASKS, LONG_MINUTES
from hsd.experiments.tables import SHORT
from hsd.experiments.trivial import TRIVIAL
from hsd.metrics.definitions import DEFINITIONS
from hsd.ui import benchmarks_data as data
from hsd.ui import benchmarks_tables as tables
from hsd.ui import task_card
from hsd.ui.benchmarks_data import Run
from hsd.ui.benchmarks_files import files_of
from hsd.ui.benchmarks_record import linked_table, plain_table, record_choice
from hsd.ui.benchmarks_view import View, part_in_force, protocol_words, standing_words, trivial_words
from hsd.ui.export import download_row
from hsd.ui.space import figure_ink
from hsd.ui.state import get_state
from hsd.viz import benchmark_figures as figures
from hsd.viz.palettes import model_look

OTHER_DATA = ":orange-badge[other data]"
DRAWN_BY_SAMPLE = "relative L², S_β0 and IoU"


# ---- results -----------------------------------------------------------------------------------------------------


def results(view: View) -> None:
    name = view.task.name
    if view.note:
        st.info(f"{view.note} Reading it, once for the table: `{data.command_test(data.suite_of(name))}`")
    if not view.runs:
        st.info(f"No run of {view.task.title} is recorded yet; below are predictors that understand nothing.")
    table = tables.result_rows(view.runs, view.part, view.trivial.errors)
    linked_table(table, "benchmarks/results")
    record_choice(view.runs, "results")
    st.caption(f"{protocol_words(view)} {trivial_words(view)} Click a head to sort, a cell to see the run behind it.")
    st.markdown("\n".join(f"- {s}" for s in standing_words(view)))
    scores(view)
    seeds = tables.seed_rows(view.runs, view.part)
    if seeds:
        st.markdown("**Over seeds** (mean and standard deviation)")
        plain_table(seeds, "benchmarks/seeds")
    elif view.runs:
        st.caption("Every model has one seed here: how far its error moves with the seed is not known.")
    not_there(view)


def scores(view: View) -> None:
    """Boxes over test samples where these are recorded, else means."""
    metric, ink = get_state().benchmarks.metric, figure_ink(get_state())
    said, log = DEFINITIONS[metric], DEFINITIONS[metric].best == 0
    scored = [run for run in view.runs if (run.record.get(view.part) or {}).get(metric) is not None]
    boxes = [run for run in scored if view.part == "test" and (run.record.get("per_sample") or {}).get(metric)]
    if not scored:
        return
    made = [score_of(run, view.part, metric) for run in (boxes or scored)]
    made.sort(key=lambda score: score.mean, reverse=not log)
    if boxes:
        st.markdown(f"**{said.title} over the test samples** (box: quartiles, dashed: mean)")
        figure = figures.box_figure(made, said.title, ink, log)
    else:
        lines = {TRIVIAL[n]: e for n, e in view.trivial.errors.items()} if metric == "relative_l2" else {}
        st.markdown(
            f"**{said.title}, {view.part}**"
            + (" (bars: one standard deviation of the samples)" if view.part == "test" else "")
        )
        figure = figures.dot_figure(made, said.title, ink, log, lines)
    st.plotly_chart(figure, theme=None, key="benchmarks/scores", alt=f"{said.title} of each model")
    if not boxes:
        st.caption(
            f"Values of single samples, for boxes, are recorded for {DRAWN_BY_SAMPLE} when a table reads the test part."
        )


def score_of(run: Run, part: str, metric: str) -> figures.Score:
    record = run.record
    std = (record.get("test_std") or {}).get(metric) if part == "test" else None
    samples = (record.get("per_sample") or {}).get(metric, ()) if part == "test" else ()
    look = model_look(run.label, record["model"])
    return figures.Score(run.title, look, record[part][metric], std, [v for v in samples if v is not None])


def not_there(view: View) -> None:
    """What the table lacks, by name, with the commands."""
    labels, name = data.missing(view.found, view.task.name), view.task.name
    unread = [run.title for run in view.runs if not run.record.get("test")]
    with st.expander(f"What is not there yet: {len(labels)} runs, {len(unread)} test scores", expanded=not view.runs):
        if labels:
            st.markdown(
                f"**Not run yet**, or of an older version only (suite `{data.suite_of(name)}`): "
                + "; ".join(map(tables.title_of, labels))
            )
            st.code(data.command_missing(name, labels), language="bash", wrap_lines=True)
        if unread:
            st.markdown("**Test part not read yet**: " + ", ".join(unread))
            st.code(data.command_test(data.suite_of(name)), language="bash", wrap_lines=True)
        if not any(p.n_samples >= 3000 for p in data.protocols(data.table_runs(view.found, name))):
            st.markdown("**The paper's protocol** (3000 samples) has not been run; on a GPU:")
            st.code(
                data.command_full(name),
                language="bash", wrap_lines=True,
            )  # fmt: skip
        if name in CORE_TASKS and not any(run.suite == data.LONG for run in view.found.of(name)):
            st.markdown(f"**The best two baselines at {LONG_MINUTES:g} minutes** have not been run:")
            st.code(data.command_long(name), language="bash", wrap_lines=True)
        if not labels and not unread:
            st.markdown("Every model of the suite has its run, and the test part has been read.")


# ---- beside the paper --------------------------------------------------------------------------------------------


def beside(view: View) -> None:
    name = view.task.name
    theirs = tables.published_rows(name)
    if not theirs:
        st.info(f"{view.task.title} is a task of this program; the paper prints nothing of it.")
        return
    which = "Table 1" if name in published.TABLE_1 else "the stress tests"
    st.markdown(
        "The two tables are of **different data** of the same kind: other fields, amplitudes, units and meshes, other "
        "training and another machine. Compare orders and margins, not values."
    )
    left, right = st.columns(2)
    with left:
        st.markdown(f"**Here**, {view.part}: {view.protocol.words if view.protocol else 'nothing recorded yet'}")
        ours = tables.beside_rows(view.runs, name, view.part)
        if ours[tables.MODEL]:
            linked_table(ours, "benchmarks/ours")
        else:
            st.info("No run of this task is recorded yet; the tab Results has the command.")
    with right:
        st.markdown(f"**Paper**, {which} {OTHER_DATA}")
        plain_table(theirs, "benchmarks/paper")
        st.caption(f"As printed. Protocol: {published.PROTOCOL}.")
    found = tables.standing_of(view.runs, name, view.part)
    st.markdown("**HSD among the baselines**: rank by metric, 1 is the nearest to the best value")
    left, right = st.columns(2)
    with left:
        plain_table(tables.standing_rows(found, name), "benchmarks/standing")
    with right:
        st.markdown("\n".join(f"- {sentence}" for sentence in tables.margin_words(found, name)))
        if found is None:
            st.caption(standing_words(view)[0])
        st.caption(
            "The published reference code differs from the paper's text (a square root over IoU, a factor 1.5 within "
            "S_β0); here the text is followed. Tab Formulas says how each is measured here."
        )


# ---- ablations ---------------------------------------------------------------------------------------------------


def ablations(view: View) -> None:
    name = view.task.name
    suite, entries = data.ablation_entries(name)
    runs = data.ablation_runs(view.found, name)
    part, note = part_in_force(runs, get_state().benchmarks.part)
    if note:
        st.info(f"{note} Reading it: `{data.command_test(suite)}`")
    metric = get_state().benchmarks.metric
    metric = metric if DEFINITIONS[metric].best == 0 else "relative_l2"
    if runs:
        table = tables.ablation_rows(runs, name, part, metric)
        linked_table(table, "benchmarks/ablations")
        record_choice(runs, "ablations")
        ratios = {v: r for v, r in zip(table["variant"], table["ratio"]) if r is not None and v != "full"}
        if ratios:
            title = f"{SHORT[metric]} over that of the full model (“A, B”: over that of “A”), {part}"
            st.plotly_chart(
                figures.ratio_figure(ratios, title, figure_ink(get_state())), theme=None, key="benchmarks/ratios",
                alt=title,
            )  # fmt: skip
    there = {run.record["entry"] for run in runs}
    todo = [entry for entry in entries if entry.name not in there]
    if todo:
        st.markdown(f"**Not run yet** ({len(todo)} of {len(entries)} of `{suite}`): {', '.join(e.label for e in todo)}")
        rows = [
            [e.label, ", ".join(f"{k} = {v}" for k, v in e.config.items()) or "the default", e.minutes] for e in todo
        ]
        with st.expander("Their configs and the command", expanded=not runs):
            plain_table(tables.columns_of(rows, ("variant", "config", "minutes")), "benchmarks/todo")
            st.code(data.command_ablation(name), language="bash", wrap_lines=True)
    st.caption(
        f"Every variant differs from “full”, HSD's default on {view.task.title}, only by the config named, and had the "
        f"same {entries[0].minutes:g} minutes. “A, B” is compared with “A”, every other one with “full”: what the "
        "default lacks is added. One seed each: small changes may be chance."
    )
    if name in published.ABLATION:
        st.markdown(f"**Paper's ablations** (MSE) {OTHER_DATA}")
        theirs = published.ABLATION[name]
        rows = [[variant, value, value / theirs["full"]] for variant, value in theirs.items()]
        plain_table(tables.columns_of(rows, ("variant", "paper's MSE", "ratio")), "benchmarks/paper_ablation")
        st.caption("Its full model has 64 modes, a grid fiber, the commutator and the projection: our variant “paper”.")


# ---- cost --------------------------------------------------------------------------------------------------------


def cost(view: View) -> None:
    measured, where, said = data.measured_costs(view.found.folder, view.task.name)
    if said:
        st.warning(said)
    if measured:
        st.markdown("**Measured one after the other on one machine**")
        plain_table(tables.measured_cost_rows(measured), "benchmarks/measured_cost")
        st.caption(f"{where} {COST_NOTE}")
    forward = {row["label"]: row["forward_ms"] for row in measured}
    points = [
        (run.title, model_look(run.label, run.record["model"]), ms, error)
        for run in view.runs
        if (ms := forward.get(run.label) if measured else run.record["latency_ms"])
        and (error := (run.record.get(view.part) or {}).get("relative_l2"))
    ]
    if points:
        st.markdown(f"**Error against latency**, {view.part}")
        figure = figures.trade_figure(points, "forward pass, ms", SHORT["relative_l2"], figure_ink(get_state()))
        st.plotly_chart(figure, theme=None, key="benchmarks/trade", alt="Relative L2 error against latency")
    if not view.runs:
        st.info(f"No run of {view.task.title} is recorded yet; the tab Results has the command.")
    else:
        st.markdown("**As recorded with each run**")
        linked_table(tables.cost_rows(view.runs, view.part), "benchmarks/cost")
        record_choice(view.runs, "cost")
        st.caption(
            "forward ms: median of warm forward passes of one sample, on the machine of the run, which may have had "
            "other work. Preparation: modes and what else a model computes of the mesh once. MB: peak memory of the "
            "training process. With equal budgets training seconds are about equal (steps are laid out by the measured "
            "pace), so that s an epoch tells models apart."
        )
    absent = [run.title for run in view.runs if not run.record["seed"] and run.label not in forward]
    if measured and absent:
        st.markdown(f"**Not measured yet** on one machine: {', '.join(dict.fromkeys(absent))}")
    if view.runs and (absent or not measured):
        st.markdown("All shipped models, one after the other on this machine:")
        st.code(data.command_costs(), language="bash", wrap_lines=True)
    theirs = tables.published_cost_rows(view.task.name)
    if theirs:
        st.markdown(f"**Paper's cost table** {OTHER_DATA}")
        plain_table(theirs, "benchmarks/paper_cost")
        seconds = published.PREPARATION[view.task.name]
        st.caption(f"As printed: one GPU (RTX PRO 6000); of HSD's seconds {seconds:g} are its preparation.")


# ---- resolution --------------------------------------------------------------------------------------------------


def resolution(view: View) -> None:
    rows, said = data.transfer_rows(view.found.folder)
    if said:
        st.warning(said)
    mine = [row for row in rows if row["task"] == view.task.name]
    if mine:
        table = tables.transfer_table(mine)
        lines, labels = [], list(dict.fromkeys(row["label"] for row in mine))
        for label in labels:
            own = sorted((r["n_vertices"], r["error"]) for r in mine if r["label"] == label and r["error"] is not None)
            if own:
                lines.append((tables.title_of(label), model_look(label), *zip(*own)))
        gap = sorted({(row["n_vertices"], row["truth_gap"]) for row in mine})
        figure = figures.mesh_figure(lines, tuple(zip(*gap)), figure_ink(get_state()))
        st.plotly_chart(figure, theme=None, key="benchmarks/transfer", alt="Error on coarser and finer meshes")
        plain_table(table, "benchmarks/transfer/table")
        st.caption(
            f"Relative L² of node values over {mine[0]['n_samples']} test samples, realised on each mesh by the task's "
            "own solver; models take the modes of that mesh, no weight changes. “fine truth”: one for all meshes, with "
            "four times the vertices, interpolated. “own truth to fine”: so much of a mesh's truth is its solver's "
            "discretisation, which a model trained on another mesh cannot know."
        )
    trained = [run.label for run in view.runs if not run.record["seed"]]
    absent = [tables.title_of(label) for label in dict.fromkeys(trained) if label not in {row["label"] for row in mine}]
    if absent:
        st.markdown(f"**Not measured yet** on {view.task.title}: {', '.join(absent)}")
    elif not mine:
        st.info(f"No model of {view.task.title} is trained yet, so that none could be taken to another mesh.")
    if absent or not mine:
        st.markdown("All shipped checkpoints on meshes of about 1500 and 7000 nodes:")
        st.code(data.command_transfer(), language="bash", wrap_lines=True)
    if view.task.name == "external_aerodynamics":
        st.caption(
            "The paper says of its external aerodynamics (other data): from 3000 to 7000 nodes HSD's error varies by "
            "at most 30 %, that of every baseline grows at least tenfold."
        )


# ---- the rest ----------------------------------------------------------------------------------------------------


def card(view: View) -> None:
    task_card.card_panel(get_state(), view.task.name, view.task.config_dict, view.task.config.n_nodes)
    st.markdown("Samples, trajectories and the whole card: page [Tasks](tasks).")


def formulas(view: View) -> None:
    st.markdown(
        "u: node values, ω: forms; p: prediction, g: ground truth. Norms of node values are weighted by the lumped ⋆₀ "
        "(areas, volumes), norms of forms by ⋆. All models are scored on node values of one sharp map, forms are made "
        "of them by one flat map, for the truth too. Tables show means over samples."
    )
    columns = st.columns(2)
    for i, (name, said) in enumerate(DEFINITIONS.items()):
        with columns[i % 2], st.container(border=True):
            short = f" ({SHORT[name]})" if name in SHORT and SHORT[name] != said.title else ""
            st.markdown(
                f"**{said.title}**{short} · perfect: {said.best:g}, {'larger' if said.best else 'smaller'} is better"
            )
            st.latex(said.latex)
            st.caption(said.words)


def exports(view: View) -> None:
    st.markdown(
        "CSV: the tables of this task as they stand here. JSON: the same with trivial predictors, HSD's standing, the "
        "paper's numbers (marked as other data) and the formulas. Both say which records they are from. The address "
        "(*Copy link*) carries task, protocol, part and metric."
    )
    download_row(files_of(view), f"benchmarks_{view.task.name}_{view.part}", "benchmarks")
    st.markdown("By command, from the same records (it reads the test part of runs that have no test scores yet):")
    st.code(
        f"python -m hsd benchmark {data.suite_of(view.task.name)} --tasks {view.task.name} --table", language="bash"
    )
