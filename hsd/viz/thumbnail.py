"""A small still picture of a surface, drawn without a graphics card: for the gallery and for browsers without WebGL."""

from __future__ import annotations

import io

import numpy as np

from hsd.viz.scene import Surface

LIGHT = np.array([0.3, -0.5, 0.81])
SAMPLES = 3
"""Drawn this many times larger, then shrunk, for smooth edges."""


def thumbnail(
    surface: Surface,
    width: int = 150,
    height: int = 112,
    direction: tuple[float, float, float] = (0.55, -0.75, 0.6),
    colour: tuple[int, int, int] = (126, 166, 204),
    background: tuple[int, int, int] | None = None,
) -> bytes:
    """PNG of the surface seen from ``direction``, lit, far triangles first; transparent without ``background``.

    Loose edges and dots are drawn on top.
    """
    from PIL import Image, ImageDraw

    w, h = SAMPLES * width, SAMPLES * height
    image = Image.new("RGBA", (w, h), (*background, 255) if background else (0, 0, 0, 0))
    draw = ImageDraw.Draw(image)
    right, up, toward = _axes(np.asarray(direction, float))
    p = surface.points - surface.points.mean(axis=0)
    xy, depth = np.column_stack([p @ right, p @ up]), p @ toward
    low, high = xy.min(axis=0), xy.max(axis=0)
    size = np.maximum(high - low, 1e-300)
    scale = 0.9 * min(w / size[0], h / size[1]) if max(size) > 1e-200 else 1.0
    px = np.array([w, h]) / 2 + scale * (xy - (low + high) / 2) * [1, -1]
    if len(surface.triangles):
        t = surface.triangles
        normal = np.cross(p[t[:, 1]] - p[t[:, 0]], p[t[:, 2]] - p[t[:, 0]])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        light = right * LIGHT[0] - up * LIGHT[1] + toward * LIGHT[2]
        facing = normal @ toward
        shade = 0.42 + 0.58 * np.clip(np.abs(normal @ (light / np.linalg.norm(light))), 0, 1)
        shade = np.where((facing < 0) & (not surface.closed), 0.8 * shade, shade)
        rgb = np.clip(shade[:, None] * np.array(colour), 0, 255).astype(int)
        for i in np.argsort(depth[t].mean(axis=1), kind="stable"):
            fill = (*rgb[i].tolist(), 255)
            corners = [tuple(c) for c in px[t[i]].tolist()]
            draw.polygon(corners, fill=fill, outline=fill)
    for a, b in surface.edges:
        draw.line([tuple(px[a]), tuple(px[b])], fill=(60, 70, 85, 255), width=SAMPLES)
    for v in surface.dots:
        x, y = px[v]
        draw.ellipse([x - SAMPLES, y - SAMPLES, x + SAMPLES, y + SAMPLES], fill=(60, 70, 85, 255))
    out = io.BytesIO()
    image = image.resize((width, height), Image.Resampling.LANCZOS)
    if background is None:
        image = image.quantize(48)
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def _axes(direction: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Right, up and towards the eye, orthonormal; z is up."""
    toward = direction / np.linalg.norm(direction)
    side = np.cross([0.0, 0.0, 1.0], toward)
    right = side / np.linalg.norm(side)
    return right, np.cross(toward, right), toward
