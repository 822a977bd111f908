"""Domains: what operators read from a mesh has the properties that their guarantees rest on."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

import hsd
from hsd.data.batch import Batch, n_node_inputs, n_node_outputs, node_inputs, reference_coefficients
from hsd.data.domain import FIBER_LIFTS, Domain
from hsd.data.domain_arrays import RESOLVENT_SHIFTS, Builder, DomainSpec, monomials
from hsd.data.ground import Ground
from hsd.data.tasks.base import NamedFields
from hsd.dec.flat import flat
from hsd.errors import InputError
from hsd.mesh.mesh import Mesh
from tests.meshes import mesh_of

CASES = {
    "scalar to scalar": ("torus", (0, "scalar"), (0, "scalar")),
    "scalar to flux": ("torus", (0, "scalar"), (1, "flux")),
    "scalar to flux, no handle": ("ellipsoid", (0, "scalar"), (1, "flux")),
    "circulation to scalar": ("torus", (1, "circulation"), (0, "scalar")),
    "density to flux": ("ball_with_cavity", (3, "density"), (2, "flux")),
    "flux to flux": ("ball_with_cavity", (2, "flux"), (2, "flux")),
    "circulation to flux": ("solid_torus", (1, "circulation"), (2, "flux")),
    "surface density": ("sphere", (2, "density"), (1, "circulation")),
}


def fields_of(ground: Ground, case: str) -> dict[str, NamedFields]:
    degree, reading = CASES[case][2]
    basis = ground.solver.harmonic(degree).orthonormal
    if degree == 0 or basis.shape[1] == 0:
        return {}
    return {"harmonic": NamedFields(degree, reading, basis, reference=True)}


@cache
def made(case: str, n: int = 300, n_modes: int = 24) -> tuple[Domain, Builder]:
    name, source, target = CASES[case]
    mesh = mesh_of(name, n)
    ground = Ground(mesh)
    spec = DomainSpec(source, target, n_modes, 8)
    fields = fields_of(ground, case)
    builder = Builder(ground, spec, fields)
    arrays = builder.run()
    return Domain(mesh, spec, arrays), builder


@pytest.mark.parametrize("case", CASES)
def test_bases_are_orthonormal_and_their_pairs_are_derivatives(case):
    domain, builder = made(case)
    a = domain.arrays
    for end in ("source", "target"):
        gram = a[f"{end}/modes"].T @ a[f"{end}/star_modes"]
        assert np.abs(gram - np.eye(len(gram))).max() < 1e-10
    i, j = a["pairs"].T
    assert len(i) > 0
    if domain.spec.source[0] != domain.spec.target[0]:
        raised = builder.raise_or_lower(a["source/modes"][:, i]) / np.sqrt(a["source/eigenvalues"][i])
        overlap = np.einsum("nk,nk->k", raised, a["target/star_modes"][:, j])
        assert np.abs(np.abs(overlap) - 1).max() < 1e-8
        assert (overlap > 0).all() or domain.spec.source[0] > domain.spec.target[0]


@pytest.mark.parametrize("case", CASES)
def test_pairs_carry_coefficients_to_the_derivative(case):
    """T = Φ_t[pairs] with coefficients √λ c is d (or δ) of Φ_s c, signs included."""
    domain, builder = made(case)
    if domain.spec.source[0] == domain.spec.target[0]:
        assert (domain.pairs[:, 0] == domain.pairs[:, 1]).all()
        return
    a = domain.arrays
    i, j = a["pairs"].T
    c = np.random.default_rng(0).standard_normal(len(i))
    expected = builder.raise_or_lower(a["source/modes"][:, i] @ c)
    got = a["target/modes"][:, j] @ (np.sqrt(a["source/eigenvalues"][i]) * c)
    assert np.abs(got - expected).max() < 1e-7 * np.abs(expected).max()


@pytest.mark.parametrize("case", CASES)
def test_complement_is_orthogonal_to_the_modes_in_single_precision(case):
    domain, _ = made(case)
    forms = torch.randn(5, domain.target.modes.shape[0], generator=torch.Generator().manual_seed(0))
    rest = domain.target.complement(forms)
    norms = (rest * domain.sparse("target_star")(rest)).sum(dim=1).sqrt()
    assert (domain.target.coefficients(rest).abs().max(dim=1).values / norms).max() < 1e-5


@pytest.mark.parametrize("case", [c for c in CASES if CASES[c][1][0] in (0, mesh_of(CASES[c][0], 300).dim)])
def test_resolvent_inverts_the_shifted_laplacian_and_its_fiber_is_orthogonal(case):
    domain, builder = made(case)
    rng = np.random.default_rng(1)
    forms = rng.standard_normal((domain.source.modes.shape[0], 3))
    s = domain.spec.source[0]
    dec = builder.ground.dec
    for j, factor in enumerate(RESOLVENT_SHIFTS):
        shift = factor * domain.arrays["source/eigenvalues"].max()
        x = builder.resolvent(j, forms) / ((1 + factor) * shift / factor)
        back = np.column_stack([dec.laplacian(s) @ column for column in x.T]) + shift * x
        assert np.abs(back - forms).max() < 1e-7 * np.abs(forms).max()
    fiber = builder.fiber(forms)
    assert fiber.shape == (domain.target.modes.shape[0], len(RESOLVENT_SHIFTS), 3)
    inner = np.tensordot(domain.arrays["target/star_modes"], fiber, axes=(0, 0))
    assert np.abs(inner).max() < 1e-8 * np.abs(fiber).max()


@pytest.mark.parametrize("case", [c for c in CASES if CASES[c][1][0] in (0, mesh_of(CASES[c][0], 300).dim)])
def test_fiber_features_are_those_of_the_forms_and_of_bounded_functions_of_their_values(case):
    domain, builder = made(case)
    value = domain.arrays["source_value"]
    forms = np.random.default_rng(2).standard_normal((5, len(value))) / value  # of values of size one
    found = domain.fiber_features(forms, lifts=2, block=3)
    assert found.shape == (5, domain.target.modes.shape[0], 3 * len(RESOLVENT_SHIFTS))
    of_forms = found[..., : len(RESOLVENT_SHIFTS)]
    assert np.abs(domain.fiber_features(forms) - of_forms).max() < 1e-6 * np.abs(of_forms).max()
    for i, slope in enumerate(FIBER_LIFTS[:2], 1):
        lifted = np.array([u / np.hypot(1, slope * u) for u in forms * value]) / value
        expected = np.moveaxis(builder.fiber(lifted.T), 2, 0)
        part = found[..., i * len(RESOLVENT_SHIFTS) : (i + 1) * len(RESOLVENT_SHIFTS)]
        assert np.abs(part - expected).max() < 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("lifts", [0, 2])
@pytest.mark.parametrize("case", CASES)
def test_the_sum_of_fiber_features_takes_one_solve_a_resolvent_and_is_their_product_with_the_weights(
    case, lifts, monkeypatch
):
    domain, builder = made(case)
    rng = np.random.default_rng(3)
    forms = rng.standard_normal((4, domain.arrays["source/modes"].shape[0]))
    weights = rng.standard_normal(len(RESOLVENT_SHIFTS) * (1 + lifts))
    features = domain.fiber_features(forms, lifts)
    expected = features @ weights[: features.shape[2]]
    solves, solved = [], type(builder)._solved
    monkeypatch.setattr(type(builder), "_solved", lambda *a: solves.append(a[2].shape[1]) or solved(*a))
    found = domain.fiber_sum(forms, torch.as_tensor(weights), block=3)
    assert found.shape == expected.shape and found.dtype == np.float32
    size = np.abs(features).max(initial=0.0)
    assert np.abs(found - expected).max() <= 2e-6 * size * np.abs(weights).sum()
    assert (np.abs(found).max() > 0) == bool(features.shape[2])
    assert solves == [3] * len(RESOLVENT_SHIFTS) + [1] * len(RESOLVENT_SHIFTS) if features.shape[2] else not solves
    inner = domain.arrays["target/star_modes"].T @ found.T.astype(float)
    assert np.abs(inner).max() <= 1e-5 * max(np.abs(found).max(), 1e-30)


@pytest.mark.parametrize("case", [c for c in CASES if 0 < CASES[c][1][0] < mesh_of(CASES[c][0], 300).dim])
def test_sources_of_middle_degree_have_no_fiber_features(case):
    domain, _ = made(case)
    forms = np.ones((3, domain.source.modes.shape[0]))
    for lifts in (0, 2):
        assert domain.fiber_features(forms, lifts).shape == (3, domain.target.modes.shape[0], 0)


@pytest.mark.parametrize("case", CASES)
def test_sparse_maps_equal_their_matrices_and_have_the_transposed_gradient(case):
    domain, builder = made(case)
    domain = domain.to(dtype=torch.float64)
    matrix = builder.ground.node_matrix(*domain.spec.target)
    x = torch.randn(2, matrix.shape[1], 3, dtype=torch.float64, requires_grad=True)
    y = domain.sparse("target_nodes")(x)
    expected = np.stack([matrix @ x.detach().numpy()[b] for b in range(2)])
    assert np.abs(y.detach().numpy() - expected).max() < 1e-12 * np.abs(expected).max()
    g = torch.randn_like(y)
    (grad,) = torch.autograd.grad(y, x, g)
    expected = np.stack([matrix.T @ g.numpy()[b] for b in range(2)])
    assert np.abs(grad.numpy() - expected).max() < 1e-12 * np.abs(expected).max()


def test_contraction_is_skew_and_differentiates_along_the_field():
    """On the torus A of the field ∂_φ (rotation about the axis) sends cos φ-like modes to their derivative."""
    mesh = mesh_of("torus", 2000)
    ground = Ground(mesh)
    x = mesh.points
    rotation = flat(mesh, np.column_stack([-x[:, 1], x[:, 0], 0 * x[:, 0]]))
    spec = DomainSpec((0, "scalar"), (0, "scalar"), 64, 8)
    arrays = Builder(ground, spec, {"v": NamedFields(1, "circulation", rotation[:, None])}).run()
    a = arrays["contraction/v"][0]
    assert np.abs(a + a.T).max() == 0
    u = x[:, 0] / np.hypot(x[:, 0], x[:, 1])  # cos θ; its derivative along the rotation is −sin θ
    expected = -x[:, 1] / np.hypot(x[:, 0], x[:, 1])
    star_modes = arrays["source/star_modes"]
    got = arrays["source/modes"] @ (a @ (star_modes.T @ u))
    norm = np.sqrt(np.diag(ground.dec.star(0).toarray()))
    assert np.linalg.norm(norm * (got - expected)) < 0.03 * np.linalg.norm(norm * expected)


def speed_error(n: int, m: int) -> float:
    """Relative error of the speed at which A, of the rotation of a torus, carries cos mθ into sin mθ."""
    mesh = mesh_of("torus", n)
    x = mesh.points
    rotation = flat(mesh, np.column_stack([-x[:, 1], x[:, 0], 0 * x[:, 0]]))
    spec = DomainSpec((0, "scalar"), (0, "scalar"), 150, 8)
    arrays = Builder(Ground(mesh), spec, {"v": NamedFields(1, "circulation", rotation[:, None])}).run()
    theta = np.arctan2(x[:, 1], x[:, 0])
    c, s = (arrays["source/star_modes"].T @ wave(m * theta) for wave in (np.cos, np.sin))
    return abs(-(s @ arrays["contraction/v"][0] @ c) / np.sqrt((c @ c) * (s @ s)) / m - 1)


def test_contraction_carries_waves_at_their_speed_to_fourth_order_in_the_edge_length():
    coarse, fine = speed_error(500, 6), speed_error(2000, 6)
    assert coarse < 0.01 and np.log(coarse / fine) / np.log(4) > 1.6  # in the number of vertices, 2 is fourth order


@pytest.mark.parametrize("case", [c for c in CASES if CASES[c][1][0] in (0, mesh_of(CASES[c][0], 300).dim)])
def test_fiber_features_have_no_unit_and_keep_the_size_of_what_lies_beyond_the_modes(case):
    domain, builder = made(case)
    mesh = domain.mesh
    large = Mesh.from_cells(1000 * mesh.points, mesh.oriented_cells(), mesh.name)
    other = Builder(Ground(large), domain.spec, fields_of(Ground(large), case))
    other.run()
    value = domain.arrays["source_value"]
    forms = np.random.default_rng(3).standard_normal((4, len(value)))
    sizes = []
    for b, by in ((builder, value), (other, other.arrays["source_value"])):
        fiber = b.fiber((forms / by).T)
        star = b.ground.dec.star(domain.spec.target[0])
        rest = (forms / by).T - b.source.modes @ b.source.coefficients((forms / by).T)
        given = np.sqrt(np.einsum("nb,nb->b", rest, b.ground.dec.star(domain.spec.source[0]) @ rest))
        sizes.append([np.sqrt(np.einsum("nb,nb->b", f, star @ f)) / given for f in fiber.transpose(1, 0, 2)])
    assert np.allclose(*sizes, rtol=1e-6)
    assert np.min(sizes) > 0.02 and np.max(sizes) < 50


@pytest.mark.parametrize("case", CASES)
def test_moments_are_the_coordinates_read_in_the_degree_of_the_source(case):
    domain, builder = made(case)
    chi, degree = domain.arrays["chi"], domain.spec.source[0]
    if degree not in (0, domain.mesh.dim):
        assert chi.shape[1] == 0
        return
    weights = builder.ground.vertex_measure
    values = builder.ground.node_values(degree, domain.spec.source[1], chi.T)[..., 0]
    expected = monomials(builder.ground.moment_points).T
    error = np.sqrt(((values - expected) ** 2 @ weights) / (expected**2 @ weights).clip(1e-12))
    assert error.max() < (1e-12 if degree == 0 else 0.5) and error[0] < 1e-12


@pytest.mark.parametrize("case", ("scalar to flux", "density to flux", "scalar to scalar"))
def test_saved_domains_come_back_bit_for_bit(case, tmp_path):
    domain, _ = made(case)
    domain.save(tmp_path / "domain.npz")
    again = Domain.load(tmp_path / "domain.npz", dtype=torch.float64)
    assert again.spec == domain.spec and again.mesh.content_hash == domain.mesh.content_hash
    assert again.arrays.keys() == domain.arrays.keys()
    assert all(np.array_equal(again.arrays[name], domain.arrays[name]) for name in domain.arrays)
    assert again.source.modes.dtype == torch.float64


def test_broken_domain_files_are_refused_in_one_sentence(tmp_path):
    with pytest.raises(InputError, match="no domain file") as error:
        Domain.load(tmp_path / "none.npz")
    assert error.value.kind == "no_file"
    domain, _ = made("scalar to flux")
    path = tmp_path / "domain.npz"
    domain.save(path)
    whole = path.read_bytes()
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with np.load(path) as data:
        entries = {name: data[name] for name in data.files}
    entries["head"] = np.array(str(entries["head"]).replace("hsd-domain-3", "hsd-domain-9"))
    np.savez(tmp_path / "newer.npz", **entries)
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.npz").write_bytes(b"not a domain")
    for name in ("cut.npz", "text.npz", "other.npz", "newer.npz"):
        with pytest.raises(InputError) as error:
            Domain.load(tmp_path / name)
        assert error.value.kind == "bad_domain_file" and name in str(error.value)
    with pytest.raises(InputError, match="hsd-domain-9"):
        Domain.load(tmp_path / "newer.npz")


def test_degrees_too_far_apart_are_refused():
    mesh = mesh_of("ball_with_cavity", 60)
    with pytest.raises(InputError, match="same or a neighbouring degree"):
        Builder(Ground(mesh), DomainSpec((0, "scalar"), (2, "flux"), 8, 8), {}).run()


def test_the_disk_cache_gives_the_same_domain_again():
    mesh = mesh_of("torus", 300)
    spec = DomainSpec((0, "scalar"), (1, "flux"), 16, 8)
    first, second = (Domain.from_mesh(mesh, spec) for _ in range(2))
    assert first.arrays.keys() == second.arrays.keys()
    assert all(np.array_equal(first.arrays[k], second.arrays[k]) for k in first.arrays)


# ---- batches ---------------------------------------------------------------------------------------------------------


def batch_of(case: str, size: int = 4) -> tuple[Batch, Domain]:
    domain, _ = made(case)
    rng = np.random.default_rng(2)
    m = {name: rng.standard_normal((size, domain.arrays[f"field/{name}"].shape[1])) for name in domain.field_names}
    source = rng.standard_normal((size, domain.source.modes.shape[0]))
    target = rng.standard_normal((size, domain.target.modes.shape[0]))
    return Batch.of_arrays(domain, source, target, m), domain


@pytest.mark.parametrize("case", CASES)
def test_node_inputs_are_the_node_values_of_source_and_named_fields(case):
    batch, domain = batch_of(case)
    _, builder = made(case)
    x = node_inputs(batch, domain)
    assert x.shape == (len(batch), domain.n_vertices, n_node_inputs(domain))
    own = builder.ground.node_values(*domain.spec.source, batch.source.double().numpy())
    assert np.abs(x[..., : own.shape[-1]].numpy() - own).max() < 1e-4 * np.abs(own).max()
    for name, fields in fields_of(builder.ground, case).items():
        forms = batch.coefficients[name].double().numpy() @ fields.values.T
        expected = builder.ground.node_values(fields.degree, fields.reading, forms)
        assert np.abs(x[..., own.shape[-1] :].numpy() - expected).max() < 1e-4 * np.abs(expected).max()
    assert domain.target_nodes(batch.target).shape == (len(batch), domain.n_vertices, n_node_outputs(domain))


@pytest.mark.parametrize("case", CASES)
def test_reference_coefficients_are_those_of_the_harmonic_part(case):
    batch, domain = batch_of(case)
    reference = reference_coefficients(batch, domain)
    if domain.spec.source[0] == domain.spec.target[0] and not domain.reference_name:
        forms = batch.source.double().numpy()
    elif domain.reference_name:
        fields = domain.arrays["field/harmonic"]
        forms = batch.coefficients["harmonic"].double().numpy() @ fields.T
    else:
        assert reference is None
        return
    harmonic = domain.target.harmonic.numpy()
    expected = forms @ domain.arrays["target/star_modes"][:, harmonic]
    assert np.abs(reference.numpy() - expected).max() < 1e-4 * max(np.abs(expected).max(), 1e-3)


def test_batches_are_indexed_and_moved_as_one():
    batch, _ = batch_of("scalar to flux")
    part = batch[[2, 0]]
    assert len(part) == 2 and torch.equal(part.source[1], batch.source[0])
    assert torch.equal(part.coefficients["harmonic"][0], batch.coefficients["harmonic"][2])
    assert batch.to(dtype=torch.float64).coefficients["harmonic"].dtype == torch.float64


def test_bad_batches_are_refused_in_one_sentence():
    batch, domain = batch_of("scalar to flux")
    source, m = batch.source.numpy(), {"harmonic": batch.coefficients["harmonic"].numpy()}
    with pytest.raises(InputError, match="must be 0-forms") as error:
        Batch.of_arrays(domain, source[:, 1:], None, m)
    assert error.value.kind == "shape"
    with pytest.raises(InputError, match="must be 1-forms"):
        Batch.of_arrays(domain, source, batch.target.numpy()[:2], m)
    spoilt = source.copy()
    spoilt[0, 0] = np.nan
    with pytest.raises(InputError, match="not finite"):
        Batch.of_arrays(domain, spoilt, None, m)
    with pytest.raises(InputError, match="give their coefficients") as error:
        Batch.of_arrays(domain, source)
    assert error.value.kind == "missing_fields"


@pytest.mark.parametrize(
    "shape, source, target, few, least",
    [
        ("torus", (0, "scalar"), (1, "flux"), 1, 2),
        ("sphere", (0, "scalar"), (0, "scalar"), 2, 3),
        ("torus", (1, "flux"), (1, "flux"), 2, 4),
    ],
)
def test_the_fewest_modes_are_said_where_there_would_be_harmonic_ones_alone(shape, source, target, few, least):
    mesh = hsd.gallery(shape, 200)
    with pytest.raises(InputError, match=f"n_modes must be at least {least} on this mesh; got {few}: ") as said:
        Domain.from_mesh(mesh, DomainSpec(source, target, few))
    assert said.value.kind == "n_modes"
    enough = Domain.from_mesh(mesh, DomainSpec(source, target, least))
    assert (~enough.source.harmonic).sum() >= least
