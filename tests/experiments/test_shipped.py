"""Every checkpoint that comes with the program loads strictly and predicts what it predicted when it was made."""

from __future__ import annotations

from functools import cache

import pytest

from hsd.data.domain import Domain
from hsd.data.placement import Placement, from_manifest
from hsd.data.scales import Scales
from hsd.data.tasks import task as make_task
from hsd.errors import UnknownNameError
from hsd.experiments.golden import PLACES, TOLERANCE, golden_difference
from hsd.experiments.records import RESULTS, read_json
from hsd.experiments.shipped import CHECKPOINTS, LIMIT, is_outdated, protocol_of, shipped, shipped_checkpoints
from hsd.training.checkpoint import read_checkpoint
from hsd.training.predictor import predictor_on

FAST = (("toroidal_transport", "hsd"), ("toroidal_transport", "fno3d"), ("torus_helmholtz", "hsd"))
"""Domains that are built within a few seconds; all the others belong to the full tier."""
FOUND = shipped_checkpoints()


def cases():
    return [
        pytest.param(s, id=f"{s.task}-{s.label}", marks=() if (s.task, s.label) in FAST else pytest.mark.full)
        for s in FOUND
    ]


@cache
def domain(name: str, config: tuple, n_nodes: int, n_modes: int, grid_size: int) -> Domain:
    this = make_task(name, **dict(config))
    return Domain.build(this, this.mesh(n_nodes), n_modes, grid_size)


@pytest.mark.parametrize("one", cases())
def test_it_loads_strictly_and_gives_its_golden_output(one):
    manifest = read_checkpoint(one.path).manifest
    about = manifest["domain"]
    config = tuple(manifest["task_config"].items())
    here = domain(one.task, config, about["n_nodes"], about["n_modes"], about["grid_size"])
    assert here.mesh.content_hash == about["mesh_hash"]
    (trained,) = from_manifest(about)
    assert trained.notices_on(Placement.of(here.mesh)) == () and Scales(**about["scales"]).same_mesh(here.scales)
    assert golden_difference(predictor_on(one.path, here), one.path.parent) < TOLERANCE


def test_manifests_are_complete_and_sizes_within_the_limit():
    for one in FOUND:
        manifest = read_checkpoint(one.path).manifest
        assert one.n_bytes <= LIMIT, one.path
        assert manifest["task"] == one.task and manifest["label"] == one.label and one.label.startswith(one.model)
        assert one.validation["relative_l2"] > 0 and one.protocol["n_samples"] and one.protocol["device"]
        assert 0 < len(manifest["golden"]["values"]) <= PLACES
        assert len(from_manifest(manifest["domain"])) == 1
        assert (one.path.parent / manifest["golden"]["input"]).is_file()
        assert one.path.with_suffix(".json").stat().st_size < 20_000


def test_a_checkpoint_says_what_the_record_of_its_weights_says_and_none_is_outdated():
    """So that the plan, the tables and the pages have one verdict on which version a shipped model is of."""
    records = map(read_json, (RESULTS / "runs").glob("*.json"))
    of_weights = {record["sha256"]: record for record in records}
    for one in FOUND:
        manifest = read_checkpoint(one.path).manifest
        assert manifest["protocol"] == protocol_of(of_weights[manifest["sha256"]]), one.path
        assert not is_outdated(manifest), one.path


def test_nothing_but_checkpoints_and_their_inputs_is_shipped():
    known = {p for s in FOUND for p in (s.path, s.path.with_suffix(".json"))}
    known |= {s.path.parent / read_checkpoint(s.path).manifest["golden"]["input"] for s in FOUND}
    there = {p for p in CHECKPOINTS.rglob("*") if p.is_file()} if CHECKPOINTS.is_dir() else set()
    assert there == known


def test_unknown_names_are_said():
    with pytest.raises(UnknownNameError, match="hsd-tiny"):
        shipped("toroidal_transport", "unet")
    with pytest.raises(UnknownNameError, match="magnetostatics"):
        shipped("heat", "hsd")
