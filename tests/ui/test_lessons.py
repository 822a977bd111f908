"""Every number that a lesson claims is the one that hsd, or mathematics, gives by another way."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg

import hsd
from hsd.dec.preset_fields import preset_field
from hsd.hodge.compose import length_of
from hsd.ui import cached
from hsd.ui.lessons import LESSONS, Question, fields, forms, spectra, topology
from hsd.ui.state import LearnState


def views(number: int):
    """(state, view) of a lesson for all settings of its switches."""
    lesson = LESSONS[number - 1]
    for values in itertools.product(*(switch.options for switch in lesson.switches)):
        state = replace(LearnState(), **{s.field: v for s, v in zip(lesson.switches, values)})
        yield state, lesson.show(state, "light")


def run(code: str) -> dict:
    """The names that a lesson's lines make."""
    names: dict = {}
    exec(compile(code, "lesson", "exec"), names)
    return names


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.title)
def test_texts_are_four_to_eight_sentences_with_whole_formulas(lesson):
    assert 4 <= len(re.findall(r"[.?](?:\s|$)", lesson.text)) <= 8
    assert lesson.text.count("$") % 2 == 0 and 1 <= len(lesson.switches) <= 2
    for formula in (*lesson.formulas, *lesson.text.split("$")[1::2]):
        assert formula.count("{") == formula.count("}")
        assert formula.strip()


def test_an_answer_is_right_within_its_tolerance_and_not_beyond():
    whole, near = Question("?", 7, ""), Question("?", 62.5, "", tolerance=1.0)
    assert whole.accepts(7.0) and not whole.accepts(8.0) and not whole.accepts(6.99)
    assert near.accepts(63.4) and near.accepts(61.6) and not near.accepts(63.6)
    choice = Question("?", 1, "", choices=("a", "b"))
    assert choice.words == "b" and not choice.accepts(0)


@pytest.mark.parametrize("number", range(1, 9))
def test_every_setting_has_a_picture_numbers_and_an_answer(number):
    for state, view in views(number):
        assert view.scene is not None and view.numbers and view.question.why
        assert np.isfinite(view.question.answer) and view.question.accepts(view.question.answer)
        names = {field for field in view.controls.values()}
        assert all(hasattr(state, name) for name in names)
        ids = {control.id for control in view.scene.controls if control.report}
        assert ids <= set(view.controls)  # what a slider reports is kept in the link


# ---- lessons 1 to 3 ----------------------------------------------------------------------------------------------


def test_a_form_has_one_number_a_simplex_and_stokes_holds_on_the_cap():
    for state, view in views(1):
        v, e, f = view.mesh.complex.counts
        assert view.question.answer == e == v + f - 2
        assert len(run(view.code)["omega"]) == (v, e, f)[state.form]
    mesh, dec = view.mesh, hsd.DEC(view.mesh)
    loop, omega = forms.cap_loop(mesh), forms.sample_form(mesh, 1)
    assert not (dec.boundary(1) @ loop).any()  # a cycle
    inside = mesh.points[mesh.complex.simplices(2)].mean(axis=1)[:, 2] > forms.LOOP_AT
    flux = (dec.d(1) @ omega * mesh.orientation)[inside].sum()
    assert np.isclose(loop @ omega, flux, rtol=1e-12)
    assert np.isclose(loop @ omega, 2 * np.pi * (1 - forms.LOOP_AT**2), rtol=0.05)  # the circle of latitude
    assert f"{loop @ omega:.4f}" in forms.show_forms(LearnState(form=1), "light").numbers


def test_the_laplacian_of_a_spherical_harmonic_is_l_times_l_plus_1():
    for state, view in views(2):
        ell, made = state.ell, forms.derivatives(state.ell)
        assert view.question.accepts(ell * (ell + 1)) and not view.question.accepts((ell + 1) * (ell + 2))
        assert np.isclose(run(view.code)["c"], made.ratio, rtol=1e-10)
        dec = hsd.DEC(view.mesh, star="diagonal")
        assert np.isclose(made.f @ (dec.star(0) @ made.lap), made.ratio * dec.inner(0, made.f, made.f), rtol=1e-10)
        assert made.adjoint < 1e-14 and abs(made.loop) < 1e-13 * np.abs(made.df).sum()


