"""Modes as pictures: order, labels, blocks, rotations, generators, and what cannot be drawn."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import hsd
from hsd.dec.preset_fields import preset_field
from hsd.hodge.spectral_energy import by_eigenvalue, spectral_energy
from hsd.mesh.primitives import GALLERY
from hsd.viz import build, modes
from hsd.viz.embed import drawing_points
from hsd.viz.energy_scene import cut_labels, energy_picture, energy_scene
from hsd.viz.scene import Dots, Segments, Tube

NAMES = [name for name in GALLERY if not name.startswith("car")]


@cache
def made(name: str, n: int = 200):
    mesh = hsd.gallery(name, n)
    surface = build.surface_of(mesh, drawing_points(mesh))
    return mesh, surface, None if mesh.points is None else build.glyphs_of(mesh, surface, 60)


@cache
def basis_of(name: str, k: int, bc: str = "absolute", n: int = 12):
    return hsd.lowest_modes(made(name)[0], k, n, bc=bc, use_cache=False)


def test_columns_are_the_modes_by_eigenvalue():
    basis = basis_of("torus", 0)
    picture = modes.modes_picture(basis, None)
    order = by_eigenvalue(basis)
    assert np.array_equal(picture.columns.values, basis.modes[:, order])
    assert (np.diff(basis.eigenvalues[order]) >= 0).all()
    assert picture.columns.labels[0] == "λ = 0, harmonic" and picture.kind == "signed"


@pytest.mark.parametrize("name", NAMES)
def test_every_mode_of_every_shape_is_drawn_or_one_sentence_says_why_not(name):
    mesh, surface, glyphs = made(name)
    for k in range(mesh.dim + 1):
        basis = basis_of(name, k)
        picture = modes.modes_picture(basis, glyphs)
        scene = modes.mode_scene(picture, surface, 3, clip=0.5 if mesh.dim == 3 else None)
        assert (picture.columns is None) == bool(picture.why_not)
        if picture.columns is None:
            assert picture.why_not.endswith(".") and scene.panels[0].colour is None
            continue
        assert picture.columns.n_columns == basis.n_modes == scene.controls[0].maximum + 1
        vector = k == 1 or (k == 2 and mesh.dim == 3)
        assert picture.kind == ("unsigned" if vector else "signed")
        assert (picture.arrows is not None) == (vector and glyphs is not None)


def test_blocks_hold_every_mode_once_and_the_sphere_has_2l_plus_1_of_each():
    for name, k in (("sphere", 0), ("sphere", 1), ("double_torus", 1)):
        basis = basis_of(name, k)
        blocks = modes.blocks_of(basis)
        assert sorted(i for b in blocks for i in b.numbers) == list(range(basis.n_modes))
        assert all(b.spread <= 2e-4 * len(b.numbers) for b in blocks)
    sizes = [len(b.numbers) for b in modes.blocks_of(basis_of("sphere", 0))[:3]]
    assert sizes == [1, 3, 5]


def test_a_block_that_goes_on_is_marked():
    basis = basis_of("sphere", 0, n=7)
    last = modes.blocks_of(basis)[-1]
    assert last.cut and len(last.numbers) == 3
    assert not modes.blocks_of(basis_of("sphere", 0, n=9))[-1].cut


def test_table_has_the_numbers_of_the_basis():
    basis = basis_of("torus", 1)
    table, order = modes.mode_table(basis), by_eigenvalue(basis)
    assert table["eigenvalue"] == basis.eigenvalues[order].tolist()
    assert table["residual"] == basis.residuals[order].tolist()
    assert table["part"][:2] == ["harmonic", "harmonic"] and table["multiplicity"][:2] == [2, 2]


@pytest.mark.parametrize(("name", "k"), [("torus", 1), ("sphere", 0), ("double_torus", 1)])
def test_a_rotation_within_a_block_is_a_mode_like_any_other(name, k):
    basis = basis_of(name, k)
    block = next(b for b in modes.blocks_of(basis) if len(b.numbers) > 1 and b.spread < 1e-9)
    i, j = block.numbers[:2]
    angles = modes.rotation_angles()
    x = modes.rotated(basis, i, j, angles)
    star = basis.solver.dec.star(k)
    assert np.allclose(np.einsum("na,na->a", x, star @ x), 1.0, atol=1e-9)
    assert modes.rotated_residuals(basis, i, j, angles).max() < 1e-8
    order = by_eigenvalue(basis)
    assert np.array_equal(x[:, 0], basis.modes[:, order[i]])
    assert np.allclose(x[:, angles == 90][:, 0], basis.modes[:, order[j]]) and np.allclose(x[:, -1], -x[:, 0])


def test_a_rotation_across_blocks_is_no_mode():
    basis = basis_of("torus", 0)
    blocks = modes.blocks_of(basis)
    first, second = blocks[1].numbers[0], blocks[-1].numbers[0]
    assert modes.rotated_residuals(basis, first, second, [45])[0] > 1e-2


@pytest.mark.parametrize(("name", "k", "bc", "kind"), [
    ("torus", 1, "absolute", Tube), ("klein", 1, "absolute", Tube), ("annulus", 1, "relative", Segments),
    ("two_components", 0, "absolute", Dots), ("ball_with_cavity", 2, "absolute", Segments),
])  # fmt: skip
def test_generators_are_drawn_one_colour_each(name, k, bc, kind):
    mesh, surface, _ = made(name)
    basis = basis_of(name, k, bc)
    b = basis.solver.betti[k]
    layers, sentence = modes.generator_layers(mesh, surface, k, basis.solver.homology.cycles(k), bc)
    assert all(isinstance(x, kind) for x in layers)
    assert len({x.label for x in layers}) == len({x.colour for x in layers}) == b > 0
    assert sentence.startswith(f"{b} generator")


def test_no_generators_are_said_to_be_none():
    mesh, surface, _ = made("sphere")
    layers, sentence = modes.generator_layers(mesh, surface, 1, np.zeros((mesh.complex.n(1), 0)), "absolute")
    assert layers == () and "b₁ = 0" in sentence


# ---- field, truncation, difference ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "k", "bc"), [("torus", 0, "absolute"), ("torus", 1, "absolute"), ("annulus", 1, "relative")]
)
def test_panels_show_the_field_its_truncation_and_the_difference_for_every_cut(name, k, bc):
    mesh, surface, glyphs = made(name)
    basis = basis_of(name, k, bc)
    dec = basis.solver.dec
    omega = dec.extend(k, dec.restrict(k, preset_field(mesh, k, "waves", seed=2)))
    energy = spectral_energy(basis, omega)
    scene = energy_scene(energy_picture(energy, omega, glyphs), surface, energy, 5)
    assert [c.id for c in scene.controls] == ["cut"] and len(scene.controls[0].labels) == basis.n_modes
    for m in (1, 5, basis.n_modes):
        shown = [p.colour.mix.columns.values @ p.colour.mix.weights_at({"cut": m}) for p in scene.panels]
        forms = (omega, energy.reconstruct(m), omega - energy.reconstruct(m))
        for values, form in zip(shown, forms):
            expected = build.form_columns(mesh, k, form[:, None]).values[..., 0]
            assert np.allclose(values, expected, atol=1e-10 * np.abs(shown[0]).max())
        assert cut_labels(energy)[m - 1].endswith(f"error {energy.errors[m]:.3g}")
