"""The numbers of a still picture: values for given sliders, common scales, camera and arrows, as in the page."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.spatial import cKDTree

from hsd.viz.palettes import colour_stops
from hsd.viz.scene import Arrows, Colour, Mix, Panel, Scene, Surface

VIEW = (-0.62, 0.72, -0.5)
"""Direction of sight of the page's first view; meshes in the plane are seen from above."""
ANGLE = 28.0
LIFT, HALO = 0.009, 0.045
# An arrow in its plane: (along, across) in units of its length, pointing along +x, centred.
ARROW = np.array([[-0.5, 0.055], [-0.5, -0.055], [0.1, -0.055], [0.1, 0.055], [0.1, 0.18], [0.1, -0.18], [0.5, 0.0]])
ARROW_FACES = np.array([[0, 1, 2], [0, 2, 3], [4, 5, 6]])


# ---- values ------------------------------------------------------------------------------------------------------


def evaluate(mix: Mix, controls: Mapping[str, float]) -> np.ndarray:
    """The weighted sum that a mix shows: (n,) or (n, 3)."""
    return mix.columns.values @ mix.weights_at(controls)


def scalars(colour: Colour, controls: Mapping[str, float]) -> np.ndarray:
    """Values that colour a surface, vectors by their length, (n,)."""
    values = evaluate(colour.mix, controls)
    return np.linalg.norm(values, axis=1) if values.ndim == 2 else values


def common_scales(scene: Scene, controls: Mapping[str, float]) -> tuple[list, list]:
    """Limits of colours and length of arrows per magnitude of each panel; panels that name one scale share it."""
    groups: dict[str, list] = {}
    for i, panel in enumerate(scene.panels):
        if panel.colour is not None:
            groups.setdefault(panel.colour.scale or f"panel {i}", []).append(panel.colour)
    limits = []
    for i, panel in enumerate(scene.panels):
        c = panel.colour
        if c is None:
            limits.append((0.0, 1.0))
            continue
        members = groups[c.scale or f"panel {i}"]
        fixed = next((m.limits for m in members if m.limits is not None), None)
        limits.append(fixed or _limits(c, [scalars(m, _reference(m.mix, controls)) for m in members]))
    sizes: dict[str, list] = {}
    targets: dict[str, float] = {}
    for panel in scene.panels:
        if panel.arrows is not None:
            mix, name = panel.arrows.mix, panel.arrows.scale
            sizes.setdefault(name, []).append(np.linalg.norm(evaluate(mix, _reference(mix, controls)), axis=1))
            targets[name] = min(targets.get(name, np.inf), arrow_target(panel.arrows, panel.surface))
    lengths = {name: _arrow_length(np.concatenate(m), targets[name]) for name, m in sizes.items()}
    return limits, [0.0 if p.arrows is None else lengths[p.arrows.scale] for p in scene.panels]


def _reference(mix: Mix, controls: Mapping[str, float]) -> Mapping[str, float]:
    """Sums have the scale of the whole sum, wherever the slider stands."""
    whole = {mix.cut: float(mix.columns.n_columns)} if mix.cut is not None else {}
    return {**controls, **whole, **dict.fromkeys(mix.weights.values(), 1.0)}


def _limits(colour: Colour, values: list[np.ndarray]) -> tuple[float, float]:
    both = np.concatenate([v[np.isfinite(v)] for v in values])
    if colour.kind == "category":
        return (-0.5, len(colour.categories) - 0.5)
    if colour.kind == "signed":
        top = float(np.abs(both).max(initial=0.0)) or 1.0
        return (-top, top)
    top = float(both.max(initial=0.0))
    return (0.0, top if top > 0 else 1.0)


def arrow_target(arrows: Arrows, surface: Surface) -> float:
    """Length of strong arrows that fits the distance of their points from each other."""
    points = arrows.glyphs.points * surface.scale
    if len(points) < 2:
        return 0.14
    spacing = float(np.median(cKDTree(points).query(points, 2)[0][:, 1]))
    return min(0.14, max(0.03, 1.5 * spacing))


def _arrow_length(magnitudes: np.ndarray, target: float) -> float:
    m = np.sort(magnitudes[np.isfinite(magnitudes)])
    if len(m) == 0 or not m[-1] > 0:
        return 0.0
    return target / max(m[int(0.95 * (len(m) - 1))], m[-1] / 2.5)


# ---- camera ------------------------------------------------------------------------------------------------------


