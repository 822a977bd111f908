"""The exact value at a picked point, in float64, of whatever the scene shows there now."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hsd.ui.viewer.events import Pick
from hsd.viz.scene import Colour, Scene


def value_at(colour: Colour, pick: Pick, triangle: np.ndarray) -> float:
    """Σ_i bary_i u(v_i) for vertex values, u(face) for face values; length for vectors; the label for categories.

    triangle: (3,) vertices of the picked triangle in stored order.
    """
    mix = colour.mix
    w = mix.weights_at(pick.controls)
    values = mix.columns.values
    if colour.where == "face":
        at = values[pick.face] @ w
    else:
        corners = values[triangle] @ w  # (3,) or (3, 3)
        if mix.columns.is_vector:
            corners = np.linalg.norm(corners, axis=1)
        if colour.kind == "category":
            return float(corners[int(np.argmax(pick.bary))])
        return float(np.asarray(pick.bary) @ corners)
    return float(np.linalg.norm(at)) if mix.columns.is_vector else float(at)


def readout(scene: Scene, hashes: Sequence[str], pick: Pick | None) -> dict | None:
    """What the page shows at the picked point in place of its "≈": one text a panel; None without a valid pick."""
    if pick is None or pick.panel >= len(scene.panels):
        return None
    names = {control.id for control in scene.controls}
    if not names <= set(pick.controls):
        return None
    surface = scene.panels[pick.panel].surface
    if pick.face >= surface.n_mesh_faces or pick.mesh != hashes[pick.panel]:
        return None
    triangle = surface.mesh_triangles[pick.face]
    texts: list[str | None] = []
    for panel, mesh in zip(scene.panels, hashes):
        if mesh != pick.mesh or panel.colour is None:
            texts.append(None)
            continue
        value = value_at(panel.colour, pick, triangle)
        if panel.colour.kind == "category":
            known = 0 <= value < len(panel.colour.categories)
            texts.append(panel.colour.categories[int(value)] if known else "none")
        else:
            unit = f" {panel.colour.unit}" if panel.colour.unit not in ("", "1") else ""
            texts.append(f"{value:.10g}{unit}")
    position = (np.asarray(pick.position) - surface.centre) * surface.scale
    return {
        "seq": pick.seq,
        "mesh": pick.mesh,
        "panel": pick.panel,
        "texts": texts,
        "label": str(pick.face),
        "drawn_face": pick.drawn_face,
        "drawn_bary": list(pick.drawn_bary),
        "controls": dict(pick.controls),
        "pos": [float(f"{x:.6g}") for x in position],
    }
