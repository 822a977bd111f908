"""Tables of a suite: JSON and Markdown with trivial predictors, HSD's ranks and margins; the block of the README."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hsd.errors import InputError
from hsd.experiments.records import ASSETS, Records, read_json, rounded, text_of, version_in
from hsd.experiments.standing import ERRORS, SHORT, is_current, over_seeds, standing
from hsd.experiments.trivial import DATA, TRIVIAL, is_of_card, trivial_errors
from hsd.hodge.cache import write_atomically
from hsd.metrics.definitions import DEFINITIONS

SCHEMA = "hsd-table-2"
README = ASSETS.parent / "README.md"
ALWAYS = tuple(SHORT)[:8]
HEAD = ("entry", "task", "label", "model", "minutes", "seed", "cut")
"""What every row says first, also that of a run that failed."""
NOTHING = "—"
MEANS = {
    "test": "Means over the test samples.",
    "validation": (
        "Means over the validation samples, which also chose each model's epoch; the test part has not been read."
    ),
}
FROM_CARD = " The trivial predictors' errors are those on test samples."
NO_RUN = "No run of this suite is recorded yet.\n"
"""What the README says of a suite before its first table."""


def row_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What tables show of a record: head, cost, and metrics of both parts (test None where it has not been read)."""
    training = record["training"]
    return (
        {key: record[key] for key in HEAD}
        | {key: record[key] for key in ("parameters", "n_samples", "latency_ms", "peak_memory_mb", "validation")}
        | {key: training[key] for key in ("epochs", "n_train", "training_seconds", "preparation_seconds")}
        | {key: training.get(key) for key in ("core_minutes", "device", "threads", "gpu_memory_mb")}
        | {
            "model_version": version_in(record),
            "epochs_asked": record["epochs"],
            "n_nodes": record["data"].get("n_nodes"),
        }
        | {"test": record.get("test"), "test_std": record.get("test_std")}
    )


