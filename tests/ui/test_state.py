"""The state of the app goes through the URL and back; bad links end in a sentence; the store keeps its limit."""

from __future__ import annotations

import os
from dataclasses import is_dataclass
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest

from hsd.errors import UnknownNameError
from hsd.ui import store
from hsd.ui.state import AppState, changed, from_text, from_url, leaves, read, to_text, to_url


def another(leaf):
    """A possible value that is not the default."""
    if isinstance(leaf.default, bool):
        return not leaf.default
    if isinstance(leaf.default, tuple):
        return ("orient", "split")
    if leaf.choices:
        return leaf.choices[-1]
    if isinstance(leaf.default, int | float):
        for value in (leaf.default + 1, leaf.default - 1, 0.125):
            if leaf.low <= value <= leaf.high and value != leaf.default:
                return type(leaf.default)(value)
    return "x y&z=é"


def test_every_field_goes_through_the_url_and_back():
    state = AppState()
    for path, leaf in leaves().items():
        one = changed(AppState(), {path: another(leaf)})
        assert read(one, path) != leaf.default
        assert from_url(dict(parse_qsl(urlencode(to_url(one))))) == (one, ())
        state = changed(state, {path: another(leaf)})
    assert from_url(to_url(state)) == (state, ())


def test_names_in_the_url_are_different():
    names = [leaf.url for leaf in leaves().values()]
    assert len(set(names)) == len(names)


def test_state_is_frozen_and_hashable():
    assert is_dataclass(AppState()) and hash(AppState()) == hash(AppState())


def test_default_url_names_only_the_mesh():
    assert to_url(AppState()) == {"mesh": "torus"}


@pytest.mark.parametrize("text", ["x", "", "nan", "-1", "1e9", "4"])
def test_impossible_degree_in_a_link_is_named_and_ignored(text):
    state, notes = from_url({"k": text, "bc": "relative"})
    assert state == changed(AppState(), {"bc": "relative"})
    assert len(notes) == 1 and f"k={text!r}" in notes[0]


def test_foreign_parameters_are_not_ours():
    assert from_url({"utm": "1", "mesh": "sphere"}) == (changed(AppState(), {"mesh.name": "sphere"}), ())


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-12, 123456.789, 1e12])
def test_floats_are_exact_in_the_url(value):
    leaf = leaves()["mesh.scale"]
    assert from_text(leaf, to_text(value)) == value


def test_unknown_field_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"mesh\.name"):
        changed(AppState(), {"colour": 1})


# ---- store -------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_STORE", str(tmp_path / "store"))
    return tmp_path / "store"


def test_same_content_and_name_have_one_key(folder):
    key = store.put(b"abc", "a.off")
    assert store.put(b"abc", "a.off") == key and len(list(folder.iterdir())) == 1
    assert len({key, store.put(b"abd", "a.off"), store.put(b"abc", "b.off")}) == 3
    assert store.get(key) == store.Item(key, "a.off", b"abc")


def test_names_lose_their_folders(folder):
    assert store.get(store.put(b"x", "../../etc/a.off")).name == "a.off"
    assert store.get(store.put(b"x", "C:\\files\\b.off")).name == "b.off"


@pytest.mark.parametrize("key", ["0" * 32, "../secret", "", "x"])
def test_unknown_key_is_expired(folder, key):
    with pytest.raises(store.StoreError) as caught:
        store.get(key)
    assert caught.value.kind == "expired"


def test_oldest_goes_first_beyond_the_limit(folder, monkeypatch):
    keys = [store.put(bytes(1000), f"{i}.off") for i in range(3)]
    for age, key in zip((300, 200, 100), (keys[1], keys[0], keys[2])):
        path = folder / f"{key}{store.SUFFIX}"
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    monkeypatch.setenv("HSD_STORE_LIMIT", "3500")
    newest = store.put(bytes(1000), "new.off")
    with pytest.raises(store.StoreError):
        store.get(keys[1])
    assert [store.get(k).name for k in (keys[0], keys[2], newest)] == ["0.off", "2.off", "new.off"]


def test_records_and_arrays_come_back(folder):
    record = {"points": [[1, 0.25, 0.5]], "name": "vortex"}
    assert store.get_json(store.put_json(record)) == record
    arrays = {"omega": np.arange(5.0), "n": np.array(3)}
    key = store.put_arrays(arrays)
    assert store.put_arrays(arrays) == key
    back = store.get_arrays(key)
    assert set(back) == set(arrays) and all((back[k] == arrays[k]).all() for k in arrays)
    for read_it in (store.get_json, store.get_arrays):
        with pytest.raises(store.StoreError):
            read_it(store.put(b"\x00nothing", "a.off"))