def sight(scene: Scene, panel: Panel, direction) -> tuple[np.ndarray, np.ndarray]:
    """Direction of sight and up."""
    if direction is not None:
        return np.asarray(direction, float), np.array([0.0, 0.0, 1.0])
    if scene.camera is not None:
        return np.asarray(scene.camera.direction, float), np.asarray(scene.camera.up, float)
    flat = np.ptp(panel.surface.points[:, 2]) * panel.surface.scale < 1e-6 if len(panel.surface.points) else False
    look, up = ((0.0, 0.0, -1.0), (0.0, 1.0, 0.0)) if flat else (VIEW, (0.0, 0.0, 1.0))
    look = np.array(look)
    if panel.clip is not None:  # face the cut
        normal = np.asarray(panel.clip.normal, float) / np.linalg.norm(panel.clip.normal)
        if look @ normal > 0:
            look = look - 2 * (look @ normal) * normal
    return look, np.array(up)


def fit(surface: Surface, view: tuple[np.ndarray, np.ndarray], aspect: float, margin: float = 0.06) -> dict:
    """The nearest camera along a direction that holds all points, in the coordinates of the unit ball."""
    direction, hint = view
    back = -direction / np.linalg.norm(direction)
    up = hint - (hint @ back) * back
    if np.linalg.norm(up) < 1e-6:
        hint = np.array([0.0, 0.0, 1.0]) if abs(back[2]) < 0.9 else np.array([0.0, 1.0, 0.0])
        up = hint - (hint @ back) * back
    up = up / np.linalg.norm(up)
    right = np.cross(up, back)
    p = (surface.points - surface.centre) * surface.scale
    ty = np.tan(np.radians(ANGLE / 2)) * (1 - 2 * margin)
    tx = ty * aspect
    x, y, z = p @ right, p @ up, p @ back
    x0, x1, y0, y1 = (-x + tx * z).max(), (x + tx * z).max(), (-y + ty * z).max(), (y + ty * z).max()
    depth = max(0.3, (x0 + x1) / (2 * tx), (y0 + y1) / (2 * ty), z.max() + 0.05)
    focal = right * (x1 - x0) / 2 + up * (y1 - y0) / 2
    return {"position": focal + back * depth, "focal": focal, "up": up, "depth": float(depth)}


# ---- arrows --------------------------------------------------------------------------------------------------------


def arrow_mesh(arrows: Arrows, surface: Surface, controls: Mapping[str, float], length: float, halo: bool):
    """Corners (n, 3) and triangles (m, 3) of flat arrows in the unit ball; ``halo``: slightly larger ones behind."""
    vectors = evaluate(arrows.mix, controls)
    size = np.linalg.norm(vectors, axis=1)
    on = size * length > 1e-6
    v, drawn = vectors[on] / size[on, None], size[on] * length
    base = (arrows.glyphs.points[on] - surface.centre) * surface.scale
    normal = arrows.glyphs.normals[on]
    planes, signs = [], (1,) if surface.closed or arrows.glyphs.volume else (1, -1)
    if arrows.glyphs.volume:
        seed = np.where(np.abs(v[:, 2:]) < 0.8, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
        normal = np.cross(v, seed)
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        side = np.cross(normal, v)
        planes = [(side, 0 * normal), (np.cross(v, side), 0 * normal)]
    else:
        side = np.cross(normal, v)
        side /= np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-300)
        planes = [(side, sign * (0.8 if halo else 1.0) * LIFT * normal) for sign in signs]
    thick = HALO * drawn * np.clip((drawn - 0.012) / 0.04, 0, 1) if halo else 0 * drawn
    a, b = ARROW.T
    along = a * drawn[:, None] + np.sign(a - 0.099) * thick[:, None] * np.where(np.arange(7) == 6, 1.6, 0.6)
    aside = b * drawn[:, None] + np.sign(b) * thick[:, None]
    corners = np.concatenate(
        [
            (base + lift)[:, None] + along[..., None] * v[:, None] + aside[..., None] * across[:, None]
            for across, lift in planes
        ]
    )  # (copies, 7, 3)
    triangles = (ARROW_FACES + 7 * np.arange(len(corners))[:, None, None]).reshape(-1, 3)
    return corners.reshape(-1, 3), triangles


def colour_table(colour: Colour) -> np.ndarray:
    """RGBA bytes (n, 4) of the colour map, as the page has them."""
    stops = colour_stops(colour.kind, len(colour.categories), colour.category_colours)
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in stops], float)
    if colour.kind != "category":
        at = np.linspace(0, len(rgb) - 1, 1024)
        rgb = np.column_stack([np.interp(at, np.arange(len(rgb)), rgb[:, c]) for c in range(3)])
    return np.column_stack([rgb.round(), np.full(len(rgb), 255)]).astype(np.uint8)
