"""Placements: other units, turns, moves, shapes and topologies are said, resolutions of one shape are not."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from hsd.data.placement import KEPT, Placement, from_manifest, notices_on, placements_of
from hsd.data.tasks import TASKS, task
from hsd.errors import InputError
from hsd.mesh.complex import SimplicialComplex
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import gallery

TURN = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize("name", TASKS)
def test_resolutions_of_one_shape_are_not_said(name):
    this = task(name)
    coarse, fine = (Placement.of(this.mesh(n)) for n in (300, 700))
    assert coarse.notices_on(fine) == fine.notices_on(coarse) == ()
    assert coarse.betti == fine.betti and len(coarse.moments) == len(coarse.centre) == 3


@pytest.mark.full
@pytest.mark.parametrize("name", TASKS)
def test_those_of_the_tables_are_not_said(name):
    this = task(name)
    trained = Placement.of(this.mesh(this.config.n_nodes))
    assert all(trained.notices_on(Placement.of(this.mesh(n))) == () for n in (1500, 7000))


def said(changed: Mesh, **reads: bool) -> tuple[str, ...]:
    return Placement.of(task("toroidal_transport").mesh(300)).notices_on(Placement.of(changed), **reads)


def test_each_change_is_said_where_it_matters():
    mesh = task("toroidal_transport").mesh(300)
    (units,) = said(replace(mesh, points=0.01 * mesh.points))
    assert "area is 0.0001 times" in units and "units of the mesh of training" in units
    (turned,) = said(replace(mesh, points=mesh.points @ TURN))
    assert "is turned" in turned
    assert said(replace(mesh, points=mesh.points @ TURN), coordinates=False, place=False) == ()
    (moved,) = said(replace(mesh, points=mesh.points + [0.5, 0, 0]))
    assert "lies 0.44 of its radii away" in moved
    assert said(replace(mesh, points=mesh.points + [0.5, 0, 0]), place=False) == ()
    taller = said(replace(mesh, points=mesh.points * [1, 1, 2]), coordinates=False, place=False)
    assert "another shape" in taller[-1] and "0.18, 0.41, 0.41, there 0.06, 0.47, 0.47" in taller[-1]
    topology, shape = said(gallery("sphere", 300))
    assert "Betti numbers (1, 0, 1), the mesh of training (1, 2, 1)" in topology and "another shape" in shape


def test_a_mesh_tells_only_what_it_has_and_all_of_it_comes_back_through_json():
    edges = np.array([[0, 1], [1, 2], [2, 0]])
    graph = Mesh(SimplicialComplex.from_simplices(3, {1: edges}))
    lengths = replace(graph, lengths2=np.array([1.0, 4.0, 9.0]))
    assert Placement.of(graph).as_dict() == {"betti": (1, 1)}
    assert Placement.of(lengths).as_dict() == {"betti": (1, 1), "measure": pytest.approx(6.0)}
    assert Placement.of(graph).notices_on(Placement.of(lengths)) == ()
    for mesh in (graph, lengths, gallery("torus", 200), gallery("ball", 200)):
        placed = Placement.of(mesh)
        assert Placement.from_dict(json.loads(json.dumps(placed.as_dict()))) == placed == Placement.of(mesh)


def test_the_nearest_mesh_of_training_counts_and_resolutions_are_told_once():
    torus, sphere, other = gallery("torus", 300), gallery("sphere", 300), gallery("torus", 500)
    told = placements_of([torus, sphere, other])
    assert [one["betti"] for one in told] == [(1, 2, 1), (1, 0, 1)]
    trained = from_manifest({"placements": json.loads(json.dumps(told))})
    assert notices_on(gallery("sphere", 500), trained) == () and notices_on(gallery("double_torus", 600), trained)
    assert notices_on(sphere, ()) == () == from_manifest({})
    many = [replace(torus, points=2.0**i * torus.points) for i in range(KEPT + 1)]
    assert len(placements_of(many[:KEPT])) == KEPT and placements_of(many) is None
    assert from_manifest({"placements": None}) == ()


GOOD = {"betti": [1, 0, 1], "measure": 2.0, "centre": [0, 0, 0], "moments": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}
BAD = (
    5, None, [], {}, {"betti": "x"}, {"betti": []}, {"betti": [1, -1]}, {**GOOD, "measure": -1.0},
    {**GOOD, "measure": [1.0]}, {**GOOD, "measure": 10**400}, {**GOOD, "centre": "x"}, {**GOOD, "more": 1},
    {**GOOD, "moments": [[1, 2], [3]]}, {**GOOD, "moments": [[1]]}, {"betti": [1], "centre": [0, 0, 0]},
    {**GOOD, "moments": [[0, 0, 0]] * 3}, {**GOOD, "centre": [float("nan"), 0, 0]},
)  # fmt: skip


@pytest.mark.parametrize("told", BAD, ids=str)
def test_what_is_no_placement_is_said(told):
    assert Placement.from_dict(GOOD).measure == 2.0
    with pytest.raises(InputError, match="placement in model") as found:
        from_manifest({"placements": [told]}, "model")
    assert found.value.kind == "bad_manifest"
