"""Spectra, harmonic forms and decompositions of the shared cases, against the values recorded with them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hsd.dec.operators import DEC
from hsd.dec.read_field import read_field
from hsd.dec.stars import circumcentric_entries
from hsd.errors import MetricError
from hsd.hodge.decomposition import Decomposer
from hsd.hodge.report import report
from hsd.hodge.solver import HodgeSolver
from hsd.hodge.spectrum import lowest_modes
from hsd.mesh.io import load_mesh


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "cases" / "files" / "shareable"


@pytest.fixture(scope="module")
def manifest(folder):
    return {c["id"]: c for c in json.loads((folder / "manifest.json").read_text())["cases"]}


def all_values(mesh, k, star, bc="absolute"):
    return np.sort(lowest_modes(mesh, k, DEC(mesh, star, bc).n(k), bc, star, use_cache=False).eigenvalues)


@pytest.mark.parametrize("name", ["I08_wire.obj", "I08_edges.csv", "I08_lines.vtk"])
def test_I08_graph_spectra(folder, manifest, name):
    mesh = load_mesh(folder / name)
    for k in (0, 1):
        assert np.allclose(all_values(mesh, k, "unit"), manifest["I08"]["spectrum"][f"L{k}"], atol=1e-9)


def test_I16_flipped_faces_change_no_spectrum(folder):
    """Winding does not enter: the flipped mesh has the spectra of the unflipped one (the same points and cells)."""
    flipped = load_mesh(folder / "I16_flipped_faces.ply")
    solid = load_mesh(folder / "I02_solid_header_binary.stl")
    for k in (0, 1, 2):
        a, b = all_values(flipped, k, "galerkin"), all_values(solid, k, "galerkin")
        assert np.abs(a - b).max() <= 1e-5 * a.max()  # one file is 32-bit


def test_I24_units_scale_eigenvalues_and_keep_two_harmonic_forms(folder, manifest):
    case = manifest["I24"]
    for name, scale in zip(case["files"], case["scales"]):
        mesh = load_mesh(folder / name)
        values = np.sort(lowest_modes(mesh, 0, 6, use_cache=False).eigenvalues) * scale**2
        assert np.allclose(values, case["cotan_lumped_eigs_at_scale_1"], rtol=1e-6, atol=1e-7)
        assert HodgeSolver(mesh).harmonic(1).dual.shape[1] == 2


def test_I26_far_from_origin_keeps_the_cube(folder, manifest):
    mesh = load_mesh(folder / "I26_far_from_origin.ply")
    assert abs(report(mesh)["area"] - 6) <= 1e-6
    assert np.allclose(all_values(mesh, 0, "galerkin"), manifest["I26"]["cotan_lumped_eigs"], atol=1e-6)


def test_N01_obtuse_kite(folder, manifest):
    mesh = load_mesh(folder / "N01_obtuse_kite.off")
    weights, _ = circumcentric_entries(mesh, 1)
    edge = np.flatnonzero((mesh.complex.simplices(1) == [0, 1]).all(axis=1))[0]
    assert weights[edge] == pytest.approx(manifest["N01"]["edge01_weight"], abs=1e-12)
    stiffness = DEC(mesh).upper_stiffness(0).toarray()
    assert np.allclose(np.linalg.eigvalsh(stiffness), manifest["N01"]["stiffness_eigs"], atol=1e-9)
    with pytest.raises(MetricError) as caught:
        DEC(mesh, "diagonal").star(1)
    assert caught.value.kind == "star_not_positive"
    assert all_values(mesh, 1, "galerkin").min() > 0


@pytest.mark.parametrize("name", ["N02_right_triangles_1x1.off", "N02_right_triangles_8x8.off"])
def test_N02_right_triangles_give_finite_results_and_no_harmonic_form(folder, manifest, name):
    mesh = load_mesh(folder / name)
    weights, _ = circumcentric_entries(mesh, 1)
    if "8x8" in name:
        assert (np.abs(weights) < 1e-12).sum() == manifest["N02"]["zero_weight_edges_8x8"]
    values = all_values(mesh, 1, "galerkin")
    assert np.isfinite(values).all() and values.min() > 0
    assert HodgeSolver(mesh).harmonic(1).dual.shape[1] == 0


def test_N03_cycle(folder, manifest):
    mesh = load_mesh(folder / "N03_cycle10.csv")
    for k in (0, 1):
        assert np.allclose(all_values(mesh, k, "unit"), manifest["N03"]["spectrum"][f"L{k}"], atol=1e-9)
    gamma = HodgeSolver(mesh, "unit").harmonic(1).dual
    assert gamma.shape[1] == 1 and np.ptp(np.abs(gamma)) <= 1e-12


def test_N04_hollow_and_filled_triangle(folder, manifest):
    for word in ("hollow", "filled"):
        mesh = load_mesh(folder / f"N04_{word}_triangle.obj")
        assert np.allclose(all_values(mesh, 1, "unit"), manifest["N04"]["spectrum"][f"L1_{word}"], atol=1e-12)
        assert report(mesh)["betti_Q"] == manifest["N04"]["facts"][f"betti_{word}"]


def test_N05_platonic_solids(folder, manifest):
    for key, values in manifest["N05"]["spectrum"].items():
        shape, level = key.split("_L")
        mesh = load_mesh(folder / f"N05_{shape}.off")
        assert np.allclose(all_values(mesh, int(level), "unit"), np.sort(values), atol=1e-9)


def test_N07_icosphere_groups(folder, manifest):
    case = manifest["N07"]
    mesh = load_mesh(folder / "N07_icosphere2.off")
    basis = lowest_modes(mesh, 0, len(case["cotan_lumped_eigs"]), use_cache=False)
    assert np.allclose(np.sort(basis.eigenvalues), case["cotan_lumped_eigs"], atol=1e-7)
    sizes = [len(b) for b in basis.multiplicity_blocks]
    assert sizes[: len(case["groups"])] == case["groups"]


def test_N08_twenty_modes_of_four_vertices(folder):
    basis = lowest_modes(load_mesh(folder / "N08_tiny_k_too_large.off"), 0, 20)
    assert basis.n_modes == 4 and [n.kind for n in basis.notices] == ["k_capped"]


@pytest.mark.parametrize("star", ["unit", "galerkin"])
def test_N10_annulus_flow(folder, manifest, star):
    """Unweighted: the three columns to 1e-9; weighted: orthogonal in the weighted product."""
    mesh = load_mesh(folder / "N10_annulus.off")
    table = np.genfromtxt(folder / "N10_flow.csv", delimiter=",", names=True)
    index, sign = mesh.complex.find(np.stack([table["tail"], table["head"]], axis=1).astype(int))
    columns = {}
    for name in ("flow", "gradient", "curl", "harmonic"):
        columns[name] = np.zeros(mesh.complex.n(1))
        columns[name][index] = sign * table[name]
    omega, _ = read_field(mesh, f"{folder / 'N10_flow.csv'}:flow", 1) if star == "unit" else (columns["flow"], "")
    assert np.abs(omega - columns["flow"]).max() <= 1e-12
    parts = Decomposer(mesh, 1, star=star)(columns["flow"])
    total = parts.exact + parts.coexact + parts.harmonic
    assert np.abs(total - columns["flow"]).max() <= 1e-12 * np.abs(columns["flow"]).max() * 10
    assert np.abs(parts.inner - np.diag(np.diag(parts.inner))).max() <= 1e-9
    if star == "unit":
        for name, part in (("gradient", parts.exact), ("curl", parts.coexact), ("harmonic", parts.harmonic)):
            assert np.abs(part - columns[name]).max() <= 1e-9
            assert float(part @ part) == pytest.approx(manifest["N10"]["squared_norms"][name], rel=1e-9)


def test_N13_exactly_four_harmonic_forms(folder, manifest):
    mesh = load_mesh(folder / "N13_genus2_plate.off")
    for star in ("unit", "galerkin"):
        assert HodgeSolver(mesh, star).harmonic(1).orthonormal.shape[1] == 4
    values = all_values(mesh, 1, "unit")
    assert np.allclose(values[:8], manifest["N13"]["smallest_L1"], atol=1e-8)


def test_N14_unit_square_neumann_and_dirichlet(folder, manifest):
    mesh = load_mesh(folder / "N14_square24.off")
    neumann = np.sort(lowest_modes(mesh, 0, 6, use_cache=False).eigenvalues)
    assert np.allclose(neumann, np.pi**2 * np.array([0, 1, 1, 2, 4, 4]), rtol=0.02, atol=1e-9)
    dirichlet = lowest_modes(mesh, 0, 1, bc="relative", use_cache=False).eigenvalues[0]
    assert dirichlet == pytest.approx(2 * np.pi**2, rel=0.02)
    assert DEC(mesh).star(0).sum() == pytest.approx(manifest["N14"]["area_exact"], rel=1e-6)


def test_N18_not_pure(folder, manifest):
    mesh = load_mesh(folder / "N18_triangle_loop_isolated.vtk", keep_loose=True)
    assert report(mesh)["betti_Q"] == [2, 1, 0]
    assert np.allclose(all_values(mesh, 1, "unit"), manifest["N18"]["spectrum_L1"], atol=1e-9)
    dropped = load_mesh(folder / "N18_triangle_loop_isolated.vtk")
    assert report(dropped)["betti_Q"] == [1, 1, 0]
    assert "unreferenced_vertices" in [n.kind for n in dropped.notices]


def test_shipped_pyvista_mesh_loads_and_decomposes():
    """A file that lies inside the installed pyvista package: closed sphere-like surface, two independent counts."""
    import importlib.util
    from pathlib import Path

    package = Path(importlib.util.find_spec("pyvista").origin).parent
    files = sorted(package.glob("examples/*.ply")) + sorted(package.glob("examples/*.vtk"))
    mesh = load_mesh(package / "examples" / "airplane.ply")
    assert files and mesh.complex.n(2) > 1000
    facts = report(mesh)
    v, e, f = mesh.complex.counts
    assert facts["chi"] == v - e + f == facts["betti_Q"][0] - facts["betti_Q"][1] + facts["betti_Q"][2]
    omega = np.random.default_rng(0).standard_normal(e)
    assert Decomposer(mesh, 1, star="unit")(omega).residual <= 1e-10


REAL = (
    "common_beetle.obj", "gc_bob_small.ply", "gc_cat_head.obj", "gc_dodecahedron_poly.obj", "gc_moebius.obj",
    "gc_spot.ply", "gc_triple_vierbein.obj", "trimesh_CesiumMilkTruck.glb",
)  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_real_meshes_decompose_with_as_many_harmonic_fields_as_their_ground_truth_says(shared, name):
    truth = json.loads((shared / "cases" / "real_meshes" / "ground_truth.json").read_text())[name]
    facts = truth["welded_1e-6_box"] if isinstance(truth["welded_1e-6_box"], dict) else truth["welded_exact"]
    facts = facts if isinstance(facts, dict) else truth["as_indexed"]
    mesh = load_mesh(shared / "cases" / "real_meshes" / name)
    solver = HodgeSolver(mesh)
    for k in range(3):
        parts = Decomposer(mesh, k, solver=solver)(np.random.default_rng(0).standard_normal(mesh.complex.n(k)))
        basis = lowest_modes(mesh, k, solver.betti[k] + 8, solver=solver, use_cache=False)
        assert len(basis.index("harmonic")) == len(parts.periods) == facts["betti_Q"][k]
        assert parts.residual <= 1e-10 and max(parts.zeros.values()) <= 1e-10
