"""The Training page without a browser: forms, a run from its start to the comparison, and all that can go wrong."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from hsd.training import jobs
from hsd.training.config import TrainingConfig
from hsd.training.run import RunSpec, make_folder, run
from hsd.ui import training_live, training_runs
from hsd.ui.state_parts import QUICK_TRAINING
from tests.data.datasets import write
from tests.training.conftest import make_dataset
from tests.ui.app_pages import good, link_of, page_of, press, said, scene, walk, widget
from tests.ui.run_folders import gone_run, paused_run

SMALL = {"n_modes": 16, "channels": 2, "hidden": 8, "lift": 0}
TINY = "~".join(["batch_size=8", *(f"model.{k}={v}" for k, v in SMALL.items())])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A cache, and so runs, of this module's own."""
    folder = tmp_path_factory.mktemp("training")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HSD_CACHE", str(folder / "cache"))
        patch.setenv("HSD_STORE", str(folder / "store"))
        yield folder


@pytest.fixture(scope="module")
def aero(place) -> Path:
    return make_dataset(place / "aero.npz", "ellipsoid_aerodynamics", 40, 300)


@pytest.fixture
def no_runs(place):
    """No run before and after a test."""
    shutil.rmtree(jobs.runs_folder(), ignore_errors=True)
    yield jobs.runs_folder()
    for found in jobs.runs():
        jobs.stop(found.folder, seconds=0.0)


def test_what_the_form_refuses_is_not_started(no_runs):
    app = opened(train_n=60, train_nodes=200, train_set="epochs=3~lr=1e30")
    assert "lr must lie between 0 and 1" in app.error[0].value
    app = press(app, "training:start")
    assert jobs.runs() == [] and any("lr must lie between 0 and 1" in e.value for e in app.error)


@pytest.mark.parametrize(("sample", "seed"), [(0, 0), (3, 0), (5, 0), (599, 0), (700, 0), (3, 1)])
def test_a_run_is_compared_on_a_sample_that_it_did_not_learn_from(sample, seed):
    from hsd.data.splits import PARTS, split_codes
    from hsd.experiments.suites import SAMPLES

    spec = RunSpec(TrainingConfig("hsd"), "toroidal_transport", n_samples=600, n_nodes=300)
    found = training_runs.unseen_sample(spec, seed, sample)
    codes, shipped = split_codes(600, 0), split_codes(SAMPLES, 0)
    unseen = seed != 0 or found >= 600 or codes[found] == PARTS["test"]
    assert unseen and (found == sample or shipped[found] == PARTS["test"])
    if seed != 0 or sample >= 600 or codes[sample] == PARTS["test"]:
        assert found == sample


def opened(**parameters) -> AppTest:
    """The page by a link, the boxes of the form open."""
    app = page_of("training", 60, **parameters)
    app.session_state["training:more"] = app.session_state["training:settings"] = True
    return app.run()


def keys(app: AppTest) -> set[str]:
    return {b.key for b in app.button}


def text(app: AppTest) -> str:
    return "\n".join([said(app), *(str(p.proto.text) for p in app.get("progress"))])


def state(app: AppTest):
    return app.session_state["_app_state"]


def wait_for(condition, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.1)


def finished(root: Path, name: str, file: Path, **entries) -> Path:
    """A run folder with all that a run leaves, made in this process."""
    folder = root / name
    make_folder(
        folder, RunSpec(TrainingConfig("hsd", SMALL, **{"epochs": 3, "batch_size": 8, **entries}), data=str(file))
    )
    run(folder)
    return folder


def left_over(root: Path, name: str, file: Path, said: str) -> Path:
    """A run whose process is gone, with its last words."""
    folder = gone_run(root / name, RunSpec(TrainingConfig("hsd", SMALL, epochs=3), data=str(file)))
    (folder / jobs.LOG).write_text(said)
    return folder


# ---- the form ----------------------------------------------------------------------------------------------------


def test_without_runs_the_page_shows_what_would_be_learned_and_starts_in_one_click(no_runs):
    app = good(opened(train_nodes=300))
    assert {"training:start", "training:start2"} <= keys(app)
    assert "No run yet" in text(app) and "408 train, 72 choose the best epoch" in text(app)
    assert scene(app)


