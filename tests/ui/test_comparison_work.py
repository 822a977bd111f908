"""What is computed of one model: predictions, repeated steps, curves, memory, and failures as sentences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hsd.data.ground import Ground
from hsd.data.tasks import task
from hsd.errors import InputError
from hsd.training.evaluate import yardstick_of
from hsd.training.predictor import load
from hsd.ui import comparison_work as work
from hsd.ui.comparison_lines import N_LINES, seeds_in
from hsd.ui.comparison_models import run_title
from hsd.viz.task_sample import task_sample
from tests.ui.checkpoints import NODES, make_checkpoints


@pytest.fixture(scope="module", params=work.STEPPED)
def stepped(request, tmp_path_factory):
    name = request.param
    root = make_checkpoints(tmp_path_factory.mktemp("ckpt"), name, ("hsd", "fno3d"))
    problem = task(name)
    ground = Ground(problem.mesh(NODES))
    predictors = [load(root / name / f"{label}.safetensors") for label in ("hsd", "fno3d")]
    return problem, ground, task_sample(problem, ground, 0, 3), predictors


def test_the_first_step_is_the_prediction_and_the_second_that_of_the_first(stepped):
    problem, ground, sample, predictors = stepped
    for predictor in predictors:
        domain = predictor.domain
        rolled = work.rollout(predictor, domain, problem, ground, sample, 2)
        once = work.predict(predictor, domain, yardstick_of(domain, problem.name), sample, "CPU")
        assert np.array_equal(rolled.states[0], sample.inputs[0].values[0])
        assert np.allclose(rolled.states[1], once.nodes[:, 0])
        source, coefficients = rolled.states[1:2], work.inputs_of(sample)[1]
        assert np.allclose(rolled.states[2], predictor(domain, source, coefficients).nodes[0, :, 0])
        assert np.allclose(np.diff(rolled.times), problem.config.duration)


def test_the_truth_over_several_steps_begins_with_the_sample_and_keeps_its_laws(stepped):
    problem, ground, sample, _ = stepped
    truth = work.true_rollout(problem, ground, sample, 2)
    n = problem.config.n_snapshots
    assert np.allclose(truth.states[: n + 1], sample.states.values, rtol=1e-9, atol=1e-9)
    mass, *energies = truth.curves.values()
    assert np.ptp(mass) < 1e-10 * (np.abs(truth.states) @ ground.vertex_measure).max()
    for energy in energies:
        assert (np.diff(energy) <= 1e-12 * energy[0]).all()
    assert len(energies) == (2 if problem.name == "vorticity_dynamics" else 1)


def test_a_model_that_runs_away_ends_in_nan_instead_of_an_error(stepped, monkeypatch):
    problem, ground, sample, predictors = stepped
    predictor = predictors[1]
    real = type(predictor).__call__

    def wild(self, domain, source, coefficients=None):
        fields = real(self, domain, source, coefficients)
        return type(fields)(fields.nodes * np.inf, None)

    monkeypatch.setattr(type(predictor), "__call__", wild)
    rolled = work.rollout(predictor, predictor.domain, problem, ground, sample, 2)
    assert np.isfinite(rolled.states[0]).all() and np.isnan(rolled.states[1:]).all()
    assert all(np.isfinite(curve[0]) and np.isnan(curve[1]) for curve in rolled.curves.values())


def test_the_peak_of_memory_counts_at_least_the_answer_and_grows_with_the_mesh(stepped):
    problem, ground, sample, predictors = stepped
    cost = work.cost(predictors[1], predictors[1].domain, sample, "CPU")
    assert cost.memory_mb * 1e6 >= ground.mesh.complex.n_vertices * 4
    assert cost.latency_ms > 0 and cost.n >= 1 and cost.parameters == predictors[1].model.n_parameters
    larger = load_on(problem, predictors, 900)
    assert work.peak_bytes(*larger) > cost.memory_mb * 1e6
    assert cost.load > 0.9


def load_on(problem, predictors, nodes):
    from hsd.data.domain import Domain

    domain = Domain.build(problem, problem.mesh(nodes), 16, 16)
    ground = Ground(domain.mesh)
    return predictors[1], domain, *work.inputs_of(task_sample(problem, ground, 0, 3))


@pytest.mark.parametrize(
    "error, kind",
    [
        (torch.OutOfMemoryError("CUDA out of memory"), "out_of_memory"),
        (MemoryError(), "out_of_memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"), "out_of_memory"),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), "no_run"),
    ],
)
def test_failures_of_torch_are_one_sentence(error, kind):
    with pytest.raises(InputError, match="GNO") as caught, work.said("GNO"):
        raise error
    assert caught.value.kind == kind and "\n" not in caught.value.message


def test_other_errors_pass_as_they_are():
    with pytest.raises(ZeroDivisionError), work.said("GNO"):
        raise ZeroDivisionError


def test_own_runs_are_called_by_model_and_time_and_other_ids_as_they_are():
    assert run_title("toroidal_transport-hsd-1128-123557-7244", "hsd") == "HSD 28 Nov 12:35:57"
    assert run_title("own-gno-0229-000001-00ff", "gno") == "GNO 29 Feb 00:00:01"
    for other in ("mine", "torus-hsd-1399-123557-7244", "a-b-1128-123557-7244x"):
        assert run_title(other, "hsd") == other


def test_streamlines_of_all_fields_begin_at_the_same_points_of_the_shell_about_the_cavity():
    mesh = task("magnetostatics").mesh(600)
    seeds, distance = seeds_in(mesh), np.linalg.norm(mesh.points, axis=1)
    assert seeds.shape == (N_LINES, 3) and (seeds == seeds_in(mesh)).all()
    far = np.linalg.norm(seeds, axis=1)
    assert far.min() > distance.min() and far.max() <= 0.6 * distance.max()
    assert np.linalg.norm(seeds.mean(axis=0)) < 0.05 * distance.max()
