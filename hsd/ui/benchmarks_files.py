"""Tables of the Benchmarks page as files, with the records that they are from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hsd import __version__
from hsd.experiments import published
from hsd.experiments.records import rounded
from hsd.experiments.tables import SHORT
from hsd.metrics.definitions import DEFINITIONS
from hsd.ui import benchmarks_data as data
from hsd.ui import benchmarks_tables as tables
from hsd.ui.benchmarks_data import Found, Run
from hsd.ui.export import table_csv

if TYPE_CHECKING:
    from hsd.ui.benchmarks_view import View

SCHEMA = "hsd-benchmarks-1"


def origin_of(found: Found) -> dict[str, str]:
    """How many records there are, and a checksum over the checksums of their weights."""
    digest = hashlib.sha256("".join(sorted(str(run.record["sha256"]) for run in found.runs)).encode()).hexdigest()
    return {"records": str(len(found.runs)), "content": digest[:12], "version": __version__}


def provenance_of(view: View) -> dict[str, str]:
    """What stands at the head of a file."""
    protocol = view.protocol.words if view.protocol else "nothing recorded"
    return {"task": view.task.name, "part": view.part, "protocol": protocol, **origin_of(view.found)}


def whole(view: View) -> dict[str, Any]:
    """Everything that the page shows of a task, as plain values."""
    name = view.task.name
    variants = data.ablation_runs(view.found, name)
    return {
        "schema": SCHEMA,
        "provenance": provenance_of(view),
        "rows": [_row(run) for run in view.runs],
        "not_run": data.missing(view.found, name),
        "trivial": {"part": view.trivial.part, "errors": rounded(dict(view.trivial.errors))},
        "standing": tables.standing_of(view.runs, name, view.part),
        "ablations": [_row(run) for run in variants],
        "costs": data.measured_costs(view.found.folder, name)[0],
        "transfer": [row for row in data.transfer_rows(view.found.folder)[0] if row["task"] == name],
        "paper": {"note": "other data, other training, another machine", "metrics": published.published_metrics(name)},
        "metrics": {n: {"title": DEFINITIONS[n].title, "formula": DEFINITIONS[n].formula} for n in SHORT},
    }


def _row(run: Run) -> dict[str, Any]:
    more = {key: run.record[key] for key in ("config", "sha256", "versions")}
    return run.row | {"label": run.label, "state": run.state, "made_by": data.command_of(run)} | more


def files_of(view: View) -> dict[str, tuple[str, Callable[[], bytes], str]]:
    """Label → (suffix, maker, type) for :func:`hsd.ui.export.download_row`."""
    origin, name = provenance_of(view), view.task.name
    files: dict[str, tuple[str, Callable[[], bytes], str]] = {
        "CSV: results": (
            ".csv",
            lambda: table_csv(tables.result_rows(view.runs, view.part, view.trivial.errors), origin),
            "text/csv",
        ),
        "CSV: cost": ("_cost.csv", lambda: table_csv(tables.cost_rows(view.runs, view.part), origin), "text/csv"),
    }
    costs = data.measured_costs(view.found.folder, name)[0]
    if costs:
        files["CSV: measured cost"] = (
            "_measured_cost.csv", lambda: table_csv(tables.measured_cost_rows(costs), origin), "text/csv"
        )  # fmt: skip
    variants = data.ablation_runs(view.found, name)
    if variants:
        part = view.part if any(run.record.get(view.part) for run in variants) else "validation"
        files["CSV: ablations"] = (
            "_ablations.csv",
            lambda: table_csv(tables.ablation_rows(variants, name, part, "relative_l2"), origin | {"part": part}),
            "text/csv",
        )
    files["JSON"] = (
        ".json",
        lambda: (json.dumps(whole(view), ensure_ascii=False, indent=1) + "\n").encode(),
        "application/json",
    )
    return files
