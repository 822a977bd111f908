"""Truth and models cut to the lowest modes of one basis, side by side: the number of modes is moved in the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hsd.viz.modes import CLIP_NORMAL, FormPicture, panel_with
from hsd.viz.scene import Clip, Colour, Control, Mix, Scene, Surface

KEPT = "kept"


def spectra_scene(
    picture: FormPicture,
    surface: Surface,
    truth: np.ndarray,
    found: Mapping[str, tuple[np.ndarray, np.ndarray]],
    labels: Sequence[str],
    cut: int,
    *,
    clip: float | None = None,
    theme: str = "auto",
    caption: str = "",
) -> Scene:
    """Σ_{i<m} cᵢφᵢ of truth and models above, the models' errors Σ_{i<m} eᵢφᵢ below; the slider m stays in the page.

    picture : the modes by eigenvalue as columns;  truth: (n,) cᵢ;  found: title → (cᵢ, eᵢ);  labels: one text a number
    of modes, from 1 on
    """
    n = len(truth)
    ends = _top(picture, truth), max((_top(picture, e) for _, e in found.values()), default=1.0)
    signed = picture.kind == "signed"
    value = {"kind": picture.kind, "name": picture.name, "scale": "field",
             "limits": (-ends[0] if signed else 0.0, ends[0])}  # fmt: skip
    wrong = {"name": f"|{picture.name.strip('|')}ₚ − {picture.name.strip('|')}|", "scale": "error"}
    wrong |= (
        {"kind": "signed", "limits": (-ends[1], ends[1])} if signed else {"kind": "error", "limits": (0.0, ends[1])}
    )
    if signed:
        wrong["name"] = f"{picture.name}ₚ − {picture.name}"
    above = [_panel(picture, surface, truth, "Truth", value)]
    below = []
    for title, (c, e) in found.items():
        above.append(_panel(picture, surface, c, title, value))
        below.append(_panel(picture, surface, e, f"error of {title}", wrong))
    panels, columns = [*above, *below], len(above)
    cells = tuple([*range(columns), *(columns + 1 + i for i in range(len(below)))])
    controls = [
        Control(KEPT, "Modes kept", 1, n, max(1, min(cut, n)), labels=tuple(labels), play=True, keys=True, report=True)
    ]
    if clip is not None:
        controls.append(Control("clip", "Cut at", 0.0, 1.0, clip, 0.01, report=True))
        panels = [replace(panel, clip=Clip(CLIP_NORMAL, "clip")) for panel in panels]
    return Scene(tuple(panels), tuple(controls), columns_of_panels=columns, cells=cells, theme=theme, caption=caption)


def _top(picture: FormPicture, weights: np.ndarray) -> float:
    """Largest size of the whole sum."""
    values = picture.columns.values @ weights
    size = np.linalg.norm(values, axis=1) if picture.columns.is_vector else np.abs(values)
    return float(np.nanmax(size, initial=0.0)) or 1.0


def _panel(picture: FormPicture, surface: Surface, weights: np.ndarray, title: str, look: dict):
    colour = Colour(Mix(picture.columns, weights, cut=KEPT), **look)
    return replace(panel_with(surface, colour, None, (), title), alt=f"{title}: the sum of the modes kept.")
