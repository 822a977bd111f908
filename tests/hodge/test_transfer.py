"""Transfer between meshes of one shape: identity, orders of convergence, classes, Hodge parts, whole eigen-blocks."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.dec.de_rham import de_rham
from hsd.errors import HsdError, InputError, MetricError, TopologyError, UnknownNameError
from hsd.hodge.decomposition import Decomposer
from hsd.hodge.functional_map import functional_map, transfer_basis
from hsd.hodge.solver import HodgeSolver
from hsd.hodge.spectrum import HodgeBasis
from hsd.hodge.transfer import Transfer
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import mean_edge_length
from hsd.mesh.primitives import GALLERY, gallery
from tests.meshes import CONDITIONS, MEDIUM, NAMES, SMALL, kinds_first, mesh_of

EPS = 1e-10
PLACED = tuple(n for n in NAMES if n != "flat_torus")
FINER = 800


def function(x):
    return np.sin(1.3 * x[:, 0] + 0.2) * np.cos(x[:, 1]) + x[:, -1] ** 2


def field(x):
    v = np.stack([np.sin(x[:, 1] + 0.3), x[:, 0] * x[:, 1] - 0.2 * x[:, 0], np.cos(x[:, 0])], axis=1)
    return v[:, : x.shape[1]]


def smooth(mesh, k):
    return de_rham(mesh, k, field if k == 1 or (k, mesh.dim) == (2, 3) else function)


@pytest.mark.parametrize("name", PLACED)
def test_transfer_to_the_same_mesh_is_the_identity(name):
    mesh = mesh_of(name, SMALL)
    transfer = Transfer(mesh, mesh)
    rng = np.random.default_rng(0)
    for k in range(mesh.dim + 1):
        omega = rng.standard_normal(mesh.complex.n(k))
        assert np.abs(transfer(k, omega) - omega).max() <= EPS * np.abs(omega).max()
        assert np.array_equal(transfer.class_map(k), np.eye(transfer.source_solver.betti[k]))


LADDER = (400, 800, 1600, 3200)


@pytest.mark.parametrize("ratio", [0.7, 1.9])
@pytest.mark.parametrize("name", ["torus", "annulus", "moebius"])
def test_smooth_fields_converge(name, ratio):
    """Order 2 for functions, 1 for forms of degree ≥ 1, in the relative L2 norm; d T = T d to order 1 on functions."""
    errors, gaps, h = [], [], []
    for n in LADDER:
        source, target = gallery(name, n), gallery(name, int(ratio * n))
        transfer = Transfer(source, target)
        dec = transfer.target_solver.dec
        degrees = range(3 if source.orientation is not None else 2)
        expected = [smooth(target, k) for k in degrees]
        found = [transfer(k, smooth(source, k)) for k in degrees]
        errors.append([dec.norm(k, x - y) / dec.norm(k, y) for k, x, y in zip(degrees, found, expected)])
        gaps.append(transfer.commutator(0, smooth(source, 0)))
        h.append(mean_edge_length(source))
    slopes = np.polyfit(np.log(h), np.log(errors), 1)[0]
    assert slopes[0] >= 1.8 and (slopes[1:] >= 0.9).all(), slopes
    assert np.polyfit(np.log(h), np.log(gaps), 1)[0] >= 0.6 and gaps[-1] <= 0.03


@pytest.mark.parametrize("name", ["cube", "ball"])
def test_smooth_fields_in_tetrahedra_come_closer_with_refinement(name):
    """A ball turned in itself and a cube on another grid: meshes that are not nested."""
    rotation = np.linalg.qr(np.random.default_rng(8).standard_normal((3, 3)))[0] if name == "ball" else np.eye(3)
    coarse, fine = [], []
    for n, errors in ((200, coarse), (1600, fine)):
        source, target = gallery(name, n), moved(gallery(name, n // 2), rotation, np.zeros(3))
        transfer = Transfer(source, target)
        dec = transfer.target_solver.dec
        for k in range(4):
            y = smooth(target, k)
            errors.append(dec.norm(k, transfer(k, smooth(source, k)) - y) / dec.norm(k, y))
    ratio = np.array(coarse) / np.array(fine)
    assert ratio[0] >= 2.5 and (ratio[1:] >= 1.5).all(), (coarse, fine)


@pytest.mark.parametrize("name", ["square", "cube"])
def test_affine_functions_and_constant_fields_are_transferred_exactly(name):
    """On flat domains W R is the identity on constants in every degree and on affine functions."""
    source, target = mesh_of(name, MEDIUM), mesh_of(name, FINER)
    transfer = Transfer(source, target)
    affine = lambda x: 1.0 + x @ np.arange(1.0, x.shape[1] + 1)  # noqa: E731
    assert np.abs(transfer(0, affine(source.points)) - affine(target.points)).max() <= 1e-11
    for k in range(1, source.dim + 1):
        constant = lambda x, k=k: (  # noqa: E731
            np.tile(np.arange(1.0, x.shape[1] + 1), (len(x), 1)) if k < source.dim else np.ones(len(x))
        )
        x, y = de_rham(source, k, constant), de_rham(target, k, constant)
        assert np.abs(transfer(k, x) - y).max() <= 1e-11 * np.abs(y).max()


@pytest.mark.parametrize("bc", CONDITIONS)
@pytest.mark.parametrize("name", kinds_first(PLACED))
def test_classes_go_by_a_unimodular_integer_matrix_and_periods_are_kept(name, bc):
    """There and back is the identity of cohomology, so both matrices have determinant ±1."""
    source, target = (mesh_of(name, n) for n in ((MEDIUM, FINER) if GALLERY[name].dim == 2 else (250, MEDIUM)))
    there = Transfer(source, target, bc)
    back = Transfer(target, source, source_solver=there.target_solver, target_solver=there.source_solver)
    for k in range(source.dim + 1):
        b = there.source_solver.betti[k]
        if b == 0:
            continue
        m = there.class_map(k)
        assert np.array_equal(m @ back.class_map(k), np.eye(b))
        gamma = there.source_solver.harmonic(k)
        full = there.source_solver.dec.extend(k, gamma.orthonormal)
        moved = there.transfer_harmonic(k, full)
        dec = there.target_solver.dec
        periods = there.target_solver.homology.cycles(k).T @ moved
        assert np.abs(periods - m @ gamma.periods).max() <= EPS * max(np.abs(gamma.periods).max(), 1.0)
        assert np.abs(back.transfer_harmonic(k, moved) - full).max() <= EPS * max(np.abs(full).max(), 1.0)
        for column in dec.restrict(k, moved).T:
            assert dec.closedness(k, column) <= EPS and dec.coclosedness(k, column) <= EPS


@pytest.mark.parametrize(
    ("name", "bc"), [(n, bc) for n in ("torus", "annulus", "moebius", "solid_torus") for bc in CONDITIONS]
)
def test_structure_preserving_transfer_keeps_each_part_pure(name, bc):
    source, target = mesh_of(name, 300), mesh_of(name, MEDIUM)
    transfer = Transfer(source, target, bc)
    one, other = transfer.source_solver.dec, transfer.target_solver.dec
    rng = np.random.default_rng(3)
    for k in range(source.dim + 1):
        omega = one.extend(k, rng.standard_normal((one.n(k), 2)))
        parts = transfer.parts(k, omega)
        again = Decomposer(target, k, solver=transfer.target_solver)
        size = np.abs(parts.total).max()
        for part in ("exact", "coexact", "harmonic"):
            found = again.parts(other.restrict(k, getattr(parts, part)), potentials=False)
            for label, y in zip(("exact", "coexact", "harmonic"), found):
                expected = other.restrict(k, getattr(parts, part)) * (label == part)
                assert np.abs(y - expected).max(initial=0) <= 1e-9 * size, (k, part, label)
        assert np.array_equal(transfer(k, omega, structure_preserving=True), parts.total)
        gamma = Decomposer(source, k, solver=transfer.source_solver).parts(one.restrict(k, omega), False)[2]
        periods = transfer.source_solver.harmonic(k).cycles.T @ gamma
        got = transfer.target_solver.homology.cycles(k).T @ parts.harmonic
        assert np.abs(got - transfer.class_map(k) @ periods).max(initial=0) <= EPS * max(np.abs(omega).max(), 1.0)


def test_structure_preserving_transfer_converges_with_the_derivative():
    """Order 1 for the 1-form and, unlike plain transfer, for its derivative."""
    errors, h = [], []
    for n in (400, 1200, 3600):
        source, target = gallery("torus", n), gallery("torus", int(1.9 * n))
        transfer = Transfer(source, target)
        dec, y = transfer.target_solver.dec, smooth(target, 1)
        gap = transfer(1, smooth(source, 1), structure_preserving=True) - y
        errors.append([dec.norm(1, gap) / dec.norm(1, y), dec.norm(2, dec.d(1) @ gap) / dec.norm(2, dec.d(1) @ y)])
        h.append(n**-0.5)
    assert (np.polyfit(np.log(h), np.log(errors), 1)[0] >= 0.9).all(), errors


def jittered(name, n):
    """No mirror symmetry: no quadrature point has two closest points, between which rounding would choose."""
    mesh = mesh_of(name, n)
    return Mesh(mesh.complex, mesh.points + 1e-3 * np.random.default_rng(n).standard_normal(mesh.points.shape))


def moved(mesh, rotation, shift):
    return Mesh(mesh.complex, mesh.points @ rotation.T + shift)


@pytest.mark.parametrize("name", ["torus", "solid_torus"])
def test_a_common_rigid_motion_changes_nothing(name):
    rotation = np.linalg.qr(np.random.default_rng(4).standard_normal((3, 3)))[0]
    source, target = jittered(name, 300), jittered(name, MEDIUM)
    shift = np.array([3.0, -1.0, 2.0])
    one = Transfer(source, target)
    other = Transfer(moved(source, rotation, shift), moved(target, rotation, shift))
    for k in range(source.dim + 1):
        y = one(k, smooth(source, k))
        assert np.abs(other(k, smooth(source, k)) - y).max() <= 1e-8 * np.abs(y).max()


@pytest.mark.parametrize("factor", [1e-3, 1e5])
def test_a_common_scale_changes_nothing(factor):
    source, target = jittered("torus", 300), jittered("torus", MEDIUM)
    one = Transfer(source, target)
    other = Transfer(Mesh(source.complex, source.points * factor), Mesh(target.complex, target.points * factor))
    for k in range(3):
        y = one(k, smooth(source, k))
        assert np.abs(other(k, smooth(source, k)) - y).max() <= 1e-8 * np.abs(y).max()


def test_relabelling_the_source_changes_nothing():
    source, target = mesh_of("solid_torus", 300), mesh_of("solid_torus", MEDIUM)
    perm = np.random.default_rng(6).permutation(source.complex.n_vertices)
    points = np.empty_like(source.points)
    points[perm] = source.points
    other = Mesh.from_cells(points, perm[source.complex.simplices(3)])
    one, two = Transfer(source, target), Transfer(other, target)
    for k in range(4):
        omega = smooth(source, k)
        index, sign = other.complex.find(perm[source.complex.simplices(k)])
        renamed = np.empty_like(omega)
        renamed[index] = sign * omega
        y = one(k, omega)
        assert np.abs(two(k, renamed) - y).max() <= 1e-9 * np.abs(y).max()


def bases(name, k, n, m, n_exact=8, n_coexact=8):
    return [HodgeBasis(gallery(name, i), k, n_exact if k else 0, n_coexact) for i in (n, m)]


@pytest.mark.parametrize(("name", "k"), [("torus", 0), ("torus", 1), ("torus", 2), ("annulus", 1)])
def test_functional_maps_are_block_diagonal_and_blocks_come_together(name, k):
    """Whole blocks of both meshes span the same space up to O(h); entries of C off the blocks vanish with h."""
    largest, off = [], []
    for n in (400, 1000, 2500):
        source, target = bases(name, k, n, 2 * n, n_coexact=8 if k < 2 else 0)
        found = functional_map(source, target)
        assert found.matrix.shape == (target.n_modes, source.n_modes)
        assert all(len(b.source) == len(b.target) for b in found.blocks)
        rest = found.matrix.copy()
        for block in found.blocks:
            rest[np.ix_(block.target, block.source)] = 0.0
        used = np.concatenate([b.source for b in found.blocks])
        largest.append(max(b.distance for b in found.blocks))
        off.append(np.abs(rest[:, used]).max())
        assert max(b.defect for b in found.blocks) <= 6 / np.sqrt(n) + 40 / n
    assert largest[-1] <= 0.6 * largest[0] and largest[-1] <= 0.06, largest
    assert off[-1] <= 0.7 * off[0] and off[-1] <= 0.05, off


@pytest.mark.parametrize(
    ("name", "k"), [("torus", 0), ("torus", 1), ("annulus", 1), ("solid_torus", 1), ("solid_torus", 2)]
)
def test_a_transferred_basis_is_orthonormal_pure_and_near_the_spectrum(name, k):
    source = HodgeBasis(mesh_of(name, MEDIUM), k, 6 if k else 0, 6)
    target = mesh_of(name, FINER)
    solver = HodgeSolver(target)
    transfer = Transfer(source.mesh, target, source_solver=source.solver, target_solver=solver)
    found = transfer_basis(source, target, transfer)
    gram = found.modes.T @ (solver.dec.star(k) @ found.modes)
    assert np.abs(gram - np.eye(source.n_modes)).max() <= EPS
    for part, column in zip(found.part, found.modes.T):
        pieces = dict(zip(("exact", "coexact", "harmonic"), Decomposer(target, k, solver=solver).parts(column, False)))
        assert all(np.abs(x).max(initial=0) <= 1e-8 for label, x in pieces.items() if label != part)
    coexact = source.index("coexact")
    assert np.abs(found.rayleigh[coexact] / source.eigenvalues[coexact] - 1).max() <= 0.08
    assert np.abs(found.rayleigh[source.eigenvalues == 0]).max(initial=0) <= 1e-12 * source.eigenvalues.max()
    assert len(found.defect) == len(source.multiplicity_blocks) and found.defect.max() <= 0.3


def test_the_functional_map_of_a_mesh_to_itself_is_the_identity():
    basis = HodgeBasis(mesh_of("torus", MEDIUM), 1, 8, 8)
    found = functional_map(basis, basis)
    assert np.abs(found.matrix - np.eye(basis.n_modes)).max() <= EPS
    assert max(b.distance for b in found.blocks) <= 1e-5 and max(b.defect for b in found.blocks) <= EPS


def plane_and_space(mesh):
    return Mesh(mesh.complex, mesh.points[:, :2]), Mesh(mesh.complex, mesh.points3)


BAD = {
    "different_dimension": (lambda: Transfer(mesh_of("torus", SMALL), mesh_of("solid_torus", SMALL)), InputError),
    "different space": (lambda: Transfer(*plane_and_space(mesh_of("annulus", SMALL))), InputError),
    "different_topology": (lambda: Transfer(mesh_of("sphere", SMALL), mesh_of("torus", SMALL)), TopologyError),
    "different_shape": (lambda: Transfer(mesh_of("sphere", SMALL), mesh_of("ellipsoid", SMALL)), InputError),
    "no_positions": (lambda: Transfer(mesh_of("flat_torus", SMALL), mesh_of("torus", SMALL)), MetricError),
    "degree": (lambda: Transfer(mesh_of("torus", SMALL), mesh_of("torus", SMALL))(3, np.zeros(1)), InputError),
    "shape": (lambda: Transfer(mesh_of("torus", SMALL), mesh_of("torus", SMALL))(1, np.zeros(1)), InputError),
}


@pytest.mark.parametrize("kind", BAD)
def test_meshes_that_do_not_fit_are_refused_in_one_sentence(kind):
    make, error = BAD[kind]
    with pytest.raises(error) as caught:
        make()
    assert isinstance(caught.value, HsdError)
    assert caught.value.kind == {"different space": "different_dimension"}.get(kind, kind)
    assert caught.value.message.endswith(".")


def test_a_shape_in_another_place_is_refused_with_ids_in_both_directions():
    torus = mesh_of("torus", MEDIUM)
    for pair in ((torus, moved(torus, np.eye(3), 0.5)), (moved(torus, np.eye(3), 0.5), torus)):
        with pytest.raises(InputError, match="place and unit") as caught:
            Transfer(*pair)
        assert caught.value.kind == "different_shape" and len(caught.value.ids)
    Transfer(torus, moved(torus, np.eye(3), 0.5), tolerance=1.0)


def test_classes_that_cannot_be_recognised_are_refused():
    """A torus turned by 90° about an axis in its plane has other loops in the same box."""
    torus = gallery("torus", MEDIUM, r=0.4)
    turned = moved(torus, np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]), np.zeros(3))
    transfer = Transfer(torus, turned, tolerance=1.0)
    with pytest.raises(TopologyError) as caught:
        transfer.class_map(1)
    assert caught.value.kind == "classes_unmatched"


def test_bases_and_solvers_that_do_not_belong_together_are_refused():
    torus, finer = mesh_of("torus", SMALL), mesh_of("torus", MEDIUM)
    with pytest.raises(InputError) as caught:
        Transfer(torus, finer, source_solver=HodgeSolver(torus), target_solver=HodgeSolver(finer, bc="relative"))
    assert caught.value.kind == "solver_mismatch"
    with pytest.raises(InputError) as caught:
        Transfer(torus, finer, source_solver=HodgeSolver(finer))
    assert caught.value.kind == "solver_mismatch"
    one, two = HodgeBasis(torus, 1, 4, 4), HodgeBasis(finer, 0, 0, 4)
    with pytest.raises(InputError) as caught:
        functional_map(one, two)
    assert caught.value.kind == "basis_mismatch"
    with pytest.raises(InputError) as caught:
        transfer_basis(one, finer, Transfer(finer, torus))
    assert caught.value.kind == "solver_mismatch"
    with pytest.raises(UnknownNameError):
        Transfer(torus, finer).transfer_part(1, "curl", np.zeros(torus.complex.n(1)))


def test_too_many_modes_for_a_coarse_target_are_refused():
    fine, coarse = mesh_of("sphere", MEDIUM), mesh_of("sphere", 12)
    with pytest.raises(InputError) as caught:
        transfer_basis(HodgeBasis(fine, 0, 0, 40), coarse, Transfer(fine, coarse, tolerance=0.3))
    assert caught.value.kind == "modes_merged"
