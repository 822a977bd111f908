"""Scales: on another resolution of a shape an operator's numbers mean what they meant on the mesh of training."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from hsd.data.domain import Domain
from hsd.data.domain_arrays import RESOLVENT_SHIFTS, DomainSpec
from hsd.data.ground import Ground
from hsd.data.scales import SAME_SHAPE, Scales
from hsd.errors import InputError
from hsd.mesh.complex import SimplicialComplex
from hsd.mesh.from_points import mesh_from_points
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import length_scale, total_measure
from hsd.mesh.primitives import gallery
from hsd.models.registry import make_model
from hsd.nn.filters import filter_features
from tests.meshes import mesh_of
from tests.models.domains import batch_of, domain_of

SPECS = {
    "torus": DomainSpec((0, "scalar"), (1, "flux"), 24, 8),
    "sphere": DomainSpec((2, "density"), (1, "circulation"), 24, 8),
    "ball_with_cavity": DomainSpec((3, "density"), (2, "flux"), 24, 8),
}


def domain(name: str, n: int) -> Domain:
    return Domain.from_mesh(mesh_of(name, n), SPECS[name])


@pytest.mark.parametrize("name", SPECS)
def test_scales_are_those_of_the_mesh(name):
    here = domain(name, 300)
    assert here.scales.scale2 == length_scale(here.mesh) ** 2
    assert here.scales.measure == pytest.approx(total_measure(here.mesh), rel=1e-12)
    assert here.scales.cutoff == here.arrays["source/eigenvalues"].max()


@pytest.mark.parametrize("name", SPECS)
def test_in_the_scales_of_another_resolution_only_what_depends_on_them_changes(name):
    coarse, fine = domain(name, 300), domain(name, 500)
    there = fine.in_scales(coarse.scales)
    assert there.scales == coarse.scales != fine.scales and there is fine.in_scales(coarse.scales)
    assert fine.in_scales(fine.scales) is fine
    changed = {key for key in there.arrays if not np.array_equal(there.arrays[key], fine.arrays.get(key))}
    assert changed == {"scale2", "measure", "cutoff", "chi_fiber"}
    assert there.to(dtype=torch.float64).scales == coarse.scales


@pytest.mark.parametrize("name", SPECS)
def test_resolvents_in_other_scales_have_the_shifts_of_those(name):
    """(1 + s) λ_K (Δ + s λ_K)⁻¹ of what lies beyond the modes, λ_K that of the scales, by a dense route."""
    fine = domain(name, 500)
    scales = replace(fine.scales, cutoff=1.07 * fine.scales.cutoff)
    there = fine.in_scales(replace(scales, measure=1.001 * scales.measure))
    ground, degree = Ground(fine.mesh), SPECS[name].source[0]
    star = ground.dec.star(degree).toarray()
    n = fine.mesh.dim
    if degree == 0:
        laplacian = np.linalg.solve(star, ground.dec.upper_stiffness(0).toarray())
    else:
        laplacian = ground.dec.d(n - 1) @ np.linalg.solve(
            ground.dec.star(n - 1).toarray(), ground.dec.d(n - 1).T.toarray() @ star
        )
    rest = np.random.default_rng(0).standard_normal((len(star), 3))
    for j, shift in enumerate(RESOLVENT_SHIFTS):
        whole = laplacian + shift * scales.cutoff * np.eye(len(star))
        wanted = (1 + shift) * scales.cutoff * np.linalg.solve(whole, rest)
        lowered = ground.dec.d(0) @ wanted if degree == 0 else ground.dec.codifferential(n) @ wanted
        found = there._features._solved(j, rest)
        assert np.allclose(found, lowered / np.sqrt(scales.cutoff), atol=1e-8 * np.abs(found).max())


@pytest.mark.parametrize("name", SPECS)
def test_features_and_moments_in_other_scales_are_made_with_the_same_resolvents(name):
    fine = domain(name, 500)
    there = fine.in_scales(replace(fine.scales, cutoff=1.07 * fine.scales.cutoff))
    chi = fine.arrays["chi"]
    solved = there.fiber_features(chi.T)  # of the moments themselves
    kept = there.arrays["chi_fiber"][:, 1:].transpose(2, 0, 1)
    assert np.allclose(solved, kept, atol=1e-5 * np.abs(kept).max())


def test_a_filter_has_one_value_at_one_eigenvalue_on_all_resolutions():
    coarse, fine = domain("torus", 300), domain("torus", 500)
    there = fine.in_scales(coarse.scales, fiber=False)
    rows = [filter_features(d.source, d.scale2, ("coexact",)) for d in (coarse, there)]
    lam = [d.source.eigenvalues for d in (coarse, there)]
    for k in range(coarse.source.n_modes):  # bands are piecewise linear in log λ: compare at the eigenvalue itself
        other = replace(there.source, eigenvalues=lam[0][k : k + 1], part=coarse.source.part[k : k + 1])
        assert torch.allclose(filter_features(other, there.scale2, ("coexact",))[:, 0], rows[0][:, k], atol=1e-6)


def test_a_mesh_of_another_size_or_unit_keeps_its_own_scales():
    mesh = mesh_of("torus", 300)
    here = Domain.from_mesh(mesh, SPECS["torus"])
    small = Mesh(mesh.complex, 1e-3 * mesh.points)
    there = Domain.from_mesh(small, SPECS["torus"])
    assert there.in_scales(here.scales) is there
    grown = replace(here.scales, measure=(1 + 2 * SAME_SHAPE) * here.scales.measure)
    assert here.in_scales(grown) is here


def test_a_map_of_hsd_in_its_own_scales_is_the_same_to_the_last_bit():
    name = "ellipsoid_aerodynamics"
    here, batch = domain_of(name), batch_of(name)
    torch.manual_seed(0)
    model = make_model("hsd", here, name)
    near = here.in_scales(replace(here.scales, cutoff=here.scales.cutoff * (1 + 1e-12)))
    assert near is here  # another machine's rounding
    with torch.no_grad():
        assert torch.equal(model(batch, near).forms, model(batch, here).forms)


def test_scales_come_back_from_a_manifest_and_wrong_ones_are_said():
    scales = Scales(1.0, 2.0, 3.0)
    assert Scales.of_manifest({"scales": asdict(scales)}) == scales and Scales.of_manifest({}) is None
    for told in (
        5,
        {},
        {"scale2": 1.0},
        {**asdict(scales), "cutoff": "big"},
        {**asdict(scales), "cutoff": float("nan")},
    ):
        with pytest.raises(InputError, match="scales in the manifest") as found:
            Scales.of_manifest({"scales": told})
        assert found.value.kind == "bad_manifest"


def mixed() -> Mesh:
    """A torus and a path that hangs on it."""
    torus = gallery("torus", 200)
    n = torus.complex.n_vertices
    points = np.vstack([torus.points, [[5.0, 0, 0], [6, 0, 0]]])
    tops = {2: torus.complex.simplices(2), 1: np.array([[0, n], [n, n + 1]])}
    return Mesh(SimplicialComplex.from_simplices(n + 2, tops), points)


KINDS = {
    "surface": (lambda: gallery("torus", 200), "galerkin"),
    "tetrahedra": (lambda: gallery("ball", 200), "galerkin"),
    "unit star": (lambda: gallery("torus", 200), "unit"),
    "graph": (lambda: graph_of(gallery("torus", 200)), "galerkin"),
    "graph, unit star": (lambda: graph_of(gallery("torus", 200)), "unit"),
    "mixed dimension": (mixed, "galerkin"),
    "point cloud": (lambda: mesh_from_points(gallery("torus", 300).points, radius=0.3), "galerkin"),
}


def graph_of(mesh: Mesh) -> Mesh:
    return Mesh.from_cells(mesh.points, mesh.complex.simplices(1))


@pytest.mark.filterwarnings("ignore:invalid value encountered in divide")
@pytest.mark.parametrize("kind", KINDS)
def test_scales_of_every_kind_of_mesh_are_taken_back_and_absurd_ones_are_not(kind):
    make, star = KINDS[kind]
    mesh = make()
    domain = Domain.from_mesh(mesh, DomainSpec((0, "scalar"), (0, "scalar"), 16, star=star))
    told = asdict(domain.scales)
    about = {"scales": told, "n_vertices": domain.n_vertices}
    assert Scales.of_manifest(about, mesh.dim) == domain.scales
    wrong = [{"measure": 0.0}, {"scale2": 0.0}, {"scale2": 0}, {"cutoff": float("inf")}]
    if star != "unit":
        smaller = Scales(**told)._of_largest_cells(mesh.dim) / 2
        wrong += [{"cutoff": 1e300}, {"measure": smaller}, {"scale2": 1e300}]
    for change in wrong:
        with pytest.raises(InputError, match=r"scales in m\.json") as found:
            Scales.of_manifest({**about, "scales": {**told, **change}}, mesh.dim, "m.json")
        assert found.value.kind == "bad_manifest"
