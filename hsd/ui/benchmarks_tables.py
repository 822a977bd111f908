"""Rows of the tables of the Benchmarks page as columns of plain values, made from records alone.

A table has a column "entry" last: the name of the record that the numbers of a row are from ("" where none is).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hsd.experiments import published
from hsd.experiments.cost_table import HEADS
from hsd.experiments.standing import PAPER_MARGIN, over_seeds, standing
from hsd.experiments.suites import compared_with
from hsd.experiments.tables import ALWAYS, SHORT, percent
from hsd.experiments.trivial import TRIVIAL
from hsd.metrics.definitions import DEFINITIONS
from hsd.models.registry import BASELINES
from hsd.ui.benchmarks_data import LABELS, LONG, Run
from hsd.viz.palettes import MODELS as LOOKS

Table = dict[str, list]
ENTRY, MODEL = "entry", "model"
FEW_EPOCHS = 20
"""Epochs below which a row says more of the budget than of its model."""
OVER_SEEDS = ("mse", "relative_l2", "s_beta0", "iou")
"""Metrics whose spread over seeds the page shows."""
PARTS = {"test": "test", "validation": "validation"}


def columns_of(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> Table:
    """A table from its rows."""
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def metrics_in(runs: Sequence[Run], part: str) -> list[str]:
    """Metrics that a record of this part has; those of every table where there is none."""
    scored = [run.record.get(part) or {} for run in runs]
    return [name for name in SHORT if any(s.get(name) is not None for s in scored)] or list(ALWAYS)


def result_rows(runs: Sequence[Run], part: str, trivial: Mapping[str, float]) -> Table:
    """One row a run and one a trivial predictor (relative L² only, by its name), the smallest error first.

    What has no metrics of this part comes last with empty cells; nothing is left out.
    """
    names = metrics_in(runs, part)
    found = []
    for run in runs:
        scores, row = run.record.get(part) or {}, run.row
        cost = (row["parameters"], row["n_train"], row["epochs"], row["core_minutes"], row["device"])
        error = scores.get("relative_l2")
        values = [scores.get(name) for name in names]
        found.append((error, [run.title, *values, *cost, run.state, run.record["entry"]]))
    for name, error in trivial.items():
        values = [error if metric == "relative_l2" else None for metric in names]
        found.append((error, [TRIVIAL[name], *values, *[None] * 4, "", "no training", ""]))
    found.sort(key=lambda pair: np.inf if pair[0] is None else pair[0])
    heads = ["parameters", "samples", "epochs", "core-min", "device", "protocol", ENTRY]
    return columns_of([row for _, row in found], [MODEL, *(SHORT[name] for name in names), *heads])


def cost_rows(runs: Sequence[Run], part: str) -> Table:
    """Parameters, latency, seconds and memory of each run, the quickest forward pass first."""
    rows = []
    for run in sorted(runs, key=lambda run: run.record["latency_ms"] or np.inf):
        row = run.row
        seconds = row["training_seconds"] / row["epochs"] if row["epochs"] else None
        rows.append(
            [
                run.title, row["parameters"], row["latency_ms"], row["preparation_seconds"], row["training_seconds"],
                row["epochs"], seconds, row["core_minutes"], row["peak_memory_mb"], row["gpu_memory_mb"],
                (run.record.get(part) or {}).get("relative_l2"), row["device"], run.state, run.record["entry"],
            ]
        )  # fmt: skip
    heads = (
        MODEL, "parameters", "forward ms", "preparation s", "training s", "epochs", "s an epoch", "core-min", "MB",
        "GPU MB", SHORT["relative_l2"], "device", "protocol", ENTRY,
    )  # fmt: skip
    return columns_of(rows, heads)


def measured_cost_rows(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Costs of a task's models, measured in one run on one machine."""
    body = [
        [title_of(row["label"]), row["parameters"], *(round(row[k]) if k == "memory_mb" else row[k] for k in HEADS)]
        for row in rows
    ]
    return columns_of(body, (MODEL, "parameters", *HEADS.values()))


def published_cost_rows(task: str) -> Table:
    """The paper's cost of a task, with its parameters; {} where it prints none."""
    if task not in published.COST:
        return {}
    rows = [
        [LOOKS[name].name, published.TABLE_1[task][name][0], seconds, memory]
        for name, (seconds, memory) in published.COST[task].items()
    ]
    return columns_of(rows, (MODEL, "parameters", "training s", "GPU MB"))


