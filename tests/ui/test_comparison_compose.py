"""Composed samples: records edited, kept under their content, and refused in one sentence where they are broken."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.data.ground import Ground
from hsd.data.tasks import TASKS, task
from hsd.errors import InputError
from hsd.ui import comparison_compose as compose


@pytest.mark.parametrize("name", TASKS)
def test_records_go_through_the_store_unchanged(name):
    problem = task(name)
    for record in (problem.sample(1, 2), compose.blank(problem)):
        back = compose.decode(problem, compose.encode(name, record))
        assert set(back) == set(record)
        assert all(np.array_equal(back[key], record[key]) and back[key].shape == np.shape(record[key]) for key in back)


@pytest.mark.parametrize("name", TASKS)
def test_one_source_alone_is_a_sample_with_a_truth(name):
    problem = task(name)
    centre, width = problem.sample(0, 0)["centres"][0], compose.widths_of(problem)[0] * 1.5
    record = compose.with_source(compose.blank(problem), centre, 1.5, width)
    ground = Ground(problem.mesh(300))
    made = problem.realise([record], ground)
    assert np.abs(made.target).max() > 0
    points = ground.mesh.points
    given = next(iter(made.inputs.values()))[0]
    if given.shape == (len(points),):  # the largest value lies at the nearest vertex, but for a constant
        nearest = int(((points - centre) ** 2).sum(axis=1).argmin())
        assert given[nearest] > 0.5 * given.max()


def test_sources_are_added_moved_and_taken_away():
    record = task("toroidal_transport").sample(0, 0)
    n = len(record["strengths"])
    more = compose.with_source(record, (1.4, 0, 0), -2.0, 0.2)
    assert more["centres"].shape == (n + 1, 3) and more["strengths"][-1] == -2.0
    moved = compose.changed_source(more, n, centres=(0, 1.4, 0), strengths=1.0)
    assert moved["centres"][n].tolist() == [0, 1.4, 0] and moved["strengths"][n] == 1.0
    assert more["strengths"][n] == -2.0  # the record before is as it was
    back = compose.without_source(moved, n)
    assert all(np.array_equal(back[key], record[key]) for key in record)


def test_there_is_a_most_number_of_sources():
    record = compose.blank(task("toroidal_transport"))
    for _ in range(compose.MOST):
        record = compose.with_source(record, (1.4, 0, 0), 1.0, 0.2)
    with pytest.raises(InputError, match="60"):
        compose.with_source(record, (1.4, 0, 0), 1.0, 0.2)


def broken(change):
    given = compose.encode("external_aerodynamics", task("external_aerodynamics").sample(0, 0))
    change(given)
    return given


@pytest.mark.parametrize(
    "change, kind",
    [
        (lambda g: g["record"]["strengths"].__setitem__(0, float("nan")), "non_finite_field"),
        (lambda g: g["record"]["circulations"].__setitem__(0, float("inf")), "non_finite_field"),
        (lambda g: g["record"].pop("widths"), "bad_sample"),
        (lambda g: g["record"]["centres"].pop(), "bad_sample"),
        (lambda g: g["record"].update(circulations=[1.0, 2.0, 3.0]), "bad_sample"),
        (lambda g: g["record"]["widths"].__setitem__(0, -1.0), "bad_sample"),
        (lambda g: g["record"].update(widths="wide"), "bad_sample"),
        (lambda g: g.update(task="magnetostatics"), "bad_sample"),
        (lambda g: g.clear(), "bad_sample"),
    ],
)
def test_a_broken_record_is_one_sentence(change, kind):
    with pytest.raises(InputError, match="compose") as caught:
        compose.decode(task("external_aerodynamics"), broken(change))
    assert caught.value.kind == kind


def test_velocities_beyond_the_solver_s_range_are_scaled_down():
    problem = task("toroidal_transport")
    reach = problem.coefficient_range
    kept = compose.within(0.5 * reach, reach)
    assert np.array_equal(kept, 0.5 * reach)
    long = compose.within(3.0 * reach, reach)
    assert np.linalg.norm(long / reach) <= 1 and np.allclose(long[0] / long[1], reach[0] / reach[1])
    record = problem.sample(0, 0) | {"velocity": long}
    assert np.isfinite(problem.realise([record], Ground(problem.mesh(300))).target).all()
