"""β0 of superlevel sets from merge trees: against union–find, gudhi and the shared cases."""

from __future__ import annotations

import json
from itertools import pairwise

import gudhi
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from hsd.errors import InputError
from hsd.mesh.io import load_mesh
from hsd.metrics import levels
from hsd.metrics.levels import LevelRule, merge_tree, superlevel_bars
from tests.meshes import mesh_of
from tests.metrics.oracles import union_find_count

MESHES = (
    "torus",
    "genus5_plate",
    "disk_three_holes",
    "two_components",
    "moebius",
    "ball_with_cavity",
    "theta_circle",
    "book",
)


def kinds_of_fields(n: int, rng: np.random.Generator) -> np.ndarray:
    """White noise, many ties, few ties, a plateau at the top, a constant, tiny and huge numbers."""
    noise = rng.standard_normal((6, n))
    return np.stack(
        [noise[0], np.round(noise[1]), np.round(4 * noise[2]), np.minimum(noise[3], 0.2), np.full(n, 2.5)]
        + [1e-200 * noise[4], 1e200 * noise[5]]
    )


def counts_by_hand(values: np.ndarray, edges: np.ndarray, thresholds: np.ndarray) -> list[int]:
    return [union_find_count(values >= t, edges) for t in thresholds]


@pytest.mark.parametrize("name", MESHES)
def test_beta0_equals_union_find_at_every_threshold(name):
    mesh = mesh_of(name, 60)
    fields = kinds_of_fields(mesh.complex.n_vertices, np.random.default_rng(1))
    edges = mesh.complex.simplices(1)
    bars = superlevel_bars(fields, edges)
    for i, values in enumerate(fields):
        every = np.unique(values)
        between = np.concatenate([every, (every[1:] + every[:-1]) / 2, [every[0] - abs(every[0]), 2 * abs(every[-1])]])
        found = bars.betti0(np.broadcast_to(between, (len(fields), len(between))))[i]
        assert found.tolist() == counts_by_hand(values, edges, between)


@pytest.mark.parametrize("name", MESHES)
def test_bars_equal_those_of_gudhi(name):
    mesh = mesh_of(name, 200)
    fields = kinds_of_fields(mesh.complex.n_vertices, np.random.default_rng(2))
    bars = superlevel_bars(fields, mesh.complex.simplices(1))
    for i, values in enumerate(fields):
        tree = gudhi.SimplexTree()
        for v, value in enumerate(values):
            tree.insert([v], -value)
        for a, b in mesh.complex.simplices(1).tolist():
            tree.insert([a, b], -min(values[a], values[b]))
        tree.compute_persistence(persistence_dim_max=True, min_persistence=0)
        theirs = sorted(
            (-birth, -death) for birth, death in tree.persistence_intervals_in_dimension(0) if death > birth
        )
        mine = bars.field == i
        lasting = bars.birth[mine] > bars.death[mine]
        ours = sorted(zip(bars.birth[mine][lasting].tolist(), bars.death[mine][lasting].tolist()))
        assert ours == theirs


@pytest.mark.parametrize("name", MESHES)
def test_labels_of_a_merge_tree_are_the_connected_components_at_every_threshold(name):
    mesh = mesh_of(name, 60)
    edges, n = mesh.complex.simplices(1), mesh.complex.n_vertices
    for values in kinds_of_fields(n, np.random.default_rng(3)):
        tree = merge_tree(values, edges)
        for level in np.linspace(values.min(), values.max(), 7):
            inside = values >= level
            kept = edges[inside[edges].all(axis=1)]
            graph = sp.coo_matrix((np.ones(len(kept)), kept.T), shape=(n, n))
            groups = connected_components(graph, directed=False)[1][inside]
            labels = tree.labels(values, level)
            pairs = set(zip(labels[inside].tolist(), groups.tolist()))
            assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
            assert (labels[~inside] == -1).all()
            assert (values[tree.peak[labels[inside]]] >= values[inside]).all()


def test_many_fields_in_chunks_are_those_fields_one_by_one(monkeypatch):
    mesh = mesh_of("torus", 60)
    edges = mesh.complex.simplices(1)
    fields = np.random.default_rng(3).standard_normal((7, mesh.complex.n_vertices))
    thresholds = np.quantile(fields, np.linspace(0, 1, 11), axis=1).T
    whole = superlevel_bars(fields, edges).betti0(thresholds)
    monkeypatch.setattr(levels, "ENTRIES", 2 * (2 * len(edges) + mesh.complex.n_vertices))
    assert np.array_equal(superlevel_bars(fields, edges).betti0(thresholds), whole)
    for i in range(len(fields)):
        assert np.array_equal(superlevel_bars(fields[i : i + 1], edges).betti0(thresholds[i : i + 1])[0], whole[i])


def test_bars_follow_increasing_maps_and_relabelling():
    mesh = mesh_of("ball_with_cavity", 60)
    rng = np.random.default_rng(4)
    edges, n = mesh.complex.simplices(1), mesh.complex.n_vertices
    values = rng.standard_normal((1, n))
    pairs = [np.column_stack([b.birth, b.death])[np.lexsort((b.death, b.birth))] for b in (
        superlevel_bars(values, edges), superlevel_bars(8.0 * values - 16.0, edges))]  # fmt: skip
    assert np.allclose(8.0 * pairs[0] - 16.0, pairs[1], rtol=1e-14)
    order = rng.permutation(n)
    moved = superlevel_bars(values[:, order], np.argsort(order)[edges])
    assert sorted(zip(moved.birth, moved.death)) == sorted(map(tuple, pairs[0]))


