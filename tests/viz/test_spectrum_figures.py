"""Plots of spectra: the numbers in them are those that they were given."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import hsd
from hsd.dec.preset_fields import preset_field
from hsd.hodge.spectral_energy import by_eigenvalue, spectral_energy, weyl_law
from hsd.viz.modes import blocks_of
from hsd.viz.palettes import PARTS
from hsd.viz.spectrum_figures import counting_figure, eigenvalue_figure, error_figure, period_figure, power_figure
from hsd.viz.style import DARK, LIGHT, PROJECTOR, ink_of, log_ticks


@cache
def basis_of(k: int = 1):
    return hsd.lowest_modes(hsd.gallery("torus", 250), k, 16, use_cache=False)


@cache
def energy_of(k: int = 1):
    basis = basis_of(k)
    return spectral_energy(basis, preset_field(basis.mesh, k, "waves", seed=1))


def trace(figure, name: str):
    return next(t for t in figure.data if t.name == name)


def test_eigenvalues_have_the_colour_and_symbol_of_their_part_and_carry_their_number():
    basis = basis_of()
    order = by_eigenvalue(basis)
    blocks = [np.array(b.numbers) for b in blocks_of(basis)]
    figure = eigenvalue_figure(basis.eigenvalues[order], basis.part[order], blocks, 3, LIGHT, cut=("exact",))
    for part, look in PARTS.items():
        marks = trace(figure, look.name)
        at = np.flatnonzero(basis.part[order] == part)
        assert np.array_equal(marks.x, at) and np.array_equal(marks.y, basis.eigenvalues[order][at])
        assert list(marks.customdata) == at.tolist()
        assert (marks.marker.color, marks.marker.symbol) == (look.colour, look.symbol)
        counts = [len(b) for b in blocks if len(b) > 1 and basis.part[order][b[0]] == part]
        labels = list(trace(figure, f"{part} multiplicities").text) if counts else []
        assert [int(t.strip("×+")) for t in labels] == counts
    assert trace(figure, "shown").x[0] == 3


def test_counting_steps_reach_the_number_of_modes_and_the_law_is_beside_them():
    basis = basis_of()
    laws = {part: weyl_law(basis.mesh, 1, part) for part in ("exact", "coexact")}
    for log in (False, True):
        figure = counting_figure(basis.eigenvalues, basis.part, laws, LIGHT, log=log)
        for part in laws:
            steps, law = trace(figure, f"N(λ), {PARTS[part].name}"), trace(figure, f"Weyl, {part}")
            assert steps.y[-1] == len(basis.index(part)) and steps.line.shape == "hv"
            assert np.allclose(law.y, laws[part](np.array(law.x)))
        assert any(t.name == f"N(λ), {PARTS['harmonic'].name}" for t in figure.data) == (not log)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("per_block", [False, True])
def test_energies_in_the_plot_sum_to_those_of_the_field(log, per_block):
    energy = energy_of()
    figure = power_figure(energy, LIGHT, cut=8, per_block=per_block, log=log)
    total = sum(float(np.sum(t.y)) for t in figure.data)
    assert np.isclose(total, energy.energies.sum(), rtol=1e-10)
    symbols = [s for t in figure.data for s in t.marker.symbol]
    assert any(s.endswith("-open") for s in symbols) and not all(s.endswith("-open") for s in symbols)


def test_power_plot_without_harmonic_modes_has_one_strip_and_with_a_zero_field_no_error():
    sphere = hsd.lowest_modes(hsd.gallery("sphere", 120), 1, 8, use_cache=False)
    field = preset_field(sphere.mesh, 1, "coordinate")
    figure = power_figure(spectral_energy(sphere, field), LIGHT, 4, False, True)
    assert "xaxis2" not in figure.to_plotly_json()["layout"]
    power_figure(spectral_energy(sphere, 0 * field), LIGHT, 4, False, True)


def test_error_curve_floor_and_handle_are_the_numbers_of_the_energy():
    energy = energy_of()
    figure = error_figure(energy, LIGHT, 5, log=True)
    assert np.array_equal(figure.data[0].y, energy.errors)
    assert list(figure.data[1].y) == [energy.floor] * 2
    assert (figure.data[2].x[0], figure.data[2].y[0]) == (5, energy.errors[5])


def test_period_matrix_is_shown_number_by_number():
    periods = basis_of().solver.harmonic(1).periods
    figure = period_figure(periods, DARK)
    assert np.array_equal(np.array(figure.data[0].z), periods)
    assert figure.data[0].zmax == -figure.data[0].zmin == np.abs(periods).max()


def test_figures_are_small_and_follow_the_theme():
    figure = error_figure(energy_of(), PROJECTOR, 5, log=False)
    assert len(json.dumps(figure.to_plotly_json()["layout"], default=str)) < 2500
    assert figure.layout.font.size == PROJECTOR.size
    assert ink_of("auto", dark=True) == DARK and ink_of("auto") == ink_of("light") == LIGHT


@pytest.mark.parametrize(
    ("low", "high"), [(1e-16, 1.0), (0.1, 1.3), (1.0, 40.0), (1e-3, 2e3), (3.0, 3.5), (0.002, 0.7)]
)
def test_log_ticks_are_few_and_inside(low, high):
    axis = log_ticks(low, high)
    ticks = axis["tickvals"]
    assert 1 <= len(ticks) <= 9 and len(ticks) == len(axis["ticktext"])
    assert all(0.5 * low < t < 2 * high for t in ticks) and sorted(ticks) == ticks
    assert ticks[0] < low * (high / low) ** 0.5 < ticks[-1]  # both halves can be read