def published_rows(task: str) -> Table:
    """The paper's results of a task; {} where it has none."""
    models = published.published_metrics(task)
    if not models:
        return {}
    names = [name for name in SHORT if any(name in scores for scores in models.values())]
    rows = [[LOOKS[model].name, *(scores.get(name) for name in names)] for model, scores in models.items()]
    out = columns_of(rows, [MODEL, *(SHORT[name] for name in names)])
    if task in published.TABLE_1:
        out["parameters"] = [row[0] for row in published.TABLE_1[task].values()]
    return out


def beside_rows(runs: Sequence[Run], task: str, part: str) -> Table:
    """Ours with the columns of the paper's table: models that it has too first, in its order."""
    theirs = list(published.published_metrics(task))
    names = [name for name in SHORT if any(name in s for s in published.published_metrics(task).values())]
    scored = [run for run in runs if run.record.get(part) and not run.record["seed"]]
    scored.sort(
        key=lambda run: theirs.index(run.label) if run.label in theirs else len(theirs) + LABELS.index(run.label)
    )
    rows = [
        [run.title, *(run.record[part].get(name) for name in names), run.record["parameters"], run.record["entry"]]
        for run in scored
    ]
    return columns_of(rows, [MODEL, *(SHORT[name] for name in names), "parameters", ENTRY])


def standing_of(runs: Sequence[Run], task: str, part: str) -> dict[str, Any] | None:
    """HSD's ranks and margins among the baselines (see :func:`hsd.experiments.tables.standing`)."""
    rows = [{**run.row, "label": run.label} for run in runs]
    return standing(rows, task, part)


def standing_rows(found: Mapping[str, Any] | None, task: str) -> Table:
    """Metric, HSD's rank here and in the paper."""
    theirs = published.published_standing(task)
    ours = found["ranks"] if found else {}
    names = [name for name in SHORT if name in ours or name in theirs]
    words = "{} of {}".format
    rows = [
        [
            SHORT[name],
            words(*ours[name]) if name in ours else "not measured",
            words(*theirs[name]) if name in theirs else "not printed",
            "larger" if DEFINITIONS[name].best else "smaller",
        ]
        for name in names
    ]
    return columns_of(rows, ("metric", "HSD here", "HSD in the paper", "better is"))


def margin_words(found: Mapping[str, Any] | None, task: str) -> list[str]:
    """Sentences on HSD's margin over the best baseline, here and in the paper."""
    out = []
    for name in ("mse", "relative_l2"):
        ours = (found or {}).get("margins", {}).get(name)
        theirs = published.published_margin(task, name)
        if ours is not None and ours["margin"] is not None:
            out.append(f"**Here**, {SHORT[name]}: {_margin(ours['margin'])} {_best_of(ours)}.")
        if theirs is not None:
            said = f"**Paper** (other data), {SHORT[name]}: {_margin(theirs[1])} {LOOKS[theirs[0]].name}."
            out.append(said + (_stated(task, theirs[1]) if name == "mse" else ""))
    return out


def _margin(margin: float) -> str:
    side = "below" if margin >= 0 else "above"
    return f"HSD's error is {percent(abs(margin))} {side} that of the best baseline,"


def _stated(task: str, margin: float) -> str:
    """What the paper's text says where that is not the margin of its own table, and whom it is against."""
    stated = PAPER_MARGIN[task]
    if round(stated, 2) == round(margin, 2):
        return ""
    errors = {name: scores["mse"] for name, scores in published.published_metrics(task).items()}
    own = errors.pop("hsd")
    whom = [LOOKS[name].name for name, error in errors.items() if round(1 - own / error, 2) == round(stated, 2)]
    return f" Its text says {100 * stated:.0f} %, which is against {' or '.join(whom) or 'no model of the table'}."


def _best_of(margin: Mapping[str, Any]) -> str:
    """The best baseline of a margin, with its budget where that was a longer one."""
    longer = f" ({margin['minutes']:g} min)" if margin["minutes"] else ""
    return LOOKS[margin["best_baseline"]].name + longer


