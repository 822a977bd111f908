"""Own dataset files on the pages that compare: a run on a file is sent, compared, looked at by level and spectrum."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hsd.data.dataset import Dataset
from hsd.data.splits import PARTS
from hsd.data.tasks.base import FieldSpec
from hsd.errors import InputError
from hsd.training import jobs
from hsd.training.config import TrainingConfig
from hsd.training.evaluate import evaluate
from hsd.training.loading import predictors
from hsd.training.run import RunSpec, make_folder, run
from hsd.ui import comparison_models, training_runs
from tests.data.datasets import N, contents, write
from tests.training.conftest import make_dataset
from tests.ui.app_pages import good, page_of, press, said, scene, widget
from tests.ui.checkpoints import make_checkpoints

SMALL = {"n_modes": 16, "channels": 2, "hidden": 8, "lift": 0}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Runs, uploads and checkpoints of this module's own."""
    folder = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("cache", "store", "checkpoints"):
            patch.setenv(f"HSD_{name.upper()}", str(folder / name))
        yield folder


@pytest.fixture(autouse=True)
def _own_folders(place, monkeypatch):
    """The place's folders again, after those that every test is given."""
    for name in ("cache", "store", "checkpoints"):
        monkeypatch.setenv(f"HSD_{name.upper()}", str(place / name))
    monkeypatch.setattr("hsd.ui.ahead.Ahead.wish", lambda *_: None)


def trained(name: str, file: Path, model: str = "hsd", **config) -> str:
    """A finished run on a file; its id."""
    folder = jobs.runs_folder() / name
    if not (folder / "model.json").is_file():
        config = config or SMALL
        make_folder(folder, RunSpec(TrainingConfig(model, config, epochs=2, batch_size=8), data=str(file)))
        run(folder)
    return name


@pytest.fixture(scope="module")
def one(place) -> Path:
    return write(place / "mine.npz", "one")


@pytest.fixture(scope="module")
def several(place) -> Path:
    return write(place / "several.npz", "several")


def opened(page: str, file: Path | str, *runs: str, **more):
    link = {"problem": "own", "data": str(file), "runs": "~".join(runs), **more}
    return page_of(page, 120, **{k: v for k, v in link.items() if v != ""}).run()


def state(app):
    return app.session_state["_app_state"]


def numbers(file: Path, name: str) -> np.ndarray:
    """Relative L² of all validation samples of the first mesh by ``hsd evaluate``."""
    data = Dataset(file)
    made = next(iter(predictors(jobs.checkpoint_of(name), data, "validation")))[1]
    return evaluate(made, data, "validation").scores.samples["relative_l2"].numpy()


def test_runs_on_ones_own_file_are_compared_with_the_numbers_of_evaluate(one):
    runs = [trained("run-a", one), trained("run-b", one, "geo_fno", width=4)]
    data = Dataset(one)
    rows = np.flatnonzero(np.asarray(data.split) == PARTS["validation"])
    expected = {name: numbers(one, name) for name in runs}
    for j in (0, len(rows) - 1):
        app = good(opened("model_comparison", one, *runs, case=int(rows[j])))
        table = next(d.value for d in app.dataframe if "Relative L²" in d.value.columns)
        for name, value in zip(runs, table["Relative L²"]):
            assert value == pytest.approx(float(expected[name][j]), rel=1e-5)
        assert f"Sample {rows[j]} of mine.npz, of the validation part of its split" in said(app)
        assert "g (0-form, scalar) ↦ v (1-form, flux)" in said(app)
    last = good(opened("model_comparison", one, *runs, case=999))
    assert state(last).comparison.sample == N - 1
    assert "There is no sample 999; the last one is shown" in said(last)
    assert good(press(last, "comparison:next")) and state(last).comparison.sample == N - 1
    assert good(press(last, "comparison:previous")) and state(last).comparison.sample == N - 2


