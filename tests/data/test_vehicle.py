"""Vehicles from files: loaded, checked, scaled and decimated; what is no closed surface is refused with the remedy."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.data.ground import Ground
from hsd.data.tasks import task
from hsd.data.vehicle import load_vehicle
from hsd.errors import HsdError, MetricError, TopologyError
from hsd.mesh.io import load_mesh, save_mesh
from hsd.mesh.manifold import n_defects
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures
from hsd.mesh.primitives import car, gallery
from tests.data.shares import part_shares
from tests.data.stream_checks import EXACT, curl_error, divergence_error
from tests.meshes import mesh_of

NAME = "external_aerodynamics"


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    """A car with a wing in metres, as STL and VTK, and one without handles."""
    folder = tmp_path_factory.mktemp("vehicles")
    winged, plain = car(n_vertices=1500, wing=True), gallery("car", 1100)
    out = {}
    for name, mesh in (("winged.stl", winged), ("winged.vtk", winged), ("plain.ply", plain)):
        save_mesh(mesh, folder / name)
        out[name] = str(folder / name)
    return out


@pytest.mark.parametrize("name", ["winged.stl", "winged.vtk", "plain.ply"])
def test_vehicle_is_centred_scaled_and_turned_outwards(files, name):
    mesh = load_vehicle(files[name])
    area, cells = measures(mesh, 2), mesh.oriented_cells()
    assert np.abs(area @ mesh.points[cells].mean(axis=1)).max() < 1e-12 * area.sum()
    assert np.linalg.norm(mesh.points, axis=1).max() == pytest.approx(1.0, abs=1e-14)
    a, b, c = mesh.points[cells].transpose(1, 0, 2)
    assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0


def test_normals_are_turned_outwards_where_the_file_has_them_inwards(tmp_path):
    mesh = mesh_of("torus", 300)
    save_mesh(Mesh.from_cells(mesh.points, mesh.oriented_cells()[:, ::-1]), tmp_path / "in.obj")
    loaded = load_vehicle(tmp_path / "in.obj")
    a, b, c = loaded.points[loaded.oriented_cells()].transpose(1, 0, 2)
    assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0


@pytest.mark.parametrize("name, b1", [("winged.stl", 2), ("winged.vtk", 2), ("plain.ply", 0)])
def test_task_on_a_file_obeys_the_exact_laws(files, name, b1):
    t = task(NAME, surface=files[name], n_nodes=1000)
    ground = Ground(t.mesh())
    assert ground.mesh.complex.n_vertices == 1000
    assert ground.solver.betti == (1, b1, 1)
    records = t.samples(0, 0, 10)
    r = t.realise(records, ground)
    assert curl_error(ground, r.target) < 1e-13
    assert divergence_error(ground, r.target, t.source(r.inputs["vorticity"], ground)) < EXACT
    assert all(record["circulations"].shape == (b1,) for record in records)
    if b1:
        frame = t.named_fields(ground)["harmonic"].values
        c = r.target @ (ground.dec.star(1) @ frame)
        assert np.abs(c - r.coefficients["harmonic"]).max() < EXACT * np.abs(c).max()
    else:
        assert t.named_fields(ground) == {}


def test_calibrated_task_on_a_file_has_balanced_parts(files):
    t = type(task(NAME)).calibrated(n_nodes=800, n_samples=150, surface=files["winged.stl"])
    ground = Ground(t.mesh(800))
    shares = part_shares(t.realise(t.samples(0, 0, 150), ground).parts, ground.dec.star(1))
    assert shares["local"] == pytest.approx(0.4, abs=0.03)
    assert shares["global"] == pytest.approx(0.4, abs=0.03)
    assert shares["harmonic"] == pytest.approx(0.2, abs=0.05)


# ---- files that are no closed surface, made here ----------------------------------------------------------------


def two_pieces() -> Mesh:
    return mesh_of("two_components", 300)


def flat_face() -> Mesh:
    """A tetrahedron one of whose faces is cut in three by a point on an edge: one triangle without area."""
    p = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0, 0.0]])
    faces = np.array([[0, 2, 4], [4, 2, 1], [0, 4, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    return Mesh.from_cells(p, faces)


BAD = {
    "several_pieces": (two_pieces, TopologyError, "largest"),
    "not_closed": (lambda: mesh_of("disk", 300), TopologyError, "fill_holes"),
    "non_manifold": (lambda: mesh_of("book", 300), TopologyError, "split"),
    "zero_measure": (flat_face, MetricError, "collapse"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_closed_surface_is_refused_with_the_remedy(tmp_path, kind):
    make, error_class, step = BAD[kind]
    save_mesh(make(), tmp_path / "bad.ply")
    with pytest.raises(error_class) as error:
        load_vehicle(tmp_path / "bad.ply")
    assert error.value.kind == kind
    assert f"'{step}'" in error.value.message
    assert error.value.message.endswith(".")


def test_missing_file_and_tetrahedra_are_refused(tmp_path):
    with pytest.raises(HsdError) as error:
        load_vehicle(tmp_path / "none.stl")
    assert error.value.kind == "no_file"
    save_mesh(mesh_of("ball_with_cavity", 300), tmp_path / "ball.vtu")
    with pytest.raises(HsdError) as error:
        load_vehicle(tmp_path / "ball.vtu")
    assert error.value.kind == "degree"


# ---- real files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, b1, nodes", [("gc_spot.ply", 0, 1000), ("gc_bob_small.ply", 2, 120), ("gc_dodecahedron_poly.obj", 0, 12)]
)
def test_closed_real_surfaces_are_decimated_with_their_genus(shared, name, b1, nodes):
    t = task(NAME, surface=str(shared / "cases" / "real_meshes" / name), n_nodes=nodes)
    mesh = t.mesh()
    assert mesh.complex.n_vertices == nodes
    assert n_defects(mesh.complex) == (0, 0, 0)
    assert not mesh.complex.has_boundary
    ground = Ground(mesh)
    assert ground.solver.betti == (1, b1, 1)
    r = t.realise(t.samples(0, 0, 4), ground)
    assert curl_error(ground, r.target) < 1e-13
    assert divergence_error(ground, r.target, t.source(r.inputs["vorticity"], ground)) < EXACT


@pytest.mark.parametrize(
    "name, kind",
    [
        ("common_beetle.obj", "several_pieces"),
        ("trimesh_CesiumMilkTruck.glb", "several_pieces"),
        ("gc_cat_head.obj", "not_closed"),
        ("gc_moebius.obj", "not_closed"),
        ("gc_triple_vierbein.obj", "non_manifold"),
    ],
)
def test_open_and_broken_real_files_are_refused(shared, name, kind):
    with pytest.raises(TopologyError) as error:
        load_vehicle(shared / "cases" / "real_meshes" / name)
    assert error.value.kind == kind


def test_a_real_truck_is_usable_after_the_named_repair(shared):
    """Its body is the largest of 13 pieces once pinched vertices are split; the repair steps are part of the config."""
    path = str(shared / "cases" / "real_meshes" / "trimesh_CesiumMilkTruck.glb")
    pieces = load_mesh(path).complex.n_components
    assert pieces == 13
    t = task(NAME, surface=path, surface_repair=("split", "largest"), n_nodes=400)
    ground = Ground(t.mesh())
    assert ground.mesh.complex.n_vertices == 400
    assert ground.solver.betti[0] == 1
    r = t.realise(t.samples(0, 0, 4), ground)
    assert curl_error(ground, r.target) < 1e-13
    assert divergence_error(ground, r.target, t.source(r.inputs["vorticity"], ground)) < EXACT