def limit_words(runs: Sequence[Run], part: str) -> list[str]:
    """What the ranks do not say: what HSD is built of, and which baselines had few epochs in their budget."""
    out = [
        "HSD holds the form of the equation's solution operator and learns its strengths; the baselines know the "
        "equation by its samples alone."
    ]
    counted = [run for run in runs if run.record.get(part) and run.record["model"] in BASELINES]
    few = [run for run in counted if run.record["training"]["epochs"] < FEW_EPOCHS]
    if few:
        longer = {run.record["model"] for run in counted if run.record["training"]["epochs"] >= FEW_EPOCHS}
        models = dict.fromkeys(run.record["model"] for run in few)
        names = [LOOKS[model].name + (" (its shorter row)" if model in longer else "") for model in models]
        joined = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
        out.append(f"{joined} had fewer than {FEW_EPOCHS} epochs: what the budget gives, not what they reach.")
    return out


def tie_words(runs: Sequence[Run], part: str, found: Mapping[str, Any] | None) -> str:
    """Whether HSD's margin in relative L² is within one standard deviation over seeds; "" where there is one seed."""
    margin = (found or {}).get("margins", {}).get("relative_l2")
    if margin is None:
        return ""
    best = margin["best_baseline"]
    errors = {"hsd": _errors(runs, part, "hsd", None), best: _errors(runs, part, best, margin["minutes"])}
    spreads = {label: float(np.std(values, ddof=1)) for label, values in errors.items() if len(values) > 1}
    if not spreads:
        return ""
    gap = abs(float(np.mean(errors["hsd"]) - np.mean(errors[best])))
    widest = max(spreads, key=spreads.get)
    words = "more than" if gap > spreads[widest] else "a tie, less than"
    alone = f"; {_best_of(margin)} has one seed" if best not in spreads else ""
    return (
        f"The gap in rel. L², {gap:.2g}, is {words} one standard deviation over seeds "
        f"({spreads[widest]:.2g}, {title_of(widest)}{alone})."
    )


def _errors(runs: Sequence[Run], part: str, label: str, minutes: float | None) -> list[float]:
    runs = [run for run in runs if run.label == label and (minutes is None) == (run.suite != LONG)]
    found = [(run.record.get(part) or {}).get("relative_l2") for run in runs]
    return [error for error in found if error is not None]


def seed_rows(runs: Sequence[Run], part: str) -> Table:
    """Mean and standard deviation over seeds, of models with more than one."""
    titles = {run.record["label"]: LOOKS[run.label].name for run in runs}
    rows = []
    for one in over_seeds([run.row for run in runs], part):
        spread = [one[key].get(name) for name in OVER_SEEDS for key in ("mean", "std")]
        rows.append([titles[one["label"]], len(one["seeds"]), *spread])
    heads = [f"{SHORT[name]}{more}" for name in OVER_SEEDS for more in ("", " ± ")]
    return columns_of(rows, [MODEL, "seeds", *heads]) if rows else {}


def ablation_rows(runs: Sequence[Run], task: str, part: str, metric: str) -> Table:
    """Variant, what differs in its config, error, its ratio to that of the variant it is compared with (see
    :func:`hsd.experiments.suites.compared_with`); the paper's MSE beside."""
    errors = {run.record["label"]: (run.record.get(part) or {}).get(metric) for run in runs}
    theirs = published.ABLATION.get(task, {})
    rows = []
    for run in runs:
        label = run.record["label"]
        value, against = errors[label], compared_with(label, errors)
        reference = errors.get(against)
        ratio = value / reference if value is not None and reference else None
        rows.append(
            [
                label, ", ".join(f"{k} = {v}" for k, v in run.record["config"].items()) or "the default of the task",
                value, ratio, against, run.record["parameters"], run.record["training"]["epochs"], theirs.get(label),
                run.state, run.record["entry"],
            ]
        )  # fmt: skip
    heads = ("variant", "config", SHORT[metric], "ratio", "against", "parameters", "epochs", "paper's MSE", "protocol")
    return columns_of(rows, (*heads, ENTRY))


def transfer_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The rows of the file of transfer for one task."""
    body = [
        [
            title_of(row["label"]), row["n_vertices"], "trained here" if row["trained_here"] else "",
            row["error"], row["ratio"], row.get("error_fine"), row.get("ratio_fine"), row["truth_gap"],
            row["refused"] or "",
        ]
        for row in rows
    ]  # fmt: skip
    heads = (
        MODEL, "vertices", "mesh", "relative L²", "ratio to training mesh", "against fine truth", "ratio, fine truth",
        "own truth to fine", "refused because",
    )  # fmt: skip
    return columns_of(body, heads)


def title_of(label: str) -> str:
    """A label's name on all pages; a file's name where it is no label."""
    return LOOKS[label].name if label in LABELS else label