def test_the_form_writes_settings_that_differ_from_the_defaults_of_the_task(no_runs):
    app = good(opened(train_nodes=300, train="torus_helmholtz"))
    name = "training:torus_helmholtz:hsd:"
    assert widget(app, name + "epochs").value == 60 and widget(app, name + "epochs").help
    assert widget(app, name + "lr").placeholder == "the model's: 0.01"
    widget(app, name + "epochs").set_value(7)
    widget(app, name + "model.layers").set_value(2)
    widget(app, name + "lr").set_value(0.002)
    good(app.run())
    assert {"epochs=7", "model.layers=2", "lr=0.002"} <= set(state(app).training.settings)
    widget(app, name + "epochs").set_value(100)  # the default
    good(app.run())
    assert not any(s.startswith("epochs") for s in state(app).training.settings)
    good(opened(**link_of(app)))
    widget(app, "state:training.model").set_value("deeponet")
    good(app.run())
    assert "lr=0.002" in state(app).training.settings
    assert not any(s.startswith("model.") for s in state(app).training.settings)
    widget(app, "training:torus_helmholtz:deeponet:model.branch").set_value("32, 16")
    good(app.run())
    assert "model.branch=[32, 16]" in state(app).training.settings
    app = widget(app, "training:torus_helmholtz:deeponet:model.branch").set_value("wide").run()
    assert len(app.error) == 1 and "“wide”" in app.error[0].value and "whole numbers" in app.error[0].value
    assert "model.branch=[32, 16]" in state(app).training.settings


def test_quick_and_full_size_and_a_link_without_settings(no_runs):
    app = good(opened(train_nodes=300, train="torus_helmholtz", train_set=""))
    assert state(app).training.settings == ()
    good(press(app, "training:full"))
    assert (state(app).training.samples, state(app).training.nodes) == (3000, 1800)
    good(press(app, "training:quick"))
    assert state(app).training.settings == QUICK_TRAINING and state(app).training.task == "ellipsoid_aerodynamics"


ENTRY = "training:ellipsoid_aerodynamics:hsd:"
WRONG = {
    "state:training.samples": (999999999, "Samples: 999999999 cannot be; allowed is a whole number from 10 to 100000."),
    "state:training.nodes": (1, "Nodes: 1 cannot be; allowed is a whole number from 100 to 20000."),
    "state:seed": (-5, "Seed of the data: −5 cannot be; allowed is a whole number from 0 to 2147483647."),
    f"{ENTRY}epochs": (0, "epochs: 0 cannot be; allowed is a whole number from 1 to 100000."),
    f"{ENTRY}batch_size": (2.5, "batch size: 2.5 cannot be; allowed is a whole number from 1 to 8192."),
    f"{ENTRY}lr": (0, "learning rate: 0 cannot be; allowed is a number above 0, up to 1."),
    f"{ENTRY}weight_decay": (-1, "weight decay: −1 cannot be; allowed is a number from 0 to 10."),
    f"{ENTRY}loss.flux": (1e20, "More of the training, flux: 1e+20 cannot be; allowed is a number from 0 to 1000."),
    f"{ENTRY}model.n_modes": (5000, "Settings of HSD, modes: 5000 cannot be; allowed is a whole number from "),
}
"""Fields of the form → what cannot stand in them, and what is said of it."""


def test_no_field_of_the_page_has_limits_that_the_browser_keeps_to_itself(no_runs, aero):
    finished(no_runs, "run-a", aero)
    app = good(opened(run="run-a"))
    fields = [w.proto for w in app.number_input]
    assert len(fields) > 15 and "Validation sample" in {f.label for f in fields}
    assert not [f.label for f in fields if f.has_min or f.has_max]
    assert {f.data_type for f in fields} == {fields[0].FLOAT}, "a whole number beyond 2^53 is refused by the browser"


@pytest.mark.parametrize("key", WRONG)
def test_a_value_that_cannot_be_is_a_sentence_and_nothing_is_started(no_runs, key):
    app = good(opened(train_nodes=300, train_device="cpu"))
    before, (value, words) = state(app), WRONG[key]
    app = widget(app, key).set_value(value).run()
    assert [words in e.value for e in app.error] == [True], [e.value for e in app.error]
    assert widget(app, key).value == value and widget(app, key).proto.icon, "the field shows another value, unmarked"
    assert widget(app, "training:start").disabled and widget(app, "training:start2").disabled
    assert state(app) == before and link_of(app)["train_nodes"] == "300", "what cannot be came into the link"
    widget(app, "training:start").proto.disabled = False  # as of a browser that has not been told yet
    app = press(app, "training:start")
    assert jobs.runs() == []
    good(press(app, "training:quick"))
    assert widget(app, key).value != value and not widget(app, "training:start").disabled


