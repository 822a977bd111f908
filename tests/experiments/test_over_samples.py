"""Truth and models over samples: equal to the metrics called directly, kept on disk, resumed, refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.data.ground import Ground, square_norms
from hsd.data.splits import PARTS, split_codes
from hsd.data.tasks import task
from hsd.errors import InputError
from hsd.experiments import over_samples as module
from hsd.experiments.over_samples import Bench, Contender, held_out_numbers, over_samples
from hsd.metrics import LevelRule, Pair, score
from hsd.metrics.pair import node_values
from hsd.metrics.topology import betti0_counts

NUMBERS = [3, 5, 11]


@pytest.fixture(autouse=True)
def _private(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_CACHE", str(tmp_path))


@pytest.fixture(scope="module", params=["torus_helmholtz", "magnetostatics", "torus_scalar"])
def bench(request, tmp_path_factory):
    name = "vorticity_dynamics" if request.param == "torus_scalar" else request.param
    problem = task(name)
    return Bench.of(problem, Ground(problem.mesh(200)))


def wrong(bench: Bench, calls: list | None = None):
    """A model that answers with noise of the truth's shape, the same for the same input."""

    def predict(source, coefficients):
        if calls is not None:
            calls.append(len(source))
        y = bench.yardstick
        noise = np.random.default_rng(7).standard_normal((len(source), y.n_vertices, y.n_components))
        return noise * (1 + np.abs(source[:, :1, None]))

    return predict


def test_digests_are_the_metrics_of_the_library(bench):
    truth, found = over_samples(bench, 2, NUMBERS, {"noise": Contender("abc", wrong(bench))})
    made = bench.task.realise([bench.task.sample(2, i) for i in NUMBERS], bench.ground)
    nodes = node_values(bench.yardstick, made.target)
    answer = wrong(bench)(made.inputs[bench.task.inputs[0].name], made.coefficients)
    digest, rule = found["noise"], LevelRule(min_persistence=0.02)
    scores = score(bench.yardstick, answer, nodes, rule=rule).samples
    assert np.allclose(digest.relative_l2, scores["relative_l2"])
    assert np.allclose(digest.iou, scores["iou"])
    p, g = betti0_counts(Pair.of_nodes(bench.yardstick, answer, nodes, rule=rule))
    assert (digest.counts(rule) == p).all() and (truth.counts(rule) == g).all()
    pair = Pair.of_nodes(bench.yardstick, answer, nodes)
    non_harmonic = bench.basis.part != "harmonic"
    assert np.allclose(digest.error_energies[:, non_harmonic], pair.coefficient_error.numpy() ** 2)
    assert np.allclose(truth.energies[:, non_harmonic], pair.coefficients.numpy() ** 2)
    star = bench.ground.dec.star(bench.basis.k)
    assert (truth.energies.sum(axis=1) <= square_norms(star, pair.forms_g.numpy()) * (1 + 1e-9)).all()  # Bessel
    assert not truth.error_energies.any() and (truth.iou == 1).all()


def test_blocks_on_disk_are_not_computed_again(bench, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 2)
    calls: list[int] = []
    contenders = {"noise": Contender("abc", wrong(bench, calls))}
    assert over_samples(bench, 0, NUMBERS, contenders, compute=False) is None and not calls
    first = over_samples(bench, 0, NUMBERS, contenders)
    assert calls == [2, 1]
    said: list[str] = []
    again = over_samples(bench, 0, NUMBERS, contenders, lambda share, words: said.append(words), compute=False)
    assert calls == [2, 1] and not said
    for a, b in zip((first[0], first[1]["noise"]), (again[0], again[1]["noise"])):
        assert (a.energies == b.energies).all() and (a.counts(LevelRule()) == b.counts(LevelRule())).all()
    over_samples(bench, 0, [*NUMBERS, 20], {"noise": Contender("other weights", wrong(bench, calls))})
    assert calls == [2, 1, 2, 2]


def test_a_model_that_cannot_run_is_named_and_the_others_are_kept(bench):
    def refuse(source, coefficients):
        raise InputError("It does not fit.", "no_run")

    refused: dict[str, str] = {}
    both = {"bad": Contender("x", refuse), "noise": Contender("abc", wrong(bench))}
    _, found = over_samples(bench, 0, NUMBERS, both, refused=refused)
    assert list(found) == ["noise"] and refused == {"bad": "It does not fit."}
    with pytest.raises(InputError, match="does not fit"):
        over_samples(bench, 0, NUMBERS, {"bad": Contender("x", refuse)})


def test_answers_that_are_not_finite_are_not_numbers_in_every_error(bench):
    def broken(source, coefficients):
        return np.full_like(wrong(bench)(source, coefficients), np.nan)

    _, found = over_samples(bench, 0, NUMBERS, {"nan": Contender("n", broken)})
    assert np.isnan(found["nan"].relative_l2).all() and np.isnan(found["nan"].iou).all()


def test_test_samples_are_those_of_the_split():
    seed, numbers = held_out_numbers({"seed": 4, "n_samples": 50, "split": {"seed": 9}})
    assert seed == 4 and numbers.tolist() == np.flatnonzero(split_codes(50, 9) == PARTS["test"]).tolist()
