"""Samples that no model can be trained on are refused with file, array and sample."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hsd.data.dataset import Dataset
from hsd.errors import InputError
from hsd.training.data import TrainingData


def spoilt(file, path, key: str, number: int, value: float) -> Dataset:
    """A copy of a dataset file, as another program might write it, with one sample's array filled."""
    with np.load(file) as archive:
        arrays = dict(archive)
    arrays[key][number] = value
    np.savez(path, **arrays)
    return Dataset(path)


@pytest.mark.parametrize("part", ["train", "validation"])
@pytest.mark.parametrize(
    "kind, value, words",
    [("non_finite_field", np.nan, "is not finite in"), ("zero_target", 0.0, "is zero everywhere in")],
)
def test_a_sample_that_cannot_be_learnt_is_named(aero_file, tmp_path, part, kind, value, words):
    number = int(Dataset(aero_file).part(part).index[3])
    bad = spoilt(aero_file, tmp_path / "bad.npz", "target", number, value)
    with pytest.raises(InputError, match=f"bad.npz: target {words} sample {number} of the part {part};") as said:
        TrainingData.open(bad, 16)
    assert said.value.kind == kind


def test_more_samples_than_there_are_is_said(aero_file):
    there = len(Dataset(aero_file).part("train"))
    with pytest.raises(InputError, match=f"asks for {there + 1} training samples, and the dataset has {there}") as said:
        TrainingData.open(Dataset(aero_file), 16, n_train=there + 1)
    assert said.value.kind == "n_train"


def test_several_meshes_are_trained_on_in_the_scales_of_the_first(meshes_file):
    data = Dataset(meshes_file)
    one, own = (TrainingData.open(data, 16, fiber_lifts=0, one_scale=flag) for flag in (True, False))
    assert {s.domain.scales for s in (*one.train, *one.validation)} == {one.domain.scales}
    assert len({s.domain.scales for s in own.train}) == len(own.train) == 2
    assert one.domain.scales == own.domain.scales
    first, second = ((a.batch.fiber, b.batch.fiber) for a, b in zip(one.train, own.train))
    assert torch.equal(*first) and not torch.allclose(*second)


def test_an_input_of_zeros_is_no_fault(aero_file, tmp_path):
    data = Dataset(aero_file)
    number, key = int(data.part("train").index[0]), f"input/{data.inputs[0].name}"
    assert len(TrainingData.open(spoilt(aero_file, tmp_path / "zero.npz", key, number, 0.0), 16).train[0])
