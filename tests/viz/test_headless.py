"""Still pictures: no display is needed, what is asked for is seen, common scales and camera are those of the page."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hsd
from hsd.errors import InputError
from hsd.viz import build, modes
from hsd.viz.frame import nice_below, ticks, wrapped
from hsd.viz.headless import render
from hsd.viz.scene import Arrows, Colour, Control, Dots, Isolines, Marker, Mix, Panel, Scene, Segments
from hsd.viz.still import arrow_mesh, common_scales, fit, sight

ROOT = Path(__file__).resolve().parents[2]


@cache
def torus():
    mesh = hsd.gallery("torus", 300)
    surface = build.surface_of(mesh)
    glyphs = build.glyphs_of(mesh, surface, 80)
    basis = hsd.lowest_modes(mesh, 1, 6, use_cache=False)
    return mesh, surface, glyphs, basis, modes.modes_picture(basis, glyphs)


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def near(image: np.ndarray, colour: str, tolerance: int = 40) -> int:
    """Pixels whose colour is near a hex colour."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return int((np.abs(image - rgb).max(axis=2) <= tolerance).sum())


def test_a_mode_with_generators_is_drawn_in_its_colours_at_the_size_asked_for():
    mesh, surface, _, basis, picture = torus()
    layers, _ = modes.generator_layers(mesh, surface, 1, basis.solver.homology.cycles(1), "absolute")
    with_loops = pixels(render(modes.mode_scene(picture, surface, 0, layers=layers, caption="A mode."), (480, 360)))
    plain = pixels(render(modes.mode_scene(picture, surface, 0, arrows=False), (480, 360)))
    assert with_loops.shape == (360, 480, 3)
    for colour in modes.GENERATOR_COLOURS[:2]:
        assert near(with_loops, colour) > 60 > near(plain, colour)
    surface_part = plain[40:320, 20:380]
    assert (np.abs(surface_part - 255).max(axis=2) > 30).mean() > 0.3


def test_every_layer_can_be_drawn():
    mesh, surface, _, _, _ = torus()
    height = mesh.points3[:, 2]
    panel = Panel(
        surface,
        Colour(height, name="z", unit="m"),
        "All",
        segments=(Segments(surface.mesh_points[mesh.complex.simplices(1)[:5]]),),
        dots=(Dots(surface.mesh_points[:3]),),
        markers=(Marker("a", 0),),
        isolines=Isolines(6),
        wireframe=True,
    )
    sides = Panel(surface, Colour((height > 0).astype(float), "category", categories=("down", "up")), "Sides")
    picture = pixels(render(Scene((panel, sides), theme="dark", caption="Everything."), (640, 300)))
    assert near(picture, "#14171c", 6) > 0.2 * picture.shape[0] * picture.shape[1]


def test_tets_are_cut_open_and_graphs_are_lines():
    ball = hsd.gallery("ball_with_cavity", 250)
    surface = build.surface_of(ball)
    basis = hsd.lowest_modes(ball, 0, 4, use_cache=False)
    picture = modes.modes_picture(basis, None)
    half, whole = (pixels(render(modes.mode_scene(picture, surface, 1, clip=c), (320, 240))) for c in (0.5, 1.0))
    assert np.abs(half - whole).max() > 60
    circle = hsd.Mesh.from_cells(np.column_stack([np.cos(np.arange(20)), np.sin(np.arange(20))]), np.column_stack(
        [np.arange(20), (np.arange(20) + 1) % 20]
    ))  # fmt: skip
    lines = pixels(render(Scene((Panel(build.surface_of(circle), Colour(np.arange(20.0))),)), (320, 240)))
    assert (np.abs(lines[:, :220] - 255).max(axis=2) > 30).sum() > 200


def test_transparent_pictures_have_no_paper_and_captions_cost_height():
    _, surface, _, _, picture = torus()
    scene = modes.mode_scene(picture, surface, 0)
    image = Image.open(io.BytesIO(render(scene, (320, 240), transparent=True)))
    assert image.mode == "RGBA" and np.asarray(image)[2, 2, 3] == 0


@pytest.mark.parametrize("size", [(10, 400), (100_000, 100_000)])
def test_impossible_sizes_are_refused(size):
    _, surface, _, _, picture = torus()
    with pytest.raises(InputError) as caught:
        render(modes.mode_scene(picture, surface, 0), size)
    assert caught.value.kind == "size"


def test_no_display_is_needed():
    code = (
        "import hsd\nfrom hsd.viz import build\nfrom hsd.viz.headless import render\n"
        "from hsd.viz.scene import Panel, Scene\n"
        "print(len(render(Scene((Panel(build.surface_of(hsd.gallery('sphere', 100))),)), (200, 150))))"
    )
    bare = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "VTK_DEFAULT_OPENGL_WINDOW")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=bare, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and int(done.stdout) > 2000, done.stderr


# ---- the numbers of a picture ----------------------------------------------------------------------------------------


def test_panels_of_one_scale_share_limits_and_sums_have_those_of_the_whole_sum():
    mesh, surface, *_ = torus()
    values = mesh.points3[:, :2]
    a = Panel(surface, Colour(values[:, 0], scale="s"))
    b = Panel(surface, Colour(3 * values[:, 1], scale="s"))
    columns = build.Columns(values)
    c = Panel(surface, Colour(Mix(columns, np.ones(2), cut="n")))
    scene = Scene((a, b, c), (Control("n", "N", 0, 2, 0),))
    limits, _ = common_scales(scene, {"n": 0.0})
    top = 3 * np.abs(values[:, 1]).max()
    assert limits[0] == limits[1] == (-top, top)
    whole = np.abs(values.sum(axis=1)).max()
    assert limits[2] == (-whole, whole)


def test_camera_holds_every_point_and_touches_the_frame():
    _, surface, _, _, picture = torus()
    scene = modes.mode_scene(picture, surface, 0)
    camera = fit(surface, sight(scene, scene.panels[0], None), 1.5)
    back = camera["position"] - camera["focal"]
    back /= np.linalg.norm(back)
    right = np.cross(camera["up"], back)
    p = (surface.points - surface.centre) * surface.scale - camera["position"]
    depth = -(p @ back)
    half = np.tan(np.radians(14))
    across = max(np.abs(p @ right / depth).max() / (1.5 * half), np.abs(p @ camera["up"] / depth).max() / half)
    assert (depth > 0).all() and 0.85 < across <= 1.0


def test_arrows_point_along_their_vectors_and_have_their_length():
    _, surface, glyphs, basis, _ = torus()
    vectors = build.mode_arrows(basis, glyphs).values[..., 0]
    points, triangles = arrow_mesh(Arrows(glyphs, vectors), surface, {}, 0.2, halo=False)
    corners = points.reshape(-1, 7, 3)
    along = corners[:, 6] - corners[:, :2].mean(axis=1)
    on = np.linalg.norm(vectors, axis=1) * 0.2 > 1e-6
    assert np.allclose(along, 0.2 * vectors[on], atol=1e-12) and triangles.max() == len(points) - 1


def test_ticks_are_nice_and_text_wraps():
    assert ticks(0, 1, 5) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert ticks(2.0, 2.0) == [2.0]
    assert [nice_below(v) for v in (0, 0.3, 5, 73, 99)] == pytest.approx([0, 0.2, 5, 50, 50])
    lines = wrapped("one two three four five six", 60, 12)
    assert len(lines) > 1 and " ".join(lines) == "one two three four five six"
