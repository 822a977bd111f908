"""Parseval, truncation errors, blocks and Weyl's law, over gallery meshes, degrees and boundary conditions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import hsd
from hsd.dec.preset_fields import PRESETS, preset_field, preset_names
from hsd.errors import InputError, UnknownNameError
from hsd.hodge.spectral_energy import by_eigenvalue, spectral_energy, weyl_law
from hsd.mesh.primitives import GALLERY, flat_torus_eigenvalues

SPACES = [
    (name, bc, k)
    for name in ("torus", "annulus", "klein", "book", "flat_torus", "ball_with_cavity")
    for bc in ("absolute", "relative")
    for k in range(GALLERY[name].dim + 1)
]


@cache
def mesh_of(name: str, n: int = 250):
    return hsd.gallery(name, n)


@cache
def basis_of(name: str, bc: str, k: int):
    return hsd.lowest_modes(mesh_of(name), k, 16, bc=bc, use_cache=False)


@pytest.mark.parametrize(("name", "bc", "k"), SPACES)
def test_parseval_holds_and_coefficients_are_those_of_the_basis(name, bc, k):
    basis = basis_of(name, bc, k)
    omega = preset_field(basis.mesh, k, "random", seed=3)
    energy = spectral_energy(basis, omega)
    assert energy.parseval < 1e-12
    expected = basis.coefficients(omega)[by_eigenvalue(basis)]
    assert np.abs(energy.coefficients - expected).max() < 1e-10 * np.abs(expected).max()
    dec = basis.solver.dec
    assert np.isclose(energy.total, dec.norm(k, dec.restrict(k, omega)) ** 2, rtol=1e-12)


@pytest.mark.parametrize(("name", "bc", "k"), SPACES)
def test_errors_are_those_of_the_truncated_sums_and_end_at_the_floor(name, bc, k):
    basis = basis_of(name, bc, k)
    dec = basis.solver.dec
    omega = preset_field(basis.mesh, k, "random", seed=4)
    energy = spectral_energy(basis, omega)
    free, norm = dec.restrict(k, omega), np.sqrt(energy.total)
    for m in (0, 1, 7, basis.n_modes):
        left = dec.norm(k, free - dec.restrict(k, energy.reconstruct(m))) / norm
        assert abs(left - energy.errors[m]) < 1e-10
    assert (np.diff(energy.errors) <= 1e-15).all()
    assert energy.errors[0] == 1.0 and np.isclose(energy.errors[-1], energy.floor, rtol=1e-9)


@pytest.mark.parametrize(("name", "bc", "k"), SPACES)
def test_a_field_made_of_modes_is_reached_completely(name, bc, k):
    basis = basis_of(name, bc, k)
    c = np.arange(1.0, basis.n_modes + 1)
    energy = spectral_energy(basis, basis.modes @ c)
    assert np.allclose(energy.coefficients, c[by_eigenvalue(basis)], atol=1e-9 * c.max())
    assert energy.floor < 1e-9


def test_energy_of_a_block_does_not_depend_on_the_modes_chosen():
    basis = basis_of("torus", "absolute", 1)
    omega = preset_field(basis.mesh, 1, "waves", seed=1)
    energy = spectral_energy(basis, omega)
    rng = np.random.default_rng(0)
    seen = 0
    for block in energy.blocks:
        if len(block) < 2:
            continue
        q = np.linalg.qr(rng.standard_normal((len(block), len(block))))[0]
        turned = basis.modes[:, energy.columns[block]] @ q
        star = basis.solver.dec.star(1)
        assert np.isclose(((turned.T @ (star @ omega)) ** 2).sum(), energy.energies[block].sum(), rtol=1e-10)
        seen += 1
    assert seen >= 3


def test_blocks_cover_every_mode_once_and_hold_one_part_each():
    energy = spectral_energy(basis_of("torus", "absolute", 1), preset_field(mesh_of("torus"), 1, "waves"))
    assert sorted(np.concatenate(energy.blocks).tolist()) == list(range(16))
    for block in energy.blocks:
        assert len(set(energy.part[block])) == 1
        lam = energy.eigenvalues[block]
        assert np.ptp(lam) <= 1e-3 * max(lam.max(), 1e-300)


def test_gradient_of_a_coordinate_is_exact():
    basis = basis_of("torus", "absolute", 1)
    energies = spectral_energy(basis, preset_field(basis.mesh, 1, "coordinate", axis="y")).part_energies()
    assert energies["harmonic"] + energies["coexact"] < 1e-20 * energies["exact"]


def test_a_zero_field_has_no_energy_and_no_division_by_zero():
    energy = spectral_energy(basis_of("torus", "absolute", 0), np.zeros(mesh_of("torus").complex.n(0)))
    assert energy.total == energy.floor == energy.parseval == 0.0 and not energy.errors.any()


def test_wrong_shapes_and_infinite_values_are_refused():
    basis = basis_of("torus", "absolute", 1)
    for omega, kind in ((np.zeros(3), "shape"), (np.zeros((2, 2)), "shape")):
        with pytest.raises(InputError) as caught:
            spectral_energy(basis, omega)
        assert caught.value.kind == kind
    omega = np.zeros(basis.mesh.complex.n(1))
    omega[5] = np.nan
    with pytest.raises(InputError) as caught:
        spectral_energy(basis, omega)
    assert caught.value.kind == "non_finite_field"


# ---- Weyl's law ----------------------------------------------------------------------------------------------------


def test_weyls_law_counts_the_exact_spectrum_of_the_flat_torus():
    values = flat_torus_eigenvalues(4000)
    law = weyl_law(mesh_of("flat_torus"), 0, "coexact")
    lam = values[3000]
    assert abs(law(lam) / np.searchsorted(values, lam, side="right") - 1) < 0.02


@pytest.mark.parametrize("k", range(4))
def test_weyls_law_of_the_flat_box_counts_boxes_and_polarisations(k):
    """On a box Δ acts on C(3, k) components like the scalar one, so exact and coexact laws must add up to that."""
    mesh = mesh_of("cube")
    scalar = weyl_law(mesh, 0, "coexact")
    laws = [weyl_law(mesh, k, part) for part in ("exact", "coexact")]
    total = sum(law.constant for law in laws if law is not None)
    assert np.isclose(total / scalar.constant, [1, 3, 3, 1][k])
    volume = np.prod(np.ptp(mesh.points, axis=0))
    assert np.isclose(scalar.constant, volume / (6 * np.pi**2), rtol=1e-9)


def test_exact_modes_of_one_degree_have_the_law_of_coexact_ones_below():
    for name in ("torus", "cube"):
        mesh = mesh_of(name)
        for k in range(1, mesh.dim + 1):
            above, below = weyl_law(mesh, k, "exact"), weyl_law(mesh, k - 1, "coexact")
            assert (above.constant, above.exponent) == (below.constant, below.exponent)


def test_there_is_no_law_where_there_is_no_part():
    mesh = mesh_of("torus")
    assert weyl_law(mesh, 0, "exact") is None and weyl_law(mesh, 2, "coexact") is None
    assert weyl_law(mesh, 1, "harmonic") is None
    with pytest.raises(UnknownNameError):
        weyl_law(mesh, 1, "other")


# ---- presets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in GALLERY if not n.startswith("car")])
def test_every_preset_offered_gives_a_field_that_depends_on_the_seed_alone(name):
    mesh = mesh_of(name, 120)
    for k in range(mesh.dim + 1):
        for preset in preset_names(mesh, k):
            first, again, other = (preset_field(mesh, k, preset, seed) for seed in (1, 1, 2))
            assert first.shape == (mesh.complex.n(k),) and np.isfinite(first).all() and np.abs(first).max() > 0
            assert np.array_equal(first, again)
            assert preset == "coordinate" or not np.array_equal(first, other)


def test_presets_converge_with_the_mesh():
    """A preset is a function of space: its energy on two resolutions is nearly the same."""
    for preset in ("waves", "coordinate"):
        sizes = []
        for n in (600, 2400):
            mesh = hsd.gallery("torus", n)
            dec = hsd.DEC(mesh)
            sizes.append(dec.norm(1, preset_field(mesh, 1, preset, seed=5)))
        assert abs(sizes[0] / sizes[1] - 1) < 0.03


def test_unknown_presets_axes_and_degrees_are_refused():
    mesh = mesh_of("disk", 60)
    with pytest.raises(UnknownNameError):
        preset_field(mesh, 0, "nothing")
    with pytest.raises(UnknownNameError):
        preset_field(mesh, 0, "coordinate", axis="w")
    for k, axis, kind in ((5, "x", "degree"), (0, "z", "axis")):
        if kind == "axis" and mesh.points.shape[1] == 3:
            continue
        with pytest.raises(InputError) as caught:
            preset_field(mesh, k, "coordinate", axis=axis)
        assert caught.value.kind == kind
    assert set(PRESETS) == set(preset_names(mesh, 0))
