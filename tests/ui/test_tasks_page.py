"""The Tasks page without a browser: six tasks × seeds, dataset files good and broken, cards, exports, code."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from hsd import __version__
from hsd.data.tasks import TASKS, task
from hsd.mesh.io import load_mesh_bytes
from hsd.ui import task_card, task_export, task_files, task_view
from hsd.ui.state import AppState, changed, from_url, to_url
from hsd.viz.task_sample import node_values
from tests.data import broken
from tests.data.datasets import write
from tests.ui.app_pages import good, page_of, said, scene


@pytest.fixture(autouse=True)
def _private_store(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HSD_STORE", str(tmp_path_factory.getbasetemp() / "store"))
    monkeypatch.setenv("HSD_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def opened(**parameters) -> AppTest:
    return page_of("tasks", 90, **parameters).run()


def text(app: AppTest) -> str:
    return said(app, ("caption", "info", "markdown"))


def state_of(name: str, **more) -> AppState:
    return changed(AppState(), {"tasks.name": name, "tasks.nodes": 300, **more})


@pytest.mark.parametrize("name", TASKS)
def test_every_task_and_seed_is_shown_in_words_and_pictures(name):
    app = good(opened(task=name, nodes=300, split="hodge"))
    assert scene(app)
    assert task(name).equation in text(app)
    for seed, sample in ((1, 0), (7, 12)):
        next(w for w in app.number_input if w.key == "state:seed").set_value(seed)
        next(w for w in app.number_input if w.key == "state:tasks.sample").set_value(sample)
        good(app.run())
        assert f"Sample {sample} of seed {seed}" in scene(app)
        assert app.query_params["seed"] in (str(seed), [str(seed)])
        assert "Δ = dδ + δd is positive" in text(app) and "oundary" in text(app)
        assert f"task {name}" in text(app) and __version__ in text(app)


@pytest.mark.parametrize(
    "name, splits", [("magnetostatics", ("making", "hodge")), ("vorticity_dynamics", ("states", "hodge"))]
)
def test_every_choice_of_drawing_holds(name, splits):
    app = good(opened(task=name, nodes=300))
    choices = {"split": splits} | ({"space": ("ball", "slice")} if name == "magnetostatics" else {})
    for path, values in choices.items():
        for value in reversed(values):
            next(w for w in app.button_group if w.key == f"state:tasks.{path}").set_value(value)
            good(app.run())
            assert getattr(app.session_state["_app_state"].tasks, path) == value
            assert path != "split" or ("coexact" in scene(app)) == (value == "hodge")


def test_previous_and_next_step_through_samples():
    app = good(opened(task="torus_helmholtz", nodes=300, sample=3))
    for button, expected in (("tasks:next", 4), ("tasks:previous", 3), ("tasks:previous", 2)):
        next(b for b in app.button if b.key == button).click()
        good(app.run())
        assert app.query_params["sample"] in (str(expected), [str(expected)])


def test_a_link_brings_the_same_state_back():
    state = state_of("magnetostatics", **{"tasks.sample": 9, "tasks.space": "ball", "tasks.split": "hodge", "seed": 4})
    assert from_url(to_url(state)) == (state, ())
    wrong, notes = from_url({"task": "cooking", "sample": "-2"})
    assert wrong.tasks == AppState().tasks and len(notes) == 2


# ---- cards -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TASKS)
def test_the_shipped_card_is_of_this_config_with_its_provenance(name):
    card = task_card.shipped(name)
    assert card["task"] == name and card["n_samples"] == 1000 and card["seed"] == 0
    assert card["n_nodes"] == task(name).config.n_nodes and card["versions"]["hsd"] == __version__
    assert not task_card.differs(card, task(name).config_dict)
    assert task_card.differs(card, task(name).config_dict | {"nu": 5.0} | {k: 0.1 for k in ("amplitude", "a")})


def test_a_card_is_computed_by_a_job_when_asked(monkeypatch):
    app = good(opened(task="torus_helmholtz", nodes=300, card=100))
    started = []
    monkeypatch.setattr(task_card.jobs, "start_command", lambda *a, **k: started.append((a, k)))
    next(b for b in app.button if b.label == "Compute").click()
    good(app.run())
    (((job, command, words, mesh, source), options),) = started
    assert (command, source, mesh, options) == ("data", "card", None, {"result": "card.json"})
    assert words == ["torus_helmholtz", "--samples", "100", "--nodes", "300", "--seed", "0"]
    folder = task_card.jobs.job_folder(job)
    folder.mkdir(parents=True)
    card = task_card.shipped("torus_helmholtz") | {"n_samples": 100}
    (folder / "card.json").write_text(json.dumps(card))
    (folder / "job.json").write_text(json.dumps({"pid": 2**22 + 1, "born": "", "start": 0.0, "result": "card.json"}))
    (folder / "end.json").write_text(json.dumps({"code": 0}))
    app = good(opened(task="torus_helmholtz", nodes=300, card=100))
    assert "Card computed here" in text(app) and "100 samples of seed 0" in text(app)


# ---- own files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["one", "several", "vectors", "steps"])
def test_samples_of_an_own_file_are_stepped_through(kind, tmp_path):
    key = task_files.put(write(tmp_path / "own.npz", kind).read_bytes(), "own.npz")
    app = good(opened(task="own", data=key, split="hodge"))
    for sample in (5, 19):
        next(w for w in app.number_input if w.key == "state:tasks.sample").set_value(sample)
        good(app.run())
        assert f"Sample {sample} of own.npz" in scene(app)
    app = good(opened(task="own", data=str(tmp_path / "own.npz"), sample=500))  # beyond the last: the last
    assert "Sample 19 of own.npz" in scene(app)


BROKEN = {
    "not_this_format": lambda p: p.write_bytes(b"no archive"),
    "truncated": broken.cut(0.6),
    "pickle_inside": broken.pickled,
    "non_finite": broken.change("target", broken.put((2, 3), np.nan)),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_bad_file_is_sentences_and_the_page_stays_usable(kind, tmp_path, monkeypatch):
    path = write(tmp_path / "bad.npz", "one")
    BROKEN[kind](path)
    expected = task_files.findings_of(path)
    assert kind in [f.kind for f in expected]
    before = write(tmp_path / "good.npz", "one")
    app = good(opened(task="own", data=str(before)))
    next(w for w in app.text_input if w.key == "tasks:path").set_value(str(path))
    app.run()
    assert not app.exception
    assert [e.value for e in app.error] == [f.message for f in expected][:10]
    assert "of good.npz" in scene(app) and "file before it is kept" in text(app)
    next(w for w in app.selectbox if w.key == "state:tasks.name").set_value("torus_helmholtz")
    good(app.run())


def test_lost_files_and_forbidden_paths_are_one_sentence(tmp_path, monkeypatch):
    app = opened(task="own", data="0" * 32)
    assert not app.exception and ["upload it again" in e.value for e in app.error] == [True]
    app = opened(task="own", data=str(tmp_path / "none.npz"))
    assert not app.exception and ["There is no file" in e.value for e in app.error] == [True]
    monkeypatch.setenv("HSD_LOCAL_FILES", "0")
    app = opened(task="own", data=str(write(tmp_path / "d.npz", "one")))
    assert not app.exception and ["no paths" in e.value for e in app.error] == [True]
    assert not [w for w in app.text_input if w.key == "tasks:path"]


# ---- exports -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["external_aerodynamics", "magnetostatics", "vorticity_dynamics"])
def test_exported_files_hold_the_fields_and_where_they_are_from(name):
    state = state_of(name, **{"seed": 2, "tasks.sample": 1})
    ready = task_view.loaded(state)
    parts = task_view.parts_of(ready, "making")
    files = task_export.files_of(state, ready, parts)
    assert set(files) == ({"NPZ", "VTU"} if name == "magnetostatics" else {"NPZ", "VTP", "VTU"})
    with np.load(io.BytesIO(files["NPZ"][1]()), allow_pickle=False) as archive:
        assert np.array_equal(archive["target"], ready.sample.target.values[0])
        assert str(archive["provenance_mesh_hash"]) == ready.mesh.content_hash
        assert str(archive["provenance_seed"]) == "2" and str(archive["provenance_version"]) == __version__
        assert {f"part_{p.name}" for p in parts} <= set(archive.files)
        assert len(archive["record_strengths"]) == len(ready.sample.record["strengths"])
        assert ("trajectory" in archive.files) == task(name).time_dependent
    mesh = load_mesh_bytes(files["VTU"][1](), "sample.vtu")
    nodes = node_values(ready.sample, ready.sample.target)[0]
    assert np.allclose(mesh.vertex_field("target").reshape(nodes.shape), nodes, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["ellipsoid_aerodynamics", "toroidal_transport"])
def test_the_lines_shown_make_the_picture(name):
    state = state_of(name, **{"tasks.sample": 2})
    ready = task_view.loaded(state)
    space: dict = {}
    exec(task_export.code(state, ready, "hodge"), space)
    same_to_rounding(space["nodes"], node_values(ready.sample, ready.sample.target))
    for mine, shown in zip(space["parts"], task_view.parts_of(ready, "hodge")):
        same_to_rounding(mine.values, shown.values)


def same_to_rounding(a: np.ndarray, b: np.ndarray) -> None:
    """Solved twice: how arrays lie in memory may move the last bits."""
    assert a.shape == b.shape and np.abs(a - b).max() <= 1e-11 * np.abs(b).max()


def test_the_lines_for_a_file_make_the_picture(tmp_path, monkeypatch):
    path = write(tmp_path / "own.npz", "steps")
    state = changed(AppState(), {"tasks.name": "own", "tasks.file": str(path), "tasks.sample": 3})
    ready = task_view.loaded(state)
    monkeypatch.chdir(tmp_path)
    space: dict = {}
    exec(task_export.code(state, ready, "states"), space)
    assert np.array_equal(space["nodes"], node_values(ready.sample, ready.sample.target))
    assert set(space["curves"]) == set(task_view.history_of(ready))
