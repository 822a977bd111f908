"""Zero cases, invariances of the scores, batches, floating types, devices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hsd.data.ground import Ground
from hsd.mesh.io import load_mesh
from hsd.mesh.mesh import Mesh
from hsd.metrics import LevelRule, Scores, Yardstick, score
from hsd.metrics.levels import FRACTIONS
from tests.metrics import oracles
from tests.metrics.cases import CASES, cases, each, equal_scores, forms, ground_of, name_of, samples, yardstick_of

# ---- zero cases ------------------------------------------------------------------------------------------------------


def test_zero_cases_are_those_that_are_written_down():
    yardstick = yardstick_of("torus", 0, "scalar", is_vorticity=True)
    _, g = samples(yardstick)
    zero, constant = torch.zeros_like(g), torch.full_like(g, 3.0)
    ones = torch.ones(len(g), dtype=torch.float64)

    def of(p, g, name, **more):
        return score(yardstick, p, g, names=[name], **more).samples[name]

    for name in ("energy_fidelity", "enstrophy_fidelity"):  # one energy zero → 0, both → 1
        assert torch.equal(of(zero, g, name), 0 * ones) and torch.equal(of(g, zero, name), 0 * ones)
        assert torch.equal(of(zero, zero, name), ones)
    assert torch.equal(of(constant, constant / 2, "energy_fidelity"), ones)
    for p, t in ((constant, g), (g, constant), (constant, constant)):  # the cosine with a zero vector is 0
        assert torch.equal(of(p, t, "gradient_fidelity"), 0.5 * ones)
    above = LevelRule(fractions=(1.5,))  # above the maximum of the truth: its set is empty
    assert torch.equal(of(g, g, "iou", rule=above), ones)
    assert torch.equal(of(g + 100, g, "iou", rule=above), 0 * ones)
    assert torch.equal(of(g, g, "s_beta0", rule=above), ones)
    assert torch.allclose(of(constant * 100, g, "s_beta0", rule=above), np.exp(-1.0) * ones)  # |1 − 0| / max(0, 1)
    assert torch.equal(of(constant, constant, "s_beta0"), ones) and torch.equal(of(constant, constant, "iou"), ones)
    for name in ("relative_l2", "mass_drift"):
        assert torch.equal(of(zero, zero, name), 0 * ones) and torch.isinf(of(constant, zero, name)).all()
    assert torch.equal(of(zero, zero, "spectral_fidelity"), ones)
    assert torch.equal(of(g, zero, "spectral_fidelity"), 0 * ones)


def test_specks_lower_the_score_unless_a_filter_is_asked_for(shared):
    mesh = load_mesh(shared / "cases" / "files" / "shareable" / "T09_salt_noise.vtk")
    yardstick = Yardstick.of(Ground(mesh), 0, "scalar", n_modes=8)
    p, g = (mesh.vertex_field(name)[None] for name in ("prediction", "truth"))
    edges = mesh.complex.simplices(1)
    by_hand = oracles.Oracle.s_beta0
    oracle = type("Plain", (), {"simplices": [None, edges]})()
    expected = by_hand(oracle, p[0].astype(float), g[0].astype(float), FRACTIONS)
    plain = score(yardstick, p, g, names=["s_beta0"]).mean["s_beta0"]
    filtered = score(yardstick, p, g, rule=LevelRule(min_persistence=2.0), names=["s_beta0"]).mean["s_beta0"]
    assert plain == pytest.approx(expected, rel=1e-12) and plain < 0.5
    assert filtered == 1.0


def test_a_constant_truth_has_levels_without_dividing_by_its_range(shared):
    mesh = load_mesh(shared / "cases" / "files" / "shareable" / "T03_constant_field.vtk")
    yardstick = Yardstick.of(Ground(mesh), 0, "scalar", n_modes=4)
    truth = mesh.vertex_field("f")[None]
    scores = score(yardstick, truth, truth)
    assert scores.mean["s_beta0"] == scores.mean["iou"] == 1.0
    below = score(yardstick, truth - 0.1, truth)
    assert below.mean["iou"] == 0.0 and below.mean["s_beta0"] == pytest.approx(np.exp(-1.0))


# ---- invariances -----------------------------------------------------------------------------------------------------


def moved_yardstick(case, points: np.ndarray, cells: np.ndarray) -> Yardstick:
    mesh = Mesh.from_cells(points, cells, name="moved")
    return Yardstick.of(Ground(mesh), case[1], case[2], n_modes=24)


@cases
def test_relabelling_vertices_and_cells_changes_no_score(case):
    yardstick, mesh = yardstick_of(*case), ground_of(case[0]).mesh
    p, g = samples(yardstick)
    rng = np.random.default_rng(8)
    order = rng.permutation(yardstick.n_vertices)  # new vertex i is old vertex order[i]
    cells = np.argsort(order)[mesh.oriented_cells()]
    moved = moved_yardstick(case, mesh.points[order], cells[rng.permutation(len(cells))])
    skip = ("flux_drift",) if case[:2] in (("torus", 1), ("annulus", 1), ("ball_with_cavity", 2)) else ()
    equal_scores(score(yardstick, p, g), score(moved, p[:, order], g[:, order]), 1e-8, skip)  # loops are a choice


@cases
def test_the_unit_of_length_and_of_the_field_changes_no_score(case):
    yardstick, mesh = yardstick_of(*case), ground_of(case[0]).mesh
    p, g = samples(yardstick)
    reference = score(yardstick, p, g)
    moved = moved_yardstick(case, 1000.0 * mesh.points, mesh.oriented_cells())
    equal_scores(reference, score(moved, p, g), 1e-8)
    equal_scores(reference, score(yardstick, 2.0**-20 * p, 2.0**-20 * g, unit=2.0**-20), 1e-12)


@pytest.mark.parametrize("case", [c for c in CASES if c[0] != "annulus"], ids=name_of)
def test_turning_space_turns_vectors_and_changes_no_score(case):
    yardstick, mesh = yardstick_of(*case), ground_of(case[0]).mesh
    p, g = samples(yardstick)
    turn = np.linalg.qr(np.random.default_rng(9).standard_normal((3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    moved = moved_yardstick(case, mesh.points @ turn, mesh.oriented_cells())
    turned = [x @ torch.from_numpy(turn) if yardstick.is_vector else x for x in (p, g)]
    equal_scores(score(yardstick, p, g), score(moved, *turned), 1e-8)


@cases
def test_a_batch_is_its_samples_one_by_one(case):
    yardstick = yardstick_of(*case)
    p, g = samples(yardstick, b=5)
    q, f = forms(yardstick, b=5)
    whole = score(yardstick, p, g, prediction_form=q, truth_form=f)
    single = score(yardstick, p, g, prediction_form=q, truth_form=f, chunk=1)
    equal_scores(whole, single, 1e-9)
    assert all(whole.mean[name] == pytest.approx(np.mean(each(whole, name)), rel=1e-12) for name in whole.mean)
    assert all(whole.std[name] == pytest.approx(np.std(each(whole, name)), rel=1e-9, abs=1e-12) for name in whole.std)


@cases
def test_float32_is_close_to_float64(case):
    yardstick = yardstick_of(*case)
    p, g = (x.float() for x in samples(yardstick))
    exact, rough = score(yardstick, p, g), score(yardstick.to(dtype=torch.float32), p, g)
    assert all(values.dtype == torch.float32 for values in rough.samples.values())
    assert all(values.dtype == torch.float64 for values in exact.samples.values())
    equal_scores(exact, rough, 2e-4, skip=("s_beta0",) if yardstick.vorticity is not None else ())


def test_arrays_and_tensors_give_the_same_and_scalars_need_no_last_axis():
    yardstick = yardstick_of("torus", 0, "scalar")
    p, g = samples(yardstick)
    equal_scores(score(yardstick, p, g), score(yardstick, p[..., 0].numpy(), g.numpy()), 0.0)


def test_forms_alone_are_read_at_the_nodes_by_the_sharp_map():
    yardstick, ground = yardstick_of("torus", 1, "flux"), ground_of("torus")
    q, f = forms(yardstick)
    p, g = (torch.from_numpy(ground.node_values(1, "flux", x.numpy())) for x in (q, f))
    both = score(yardstick, prediction_form=q, truth_form=f)
    nodes = score(yardstick, p, g)
    for name, values in nodes.samples.items():
        assert torch.allclose(both.samples[name], values, rtol=1e-9), name
    mixed = score(yardstick, prediction_form=q, truth=g)
    equal_scores(nodes, mixed, 1e-9)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_scores_stay_on_the_device_of_the_prediction_and_equal_those_of_the_cpu():
    for case in CASES:
        yardstick = yardstick_of(*case)
        p, g = samples(yardstick)
        q, f = forms(yardstick)
        here = score(yardstick, p, g, prediction_form=q, truth_form=f)
        there = score(yardstick, p.cuda(), g.cuda(), prediction_form=q.cuda(), truth_form=f.cuda())
        assert all(values.is_cuda for values in there.samples.values())
        equal_scores(here, Scores({name: x.cpu() for name, x in there.samples.items()}), 1e-9)
