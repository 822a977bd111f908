"""Draws the pictures of the gallery: ``python assets/make_thumbnails.py`` writes static/thumbnails/NAME.png."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from hsd.mesh.primitives import GALLERY, gallery  # noqa: E402
from hsd.viz.build import surface_of  # noqa: E402
from hsd.viz.embed import drawing_points  # noqa: E402
from hsd.viz.thumbnail import thumbnail  # noqa: E402

FLAT = {"annulus", "disk", "square", "disk_three_holes", "theta_circle"}
N_VERTICES = 2500


def main() -> None:
    """One small PNG a shape."""
    folder = ROOT / "static" / "thumbnails"
    folder.mkdir(parents=True, exist_ok=True)
    for name in GALLERY:
        mesh = gallery(name, N_VERTICES)
        direction = (0.05, -0.35, 1.0) if name in FLAT else (0.55, -0.75, 0.6)
        picture = thumbnail(surface_of(mesh, drawing_points(mesh)), direction=direction)
        (folder / f"{name}.png").write_bytes(picture)


if __name__ == "__main__":
    main()
