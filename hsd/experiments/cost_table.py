"""Costs of models as rows, in a file and as a table: what :mod:`hsd.experiments.cost` measures; loads no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

SCHEMA = "hsd-cost-1"
BUSY = 0.5
"""Cores kept busy by other processes from which figures are not to be trusted."""


@dataclass(frozen=True)
class Cost:
    """Costs of one model of one task.

    preparation_s : what a training of all its samples needs before its first step, wall clock, with an empty cache:
                    domain with its modes, constants of the model, features
    features_ms   : sparse solves for the sum of resolvents that HSD's fiber adds to one sample; 0 where it has none
    forward_ms    : one sample, from the normalised batch to node values, features included;  forward_cpu_ms : the
                    same, all threads added up
    step_ms       : a training step of ``at_once`` samples (forward, loss, backward, penalty, clipping, AdamW)
    epoch_s       : n_train / at_once steps
    memory_mb     : largest resident size of the process (a GPU: the most that was allocated)
    """

    checkpoint: str
    label: str
    task: str
    n_vertices: int
    parameters: int
    n_train: int
    preparation_s: float
    features_ms: float
    forward_ms: float
    forward_cpu_ms: float
    at_once: int
    step_ms: float
    epoch_s: float
    memory_mb: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def rows_in(text: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows and machine of a file that ``python -m hsd cost`` wrote.  Raises ValueError for another file."""
    found = json.loads(text)
    names = {f.name for f in fields(Cost)}
    if not isinstance(found, dict) or found.get("schema") != SCHEMA or any(names - set(row) for row in found["rows"]):
        raise ValueError("no file of costs")
    return found["rows"], found["machine"]


HEADS = {
    "preparation_s": "preparation s",
    "forward_ms": "forward ms",
    "forward_cpu_ms": "CPU ms",
    "step_ms": "step ms",
    "at_once": "samples a step",
    "epoch_s": "s an epoch",
    "memory_mb": "MB",
}
ONE_DIGIT = ("preparation_s", "forward_ms", "forward_cpu_ms", "epoch_s")
NOTE = (
    "Preparation: what a training of all its samples needs before its first step, with an empty cache. Forward: one "
    "sample to node values, warm, the features of HSD's fiber included; CPU ms: all threads added up. Step: a training "
    "step of so many samples. MB: largest memory of the process."
)


def markdown(rows: Sequence[Mapping[str, Any]], where: Mapping[str, Any]) -> str:
    """The costs by task, the quickest forward pass first, and where they were measured."""
    lines = [f"{machine_words(where)}", ""]
    for task in dict.fromkeys(row["task"] for row in rows):
        head = ["model", "parameters", *HEADS.values()]
        lines += [f"**{task}**", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for row in sorted((r for r in rows if r["task"] == task), key=lambda r: r["forward_ms"]):
            cells = [f"{row[k]:.{int(k in ONE_DIGIT)}f}" for k in HEADS]
            lines.append("| " + " | ".join([row["label"], f"{row['parameters']:,}", *cells]) + " |")
        lines.append("")
    return "\n".join([*lines, NOTE, ""])


def machine_words(where: Mapping[str, Any]) -> str:
    """The machine in a sentence, and whether it had other work: "load" is how many cores other processes kept busy
    while all was measured, on average."""
    threads = f"{where['threads']} thread{'s' * (where['threads'] != 1)}"
    said = f"{where['name']}, {where['cores']} cores, {threads}, torch {where['torch']}, device {where['device']}."
    other = f"The machine had other work ({where['load']:g} cores on average)"
    return said + f" {other}, so that times are longer than on an idle one." * (where["load"] > BUSY)