def test_a_persistence_filter_only_lowers_counts_and_is_off_by_default():
    mesh = mesh_of("torus", 200)
    values = np.random.default_rng(5).standard_normal((1, mesh.complex.n_vertices))
    bars = superlevel_bars(values, mesh.complex.simplices(1))
    thresholds = np.linspace(values.min(), values.max(), 40)[None]
    counts = [bars.betti0(thresholds, least) for least in (0.0, 0.2, 0.5, 1.0, 100.0)]
    assert LevelRule().min_persistence == 0.0
    assert np.array_equal(counts[0][0], counts_by_hand(values[0], mesh.complex.simplices(1), thresholds[0]))
    assert all((more >= less).all() for more, less in pairwise(counts))
    assert (counts[0] > counts[2]).any()
    assert np.array_equal(counts[-1], np.ones_like(counts[-1]))  # the component of the mesh itself never dies


def test_bars_as_long_as_the_filter_are_kept():
    path = np.column_stack([np.arange(4), np.arange(1, 5)])
    bars = superlevel_bars(np.array([[3.0, 0.0, 2.0, 1.0, 2.0]]), path)  # bars [3, −∞), [2, 0), [2, 1)
    counts = [bars.betti0(np.array([[1.5]]), least)[0, 0] for least in (0.0, 1.0, 1.5, 2.0, 2.5)]
    assert counts == [3, 3, 2, 2, 1]


# ---- the shared cases ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "cases" / "files" / "shareable"


@pytest.fixture(scope="module")
def manifest(folder):
    return {c["id"]: c for c in json.loads((folder / "manifest.json").read_text())["cases"]}


def betti0(mesh, values, thresholds) -> list[int]:
    return superlevel_bars(values[None], mesh.complex.simplices(1)).betti0(np.array([thresholds]))[0].tolist()


def test_T01_two_squares_that_share_a_corner_are_one_component_by_vertices(folder, manifest):
    mesh = load_mesh(folder / "T01_corner_touch.vtk")
    assert betti0(mesh, mesh.vertex_field("f"), [0.5]) == [manifest["T01"]["b0_at_half"]["vertex_ge"]]


def test_T02_ties_count_as_in(folder, manifest):
    table = np.loadtxt(folder / "T02_path_field.csv", delimiter=",", skiprows=1)
    edges = np.column_stack([np.arange(6), np.arange(1, 7)])
    expected = manifest["T02"]["b0_ge"]
    found = superlevel_bars(table[None, :, 1], edges).betti0(np.array([[float(t) for t in expected]]))[0]
    assert found.tolist() == list(expected.values())


def test_T03_a_constant_field_has_one_component_up_to_its_value(folder, manifest):
    mesh = load_mesh(folder / "T03_constant_field.vtk")
    expected = manifest["T03"]["b0_ge"]
    assert betti0(mesh, mesh.vertex_field("f"), [float(t) for t in expected]) == list(expected.values())


def test_T06_curve_of_two_bumps_by_persistence_and_by_counting(folder, manifest):
    mesh = load_mesh(folder / "T06_two_bumps.vtk")
    values, expected = mesh.vertex_field("h"), manifest["T06"]["b0_ge"]
    thresholds = [float(t) for t in expected]
    assert betti0(mesh, values, thresholds) == list(expected.values())
    assert counts_by_hand(values, mesh.complex.simplices(1), np.array(thresholds)) == list(expected.values())


def test_T09_specks_count_unless_a_filter_is_asked_for(folder, manifest):
    mesh = load_mesh(folder / "T09_salt_noise.vtk")
    truth, prediction = mesh.vertex_field("truth"), mesh.vertex_field("prediction")
    assert betti0(mesh, truth, [0.5]) == [manifest["T09"]["b0_truth"]]
    assert betti0(mesh, prediction, [0.5]) == [manifest["T09"]["b0_prediction"]]


def test_T10_isolated_points_count_and_graphs_need_no_faces(folder, manifest):
    points = np.loadtxt(folder / "T10_five_points_only.xyz")
    alone = superlevel_bars(points[None, :, 0], np.zeros((0, 2))).betti0(points[:, 0].min()[None, None])
    assert alone.tolist() == [manifest["T10"]["facts"]["betti_points"]]
    square = load_mesh(folder / "T10_hollow_square_edges.csv")
    assert betti0(square, np.zeros(square.complex.n_vertices), [0.0]) == [manifest["T10"]["facts"]["betti_square"][0]]


def test_T11_a_punctured_torus_is_one_component(folder, manifest):
    mesh = load_mesh(folder / "T11_torus_one_face_removed.off")
    height = mesh.points[:, 2]
    assert betti0(mesh, height, [height.min()]) == [manifest["T11"]["facts"]["betti_Q"][0]]


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [{"fractions": ()}, {"fractions": (0.1, np.nan)}, {"min_persistence": -0.1}])
def test_a_rule_refuses_no_levels_and_negative_filters(bad):
    with pytest.raises(InputError) as error:
        LevelRule(**bad)
    assert error.value.kind == "levels"


def test_fields_must_be_finite_and_fit_the_edges():
    for values, kind in (
        (np.array([[0.0, np.nan]]), "non_finite_field"),
        (np.zeros(2), "shape"),
        (np.zeros((1, 1)), "shape"),
    ):
        with pytest.raises(InputError) as error:
            superlevel_bars(values, np.array([[0, 1]]))
        assert error.value.kind == kind
