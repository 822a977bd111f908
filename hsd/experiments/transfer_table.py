"""Errors of mesh transfer as a table: what :mod:`hsd.experiments.transfer` measures; loads no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

NOTE = (
    "error: mean relative L² of node values over the samples, realised on each mesh by the task's own solver; modes "
    "are those of the mesh, no weight is changed. {}: error / error on the mesh of training. to fine: the "
    "same against one truth for all meshes, solved with four times the vertices and interpolated linearly. own truth: "
    "so much of the truth of a mesh is its solver's discretisation, which a model trained on another mesh cannot know. "
    "No value: the model refuses other meshes."
)


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """By task: a row a model, the smallest error on the mesh of training first; a column a mesh, that one first."""
    lines: list[str] = []
    for task in dict.fromkeys(row["task"] for row in rows):
        mine = [row for row in rows if row["task"] == task]
        here = {row["n_nodes"] for row in mine if row["trained_here"]}
        meshes = sorted({row["n_nodes"] for row in mine}, key=lambda n: (n not in here, n))
        by_model: dict[str, dict[int, Mapping[str, Any]]] = {}
        for row in mine:
            by_model.setdefault(row["checkpoint"], {})[row["n_nodes"]] = row
        head = ["model", *(f"error, {n} nodes" for n in meshes), *(f"to fine, {n} nodes" for n in meshes)]
        lines += [f"**{task}**, {samples(mine)}", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for name, on in sorted(by_model.items(), key=lambda item: own_error(item[1])):
            cells = [cell(on.get(n), key) for key in ("", "_fine") for n in meshes]
            lines.append("| " + " | ".join([PurePath(name).stem, *cells]) + " |")
        gaps = {row["n_nodes"]: row["truth_gap"] for row in mine}
        lines += [
            "| " + " | ".join(["*own truth*", *"—" * len(meshes), *(f"{gaps[n]:.4f}" for n in meshes)]) + " |",
            "",
        ]
    return "\n".join([*lines, NOTE.format("In brackets"), ""])


def samples(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many samples the errors are means of, in words."""
    counts = sorted({row["n_samples"] for row in rows})
    return f"{' or '.join(map(str, counts))} sample{'s' * (counts != [1])}"


def own_error(on: Mapping[int, Mapping[str, Any]]) -> float:
    """The error of a model on the mesh of training; infinite where it was not measured."""
    errors = [row["error"] for row in on.values() if row["trained_here"] and row["error"] is not None]
    return errors[0] if errors else float("inf")


def cell(row: Mapping[str, Any] | None, key: str) -> str:
    """An error, with its ratio on other meshes."""
    if row is None or row[f"error{key}"] is None:
        return "—"
    text, ratio = f"{row[f'error{key}']:.4f}", row[f"ratio{key}"]
    return text if row["trained_here"] or ratio is None else f"{text} ({ratio:.2f})"
