"""A validation sample as a model learns it: input, truth, prediction and error side by side."""

from __future__ import annotations

import numpy as np

from hsd.data.schema import VECTORS
from hsd.viz.scene import Colour, Columns, Mix, Panel, Scene
from hsd.viz.task_sample import Sample, Shown, node_values
from hsd.viz.task_scene import Place, draw_panel, drawn


def round_up(value: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is not below a value > 0; 1 for what is not positive."""
    if not value > 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(d for d in (1, 2, 5, 10) if d * power >= value * (1 - 1e-12)) * power)


def node_errors(sample: Sample, nodes: np.ndarray) -> np.ndarray:
    """|u_p − u_g| at the nodes, (n_vertices,), for predicted node values (n_vertices, C)."""
    return np.linalg.norm(nodes - node_values(sample, sample.target)[-1], axis=1)


def relative_error(sample: Sample, nodes: np.ndarray) -> float:
    """‖u_p − u_g‖ / ‖u_g‖ of node values, weighted by the lumped ⋆_0."""
    truth, weights = node_values(sample, sample.target)[-1], sample.ground.vertex_measure[:, None]
    size = float(np.sqrt((weights * truth**2).sum()))
    return float(np.sqrt((weights * (nodes - truth) ** 2).sum())) / size if size else 0.0


def learning_scene(place: Place, sample: Sample, nodes: np.ndarray, theme: str = "auto", caption: str = "") -> Scene:
    """Input, truth, prediction (on the truth's scale) and |error| (black for none to white for the end of its scale).

    nodes : (n_vertices, C) predicted
    """
    reading, values = (VECTORS, nodes[None]) if nodes.shape[1] > 1 else ("scalar", nodes.T)
    given = drawn(place, sample, sample.inputs[0])
    truth = drawn(place, sample, sample.target)
    guess = drawn(place, sample, Shown("prediction", "Prediction", 0, reading, values), like=sample.target)
    errors = node_errors(sample, nodes)[:, None]
    columns = Columns(errors if place.cut is None else np.asarray(place.weights @ errors))
    end = truth.end if truth.columns.is_vector else truth.top
    top = round_up(float(errors.max(initial=0.0)))
    panels = [
        draw_panel(place, given, "input", given.end),
        draw_panel(place, truth, "target", end),
        draw_panel(place, guess, "target", end),
        Panel(
            place.surface,
            Colour(Mix(columns), "error", "|error|", limits=(0.0, top), scale="error"),
            "Error",
            alt=f"Size of the error at the nodes, largest {float(errors.max(initial=0.0)):.3g}.",
        ),
    ]
    return Scene(tuple(panels), theme=theme, caption=caption, columns_of_panels=2)