def test_every_wrong_field_has_its_sentence_until_it_is_mended_or_leaves_the_form(no_runs):
    app = opened(train_nodes=300)
    for key, (value, _) in WRONG.items():
        widget(app, key).set_value(value)
    app = app.run()
    assert all(any(words in e.value for e in app.error) for _, words in WRONG.values()) and len(app.error) == len(WRONG)
    app = widget(app, "state:training.nodes").set_value(400).run()
    assert len(app.error) == len(WRONG) - 1 and state(app).training.nodes == 400
    app = widget(app, "state:training.model").set_value("deeponet").run()  # another model has other entries
    assert {e.value.partition(":")[0] for e in app.error} == {"Samples", "Seed of the data"}
    app = press(app, "training:full")
    assert not good(app).error and widget(app, "state:training.samples").value == state(app).training.samples


def test_a_click_on_start_counts_with_what_was_typed_just_before(no_runs, monkeypatch):
    monkeypatch.setattr("hsd.training.jobs._launch", lambda folder, threads, **_: jobs.status(folder))
    for key, value in (("state:training.samples", 999999999), (f"{ENTRY}epochs", 0)):
        app = good(opened(train_nodes=300, train_device="cpu"))
        widget(app, key).set_value(value)
        widget(app, "training:start").click()
        app.run()
        assert jobs.runs() == [] and len(app.error) == 1
    app = good(opened(train_nodes=300, train_device="cpu"))
    widget(app, f"{ENTRY}epochs").set_value(3)
    widget(app, "training:start").click()
    app.run()
    assert [r.spec.training.epochs for r in training_runs.all_runs()] == [3]


def test_a_validation_sample_that_cannot_be_is_a_sentence_and_the_form_stays_open(no_runs, aero):
    finished(no_runs, "run-a", aero)
    app = good(opened(run="run-a"))
    app = widget(app, "state:training.sample").set_value(-3).run()
    assert [e.value.partition(" cannot")[0] for e in app.error] == ["Validation sample: −3"]
    assert state(app).training.sample == 0 and not widget(app, "training:start").disabled
    good(widget(app, "state:training.sample").set_value(2).run())
    assert state(app).training.sample == 2


@pytest.mark.parametrize(
    "settings, words",
    [
        ("epoch=3", "Unknown entry"),
        ("epochs=0", "at least 1"),
        ("model.wings=2", "wings"),
        ("lr=8000", "between 0 and 1"),
        ("epochs=1000000000", "100000"),
        ("lr=quick", "lr must be a number above 0"),
        ("model.layers=wide", "whole number"),
    ],
)
def test_settings_of_a_link_that_cannot_be_are_a_sentence_with_a_way_back(no_runs, settings, words):
    app = opened(train_nodes=300, train_set=settings)
    assert not app.exception and words in app.error[0].value
    good(press(app, "training:reset"))


def test_entries_that_do_not_go_together_are_mended_in_their_fields(no_runs):
    app, name = good(opened(train_nodes=300, train_model="gnot", train_set="")), "training:ellipsoid_aerodynamics:gnot:"
    before = state(app)
    app = widget(app, name + "model.heads").set_value(5).run()
    assert [e.value for e in app.error] == ["The model's heads must divide its width; got 5 and 48."]
    assert widget(app, "training:start").disabled and widget(app, name + "model.heads").value == 5
    assert widget(app, name + "lr").label and state(app).training.settings == (
        *before.training.settings,
        "model.heads=5",
    )
    widget(app, "training:start").proto.disabled = False
    press(app, "training:start")
    assert jobs.runs() == []
    good(widget(app, name + "model.width").set_value(60).run())
    assert not widget(app, "training:start").disabled


def test_widgets_are_told_their_values_again_after_a_run_that_a_click_broke_off(no_runs):
    app = good(opened(train_nodes=300, train="torus_helmholtz"))
    names = ("state:training.task", "training:torus_helmholtz:hsd:epochs")
    good(app.run())
    assert not any(widget(app, name).proto.set_value for name in names)
    app.session_state["_bound/done"] = False  # as a run leaves it that did not come to its end
    good(app.run())
    assert all(widget(app, name).proto.set_value for name in names)
    good(app.run())
    assert not any(widget(app, name).proto.set_value for name in names)


# ---- a run from start to comparison ------------------------------------------------------------------------------


