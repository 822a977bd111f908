"""Tables of Model Comparison: metrics of the sample and of the test set, cost, the error by Hodge part, a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hsd.data.tasks.base import Task
from hsd.errors import HsdError
from hsd.mesh.mesh import Mesh
from hsd.ui.comparison_models import Model, manifest_of, test_scores
from hsd.ui.comparison_work import Cost, Outcome
from hsd.ui.markdown import literal
from hsd.ui.viewer import Pick
from hsd.ui.viewer.readout import value_at
from hsd.viz.palettes import PARTS
from hsd.viz.scene import Scene

MODEL = "model"


def metrics_of(yardstick):
    """Metrics of the table by name: those of node values, then those of cochains."""
    from hsd.metrics.scoring import metrics_of as of_yardstick

    return of_yardstick(yardstick, cochains=True)


def score_rows(answers: Mapping[Model, Mapping[str, float]], metrics: Mapping) -> dict[str, list]:
    """One row a model, one column a metric (by its title); None where the model has no such number, or where it is
    relative to a truth of size zero."""
    rows: dict[str, list] = {MODEL: [model.title for model in answers]}
    for name, metric in metrics.items():
        values = [scores.get(name) for scores in answers.values()]
        values = [value if value is not None and np.isfinite(value) else None for value in values]
        if any(value is not None for value in values):
            rows[metric.title] = values
    return rows


def formula_lines(metrics: Mapping) -> list[str]:
    """ "**title**: formula; perfect: 0" of each metric."""
    return [f"**{m.title}**: {literal(m.formula)}; perfect: {m.best:g}" for m in metrics.values()]


def cost_rows(models: Sequence[Model], costs: Mapping[Model, Cost]) -> dict[str, list]:
    """Parameters, latency, memory, device, and what each was trained with."""
    rows: dict[str, list] = {
        name: []
        for name in (
            MODEL,
            "parameters",
            "latency, ms",
            "runs",
            "memory, MB",
            "device",
            "epochs",
            "trained on",
            "weights",
        )
    }
    for model in models:
        manifest, cost = manifest_of(model), costs.get(model)
        training, data = manifest.get("training") or {}, manifest.get("data") or {}
        nodes = data.get("n_nodes") or manifest["domain"]["n_vertices"]
        values = (
            model.title,
            manifest.get("parameters"),
            cost and cost.latency_ms,
            cost and cost.n,
            cost and cost.memory_mb,
            cost.device if cost else "",
            training.get("epochs"),
            f"{training.get('n_train') or '?'} samples, {nodes} nodes",
            str(manifest["sha256"])[:12],
        )
        for column, value in zip(rows.values(), values):
            column.append(value)
    return rows


def test_rows(models: Sequence[Model], metrics: Mapping) -> tuple[dict[str, list], list[str]]:
    """The table of the test set from the records that came with the program; titles of models without one."""
    found, missing = {}, []
    for model in models:
        try:
            scores = test_scores(model)
        except HsdError:
            scores = None
        if scores is None:
            missing.append(model.title)
        else:
            found[model] = scores
    return score_rows(found, metrics), missing


def test_words(mesh: Mesh, models: Sequence[Model]) -> str:
    """What the table of the test set is of: the mesh of training, whatever mesh is shown."""
    meshes = {str(own["mesh_hash"]): own["n_vertices"] for own in (manifest_of(m)["domain"] for m in models)}
    sizes = " or ".join(_thousands(n) for n in sorted(set(meshes.values())))
    other = f", not on the one shown ({_thousands(mesh.complex.n_vertices)})"
    return (
        f"Means over the test part on the mesh of training, {sizes} vertices"
        f"{'' if set(meshes) == {mesh.content_hash} else other}; read once by the benchmark that made the checkpoint."
    )


def _thousands(n: int) -> str:
    return f"{n:,}".replace(",", "\u202f")


def part_errors(answers: Mapping[Model, Outcome]) -> dict[str, dict[str, float]]:
    """Title → Hodge part → ‖π(ω_p − ω_g)‖/‖ω_g‖; of the cochains where the model makes them."""
    out = {}
    for model, answer in answers.items():
        parts = {}
        for part in PARTS:
            value = answer.scores.get(f"cochain_{part}_error", answer.scores.get(f"{part}_error"))
            if value is not None:
                parts[part] = float(value)
        out[model.title] = parts
    return out


def part_rows(parts: Mapping[str, Mapping[str, float]]) -> dict[str, list]:
    rows: dict[str, list] = {MODEL: list(parts)}
    for part, look in PARTS.items():
        if any(part in errors for errors in parts.values()):
            rows[look.name] = [errors.get(part) for errors in parts.values()]
    return rows


def point_rows(scene: Scene, pick: Pick | None) -> dict[str, list] | None:
    """What every panel has at the point that was clicked; None without a click on a surface that is still there."""
    if pick is None or pick.panel >= len(scene.panels):
        return None
    surface = scene.panels[pick.panel].surface
    names = {control.id for control in scene.controls}
    if pick.face >= surface.n_mesh_faces or not names <= set(pick.controls):
        return None
    triangle, rows = surface.mesh_triangles[pick.face], {"panel": [], "what": [], "value": []}
    for panel in scene.panels:
        if panel.colour is None or panel.surface is not surface:
            continue
        rows["panel"].append(panel.title)
        rows["what"].append(panel.colour.name)
        rows["value"].append(value_at(panel.colour, pick, triangle))
    return rows


def point_table(scene: Scene, pick: Pick | None, titles: Sequence[str]) -> dict[str, list] | None:
    """The same as one row a model: value and error there, the truth first.

    titles : of the models, in the order of the panels: truth, models, input, error maps
    """
    rows = point_rows(scene, pick)
    n = len(titles)
    if rows is None or len(rows["value"]) != 2 * n + 2:
        return rows
    values = np.array(rows["value"])
    return {
        MODEL: ["truth", *titles],
        rows["what"][0]: values[: n + 1].tolist(),
        "error": [0.0, *values[n + 2 :].tolist()],
    }


def title_of_task(task: Task) -> str:
    return f"**{task.title}** · {task.equation}"
