"""Normaliser: training statistics only, affine and invertible, linear on forms, the same state in and out."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.data.archive import Archive, write_archive
from hsd.data.dataset import Dataset
from hsd.data.normaliser import Channel, Normaliser
from hsd.data.splits import PARTS
from hsd.dec.operators import DEC
from hsd.errors import HsdError, InputError
from tests.data.datasets import KINDS, N, contents, write


def spoil(path, part: str, value: float) -> None:
    """Overwrite all sample arrays of a part of the split."""
    archive = Archive(path)
    arrays = {name: np.array(archive[name]) for name in archive.names}
    rows = arrays["split"] == PARTS[part]
    for name, values in arrays.items():
        if name.startswith(("input/", "target", "coefficient/", "trajectory")):
            values[rows] = value
    write_archive(path, arrays)


@pytest.mark.parametrize("part", ["test", "validation"])
@pytest.mark.parametrize("value", [np.nan, 1e30, 0.0])
@pytest.mark.parametrize("kind", KINDS)
def test_fit_cannot_see_other_samples_than_those_for_training(tmp_path, kind, part, value):
    path = write(tmp_path / "a.npz", kind)
    before = Normaliser.fit(Dataset(path))
    spoil(path, part, value)
    assert Normaliser.fit(Dataset(path)) == before


@pytest.mark.parametrize("kind", KINDS)
def test_fit_on_the_first_samples_is_fit_on_a_file_that_has_no_others_for_training(tmp_path, kind):
    path = write(tmp_path / "a.npz", kind)
    data = Dataset(path)
    limited = Normaliser.fit(data, 5)
    split = np.where(np.asarray(data.split) == PARTS["train"], PARTS["test"], np.asarray(data.split))
    split[data.part("train").first(5).index] = PARTS["train"]
    assert limited == Normaliser.fit(Dataset(write(tmp_path / "b.npz", kind, split=split))) != Normaliser.fit(data)
    assert Normaliser.fit(data, N) == Normaliser.fit(data, 0) == Normaliser.fit(data)


@pytest.mark.parametrize("kind", KINDS)
def test_fit_does_see_the_training_samples(tmp_path, kind):
    path = write(tmp_path / "a.npz", kind)
    before = Normaliser.fit(Dataset(path))
    spoil(path, "train", 3.0)
    after = Normaliser.fit(Dataset(path))
    assert all(after.channels[key] != before.channels[key] for key in before.channels)


@pytest.mark.parametrize("kind", KINDS)
def test_invert_undoes_apply_and_json_keeps_every_digit(tmp_path, kind):
    data = Dataset(write(tmp_path / "a.npz", kind))
    normaliser = Normaliser.fit(data)
    assert Normaliser.from_json(normaliser.to_json()) == normaliser
    assert set(normaliser.channels) == {key for key in data.keys if key != "trajectory"}
    for key in data.keys:
        x = np.asarray(data.array(key), np.float64)
        assert np.abs(normaliser.invert(key, normaliser.apply(key, x)) - x).max() <= 1e-14 * np.abs(x).max()


@pytest.mark.parametrize("kind", ["one", "several"])
def test_training_scalars_get_mean_0_and_variance_1_by_area(tmp_path, kind):
    data = Dataset(
        write(
            tmp_path / "a.npz",
            kind,
            inputs={"g": 5 + 3 * contents(kind)["inputs"]["g"]} if kind == "one" else contents(kind)["inputs"],
        )
    )
    normaliser, part = Normaliser.fit(data), data.part("train")
    mean = square = 0.0
    for j, mesh in enumerate(data.meshes):
        w = DEC(mesh).star(0).diagonal()
        for block in part.blocks("input/g", j):
            u = normaliser.apply("input/g", block)
            mean += (u @ w).sum() / w.sum() / len(part)
            square += (u**2 @ w).sum() / w.sum() / len(part)
    assert abs(mean) < 1e-12 and abs(square - 1) < 1e-12


@pytest.mark.parametrize("kind", ["one", "several"])
def test_training_forms_get_mean_energy_density_1(tmp_path, kind):
    data = Dataset(write(tmp_path / "a.npz", kind))
    normaliser, part = Normaliser.fit(data), data.part("train")
    energy = 0.0
    for j, mesh in enumerate(data.meshes):
        dec, area = DEC(mesh), DEC(mesh).star(0).diagonal().sum()
        for block in part.blocks("target", j):
            energy += sum(dec.inner(1, f, f) for f in normaliser.apply("target", block)) / area / len(part)
    assert abs(energy - 1) < 1e-12


def test_vectors_get_mean_square_1_by_area(tmp_path):
    data = Dataset(write(tmp_path / "a.npz", "vectors"))
    normaliser, part = Normaliser.fit(data), data.part("train")
    w = DEC(data.meshes[0]).star(0).diagonal()
    u = normaliser.apply("target", np.concatenate(list(part.blocks("target"))))
    assert abs(np.einsum("v,bvc->", w, u**2) / w.sum() / len(part) - 1) < 1e-12


def test_forms_are_only_scaled_so_zero_sums_and_d_stay(tmp_path):
    """apply is linear on forms: it maps 0 to 0, commutes with d, and reference coefficients follow the target."""
    data = Dataset(write(tmp_path / "a.npz", "one"))
    normaliser, dec = Normaliser.fit(data), DEC(data.meshes[0])
    x, y = np.asarray(data.target[:2], np.float64)
    assert (normaliser.apply("target", 0 * x) == 0).all()
    assert np.allclose(
        normaliser.apply("target", 2 * x - y), 2 * normaliser.apply("target", x) - normaliser.apply("target", y)
    )
    scale = normaliser.channels["target"].scale
    assert np.allclose(dec.d(1) @ normaliser.apply("target", x), (dec.d(1) @ x) / scale)
    frame = data.named_fields()["harmonic"].values
    exact = frame.T @ (dec.star(1) @ x)
    assert np.allclose(
        frame.T @ (dec.star(1) @ normaliser.apply("target", x)), normaliser.apply("coefficient/harmonic", exact)
    )


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1e6])
def test_another_unit_of_the_data_gives_the_same_normalised_values(tmp_path, unit):
    given = contents("one")
    data = [Dataset(write(tmp_path / "a.npz", "one"))]
    changed = {"inputs": {"g": unit * given["inputs"]["g"]}, "target": unit * given["target"]}
    changed["coefficients"] = {"harmonic": unit * given["coefficients"]["harmonic"]}
    data.append(Dataset(write(tmp_path / "b.npz", "one", **changed)))
    values = [{key: Normaliser.fit(d).apply(key, np.asarray(d.array(key), float)) for key in d.keys} for d in data]
    for key in data[0].keys:
        assert np.allclose(values[0][key], values[1][key], rtol=1e-5, atol=1e-5)


def test_a_later_state_shares_the_numbers_of_the_first(tmp_path):
    normaliser = Normaliser.fit(Dataset(write(tmp_path / "a.npz", "steps")))
    assert normaliser.channels["target"] == normaliser.channels["input/g"]
    x = np.ones(3)
    assert np.array_equal(normaliser.apply("trajectory", x), normaliser.apply("input/g", x))


def test_constant_channels_are_shifted_to_zero_not_divided_by_it(tmp_path):
    given = contents("one")
    data = Dataset(
        write(tmp_path / "a.npz", "one", inputs={"g": 0 * given["inputs"]["g"] + 0.1}, target=0 * given["target"])
    )
    normaliser = Normaliser.fit(data)
    assert normaliser.channels["target"] == Channel(0.0, 1.0)
    assert np.abs(normaliser.apply("input/g", np.asarray(data.input("g"), float))).max() < 1e-15
    assert normaliser.channels["input/g"].scale == 1.0


def test_a_large_mean_costs_no_digits(tmp_path):
    rng = np.random.default_rng(1)
    wave = 1024.0 + rng.integers(-1, 2, contents("one")["inputs"]["g"].shape) / 1024  # exact in float32
    data = Dataset(write(tmp_path / "a.npz", "one", inputs={"g": wave}))
    part = np.concatenate(list(data.part("train").blocks("input/g"))) - 1024.0
    w = DEC(data.meshes[0]).star(0).diagonal()
    w = w / w.sum()
    mean = (part @ w).mean()
    assert abs(Normaliser.fit(data).channels["input/g"].scale / np.sqrt((((part - mean) ** 2) @ w).mean()) - 1) < 1e-9


BAD = [
    "",
    "[]",
    "3",
    '{"a": 1}',
    '{"a": {"mean": 0}}',
    '{"a": {"mean": 0, "scale": 0}}',
    '{"a": {"mean": 0, "scale": -1}}',
    '{"a": {"mean": NaN, "scale": 1}}',
    '{"a": {"mean": "x", "scale": 1}}',
]


@pytest.mark.parametrize("text", BAD)
def test_bad_json_is_refused(text):
    with pytest.raises(InputError) as caught:
        Normaliser.from_json(text)
    assert caught.value.kind == "bad_normaliser"


def test_unknown_channels_and_missing_splits_are_refused(tmp_path):
    data = Dataset(write(tmp_path / "a.npz", "one"))
    with pytest.raises(HsdError) as caught:
        Normaliser.fit(data).apply("input/x", np.zeros(3))
    assert caught.value.kind == "unknown_name"
    with pytest.raises(InputError) as caught:
        Normaliser.fit(Dataset(write(tmp_path / "b.npz", "one", split=None)))
    assert caught.value.kind == "no_split"