def test_a_run_is_started_watched_to_its_end_and_sent_to_the_comparison(no_runs, monkeypatch):
    polled = []
    plain = st.fragment
    monkeypatch.setattr(
        training_live.st,
        "fragment",
        lambda f, run_every=None: polled.append(run_every) or plain(f, run_every=run_every),
    )
    app = good(opened(train_nodes=300, train_n=40, train_device="cpu", train_set=f"epochs=4~{TINY}"))
    good(press(app, "training:start"))
    run_id = state(app).training.run
    assert polled[-1] == training_live.POLL_SECONDS and app.query_params["run"] in (run_id, [run_id])
    wait_for(lambda: jobs.status(no_runs / run_id).state == "done")
    good(app.run())
    good(app.run())  # the picture of the sample is there
    assert polled[-1] is None, "asks again although nothing goes on"
    log = jobs.tail(no_runs / run_id)
    values = {m.label: m.value for m in app.metric}
    assert values["Epoch"] == "4 / 4" and values["Best validation error"] == f"{log[-1]['best']:.4g}"
    assert "Finished." in text(app) and f"validation error {log[-1]['validation']:.4g}" in text(app)
    app.session_state["training/tabs"] = "Export"
    assert str(no_runs / run_id) in [e.value for e in good(app.run()).code]
    good(press(app, "training:send"))
    assert state(app).own_runs == (run_id,) and state(app).comparison.task == "ellipsoid_aerodynamics"
    assert "training:send" not in keys(app) and jobs.checkpoint_of(run_id).is_file()


def test_a_running_run_is_found_after_reload_and_restart_shared_queued_and_a_killed_one_said(no_runs, aero):
    link = {"train": "own", "data": str(aero), "train_device": "cpu"}
    first = good(press(good(opened(**link, train_set=f"epochs=100000~{TINY}")), "training:start"))
    a = state(first).training.run
    wait_for(lambda: len(jobs.tail(no_runs / a)) >= 2)

    st.cache_resource.clear()  # as after a restart of the server: nothing is remembered but the disk
    jobs._children.clear()
    again = good(opened(run=a))
    assert {"training:pause", "training:stop"} <= keys(again) and "Training." in text(again)
    second = good(opened(**link, train_set=f"epochs=2~{TINY}"))  # another visitor sees it too
    assert "Training." in text(second)

    good(press(second, "training:start"))
    b = state(second).training.run
    assert b != a
    wait_for(lambda: jobs.status(no_runs / b).state == "waiting")
    assert "number 1 in the queue" in text(good(second.run()))

    os.kill(jobs._read(no_runs / a / jobs.PROCESS)["pid"], signal.SIGKILL)
    wait_for(lambda: jobs.status(no_runs / a).state == "failed")
    first.run()
    assert "ended from outside" in first.error[0].value and not first.exception
    assert {"training:resume", "training:finish"} <= keys(first)
    wait_for(lambda: jobs.status(no_runs / b).state == "done")
    assert "Finished." in text(good(second.run()))

    press(first, "training:resume")
    reached = len(jobs.tail(no_runs / a))
    wait_for(lambda: len(jobs.tail(no_runs / a)) > reached + 1)
    good(press(good(first.run()), "training:pause"))
    wait_for(lambda: jobs.status(no_runs / a).state == "paused")
    assert "Paused" in text(good(first.run()))


@pytest.mark.full
def test_a_paused_run_takes_one_step_and_its_best_weights_are_used(no_runs, aero):
    spec = RunSpec(TrainingConfig("hsd", SMALL, epochs=100000, batch_size=8), data=str(aero))
    folder = paused_run(no_runs / "run-a", spec, 10)
    assert len(jobs.tail(folder)) >= 2
    app = good(opened(run="run-a"))
    assert "Paused" in text(app)
    good(press(app, "training:step"))
    wait_for(lambda: jobs.status(folder).state == "paused")
    steps = training_runs.run_of("run-a").steps
    assert steps[-1]["step"] == steps[-2]["step"] + 1 == 11
    good(press(good(app.run()), "training:finish"))
    wait_for(lambda: jobs.status(folder).state == "done")
    assert widget(good(app.run()), "training:send")


# ---- many runs ---------------------------------------------------------------------------------------------------


def test_runs_are_overlaid_their_difference_listed_and_a_deleted_one_is_a_sentence(no_runs, aero):
    finished(no_runs, "run-a", aero)
    finished(no_runs, "run-b", aero, lr=3e-3)
    app = good(opened(run="run-a"))
    assert list(app.dataframe[0].value["state"]) == ["finished", "finished"]
    widget(app, "state:training.overlay").set_value(["run-b"])
    good(app.run())
    figures = [e for e in walk(app.main) if "validation, raw" in str(getattr(e, "proto", ""))]
    assert str(figures[0].proto).count("validation, raw") == 2
    table = training_runs.config_of(training_runs.run_of("run-a").spec)
    other = training_runs.config_of(training_runs.run_of("run-b").spec)
    assert {k for k in table if table[k] != other[k]} == {"lr"} and table["lr"] == 1e-2
    widget(app, "state:training.smooth").set_value(0.9)
    assert "weight of the past 0.90" in text(good(app.run()))
    good(press(app, "training:delete1"))
    assert "cannot be undone" in text(app) and (no_runs / "run-a").is_dir()
    good(press(app, "training:keep"))
    good(press(app, "training:delete1"))
    good(press(app, "training:delete2"))
    assert not (no_runs / "run-a").exists() and state(app).training.run == "run-b"
    shutil.rmtree(no_runs / "run-b")
    app.run()
    assert "no longer on this server" in text(good(app)) and "training:start2" in keys(app)


