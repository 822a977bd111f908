"""Dataset files: what is saved is read back, mapped, without torch and pickle; bad contents are refused by name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hsd.data.check import check_dataset
from hsd.data.dataset import Dataset
from hsd.data.schema import VERSION, Schema
from hsd.data.splits import PARTS
from hsd.data.tasks.base import FieldSpec
from hsd.errors import HsdError, InputError
from hsd.mesh.primitives import gallery
from tests.data.datasets import KINDS, N, contents, write

ROOT = Path(__file__).resolve().parents[2]


def close(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal to float32 rounding."""
    return np.array_equal(a, np.asarray(b, np.float32))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_is_read_back(tmp_path, kind):
    given = contents(kind)
    data = Dataset(write(tmp_path / "a.npz", kind))
    assert data.n_samples == N
    assert close(data.input("g"), given["inputs"]["g"]) and close(data.target, given["target"])
    assert np.array_equal(data.split, given["split"])
    assert data.inputs == given["schema"].inputs and data.target_spec == given["schema"].target
    for name, values in given.get("coefficients", {}).items():
        assert close(data.coefficients(name), values)
    if "trajectory" in given:
        assert close(data.trajectory, given["trajectory"])
    else:
        assert data.trajectory is None
    assert check_dataset(tmp_path / "a.npz") == []


@pytest.mark.parametrize("kind", KINDS)
def test_meshes_come_back_with_hash_orientation_and_fields(tmp_path, kind):
    given = contents(kind)
    data = Dataset(write(tmp_path / "a.npz", kind))
    meshes = given["meshes"] if kind == "several" else [given["meshes"]]
    assert len(data.meshes) == len(meshes)
    for j, (got, mesh) in enumerate(zip(data.meshes, meshes)):
        assert got.content_hash == mesh.content_hash
        assert np.array_equal(got.orientation, mesh.orientation)
        frames = given.get("fields", {})
        for name, values in (frames[j] if kind == "several" else frames).items():
            field = data.named_fields(j)[name]
            assert np.array_equal(field.values, values) and field.reference  # float64: harmonic to rounding
    assert np.array_equal(data.mesh_of_sample, given.get("mesh_of_sample", np.zeros(N)))


@pytest.mark.parametrize("kind", KINDS)
def test_sample_arrays_are_mapped_not_loaded(tmp_path, kind):
    data = Dataset(write(tmp_path / "a.npz", kind))
    for key in data.keys:
        assert isinstance(data.array(key), np.memmap) and data.array(key).dtype == np.float32


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_disjoint_cover_all_and_read_their_own_rows(tmp_path, kind):
    data = Dataset(write(tmp_path / "a.npz", kind))
    seen = np.concatenate([data.part(name).index for name in PARTS])
    assert sorted(seen) == list(range(N))
    for name in PARTS:
        part = data.part(name)
        for key in data.keys:
            for mesh in range(len(data.meshes)):
                rows = part.on_mesh(mesh)
                got = np.concatenate([*part.blocks(key, mesh, size=3), *[data.array(key)[:0]] * (len(rows) == 0)])
                length = data.row_length(key, mesh)
                axis = 2 if key == "trajectory" else 1
                if len(rows):
                    assert np.array_equal(got, data.array(key)[rows].take(range(length), axis))


def test_rows_of_the_smaller_mesh_end_where_its_simplices_end(tmp_path):
    data = Dataset(write(tmp_path / "a.npz", "several"))
    assert {data.row_length("input/g", j) for j in range(3)} == {m.complex.n(0) for m in data.meshes}
    assert {data.row_length("target", j) for j in range(3)} == {m.complex.n(1) for m in data.meshes}


@pytest.mark.parametrize("kind", KINDS)
def test_schema_survives_json(kind):
    schema = contents(kind)["schema"]
    assert Schema.from_json(schema.to_json()) == schema