def test_the_code_of_the_pages_gives_the_number_of_the_page(one):
    run_id = trained("run-a", one)
    test = int(np.flatnonzero(np.asarray(Dataset(one).split) == PARTS["test"])[0])
    app = opened("model_comparison", one, run_id, case=test)
    table = next(d.value for d in app.dataframe if "Relative L²" in d.value.columns)
    app.session_state["comparison/tabs7"] = "Code"
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(good(app.run()).code[0].value, "page", "exec"), {})
    found = float(re.search(r"'relative_l2': ([0-9.e-]+)", out.getvalue())[1])
    assert found == pytest.approx(table["Relative L²"][0], rel=1e-5)
    for page, tabs, more in (("level_sets", "levels/tabs", {}), ("spectral_energy", "spectra/tabs", {"of": "models"})):
        app = opened(page, one, run_id, case=test, **more)
        assert "mine.npz" in said(app) and "Truth" in scene(app)
        app.session_state[tabs] = "Code"
        with contextlib.redirect_stdout(out):
            exec(compile(good(app.run()).code[0].value, "page", "exec"), {})


@pytest.mark.parametrize("page", ["level_sets", "spectral_energy"])
def test_test_samples_are_those_of_the_files_split(one, page):
    run_ids = [trained("run-a", one), trained("run-b", one, "geo_fno", width=4)]
    test = np.flatnonzero(np.asarray(Dataset(one).split) == PARTS["test"])
    if page == "level_sets":
        app = good(press(opened(page, one, *run_ids), "levels:differ"))
        assert f"in these {len(test)} samples" in said(app) or f"of {len(test)} samples" in said(app)
        assert state(app).comparison.sample in (*test, 3)
    else:
        app = opened(page, one, *run_ids, of="models")
        if any(b.key == "spectra/run" for b in app.button):  # unless the other page has looked at them
            app = good(press(app, "spectra/run"))
        assert f"{len(test)} test samples of the split of mine.npz" in said(app)


def test_each_sample_of_a_file_of_several_meshes_is_shown_on_its_own(several):
    run_id = trained("run-c", several)
    data = Dataset(several)
    for mesh in range(3):
        i = int(np.flatnonzero(data.mesh_of_sample == mesh)[0])
        app = good(opened("model_comparison", several, run_id, case=i))
        assert f"{data.meshes[mesh].complex.n_vertices} vertices" in said(app, ("markdown", "caption"))
        assert not app.warning, [w.value for w in app.warning]


def test_models_of_other_data_are_a_sentence_each(one, several, place):
    make_checkpoints(place / "checkpoints", "toroidal_transport", ("fno3d",))
    bound = trained("run-d", one, variant="paper")
    app = opened("model_comparison", several, bound)
    i = int(np.flatnonzero(Dataset(several).mesh_of_sample == 1)[0])
    app = opened("model_comparison", several, bound, case=i)
    assert not app.exception and "give a file with that mesh" in app.warning[0].value
    aero = make_dataset(place / "aero.npz", "ellipsoid_aerodynamics", 20, 300)
    other = trained("run-e", aero)
    app = opened("model_comparison", one, other)
    assert "was trained on ellipsoid_aerodynamics, not on data like mine.npz" in app.warning[0].value
    app = opened("model_comparison", aero, trained("run-a", one))
    assert "was trained on other fields than" in app.warning[0].value
    app = page_of("model_comparison", 120, problem="toroidal_transport", models="fno3d", runs=bound, remesh=300).run()
    assert any("choose “Own dataset file”" in w.value for w in app.warning)


def test_shipped_models_take_part_on_a_file_of_their_task(place):
    make_checkpoints(place / "checkpoints", "ellipsoid_aerodynamics", ("hsd", "fno3d"))
    aero = make_dataset(place / "aero.npz", "ellipsoid_aerodynamics", 20, 300)
    app = good(opened("model_comparison", aero, models="hsd~fno3d", case=2))
    table = next(d.value for d in app.dataframe if "Relative L²" in d.value.columns)
    assert list(table["model"]) == ["HSD", "FNO-3D"]


