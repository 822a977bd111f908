"""Polygons: no new vertices, area kept (so no overlap and no gap), winding kept; convex, concave and odd ones."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.errors import InputError
from hsd.mesh.raw import CellBlock
from hsd.mesh.triangulate import clip_ears, strip_triangles, triangulate


def polygon_area(xy: np.ndarray) -> float:
    """Signed area by the shoelace formula."""
    x, y = xy.T
    return 0.5 * float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum())


def star(n: int, inner: float) -> np.ndarray:
    angle = np.arange(n) * 2 * np.pi / n
    return np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(np.arange(n) % 2, inner, 1.0)[:, None]


def spiral(n: int) -> np.ndarray:
    """A wound-up corridor, outside in and back."""
    angle = np.linspace(0, 5 * np.pi, n)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.concatenate([ring * (1 + angle)[:, None], (ring * (0.4 + angle)[:, None])[::-1]])


def comb(n: int) -> np.ndarray:
    x = np.repeat(np.arange(2 * n), 2)[1:-1]
    return np.concatenate(
        [np.column_stack([x, np.where(np.arange(len(x)) // 2 % 2, 0.1, 5.0)]), [[2 * n, -1], [-1, -1]]]
    )


POLYGONS = {
    "square": np.array([[0, 0], [1, 0], [1, 1], [0, 1]]),
    "kite with reflex corner": np.array([[0, 0], [2, 1], [0, 2], [0.5, 1]]),
    "the same, started elsewhere": np.array([[0.5, 1], [0, 0], [2, 1], [0, 2]]),
    "hexagon": star(6, 1.0),
    "L": np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]]),
    "collinear corners": np.array([[0, 0], [1, 0], [2, 0], [2, 1], [2, 2], [1, 2], [0, 2], [0, 1]]),
    "star": star(10, 0.3),
    "thin star": star(24, 0.05),
    "spiral": spiral(40),
    "comb": comb(12),
    "circle": star(200, 1.0),
    "ring with a slit": np.concatenate([star(9, 1.0)[np.r_[0:9, 0]], 0.4 * star(9, 1.0)[np.r_[0, 8:0:-1, 0]]]),
}


@pytest.mark.parametrize("reverse", (False, True))
@pytest.mark.parametrize("name", POLYGONS)
def test_triangles_tile_the_polygon(name, reverse):
    xy = POLYGONS[name].astype(float)
    order = np.arange(len(xy))[::-1] if reverse else np.arange(len(xy))
    rng = np.random.default_rng(0)
    frame = np.linalg.qr(rng.standard_normal((3, 3)))[0][:2]
    points = 1e3 * (xy @ frame) + rng.standard_normal(3)  # any plane, any place
    triangles, rows, crossing = triangulate(points, CellBlock.of_lengths("polygon", order, [len(xy)]))
    assert len(triangles) == len(xy) - 2 and (rows == 0).all() and len(crossing) == 0
    signed = np.array([polygon_area(xy[t]) for t in triangles])
    whole = polygon_area(xy[order])
    assert (np.sign(signed[np.abs(signed) > 1e-12]) == np.sign(whole)).all()  # winding kept, none turned over
    assert signed.sum() == pytest.approx(whole, rel=1e-9)  # together with the sign: no overlap, no gap
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    _, count = np.unique(edges, axis=0, return_counts=True)
    assert (count == 1).sum() == len(xy) and count.max() == 2  # the outline once, diagonals twice


def test_points_may_be_planar_or_of_higher_dimension():
    xy = POLYGONS["L"].astype(float)
    block = CellBlock.of_lengths("polygon", np.arange(6), [6])
    for points in (xy, xy @ np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0][:2]):
        triangles, _, _ = triangulate(points, block)
        assert sum(polygon_area(xy[t]) for t in triangles) == pytest.approx(
            3.0 * np.sign(polygon_area(xy[triangles[0]]))
        )


def test_quads_take_the_shorter_diagonal():
    xy = np.array([[0, 0], [1, -3], [2, 0], [1, 3]], float)
    triangles, _, _ = triangulate(xy, CellBlock.of_rows("polygon", [[0, 1, 2, 3], [1, 2, 3, 0]]))
    assert all({0, 2} <= set(t) for t in triangles.tolist())


def test_crossing_outline_is_reported():
    bow = np.array([[0, 0], [1, 1], [1, 0], [0, 1.0]])
    _, _, crossing = triangulate(bow, CellBlock.of_rows("polygon", [[0, 1, 2, 3]]))
    assert crossing.tolist() == [0]


def test_repeated_corners_are_merged_where_a_face_remains():
    xy = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)
    block = CellBlock.of_lengths("polygon", [0, 1, 1, 2, 3, 3, 2, 3], [5, 3])
    triangles, rows, _ = triangulate(xy, block)
    assert rows.tolist() == [0, 0, 1] and polygon_area(xy[triangles[0]]) + polygon_area(xy[triangles[1]]) == 1.0
    assert triangles[2].tolist() == [3, 2, 3]  # left for the caller, who drops it by name


def test_random_polygons_are_tiled():
    rng = np.random.default_rng(5)
    for _ in range(60):
        n = int(rng.integers(4, 30))
        angle = np.sort(rng.uniform(0, 2 * np.pi, n))
        if np.diff(np.append(angle, angle[0] + 2 * np.pi)).max() > 3:
            continue
        xy = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.uniform(0.2, 1, n)[:, None]
        triangles, simple = clip_ears(xy)
        assert simple and sum(abs(polygon_area(xy[t])) for t in triangles) == pytest.approx(polygon_area(xy), rel=1e-9)


def test_strip_triangles_keep_one_winding():
    triangles, rows = strip_triangles(CellBlock.of_lengths("strip", [0, 1, 2, 3, 4, 7, 8, 9], [5, 3]))
    assert triangles.tolist() == [[0, 1, 2], [2, 1, 3], [2, 3, 4], [7, 8, 9]] and rows.tolist() == [0, 0, 0, 1]


def test_very_large_polygons_are_refused():
    with pytest.raises(InputError) as caught:
        triangulate(np.zeros((3, 3)), CellBlock.of_lengths("polygon", np.arange(21_000) % 3, [21_000]))
    assert caught.value.kind == "polygon_too_large"