def test_dd_is_zero_and_one_wrong_sign_is_seen_by_the_two_triangles_of_the_edge():
    for state, view in views(3):
        made, cx = forms.twice(state.closed), view.mesh.complex
        dec = hsd.DEC(view.mesh)
        assert (dec.d(1) @ dec.d(0)).nnz == made.nonzeros == 0
        ends = set(cx.simplices(1)[made.edge])
        around = [i for i, triangle in enumerate(cx.simplices(2)) if ends <= set(triangle)]
        assert made.hit.tolist() == around and view.question.answer == len(around) == 2
        assert np.allclose(np.abs(made.broken[around]), 2 * abs(made.df[made.edge]), rtol=1e-12)
        assert np.allclose(run(view.code)["broken"], made.broken, atol=1e-12)


# ---- lessons 4 to 6 ----------------------------------------------------------------------------------------------


def test_shares_of_the_parts_are_those_of_decompose_and_add_up():
    for state, view in views(4):
        omega, parts = fields.split(state.shape)
        share, b1 = fields.shares(parts), hsd.betti_numbers(view.mesh.complex)[1]
        again = hsd.decompose(view.mesh, omega, 1).energies
        assert np.isclose(view.question.answer, 100 * again["harmonic"] / again["total"], atol=1e-8)
        assert np.isclose(sum(share.values()), 100, atol=1e-8) and f"b₁ = {b1}." in view.numbers
        assert (view.question.answer > 10) == (b1 > 0)
    assert np.isclose(run(view.code)["parts"].energies["harmonic"], again["harmonic"], rtol=1e-9)


def test_cut_discs_change_betti_numbers_as_claimed_and_there_are_as_many_fields():
    for state, view in views(5):
        genus, holes = fields.GENUS[state.shape], state.holes
        betti = hsd.betti_numbers(view.mesh.complex)
        assert tuple(betti) == (1, 2 * genus + max(holes - 1, 0), int(holes == 0))
        assert view.question.answer == 2 * genus + 1
        assert f"({', '.join(map(str, betti))})" in view.numbers
        sliders = [c for c in view.scene.controls if c.id == "mode"]
        fields_shown = int(sliders[0].maximum) + 1 if sliders else int(view.scene.panels[0].colour is not None)
        assert fields_shown == betti[1]


def test_relative_fields_meet_the_rim_at_right_angles_and_absolute_ones_run_along_it():
    for _, view in views(6):
        assert view.question.words.startswith("from rim to rim")
        dec = hsd.DEC(view.mesh, bc="relative")
        assert fields.rim_share(view.mesh, "relative") == 0.0 < 0.5 < fields.rim_share(view.mesh, "absolute")
        assert dec.n(1) < view.mesh.complex.n(1)
    assert fields.direction_of(float("nan")) == 2 and fields.direction_of(0.9) == 0


def test_both_fields_of_the_annulus_fall_off_like_one_over_r_and_are_perpendicular():
    mesh = cached.gallery_mesh("annulus", fields.N)
    p, radius = mesh.points3, np.linalg.norm(mesh.points3, axis=1)
    vectors = {}
    for bc in ("absolute", "relative"):
        solver = cached.solver_of(mesh, "galerkin", bc)
        gamma = solver.dec.extend(1, solver.harmonic(1).orthonormal[:, 0])
        vectors[bc] = v = hsd.sharp(mesh, gamma, 1, at="vertices")
        inner = (radius > 0.5) & (radius < 0.9)
        size = np.linalg.norm(v, axis=1) * radius
        assert np.ptp(size[inner]) < 0.05 * size[inner].mean()
        radial = np.abs((v * p).sum(axis=1)) / (np.linalg.norm(v, axis=1) * radius)
        assert (radial[inner] < 0.05).all() if bc == "absolute" else (radial[inner] > 0.99).all()
    inside = ~mesh.complex.on_boundary(0)
    cosine = (vectors["absolute"] * vectors["relative"]).sum(axis=1)[inside]
    assert np.abs(cosine).max() < 0.1 * (np.linalg.norm(vectors["absolute"], axis=1) ** 2).max()