def test_runs_are_called_the_same_whatever_task_is_in_force(one, place):
    run_ids = [trained("run-a", one), trained("run-b", one, "geo_fno", width=4)]
    own = comparison_models.own_runs({"torus_helmholtz"}, run_ids)
    assert own == {k: v for k, v in comparison_models.own_runs({None}, run_ids).items() if k in run_ids}
    assert all(title.endswith("· mine.npz") for title in own.values())
    chosen = comparison_models.own_runs({None}, (*run_ids, "gone-1", "gone-2"))
    assert len(set(chosen.values())) == len(chosen)
    app = page_of("model_comparison", 120, problem="torus_helmholtz", runs="~".join(run_ids), remesh=300).run()
    assert not app.exception and state(app).own_runs == tuple(run_ids) and len(app.warning) == 2
    assert {b.key for b in app.button} >= {f"comparison:out:{run_id}" for run_id in run_ids}
    widget(app, "state:comparison.task").set_value("own")
    app.run()
    assert not app.exception and state(app).own_runs == tuple(run_ids)


def test_a_truth_without_vorticity_has_no_level_sets_but_a_sentence(one, place):
    from hsd.dec.operators import DEC

    told = contents("one")
    closed = told["inputs"]["g"] @ DEC(told["meshes"]).d(0).T
    schema = replace(told["schema"], target=FieldSpec("v", 1, "circulation"), fields={})
    more = {"coefficients": None, "fields": ()}
    file = write(place / "closed.npz", "one", target=closed, schema=schema, **more)
    assert "has no vorticity" in said(good(opened("level_sets", file)))
    assert "has no vorticity" not in said(good(opened("level_sets", one)))


def test_a_file_of_one_sample_and_without_test_samples_is_shown_all_the_same(place):
    told = contents("one")
    few = {"target": told["target"][:1], "inputs": {"g": told["inputs"]["g"][:1]}, "split": np.array([0])}
    few["coefficients"] = {"harmonic": told["coefficients"]["harmonic"][:1]}
    file = write(place / "few.npz", "one", **few)
    app = good(opened("model_comparison", file, case=0))
    assert "0 to 0, those of the file" in said(app)
    assert good(press(app, "comparison:next")) and state(app).comparison.sample == 0
    app = opened("level_sets", file)
    app.session_state["levels/tabs"] = "Test set"
    assert "has no sample of the part 'test'" in said(good(app.run()))


def test_a_run_whose_file_is_gone_is_not_sent(place):
    file = write(place / "lost.npz", "one")
    run_id = trained("run-lost", file)
    app = good(page_of("training", 60, run=run_id).run())
    file.unlink()
    press(app, "training:send")
    assert not app.exception and state(app).own_runs == ()
    with pytest.raises(InputError, match="There is no file"):
        training_runs.unseen_row(str(file), 0)


def test_without_a_file_one_is_asked_for_and_a_lost_one_is_a_sentence(place):
    app = good(opened("model_comparison", ""))
    assert "give one at the left" in said(app)
    assert any(t.key == "tasks:path" for t in app.text_input)
    app = opened("model_comparison", place / "gone.npz")
    assert not app.exception and "There is no file" in app.error[0].value
    app = opened("model_comparison", write(place / "vectors.npz", "vectors"))
    assert not app.exception and "node vectors" in app.error[0].value
    good(app.text_input(key="tasks:path").set_value(str(write(place / "mine2.npz", "one"))).run())
    assert state(app).tasks.file == str(place / "mine2.npz") and "found no defects in mine2.npz" in app.success[0].value


def test_a_run_on_ones_own_file_is_sent_to_a_test_sample_of_it(one):
    run_id = trained("run-a", one)
    app = good(page_of("training", 60, run=run_id, case=0).run())
    good(press(app, "training:send"))
    test = np.flatnonzero(np.asarray(Dataset(one).split) == PARTS["test"])
    assert state(app).comparison.task == "own" and state(app).tasks.file == str(one)
    assert state(app).own_runs == (run_id,) and state(app).comparison.sample in test
    assert widget(app, "training:open")
