"""Errors of predictors that understand nothing, linear ridge among them, on the data of a table: recorded, not made.

They are made by :func:`hsd.experiments.report.ridge_scores` and kept in the suites' JSON, or stand in a task's card.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hsd.experiments.records import ASSETS, read_json

TRIVIAL = {"zero": "zero", "mean": "mean of training", "identity": "copy of the input", "ridge": "linear ridge"}
DATA = ("n_samples", "n_nodes", "n_train")
"""What says which samples: of the dataset, nodes asked for (None: the task's), of them trained on (0: all)."""


@dataclass(frozen=True)
class Trivial:
    """Relative L² of node values by predictor; {} where they were not computed for these data.

    part : the part that they are means over, which for values of a card is "test"
    """

    errors: Mapping[str, float] = field(default_factory=dict)
    part: str = ""


def card_of(task: str) -> dict[str, Any]:
    """The shipped card of a task, {} where there is none."""
    return read_json(ASSETS / "cards" / f"{task}.json") or {}


def trivial_errors(task: str) -> dict[str, float]:
    """Of a task's card: on its test samples, after its 680 training samples; {} where there is no card."""
    predictors = card_of(task).get("predictors", {})
    return {name: predictors[name] for name in TRIVIAL if predictors.get(name) is not None}


def is_of_card(task: str, n_samples: int, n_nodes: int | None, n_train: int) -> bool:
    """Whether a task's card is of these samples, all of the training part among them (0, or their number)."""
    card = card_of(task)
    return bool(card) and (
        n_samples == card["n_samples"] and n_nodes in (None, card["n_nodes"]) and n_train in (0, card["split"]["train"])
    )


def recorded_trivial(folder: Path, task: str, data: Mapping[str, Any], part: str) -> dict[str, Any] | None:
    """What a suite's JSON in a folder of results holds of these data and this part, or None."""
    for path in sorted(folder.glob("*.json")):
        found = (read_json(path) or {}).get("trivial")
        one = found.get(task) if isinstance(found, dict) else None
        if isinstance(one, dict) and one.get("part") == part and all(one.get(key) == data[key] for key in DATA):
            return one
    return None


def trivial_of(folder: Path, task: str, data: Mapping[str, Any], part: str) -> Trivial:
    """What is known of these data: of the part where a table has it, else of the card where it is of these samples."""
    found = recorded_trivial(folder, task, data, part)
    if found is not None:
        return Trivial(found["errors"], part)
    return Trivial(trivial_errors(task), "test") if is_of_card(task, **data) else Trivial()