def test_a_run_that_diverged_offers_a_smaller_learning_rate(no_runs, aero):
    said = "error [diverged]: Training of HSD diverged in epoch 2 (the loss is not finite); the best weights … kept.\n"
    left_over(no_runs, "run-a", aero, said)
    app = opened(run="run-a")
    assert "diverged in epoch 2" in app.error[0].value
    press(app, "training:slower")
    assert "lr=0.0033" in state(app).training.settings and state(app).tasks.file == str(aero)


@pytest.mark.parametrize(
    "said, words",
    {
        "error [out_of_memory]: Training hsd needs more memory than the GPU has free; take a smaller batch.\n": "GPU",
        "error [file]: state.tmp: No space left on device.\n": "No space left",
        "Traceback (most recent call last):\nKeyError: 'x'\n": "error of the program",
        "epoch 3, train 0.2": "ended from outside",
    }.items(),
)
def test_what_ended_a_run_is_one_sentence_and_resume_stays(no_runs, aero, said, words):
    left_over(no_runs, "run-a", aero, said)
    app = opened(run="run-a")
    assert [words in e.value for e in app.error] == [True] and not app.exception
    assert "training:resume" in keys(app)


# ---- refusals before the start -----------------------------------------------------------------------------------


def test_a_full_disk_is_a_sentence(no_runs, aero, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(jobs, "make_folder", full)
    app = press(opened(train="own", data=str(aero)), "training:start")
    assert "No space left on device" in app.error[0].value and not app.exception


def test_data_that_cannot_be_trained_on_is_refused_in_its_own_words(no_runs, place):
    app = press(opened(train="own"), "training:start")
    assert "no sound dataset file" in app.error[0].value
    vectors = write(place / "vectors.npz", "vectors")
    app = press(opened(train="own", data=str(vectors)), "training:start")
    assert len(app.error) == 1 and "vectors.npz" in app.error[0].value and not app.exception
    app = press(opened(train="own", data=str(place / "gone.npz")), "training:start")
    assert "gone.npz" in app.error[0].value
    assert jobs.runs() == []


def test_a_gpu_that_is_not_there_is_said_before_a_run_is_made(no_runs, aero, monkeypatch):
    from hsd.training import run as training_run

    monkeypatch.setattr(training_run.torch.cuda, "is_available", lambda: False)
    app = press(opened(train="own", data=str(aero), train_device="cuda"), "training:start")
    assert "This server has no GPU; choose CPU" in app.error[0].value and jobs.runs() == []


def test_after_a_refused_file_the_one_before_it_is_not_trained_on_unsaid(no_runs, place, aero):
    app = opened(train="own", data=str(aero), train_device="cpu", train_set=f"epochs=2~{TINY}")
    bad = place / "bad.npz"
    bad.write_bytes(b"rubbish")
    app = press(app.text_input("tasks:path").set_value(str(bad)).run(), "training:start")
    assert jobs.runs() == [] and any("bad.npz was not taken" in e.value and "aero.npz" in e.value for e in app.error)
    app = press(good(app.text_input("tasks:path").set_value("").run()), "training:start")
    assert [r.spec.data for r in training_runs.all_runs()] == [str(aero.resolve())]


def test_a_second_click_starts_no_second_run_of_the_same(no_runs, aero):
    app = opened(train="own", data=str(aero), train_device="cpu", train_set=f"epochs=100000~{TINY}")
    first = state(press(app, "training:start")).training.run
    for _ in range(2):
        app = good(press(app, "training:start"))
    assert [r.id for r in training_runs.all_runs()] == [first] == [state(app).training.run]
    assert any("already" in t.value for t in app.toast)
    other = opened(train="own", data=str(aero), train_device="cpu", train_set=f"epochs=100000~seed=1~{TINY}")
    assert state(press(other, "training:start")).training.run != first and len(jobs.runs()) == 2