def results_of(
    suite: str, rows: Sequence[dict[str, Any]], part: str = "test", trivial: Mapping[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Everything that a suite's tables show, as plain values.

    part : the one whose metrics they show
    trivial : task → trivial predictors on its data (see :func:`hsd.experiments.report.trivial_table`); None: those of
              the cards, for tables of the cards' data
    """
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    trivial = trivial or {task: _of_card(task, next(r for r in rows if r["task"] == task)) for task in tasks}
    return {
        "schema": SCHEMA,
        "suite": suite,
        "part": part,
        "rows": list(rows),
        "trivial": {task: trivial[task] for task in tasks},
        "seeds": over_seeds(rows, part),
        "standing": [found for task in tasks if (found := standing(rows, task, part)) is not None],
        "metrics": {name: {"title": DEFINITIONS[name].title, "formula": DEFINITIONS[name].formula} for name in SHORT},
    }


def _of_card(task: str, row: Mapping[str, Any]) -> dict[str, Any]:
    data = {key: row.get(key) for key in DATA}
    same = data["n_samples"] is not None and is_of_card(task, **data)
    return {"errors": rounded(trivial_errors(task)) if same else {}, "part": "test"}


def write_results(results: dict[str, Any], records: Records) -> Path:
    """Write ``SUITE.json`` beside the records."""
    path = records.folder / f"{results['suite']}.json"
    write_atomically(path, text_of(results).encode())
    return path


def read_results(suite: str, records: Records) -> dict[str, Any]:
    """Raises InputError (no_table) where the suite has no table yet."""
    path = records.folder / f"{suite}.json"
    found = read_json(path)
    if found is None or found.get("schema") != SCHEMA:
        raise InputError(
            f"{path} is no table of results; make it: python -m hsd benchmark {suite} --table.", "no_table"
        )
    return found


def markdown(results: dict[str, Any]) -> str:
    """The tables of a suite: for each task the models by relative L² with their cost, then ranks, then definitions."""
    lines, rows, part = [], results["rows"], results.get("part", "test")
    for task in dict.fromkeys(row["task"] for row in rows):
        lines += _task_table(task, [r for r in rows if r["task"] == task], results["trivial"][task]["errors"], part)
        lines += _seeds_table([s for s in results["seeds"] if s["task"] == task])
    lines += _standing_table(results["standing"])
    used = [n for n in SHORT if n in ALWAYS or any((r.get(part) or {}).get(n) is not None for r in rows)]
    defined = "; ".join(f"{SHORT[n]}: `{results['metrics'][n]['formula']}`" for n in used)
    others = any(one["errors"] and one["part"] != part for one in results["trivial"].values())
    lines += [f"{MEANS[part]}{FROM_CARD * others} {defined}.", ""]
    return "\n".join(lines)


def _task_table(task: str, rows: Sequence[dict[str, Any]], trivial: dict[str, float], part: str) -> list[str]:
    scored = sorted((r for r in rows if r.get(part)), key=lambda r: _last_if_none(r[part]["relative_l2"]))
    columns = [n for n in SHORT if n in ALWAYS or any(r[part].get(n) is not None for r in scored)]
    about = ["parameters", "samples", "epochs", "training s", "device"]
    head = ["model", *about, *[SHORT[n] for n in columns]]
    lines = [f"**{task}**", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    title = _titles(rows)
    found = [(_last_if_none(r[part]["relative_l2"]), _cells(title(r), r, r[part], columns)) for r in scored]
    for name, error in trivial.items():
        cells = [f"*{TRIVIAL[name]}*", *[NOTHING] * len(about)]
        found.append((error, cells + [_number(error) if n == "relative_l2" else NOTHING for n in columns]))
    lines += ["| " + " | ".join(cells) + " |" for _, cells in sorted(found, key=lambda pair: pair[0])]
    if not trivial:
        lines.append(f"| *{TRIVIAL['ridge']}* | not computed for these samples |")
    for r in rows:
        if "error" in r:
            lines.append(f"| {title(r)} | failed: {r['error']} |")
        elif _is_older(r) and not r.get(part):
            lines.append(f"| {title(r)} | of an older version of the model, whose {part} part is not read any more |")
        elif not r.get(part):
            there = r.get("replaced_by")
            gone = f"gave way to those of {there}" if there and there != r["entry"] else "are not here"
            lines.append(f"| {title(r)} | its weights {gone}, so that {part} metrics are missing |")
    notes = [f"{title(r)} ({_cut_words(r)})" for r in scored if r["cut"] is not None]
    older = [f"{title(r)} ({r['model_version']}, now {r['newest_version']})" for r in rows if _is_older(r)]
    said = [f"Cut short by a budget: {', '.join(notes)}.", ""] if notes else []
    said += [f"Of an older version of the model, to be run again: {', '.join(older)}.", ""] if older else []
    return [*lines, "", *said]


def _is_older(row: Mapping[str, Any]) -> bool:
    return "error" not in row and not is_current(row)


def _cut_words(row: dict[str, Any]) -> str:
    """How much of its budget a run had, in the unit that the budget is counted in."""
    asked, unit = (row["minutes"], "minutes") if row["minutes"] else (row["epochs_asked"], "epochs")
    return f"{row['cut']:.3g} of {asked:.3g} {unit}"


def _titles(rows: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], str]:
    """What rows of one table are called: the label, the minutes where others had fewer, the seed where it is not 0."""
    least = min((r["minutes"] for r in rows if r["minutes"]), default=0.0)

    def title(row: dict[str, Any]) -> str:
        minutes = f" ({row['minutes']:g} min)" if row["minutes"] > least else ""
        return f"{row['label']}{minutes}" + (f", seed {row['seed']}" if row["seed"] else "")

    return title


def _cells(title: str, row: dict[str, Any], metrics: dict[str, float], columns: Sequence[str]) -> list[str]:
    short = " (cut)" * (row["cut"] is not None) + " (older)" * _is_older(row)
    return [
        f"{title}{short}",
        f"{row['parameters']:,}",
        str(row["n_train"]),
        str(row["epochs"]),
        f"{row['training_seconds']:.0f}",
        row["device"],
        *[_number(metrics.get(name)) for name in columns],
    ]


def _seeds_table(found: Sequence[dict[str, Any]]) -> list[str]:
    """Mean ± standard deviation over seeds of one task."""
    if not found:
        return []
    title = _titles([{**s, "seed": 0} for s in found])
    names = [n for n in SHORT if any(n in s["mean"] for s in found)]
    head = ["mean ± standard deviation", "seeds", *[SHORT[n] for n in names]]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for s in found:
        cells = [f"{_number(s['mean'][n])} ± {_number(s['std'][n])}" if n in s["mean"] else NOTHING for n in names]
        seeds = ", ".join(str(seed) for seed in s["seeds"])
        lines.append("| " + " | ".join([title({**s, "seed": 0}), seeds, *cells]) + " |")
    return [*lines, ""]


def _standing_table(found: Sequence[dict[str, Any]]) -> list[str]:
    if not found:
        return []
    names = [n for n in SHORT if any(n in s["ranks"] for s in found)]
    head = ["HSD's rank", *[SHORT[n] for n in names], "margin in MSE (paper)", "margin in rel. L²"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for s in found:
        ranks = ["{} of {}".format(*s["ranks"][n]) if n in s["ranks"] else NOTHING for n in names]
        paper = f"{100 * s['paper_mse_margin']:.0f} %" if s["paper_mse_margin"] else NOTHING
        margins = [_margin(s["margins"].get(n)) for n in ERRORS]
        lines.append("| " + " | ".join([s["task"], *ranks, f"{margins[0]} ({paper})", margins[1]]) + " |")
    return [*lines, ""]


def _margin(margin: dict[str, Any] | None) -> str:
    if margin is None or margin["margin"] is None:
        return NOTHING
    minutes = f" ({margin['minutes']:g} min)" if margin["minutes"] else ""
    return f"{percent(margin['margin'])} to {margin['best_baseline']}{minutes}"


def percent(share: float) -> str:
    """A share, with so many digits that less than all never reads 100 %."""
    digits = 0 if share >= 1 else next((n for n in range(3) if round(100 * share, n) < 100), 3)
    return f"{100 * share:.{digits}f} %"


def _number(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:.4f}" if value == 0 or abs(value) >= 0.001 else f"{value:.1e}"


def _last_if_none(value: float | None) -> float:
    return float("inf") if value is None else value


# ---- README ------------------------------------------------------------------------------------------------------


def marks(suite: str) -> tuple[str, str]:
    """The lines between which the README shows a suite."""
    return f"<!-- results of {suite} -->", f"<!-- end of results of {suite} -->"


def block_in(text: str, suite: str) -> str | None:
    """What stands between the marks of a suite; None where they are missing."""
    first, last = map(re.escape, marks(suite))
    found = re.search(rf"^{first}\n(.*?)^{last}$", text, re.MULTILINE | re.DOTALL)
    return None if found is None else found[1]


def put_into_readme(results: dict[str, Any], path: Path = README) -> None:
    """Rewrite the marked block of a suite.  Raises InputError (no_marks)."""
    put_block(results["suite"], markdown(results), path)


def put_block(name: str, text: str, path: Path = README) -> None:
    """Rewrite what stands between marks.  Raises InputError (no_marks)."""
    whole, (first, last) = path.read_text(encoding="utf-8"), marks(name)
    if block_in(whole, name) is None:
        raise InputError(f"{path.name} has no lines {first} and {last} to write the table between.", "no_marks")
    before, rest = whole.split(first + "\n", 1)
    after = rest.split(last, 1)[1]
    write_atomically(path, f"{before}{first}\n{text}{last}{after}".encode())