# ---- lessons 7 and 8 ---------------------------------------------------------------------------------------------


def test_multiplicities_on_the_sphere_are_counted_and_the_truncation_bound_holds():
    for state, view in views(7):
        k = state.degree
        assert view.question.answer == (7, 14)[k]
        energy = spectra.truncated(k)
        copies = 1 if k == 0 else 2
        expected = {ell * (ell + 1): copies * (2 * ell + 1) for ell in range(k, 7 if k == 0 else 5)}
        assert dict(spectra.clusters(energy.eigenvalues)) == expected
        solver, omega = energy.basis.solver, preset_field(view.mesh, k, "waves", spectra.SEED)
        dirichlet = float(omega @ (solver.dec.stiffness(k) @ omega))
        for m in range(len(energy.columns)):
            rest = omega - energy.reconstruct(m)
            assert solver.dec.inner(k, rest, rest) <= dirichlet / max(energy.eigenvalues[m], 1e-300) * (1 + 1e-9)
        names = run(view.code)
        assert np.isclose(names["energy"].errors[state.cut], energy.errors[state.cut], rtol=1e-9)
        assert f"{energy.errors[state.cut]:.4f}" in view.numbers


@pytest.mark.parametrize("shape", topology.SHAPES)
def test_the_hodge_flow_keeps_harmonic_coefficients_and_smoothed_components_lose_them(shape):
    made = topology.smoothed(shape)
    mesh = cached.gallery_mesh(shape, topology.N)
    before = hsd.decompose(mesh, made.omega, 1).harmonic_coefficients
    for j in (0, 8, topology.ASKED, 24):
        after = hsd.decompose(mesh, made.hodge[:, j], 1).harmonic_coefficients
        assert np.allclose(after, before, atol=1e-9 * np.abs(before).max())
        lost = hsd.decompose(mesh, made.blind[:, j], 1).harmonic_coefficients
        assert np.isclose(np.linalg.norm(lost) / np.linalg.norm(before), made.kept["blind"][j], rtol=1e-9)
    assert np.allclose(made.kept["hodge"], 1, atol=1e-9)
    assert 0.9 < made.kept["blind"][0] < 1 and made.kept["blind"][topology.ASKED] < 0.05
    assert (np.diff(made.kept["blind"]) <= 0).all() and made.kept["blind"][-1] < 1e-4
    question = topology.show_topology(LearnState(blind=shape), "light").question
    assert question.words == topology.OUTCOMES[1]
    constant = hsd.decompose(mesh, hsd.flat(mesh, np.tile([1.0, -2.0, 0.5], (mesh.complex.n_vertices, 1))), 1)
    assert constant.energies["coexact"] + constant.energies["harmonic"] < 1e-20 * constant.energies["total"]


def test_smoothing_of_components_is_the_heat_flow_of_functions():
    mesh = hsd.gallery("torus", 150)
    solver = hsd.HodgeSolver(mesh)
    omega = forms.sample_form(mesh, 1)
    times = np.array([0.02, 0.3, 2.0]) * length_of(solver) ** 2
    mass, stiffness = solver.dec.star(0).toarray(), solver.dec.upper_stiffness(0).toarray()
    values, modes = scipy.linalg.eigh(stiffness, mass)
    vectors = hsd.sharp(mesh, omega, 1, at="vertices")
    found = topology.componentwise(solver, omega, times)
    for j, t in enumerate(times):
        exact = modes @ (np.exp(-values * t)[:, None] * (modes.T @ mass @ vectors))
        assert np.allclose(found[:, j], hsd.flat(mesh, exact), atol=1e-8 * np.abs(omega).max())
