"""The viewer's level sets against numpy, run by node (skipped without it: the browser test uses them too)."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest

from hsd.metrics.levels import merge_tree
from hsd.ui.viewer.assets import WEB
from hsd.viz.superlevel import own_colours, ranked_like
from tests.meshes import mesh_of

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no node")
LEVELS = (0.05, 0.3, 0.5, 0.8, 1.0)


def covered(folder, mesh, values: np.ndarray, tree, levels) -> list[dict]:
    """What the page draws at each level, with one colour a peak."""
    (folder / "package.json").write_text('{"type": "module"}')
    for name in ("superlevel.js", "fields.js"):
        shutil.copy(WEB / name, folder / name)
    given = {
        "points": mesh.points.ravel().tolist(),
        "triangles": mesh.complex.simplices(2).ravel().tolist(),
        "values": values.tolist(),
        "basin": tree.basin.tolist(),
        "parent": tree.parent.tolist(),
        "death": np.maximum(tree.death, -1e30).tolist(),
        "colour": list(range(len(tree.birth))),
        "levels": list(levels),
    }
    code = """
import { covered, blend, rim } from './superlevel.js';
import { levelLines } from './fields.js';
import { readFileSync } from 'node:fs';
const g = JSON.parse(readFileSync('given.json')), length = (s) => {
  let sum = 0;
  for (let i = 0; i < s.length; i += 6) sum += Math.hypot(s[i] - s[i + 3], s[i + 1] - s[i + 4], s[i + 2] - s[i + 5]);
  return sum;
};
console.log(JSON.stringify(g.levels.map((level) => {
  const part = covered(g.triangles, g, level), xyz = blend(part, g.points);
  return { xyz: [...xyz], colour: [...part.colour], rim: length(rim(part, xyz)),
    line: length(levelLines(g.points, g.triangles, g.values, [level])) };
})));"""
    (folder / "given.json").write_text(json.dumps(given))
    (folder / "run.js").write_text(code)
    done = subprocess.run([NODE, "run.js"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def area_above(mesh, values: np.ndarray, level: float) -> float:
    """Area where the linear interpolant is ≥ level, by cutting the corners of every triangle."""
    total = 0.0
    for t in mesh.complex.simplices(2):
        p, u = mesh.points[t], values[t]
        whole = np.linalg.norm(np.cross(p[1] - p[0], p[2] - p[0])) / 2
        inside = u >= level
        if inside.sum() in (1, 2):
            lone = int(np.flatnonzero(inside == (inside.sum() == 1))[0])
            share = np.prod([(u[lone] - level) / (u[lone] - u[(lone + i) % 3]) for i in (1, 2)])
            total += whole * (share if inside.sum() == 1 else 1 - share)
        else:
            total += whole * bool(inside.all())
    return total


@pytest.mark.parametrize("name", ["torus", "disk_three_holes", "two_components"])
def test_the_page_draws_the_set_of_the_interpolant_with_the_components_of_the_library(tmp_path, name):
    mesh = mesh_of(name, 80)
    if mesh.points.shape[1] == 2:
        mesh = type(mesh).from_cells(np.c_[mesh.points, np.zeros(len(mesh.points))], mesh.complex.simplices(2))
    values = np.random.default_rng(4).standard_normal(mesh.complex.n_vertices)
    tree = merge_tree(values, mesh.complex.simplices(1))
    levels = values.min() + np.array(LEVELS) * np.ptp(values)
    for level, drawn in zip(levels, covered(tmp_path, mesh, values, tree, levels)):
        corners = np.array(drawn["xyz"]).reshape(-1, 3, 3)
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert np.linalg.norm(normal, axis=1).sum() / 2 == pytest.approx(
            area_above(mesh, values, level), rel=1e-4, abs=1e-9
        )
        labels = tree.labels(values, level)
        assert set(drawn["colour"]) <= set(labels[labels >= 0].tolist())
        lonely = level == levels[-1]  # at the top only the vertex itself is in: nothing of positive area, one colour
        if not lonely:
            assert len(set(drawn["colour"])) == len(set(labels[labels >= 0].tolist()))
        assert drawn["rim"] == pytest.approx(drawn["line"], rel=1e-4, abs=1e-6)


def test_components_in_one_place_have_one_colour_and_filtered_ones_are_grey():
    mesh = mesh_of("torus", 400)
    edges, x = mesh.complex.simplices(1), mesh.points[:, 0]
    angle = np.arctan2(mesh.points[:, 1], x)
    truth = np.exp(-(angle**2) / 0.1) + 0.8 * np.exp(-((np.abs(angle) - np.pi) ** 2) / 0.1)
    other = 0.7 * np.exp(-(angle**2) / 0.1) + 0.9 * np.exp(-((np.abs(angle) - np.pi) ** 2) / 0.1)  # the heights swapped
    a, b = merge_tree(truth, edges), merge_tree(other, edges)
    colours = own_colours(a, 0.3)
    same = own_colours(b, 0.3, (a, truth, colours))
    la, lb = a.labels(truth, 0.5), b.labels(other, 0.5)
    both = (la >= 0) & (lb >= 0)
    assert len(set(colours[la[both]].tolist())) == 2
    assert (colours[la[both]] == same[lb[both]]).all()
    noisy = truth + 0.02 * np.random.default_rng(0).standard_normal(len(truth))
    tree = merge_tree(noisy, edges)
    grey = own_colours(tree, 0.3).max()
    short = tree.birth - tree.death < 0.3
    assert short.any() and (own_colours(tree, 0.3)[short] == grey).all()


def test_a_component_of_two_peaks_has_the_colour_of_the_truth_whichever_peak_is_higher():
    mesh = mesh_of("torus", 400)
    edges, angle = mesh.complex.simplices(1), np.arctan2(mesh.points[:, 1], mesh.points[:, 0])
    one, two = np.exp(-((angle - 0.5) ** 2) / 0.1), np.exp(-((angle + 0.5) ** 2) / 0.1)
    third = 0.7 * np.exp(-((np.abs(angle) - np.pi) ** 2) / 0.1)
    truth, other = one + 0.95 * two + third, 0.95 * one + two + third
    a, b = merge_tree(truth, edges), merge_tree(other, edges)
    colours = own_colours(a, 0.1)
    like = (a, truth, colours)
    same, named = own_colours(b, 0.1, like), ranked_like(b, 0.1, like)
    for level, count in ((0.1, 2), (0.4, 3), (0.8, 2)):  # both peaks in one component, apart, the third one gone
        la, lb = a.labels(truth, level), named.labels(other, level)
        both = (la >= 0) & (lb >= 0)
        assert len(np.unique(la[both])) == count
        assert (colours[la[both]] == same[lb[both]]).all()
    own = b.labels(other, 0.1)
    assert (colours[a.labels(truth, 0.1)] != same[own])[own >= 0].any(), "by its own eldest peak it would differ"


@pytest.mark.parametrize("seed", range(8))
def test_naming_components_after_other_peaks_changes_no_component(seed):
    mesh, rng = mesh_of("torus", 300), np.random.default_rng(seed)
    edges, truth = mesh.complex.simplices(1), rng.standard_normal(mesh.complex.n_vertices)
    values = np.round(truth + rng.standard_normal(len(truth)), 1)  # with ties
    a, b = merge_tree(truth, edges), merge_tree(values, edges)
    named = ranked_like(b, 0.5, (a, truth, own_colours(a, 0.5)))
    assert (np.isfinite(named.death).sum(), np.sort(named.death).tolist()) == (
        np.isfinite(b.death).sum(), np.sort(b.death).tolist()
    )  # fmt: skip
    for level in np.quantile(values, np.linspace(0, 1, 13)):
        mine, theirs = named.labels(values, level), b.labels(values, level)
        assert ((mine >= 0) == (theirs >= 0)).all()
        pairs = np.unique(np.stack([mine, theirs]), axis=1)
        assert len(np.unique(pairs[0])) == len(np.unique(pairs[1])) == pairs.shape[1], "one to one"
