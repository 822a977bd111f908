"""Grid transfer: exact on coordinates, adjoint, and right in axes and signs."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.data.grid import Box, GridTransfer
from hsd.data.ground import Ground
from hsd.dec.de_rham import de_rham
from hsd.errors import InputError, MetricError
from tests.meshes import mesh_of

SURFACES = ("sphere", "ellipsoid", "torus", "car_wing", "annulus")
SOLIDS = ("ball_with_cavity", "solid_torus")
CASES = [(name, k, reading) for name in SURFACES for k, reading in ((0, "scalar"), (1, "circulation"), (1, "flux"))]
CASES += [("sphere", 2, "density"), ("torus", 2, "density")]
CASES += [
    (name, k, reading)
    for name in SOLIDS
    for k, reading in ((0, "scalar"), (1, "circulation"), (2, "flux"), (3, "density"))
]


def transfer_of(name: str, k: int, reading: str, size: int = 16) -> GridTransfer:
    mesh = mesh_of(name, 500)
    if mesh.points.shape[1] != 3:
        pytest.skip("flat shapes of two coordinates have no grid")
    return GridTransfer(Ground(mesh), k, reading, Box.around(mesh, size))


@pytest.mark.parametrize("name, k, reading", CASES)
def test_lift_is_adjoint_to_sampling(name, k, reading):
    rng = np.random.default_rng(0)
    t = transfer_of(name, k, reading)
    u = rng.standard_normal(t.sampling.shape[1])
    omega = rng.standard_normal(t.sampling.shape[0])
    star = Ground(mesh_of(name, 500)).dec.star(k)
    left = (t.sampling @ u) @ (star @ omega)
    weights = np.repeat(t.density, t.n_channels)
    right = (weights * u) @ (t.lift @ omega)
    scale = np.abs(t.sampling @ u) @ np.abs(star @ omega)
    assert abs(left - right) <= 1e-9 * scale


@pytest.mark.parametrize("name, k, reading", CASES)
def test_sampled_linear_fields_are_their_de_rham_cochains(name, k, reading):
    """R of an exact linear field of the grid points is the de Rham integral: swapped axes or signs would show."""
    rng = np.random.default_rng(1)
    t = transfer_of(name, k, reading)
    vector = t.n_channels == 3
    a = rng.standard_normal((3, t.n_channels))
    b = rng.standard_normal(t.n_channels)

    def field(x):
        value = x @ a + b
        return value if vector else value[:, 0]

    expected = de_rham(mesh_of(name, 500), k, field, order=2, flux=reading == "flux" and t.degree == 1)
    got = t.sampling @ field(t.box.points).ravel()
    assert np.abs(got - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("name", ("sphere", "torus", "ball_with_cavity"))
def test_coordinates_survive_lift_and_sampling_up_to_a_voxel(name):
    t = transfer_of(name, 0, "scalar")
    x = mesh_of(name, 500).points
    back = t.sampling @ (t.lift @ x)
    assert np.abs(back - x).max() <= 1.5 * t.box.step.max()
    for axis in range(3):
        moved = [abs(np.corrcoef(back[:, axis], x[:, other])[0, 1]) for other in range(3)]
        assert int(np.argmax(moved)) == axis


@pytest.mark.parametrize("name", SURFACES[:4] + SOLIDS)
def test_density_is_the_measure_and_the_mask_lies_between_0_and_1(name):
    mesh = mesh_of(name, 500)
    ground = Ground(mesh)
    for k, reading in ((0, "scalar"), (1, "circulation")):
        t = GridTransfer(ground, k, reading)
        assert np.isclose(t.density.sum(), ground.measure, rtol=1e-12)
        assert t.mask.min() >= 0 and t.mask.max() <= 1 and t.mask[t.density > t.density.max() / 10].min() > 0.3


def test_a_grid_refuses_what_has_no_place():
    sphere = mesh_of("sphere", 60)
    with pytest.raises(InputError, match="at least 4 points") as error:
        Box.around(sphere, 3)
    assert error.value.kind == "grid_size"
    with pytest.raises(InputError, match="does not read as density"):
        GridTransfer(Ground(sphere), 1, "density")
    with pytest.raises(InputError, match="outside the grid"):
        Box.around(sphere).trilinear(np.array([[9.0, 0, 0]]))
    flat = mesh_of("flat_torus", 60)
    with pytest.raises(MetricError, match="no positions"):
        Box.around(flat)
