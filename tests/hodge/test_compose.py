"""Composed fields: each point adds to one Hodge part, circulations are what was dialled, records come back equal."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from hsd.dec.whitney import flat, sharp
from hsd.errors import InputError, UnknownNameError
from hsd.hodge.compose import Composer, Composition, Point, kinds_of, local_signs, part_of, place_cells
from hsd.hodge.decomposition import PARTS, Decomposer
from hsd.hodge.presets import PRESETS, preset
from hsd.hodge.solver import HodgeSolver
from tests.meshes import CONDITIONS, NAMES, mesh_of


def _solver(name, n, bc="absolute", star="galerkin"):
    return HodgeSolver(mesh_of(name, n), star, bc)


def _on(mesh, k, kind, strength=1.0, width=0.25):
    cell = int(place_cells(mesh)[len(place_cells(mesh)) // 3])
    return Composition(k, mesh.content_hash, (Point("p1", kind, cell, (0.2, 0.3, 0.5), strength, width),))


@pytest.mark.parametrize("bc", CONDITIONS)
@pytest.mark.parametrize("name", NAMES)
def test_each_point_adds_to_one_hodge_part_only(name, bc):
    solver = _solver(name, 60, bc)
    mesh = solver.mesh
    for k in range(mesh.dim + 1):
        for kind in kinds_of(mesh.dim, k):
            done = Decomposer(mesh, k, solver=solver)(Composer(solver).form(_on(mesh, k, kind)))
            total = done.energies["total"]
            for part in PARTS:
                if part != part_of(mesh.dim, k, kind):
                    assert done.energies[part] <= 1e-20 * total
            assert done.residual < 1e-9


@pytest.mark.parametrize("bc", CONDITIONS)
@pytest.mark.parametrize("name", NAMES)
def test_dialled_circulations_are_read_back(name, bc):
    solver = _solver(name, 60, bc)
    mesh = solver.mesh
    for k in range(mesh.dim + 1):
        wanted = np.arange(1, solver.betti[k] + 1) / 3 - 1.0
        made = replace(preset("random", mesh, k, solver.betti[k], 3), circulations=tuple(wanted))
        periods = Decomposer(mesh, k, solver=solver)(Composer(solver).form(made)).periods
        np.testing.assert_allclose(periods, wanted, atol=1e-9 * (1 + np.abs(wanted).max(initial=0)))


def test_the_form_is_linear_in_strengths_and_a_sink_is_minus_a_source():
    solver = _solver("torus", 200)
    composer, mesh = Composer(solver), solver.mesh
    source, sink = (composer.form(_on(mesh, 1, kind)) for kind in ("source", "sink"))
    np.testing.assert_array_equal(sink, -source)
    np.testing.assert_allclose(composer.form(_on(mesh, 1, "vortex", 2.5)), 2.5 * composer.form(_on(mesh, 1, "vortex")))


@pytest.mark.parametrize("name", ["sphere", "annulus", "car", "flat_torus", "moebius", "theta_circle", "solid_torus"])
def test_a_blob_has_integral_one_and_the_asked_variance_of_heat(name):
    solver = _solver(name, 500)
    composer, mesh = Composer(solver), solver.mesh
    mass = composer._free.star(0).diagonal()
    narrow, wide = (composer.blob(_on(mesh, 0, "source", width=w).points[0]) for w in (0.1, 0.4))
    for rho in (narrow, wide):
        assert abs(mass @ rho - 1.0) < 1e-10
    assert mass @ narrow**2 > 1.5 * (mass @ wide**2)  # the narrow one is more concentrated


@pytest.mark.parametrize("name", ["sphere", "torus"])
def test_a_vortex_through_node_vectors_and_flat_is_coexact_to_one_percent(name):
    solver = _solver(name, 3000)
    mesh = solver.mesh
    omega = Composer(solver).form(_on(mesh, 1, "vortex", width=0.2))
    done = Decomposer(mesh, 1, solver=solver)(flat(mesh, sharp(mesh, omega, at="vertices")))
    assert done.energies["coexact"] > 0.99 * done.energies["total"]


def test_a_vortex_turns_counter_clockwise_and_a_source_flows_out():
    solver = _solver("disk", 500)
    mesh = solver.mesh
    cell = int(np.argmin((mesh.points[mesh.complex.simplices(2)].mean(axis=1) ** 2).sum(axis=1)))
    composer = Composer(solver)
    for kind, expected in (("vortex", lambda p: np.column_stack([-p[:, 1], p[:, 0]])), ("sink", lambda p: -p[:, :2])):
        point = Point("p1", kind, cell, (1 / 3, 1 / 3, 1 / 3), 1.0, 0.2)
        vectors = sharp(mesh, composer.form(Composition(1, mesh.content_hash, (point,))), at="vertices")[:, :2]
        p = mesh.points
        ring = np.abs(np.linalg.norm(p, axis=1) - 0.4) < 0.1
        assert ((vectors * expected(p)).sum(axis=1)[ring] > 0).all()


@pytest.mark.parametrize("name", list(PRESETS))
def test_presets_and_records_come_back_equal_and_depend_on_the_seed_only(name):
    mesh = mesh_of("double_torus", 200)
    made = preset(name, mesh, 1, 4, seed=5)
    assert made == preset(name, mesh, 1, 4, seed=5)
    assert Composition.from_record(json.loads(json.dumps(made.to_record()))) == made
    if made.points:
        assert made != preset(name, mesh, 1, 4, seed=6)


def test_a_composition_moves_to_a_finer_mesh_by_its_positions():
    coarse, fine = mesh_of("torus", 300), mesh_of("torus", 1000)
    made = preset("mixture", coarse, 1, 2)
    moved = Composer(HodgeSolver(fine)).located(made)
    corners = fine.points[fine.complex.simplices(2)]
    for before, after in zip(made.points, moved.points):
        there = np.asarray(after.bary) @ corners[after.cell]
        assert np.linalg.norm(there - before.position) < 0.05
    assert moved.mesh == fine.content_hash
    flat_torus = mesh_of("flat_torus", 100)
    with pytest.raises(InputError) as caught:
        Composer(HodgeSolver(flat_torus)).located(made)
    assert caught.value.kind == "other_mesh"


def test_local_signs_agree_with_the_orientation_where_there_is_one():
    mesh = mesh_of("torus", 200)
    signs = local_signs(mesh, 17)
    assert (np.abs(signs * mesh.orientation * mesh.orientation[17] - 1) == 0).all() and signs[17] == 1


def test_points_are_edited_by_id():
    made = preset("dipole", mesh_of("sphere", 100), 1, 0)
    first = made.points[0]
    assert made.with_point(replace(first, strength=3.0)).point("p1").strength == 3.0
    assert len(made.with_point(replace(first, id="p9")).points) == 3
    assert made.without("p1").points == made.points[1:]
    assert made.with_circulation(1, 2.0, 3).circulations == (0.0, 2.0, 0.0)


def test_impossible_points_and_records_are_refused_by_name():
    mesh = mesh_of("sphere", 100)
    composer = Composer(HodgeSolver(mesh))
    with pytest.raises(InputError, match="width"):
        Point("p1", "source", 0, (1, 0, 0), 1.0, 7.0)
    with pytest.raises(UnknownNameError):
        Point("p1", "drain", 0, (1, 0, 0))
    with pytest.raises(InputError) as caught:
        composer.form(Composition(1, mesh.content_hash, (Point("p1", "source", 10**6, (1, 0, 0)),)))
    assert caught.value.kind == "other_mesh"
    with pytest.raises(InputError) as caught:
        composer.form(Composition(3, mesh.content_hash))
    assert caught.value.kind == "degree"
    for record in (None, [], {"version": 2}, {"version": 1, "points": [{}], "k": 1, "mesh": "", "circulations": []}):
        with pytest.raises(InputError) as caught:
            Composition.from_record(record)
        assert caught.value.kind == "not_a_composition"
    full = Composition(1, mesh.content_hash, tuple(Point(f"p{i}", "source", 0, (1, 0, 0)) for i in range(200)))
    with pytest.raises(InputError) as caught:
        full.with_point(Point("new", "source", 0, (1, 0, 0)))
    assert caught.value.kind == "too_many"
