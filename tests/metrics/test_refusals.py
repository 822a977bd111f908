"""Bad input to yardsticks and scores: one sentence of the right kind each."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hsd.data.ground import Ground
from hsd.errors import HsdError, InputError, TopologyError, UnknownNameError
from hsd.hodge.spectrum import HodgeBasis
from hsd.metrics import Yardstick, score
from tests.meshes import mesh_of
from tests.metrics.cases import ground_of, samples, yardstick_of


def kind_of(call) -> str:
    with pytest.raises(HsdError) as error:
        call()
    assert error.value.message.endswith((".", "…")) and "\n" not in error.value.message
    return error.value.kind


def test_yardsticks_refuse_what_they_are_not_defined_for():
    torus, n = ground_of("torus", 60), 8
    refused = {
        "reading": [
            lambda: Yardstick.of(torus, 2, "flux", n_modes=n),
            lambda: Yardstick.of(torus, 1, "scalar", n_modes=n),
            lambda: Yardstick.of(torus, 1, "flux", n_modes=n, is_vorticity=True),
            lambda: Yardstick.of(ground_of("theta_circle", 60), 0, "flux", n_modes=n),
        ],
        "star": [lambda: Yardstick.of(Ground(torus.mesh, star="unit"), 0, "scalar", n_modes=n)],
        "boundary_condition": [lambda: Yardstick.of(Ground(torus.mesh, bc="relative"), 0, "scalar", n_modes=n)],
        "basis_mismatch": [
            lambda: Yardstick.of(torus, 1, "flux", HodgeBasis(torus.mesh, 0, 0, 8)),
            lambda: Yardstick.of(torus, 0, "scalar", HodgeBasis(mesh_of("sphere", 60), 0, 0, 8)),
            lambda: Yardstick.of(torus, 0, "scalar", HodgeBasis(torus.mesh, 0, 0, 8, star="unit")),
        ],
        "not_whole": [
            lambda: Yardstick.of(torus, 0.0, "scalar"),
            lambda: Yardstick.of(torus, 0, "scalar", n_modes=1.5),
        ],
        "n_modes": [lambda: Yardstick.of(torus, 0, "scalar", n_modes=-2)],
        "unknown_name": [lambda: Yardstick.of(torus, 0, "velocity")],
    }
    for kind, calls in refused.items():
        for call in calls:
            assert kind_of(call) == kind


def test_fluxes_need_an_orientation_and_circulations_only_lose_their_vorticity():
    moebius = ground_of("moebius", 60)
    with pytest.raises(TopologyError) as error:
        Yardstick.of(moebius, 1, "flux", n_modes=8)
    assert error.value.kind == "non_orientable"
    yardstick = Yardstick.of(moebius, 1, "circulation", n_modes=8)
    scores = score(yardstick, *samples(yardstick))
    assert "enstrophy_fidelity" not in scores.samples and "harmonic_drift" in scores.samples


def test_scores_refuse_arrays_that_do_not_fit():
    yardstick = yardstick_of("torus", 1, "flux", n=60)
    p, g = samples(yardstick)
    bad = g.clone()
    bad[2, 0, 0] = torch.nan
    forms = torch.zeros(4, yardstick.n_simplices)
    refused = {
        "missing": [lambda: score(yardstick), lambda: score(yardstick, p), lambda: score(yardstick, truth=g)],
        "shape": [
            lambda: score(yardstick, p[:, :-1], g),
            lambda: score(yardstick, p[..., 0], g[..., 0]),
            lambda: score(yardstick, p[0], g[0]),
            lambda: score(yardstick, p[:3], g),
            lambda: score(yardstick, p[:0], g[:0]),
            lambda: score(yardstick, np.float64(1.0), g),
            lambda: score(yardstick, p, g, prediction_form=forms[:, 1:], truth_form=forms),
            lambda: score(yardstick, p, g, prediction_form=forms[:2], truth_form=forms),
        ],
        "unit": [lambda: score(yardstick, p, g, unit=0.0), lambda: score(yardstick, p, g, unit=[1.0, 2.0])],
        "chunk": [lambda: score(yardstick, p, g, chunk=0)],
        "non_finite_field": [lambda: score(yardstick, p, bad)],
        "not_numeric": [lambda: score(yardstick, p.to(torch.complex128), g)],
    }
    for kind, calls in refused.items():
        for call in calls:
            assert kind_of(call) == kind
    with pytest.raises(UnknownNameError, match="relative_l2"):
        score(yardstick, p, g, names=["relative_l3"])
    with pytest.raises(InputError, match="2 of 4"):
        score(yardstick, p, torch.where(torch.arange(4)[:, None, None] < 2, g, torch.full_like(g, torch.inf)))


def test_a_diverged_prediction_scores_nan_and_leaves_its_neighbours_alone():
    for case in (("torus", 1, "flux"), ("ball_with_cavity", 2, "flux"), ("torus", 0, "scalar")):
        yardstick = yardstick_of(*case, n=60)
        p, g = samples(yardstick)
        good = score(yardstick, p, g).samples
        for value in (torch.nan, torch.inf):
            broken = p.clone()
            broken[1, 3] = value
            for name, values in score(yardstick, broken, g).samples.items():
                assert torch.isnan(values).tolist() == [False, True, False, False], name
                assert torch.allclose(values[[0, 2, 3]], good[name][[0, 2, 3]], rtol=1e-9), name