def test_reading_and_checking_import_neither_torch_nor_pickle_loaders(tmp_path):
    write(tmp_path / "a.npz", "one")
    code = (
        "import sys, numpy as np\n"
        "def refuse(*a, **k): raise RuntimeError('pickle')\n"
        "import pickle; pickle.load = pickle.loads = refuse\n"
        "from hsd.data.dataset import Dataset\nfrom hsd.data.check import check_dataset\n"
        f"d = Dataset({str(tmp_path / 'a.npz')!r}); d.target.sum(); assert not check_dataset(d.path)\n"
        "assert 'torch' not in sys.modules and 'pyvista' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


REFUSED = {
    "shape of the target": ({"target": np.zeros((N, 3))}, "shape"),
    "shape of an input": ({"inputs": {"g": np.zeros((N - 1, 60))}}, "shape"),
    "a missing input": ({"inputs": {}}, "missing_array"),
    "an input nobody named": ({"inputs": {**contents("one")["inputs"], "h": np.zeros((N, 60))}}, "unknown_array"),
    "fields without coefficients": ({"coefficients": {}}, "missing_array"),
    "a degree that does not exist": (
        {
            "schema": Schema(
                (FieldSpec("g", 0, "scalar"),), FieldSpec("v", 3, "density"), contents("one")["schema"].fields
            )
        },
        "degree",
    ),
    "no samples": ({"inputs": {"g": np.zeros((0, 60))}, "target": np.zeros((0, 180))}, "bad_schema"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_contents_are_refused_and_leave_no_file(tmp_path, case):
    changes, kind = REFUSED[case]
    with pytest.raises(InputError) as caught:
        write(tmp_path / "a.npz", "one", **changes)
    assert caught.value.kind == kind and "a.npz" in caught.value.message and "unchecked" not in caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_what_a_file_cannot_hold_is_refused(tmp_path):
    flat = gallery("flat_torus", 60)
    with pytest.raises(HsdError) as caught:
        write(tmp_path / "a.npz", "vectors", meshes=flat)
    assert caught.value.kind == "no_positions"
    with pytest.raises(InputError) as caught:
        write(tmp_path / "nowhere" / "a.npz", "one")
    assert caught.value.kind == "no_folder"


def test_parts_without_samples_or_split_are_refused(tmp_path):
    data = Dataset(write(tmp_path / "a.npz", "one", split=None))
    with pytest.raises(InputError) as caught:
        data.part("train")
    assert caught.value.kind == "no_split"
    assert len(data.all()) == N
    data = Dataset(write(tmp_path / "b.npz", "one", split=np.zeros(N, np.int8)))
    with pytest.raises(InputError) as caught:
        data.part("test")
    assert caught.value.kind == "empty_part"
    for ask in (
        lambda: data.part("rest"),
        lambda: data.input("f"),
        lambda: data.coefficients("x"),
        lambda: data.array("y"),
    ):
        with pytest.raises(HsdError) as caught:
            ask()
        assert caught.value.kind == "unknown_name"


BAD_SCHEMAS = {
    "no JSON": ("{", "bad_schema"),
    "a list": ("[]", "bad_schema"),
    "another format": ('{"format": "x"}', "bad_schema"),
    "version as text": ('{"format": "hsd-dataset", "version": "1"}', "bad_schema"),
    "newer": (f'{{"format": "hsd-dataset", "version": {VERSION + 1}}}', "newer_version"),
    "no inputs": ('{"format": "hsd-dataset", "version": 1}', "bad_schema"),
    "inputs no list": ('{"format": "hsd-dataset", "version": 1, "inputs": 3, "target": {}}', "bad_schema"),
    "input without degree": (
        '{"format": "hsd-dataset", "version": 1, "inputs": [{"name": "g"}], "target": {}}',
        "bad_schema",
    ),
}
GOOD = contents("one")["schema"]
ENTRIES = {
    "degree no number": (("target", {"name": "v", "degree": "1", "reading": "flux"}), "bad_schema"),
    "unknown reading": (("target", {"name": "v", "degree": 1, "reading": "curl"}), "reading"),
    "vectors as input": (("inputs", [{"name": "g", "degree": 0, "reading": "vectors"}]), "reading"),
    "slash in a name": (("inputs", [{"name": "a/b", "degree": 0, "reading": "scalar"}]), "bad_schema"),
    "one name twice": (("inputs", [{"name": "g", "degree": 0, "reading": "scalar"}] * 2), "bad_schema"),
    "star unknown": (("star", "round"), "bad_schema"),
    "condition unknown": (("bc", "mixed"), "bad_schema"),
    "samples below one": (("n_samples", 0), "bad_schema"),
    "state unknown": (("state", "x"), "bad_schema"),
    "reference no truth": (("fields", {"h": {"degree": 1, "reading": "flux", "reference": 1}}), "bad_schema"),
    "provenance a text": (("provenance", "me"), "bad_schema"),
    "nothing to learn from": (("inputs", []), "bad_schema"),
}


@pytest.mark.parametrize("case", [*BAD_SCHEMAS, *ENTRIES])
def test_bad_schemas_are_refused_in_a_sentence(case):
    if case in BAD_SCHEMAS:
        text, kind = BAD_SCHEMAS[case]
    else:
        (key, value), kind = ENTRIES[case]
        given = json.loads(GOOD.to_json())
        if case == "nothing to learn from":
            given["fields"] = {}
        text = json.dumps({**given, key: value})
    with pytest.raises(InputError) as caught:
        Schema.from_json(text, "a.npz")
    assert caught.value.kind == kind
    assert (
        "a.npz" in caught.value.message and caught.value.message.count("\n") == 0 and caught.value.message.endswith(".")
    )
