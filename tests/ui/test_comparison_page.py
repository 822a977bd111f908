"""Model Comparison without a browser: six tasks against hsd itself, and everything that can go wrong with a model."""

from __future__ import annotations

import io
import json
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from hsd.data.ground import Ground
from hsd.data.splits import PARTS, split_codes
from hsd.data.tasks import TASKS, task
from hsd.mesh.io import load_mesh
from hsd.metrics.scoring import score
from hsd.models.fno3d import FNO3D
from hsd.training.checkpoint import save_checkpoint
from hsd.training.evaluate import yardstick_of
from hsd.training.predictor import load, predictor_on
from hsd.ui import comparison_answers, comparison_compose, comparison_models, comparison_tables, store
from hsd.ui import comparison_export as export
from hsd.ui.comparison_tabs import number_format
from hsd.ui.comparison_work import Cost
from hsd.ui.state import AppState, changed
from tests.ui.app_pages import good, page_of, press, said, scene
from tests.ui.checkpoints import NODES, domain_of, make_checkpoints, save

pytestmark = pytest.mark.usefixtures("model_pages")
LABELS = ("hsd", "fno3d", "deeponet")
QUICK = "toroidal_transport"


def opened(name: str = QUICK, **parameters) -> AppTest:
    return page_of("model_comparison", 300, **{"problem": name, "models": "~".join(LABELS), **parameters}).run()


def table(app: AppTest, column: str) -> dict[str, float]:
    """Model → number of the first table that has the column."""
    frame = next(d.value for d in app.dataframe if column in d.value.columns)
    return dict(zip(frame["model"], frame[column]))


def choose(app: AppTest, kind: str, key: str, value) -> AppTest:
    next(w for w in getattr(app, kind) if w.key == key).set_value(value)
    return good(app.run())


@pytest.mark.parametrize("name", TASKS)
def test_the_numbers_in_the_table_are_those_of_hsd_called_directly(root, name):
    make_checkpoints(root, name)
    app = good(opened(name, case=4, seed=2))
    problem = task(name)
    domain = domain_of(name)
    made = problem.realise([problem.sample(2, 4)], Ground(domain.mesh))
    yardstick = yardstick_of(domain, name)
    shown = {column: table(app, column) for column in ("Relative L²", "Gradient fidelity", "S_β0")}
    for label in LABELS:
        predictor = predictor_on(root / name / f"{label}.safetensors", domain)
        fields = predictor(domain, made.inputs[problem.inputs[0].name], made.coefficients)
        mean = score(yardstick, fields.nodes, prediction_form=fields.forms, truth_form=made.target).mean
        title = predictor.model.title if label != "hsd" else "HSD"
        assert shown["Relative L²"][title] == pytest.approx(mean["relative_l2"], rel=1e-5)
        assert shown["Gradient fidelity"][title] == pytest.approx(mean["gradient_fidelity"], rel=1e-5)
        assert shown["S_β0"][title] == pytest.approx(mean["s_beta0"], rel=1e-5)
        assert f"error {100 * mean['relative_l2']:.3g}" in scene(app)
    assert problem.equation in said(app) and "did not see it" in said(app) and "positive" in said(app)


def test_what_is_shown_changes_without_a_new_prediction(root, monkeypatch):
    for name in ("external_aerodynamics", "magnetostatics", QUICK):
        make_checkpoints(root, name)
        app = good(opened(name, case=1))

        def never(*_):
            raise AssertionError("predicted again")

        with monkeypatch.context() as patch:
            patch.setattr(comparison_answers, "predict", never)
            shows = {"pair": "A: HSD"}
            for what, words in shows.items():
                assert words in scene(choose(app, "button_group", "state:comparison.show", what))
            if name != QUICK:
                for quantity in ("magnitude", "component", *(["vorticity"] if name[0] == "e" else [])):
                    choose(app, "button_group", "state:comparison.quantity", quantity)
                    assert app.session_state["_app_state"].comparison.quantity == quantity
            if name == "magnetostatics":
                choose(app, "button_group", "state:comparison.show", "maps")
                assert "Position of the slice" in scene(choose(app, "button_group", "state:comparison.space", "free"))


def test_the_first_answer_on_a_mesh_names_its_stages_and_the_next_has_none(root, tmp_path, monkeypatch):
    make_checkpoints(root, QUICK)
    monkeypatch.setenv("HSD_CACHE", str(tmp_path / "cold"))
    choice = {"task": QUICK, "models": LABELS, "nodes": 500}
    state = changed(AppState(), {f"comparison.{path}": value for path, value in choice.items()})
    said_words: list[str] = []
    ready = comparison_answers.ready_of(state)
    found = comparison_answers.outcomes(ready, lambda share, words: said_words.append(words))
    assert [model.title for model in found] == ["HSD", "FNO-3D", "DeepONet"]
    for stage in ("geometry", "eigenpairs 5", "metrics", "prediction"):
        assert any(words.startswith(f"HSD, model 1 of 3: {stage}") for words in said_words), stage
    said_words.clear()
    again = comparison_answers.ready_of(state)
    assert list(comparison_answers.outcomes(again, lambda share, words: said_words.append(words))) == list(found)
    assert not said_words


@pytest.mark.parametrize("name", [QUICK, "vorticity_dynamics"])
def test_repeated_steps_have_a_player_and_curves(root, name):
    make_checkpoints(root, name)
    app = good(opened(name, compare="time", steps=2))
    assert "t = 2" in scene(app) and "Time" in scene(app)
    assert "applied to its own output 2 times" in said(app)


def test_next_and_previous_step_and_say_which_part_of_the_data_it_is(root):
    make_checkpoints(root, QUICK)
    codes = split_codes(20, 0)
    words = {PARTS["train"]: "trained on it", PARTS["validation"]: "validation", PARTS["test"]: "(test)"}
    app = good(opened(case=5))
    for i in (5, 6, 7):
        assert words[int(codes[i])] in said(app)
        good(press(app, "comparison:next"))
        assert app.query_params["case"] in (str(i + 1), [str(i + 1)])


def test_on_another_mesh_mesh_bound_models_are_refused_and_the_others_stay(root):
    make_checkpoints(root, QUICK, (*LABELS, "hsd-paper"))
    both = "~".join((*LABELS, "hsd-paper"))
    assert len(table(good(opened(models=both)), "Relative L²")) == 4
    app = good(opened(models=both, remesh=500))
    assert set(table(app, "Relative L²")) == {"HSD", "FNO-3D", "DeepONet"}
    assert len(app.warning) == 1
    assert "bound to the mesh" in app.warning[0].value and "as trained" in app.warning[0].value


def test_a_link_with_models_that_are_not_there_says_so_and_shows_the_others(root):
    make_checkpoints(root, QUICK)
    app = good(opened(models="hsd~hsdd~gnot"))
    assert set(table(app, "Relative L²")) == {"HSD"}
    unknown, missing = (warning.value for warning in app.warning)
    assert "no model 'hsdd'" in unknown and "GNOT" in missing and "Training" in missing
    app = good(press(app, "comparison:out:hsdd"))
    assert len(app.warning) == 1 and app.session_state["_app_state"].comparison.models == ("hsd", "gnot")


def test_without_checkpoints_the_truth_is_shown_with_a_way_to_train_one(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_CHECKPOINTS", str(tmp_path))
    app = good(opened("torus_helmholtz", remesh=300))
    assert "Truth u" in scene(app) and "Training" in said(app) and "pretrain --tasks torus_helmholtz" in said(app)


def damaged(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def of_other_task(path: Path) -> None:
    other = save(path.with_name("other.safetensors"), "torus_helmholtz", "fno3d")
    for suffix in (".safetensors", ".json"):
        path.with_suffix(suffix).write_bytes(other.with_suffix(suffix).read_bytes())


def of_other_physics(path: Path) -> None:
    beside = path.with_suffix(".json")
    beside.write_text(json.dumps(json.loads(beside.read_text()) | {"task_config": {"velocity": "rotation"}}))


def newer(path: Path) -> None:
    beside = path.with_suffix(".json")
    beside.write_text(json.dumps(json.loads(beside.read_text()) | {"version": 99}))


WRONG = {damaged: "copy the checkpoint again", of_other_task: "choose that task", newer: "update it"}
WRONG |= {of_other_physics: "velocity = rotation", lambda path: path.with_suffix(".json").unlink(): "copy both files"}


@pytest.mark.parametrize("change, words", WRONG.items())
def test_a_wrong_checkpoint_is_one_sentence_and_the_others_stay(tmp_path, monkeypatch, change, words):
    monkeypatch.setenv("HSD_CHECKPOINTS", str(make_checkpoints(tmp_path, QUICK)))
    assert len(table(good(opened()), "Relative L²")) == 3
    change(tmp_path / QUICK / "fno3d.safetensors")
    app = good(opened())
    assert set(table(app, "Relative L²")) == {"HSD", "DeepONet"}
    assert len(app.warning) == 1 and words in app.warning[0].value


def test_an_exchanged_checkpoint_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_CHECKPOINTS", str(make_checkpoints(tmp_path, QUICK)))
    before = table(good(opened()), "Relative L²")
    path = tmp_path / QUICK / "deeponet.safetensors"
    path.unlink()
    _other_weights(path)
    after = table(good(opened()), "Relative L²")
    assert after["HSD"] == before["HSD"] and after["DeepONet"] != before["DeepONet"]


def _other_weights(path: Path) -> None:
    made = save(path.with_name("deeponet2.safetensors"), QUICK, "deeponet")
    predictor = load(made)
    with torch.no_grad():
        predictor.model.bias += 1.0
    m = predictor.manifest
    save_checkpoint(
        path, predictor.model, normaliser_json=json.dumps(m["normaliser"]), domain_about=m["domain"], task=m["task"],
        data=m["data"], training=m["training"],
    )  # fmt: skip


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), MemoryError()])
def test_out_of_memory_in_one_model_is_a_sentence_and_the_others_stay(tmp_path, monkeypatch, error):
    def full(self, batch, domain):
        raise error

    monkeypatch.setenv("HSD_CHECKPOINTS", str(make_checkpoints(tmp_path, QUICK)))
    with monkeypatch.context() as patch:
        patch.setattr(FNO3D, "predict", full)
        app = good(opened())
        assert set(table(app, "Relative L²")) == {"HSD", "DeepONet"}
        assert "not enough memory" in app.warning[0].value and "FNO-3D" in app.warning[0].value
    assert len(table(good(opened()), "Relative L²")) == 3  # a failure is not kept


def test_a_run_of_ones_own_takes_part_and_a_deleted_one_is_a_sentence_with_a_way_on(root, tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_CACHE", str(tmp_path))
    make_checkpoints(root, QUICK)
    folder = tmp_path / "runs" / "mine"
    save(folder / "model.safetensors", QUICK, "fno3d")
    (folder / "run.json").write_text("{}")
    app = good(opened(models="hsd", runs="mine"))
    assert set(table(app, "Relative L²")) == {"HSD", "mine"}
    for file in folder.iterdir():
        file.unlink()
    app = good(opened(models="hsd", runs="mine"))
    assert set(table(app, "Relative L²")) == {"HSD"} and "no run mine" in app.warning[0].value
    assert "mine:" not in said(app) and ", mine" not in said(app)  # nothing is said of a model that takes no part
    app = good(press(app, "comparison:out:mine"))
    assert not app.warning and app.session_state["_app_state"].own_runs == ()


def brought(app: AppTest, *paths: Path) -> AppTest:
    """The page after these files were given to its field."""
    app.file_uploader[0].set_value([(p.name, p.read_bytes(), "application/octet-stream") for p in paths])
    return app.run()


def test_a_checkpoint_of_two_files_takes_part_on_its_own_task_and_is_found_by_its_link(root, tmp_path):
    make_checkpoints(root, QUICK)
    weights = save(tmp_path / "from_the_cluster.safetensors", "vorticity_dynamics", "fno3d")
    app = good(brought(opened(), weights, weights.with_suffix(".json")))
    state = app.session_state["_app_state"]
    assert state.comparison.task == "vorticity_dynamics" and len(state.own_runs) == 1
    name = "FNO-3D from_the_cluster"
    error = table(app, "Relative L²")[name]
    app = good(opened("vorticity_dynamics", runs=state.own_runs[0]))
    assert table(app, "Relative L²")[name] == error > 0
    shutil.rmtree(store.store_folder() / "checkpoints")
    make_checkpoints(root, "vorticity_dynamics")
    app = good(opened("vorticity_dynamics", runs=state.own_runs[0]))
    assert ["no longer kept" in warning.value for warning in app.warning] == [True]
    assert not good(press(app, f"comparison:out:{state.own_runs[0]}")).warning


def test_half_a_checkpoint_or_a_wrong_pair_is_one_sentence_and_changes_nothing(root, tmp_path):
    make_checkpoints(root, QUICK)
    one, other = (save(tmp_path / f"{label}.safetensors", QUICK, label) for label in ("fno3d", "deeponet"))
    app = brought(opened(), one)
    assert "two files" in app.error[0].value and "Got fno3d.safetensors" in app.error[0].value
    app = brought(opened(), one, other.with_suffix(".json"))
    assert "checksums differ" in app.error[0].value
    assert set(table(app, "Relative L²")) == {"HSD", "FNO-3D", "DeepONet"}
    assert app.session_state["_app_state"].own_runs == ()
    app = brought(app, one, one.with_suffix(".json"))  # a good pair leaves the field empty for the next
    assert len(app.session_state["_app_state"].own_runs) == 1 and not app.error
    assert len(brought(app, other, other.with_suffix(".json")).session_state["_app_state"].own_runs) == 2


def test_a_composed_sample_is_scored_and_carried_by_its_link(root):
    make_checkpoints(root, "external_aerodynamics")
    app = good(opened("external_aerodynamics", case=1))
    first = table(app, "Relative L²")
    app = good(press(app, "comparison:compose"))
    assert table(app, "Relative L²") == pytest.approx(first)  # the same record
    dial = next(s for s in app.slider if s.key == "comparison:dial:circulations:0")
    dial.set_value(dial.max)
    app = good(app.run())
    composed = app.session_state["_app_state"].comparison.composed
    record = comparison_compose.decode(task("external_aerodynamics"), store.get_json(composed))
    assert record["circulations"][0] == pytest.approx(dial.max)
    again = good(opened("external_aerodynamics", composed=composed))
    assert table(again, "Relative L²") == table(app, "Relative L²") != first
    assert "its truth was computed by the task's own solver" in said(again)


def test_sliders_show_the_chosen_source_and_each_changes_only_its_own_entry(root):
    make_checkpoints(root, QUICK)
    app = good(press(good(opened()), "comparison:compose"))
    app = good(press(app, "comparison:blank"))  # one source, chosen
    assert "1 source." in said(app) and composed_now(app)["strengths"].tolist() == [1.5]
    at = {s.label: s for s in app.slider}
    assert at["Strength"].value == 1.5 and at["Width σ"].value == pytest.approx(
        composed_now(app)["widths"][0], abs=0.005
    )
    before = composed_now(app)["widths"][0]
    at["Strength"].set_value(-1.0)
    after = composed_now(good(app.run()))
    assert after["strengths"].tolist() == [-1.0] and after["widths"][0] == before


def composed_now(app: AppTest) -> dict:
    return comparison_compose.decode(task(QUICK), store.get_json(app.session_state["_app_state"].comparison.composed))


@pytest.mark.parametrize("what", ["expired", "nan"])
def test_a_sample_that_is_gone_or_not_finite_is_one_sentence_and_a_way_back(root, what):
    make_checkpoints(root, QUICK)
    record = task(QUICK).sample(0, 0)
    record["strengths"][0] = np.nan
    key = "0" * 32 if what == "expired" else store.put_json(comparison_compose.encode(QUICK, record))
    app = opened(composed=key)
    assert not app.exception and len(app.error) == 1
    next(b for b in app.button if b.key == "comparison:drawn").click()
    assert len(table(good(app.run()), "Relative L²")) == 3


def test_two_visitors_at_once_get_the_numbers_that_each_has_alone(root):
    make_checkpoints(root, QUICK)

    def numbers(i: int) -> dict[str, float]:
        choice = {"comparison.task": QUICK, "comparison.models": LABELS, "comparison.sample": i}
        ready = comparison_answers.ready_of(changed(AppState(), choice))
        answers = comparison_answers.outcomes(ready)
        return {model.key: answer.scores["relative_l2"] for model, answer in answers.items()}

    alone = {i: numbers(i) for i in (5, 40)}
    comparison_answers._outcome.clear()
    found: dict[int, dict] = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: numbers(i)})) for i in alone]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == alone and len(alone[5]) == 3


def test_fields_and_table_are_exported_with_checksums(root, tmp_path):

    make_checkpoints(root, "ellipsoid_aerodynamics")
    state = changed(AppState(), {"comparison.task": "ellipsoid_aerodynamics", "comparison.models": LABELS})
    ready = comparison_answers.ready_of(state)
    found = comparison_answers.outcomes(ready)
    files = export.field_files(state, ready, found)
    with np.load(io.BytesIO(files["NPZ"][1]()), allow_pickle=False) as archive:
        about, scores = json.loads(str(archive["provenance"])), json.loads(str(archive["scores"]))
        truth, nodes = archive["truth_nodes"], archive["prediction_fno3d_nodes"]
        assert np.allclose(archive["error_fno3d"], np.linalg.norm(nodes - truth, axis=1))
    (tmp_path / "a.npz").write_bytes(files["NPZ"][1]())
    assert load_mesh(tmp_path / "a.npz").content_hash == ready.mesh.content_hash
    (tmp_path / "a.vtp").write_bytes(files["VTP"][1]())
    fields = load_mesh(tmp_path / "a.vtp").point_fields
    assert np.allclose(fields["prediction_hsd"], next(a.nodes for m, a in found.items() if m.key == "hsd"), atol=1e-5)
    for model, answer in found.items():
        assert about[f"weights {model.title}"] == comparison_models.manifest_of(model)["sha256"]
        assert scores[model.title]["relative_l2"] == pytest.approx(answer.scores["relative_l2"])


def test_the_lines_of_code_give_the_number_on_the_page(root, monkeypatch, capsys):

    make_checkpoints(root, "ellipsoid_aerodynamics")
    state = changed(AppState(), {"comparison.task": "ellipsoid_aerodynamics", "comparison.models": ("fno3d",)})
    ready = comparison_answers.ready_of(state)
    found = comparison_answers.outcomes(ready)
    monkeypatch.chdir(root / "ellipsoid_aerodynamics")
    lines = export.code(state, ready, found)
    assert "['fno3d.safetensors']" in lines
    exec(compile(lines, "code", "exec"), {})
    printed = capsys.readouterr().out.partition("'relative_l2': ")[2].partition(",")[0]
    assert float(printed) == pytest.approx(next(iter(found.values())).scores["relative_l2"], rel=1e-6)


def test_times_of_a_busy_machine_are_said_to_be_so_and_are_measured_again(root, monkeypatch):
    make_checkpoints(root, QUICK)
    loads = iter([3.0, 1.0, 1.0, 1.0, 1.0, 1.0])

    def measured(*_):
        return Cost(10.0, 7, 1.0, 100, "CPU", next(loads))

    comparison_answers.forget_costs()
    monkeypatch.setattr(comparison_answers, "cost", measured)
    app = page_of("model_comparison", 300, problem=QUICK, models="~".join(LABELS))
    app.session_state["comparison/tabs7"] = "Cost"
    good(app.run())
    assert "up to 3.0 times the computing time" in said(app)
    good(press(app, "comparison:measure"))
    assert "computing time" not in said(app, ("warning",))
    comparison_answers.forget_costs()


@pytest.mark.parametrize(("values", "shown"), [([0.5, None], "%.4g"), ([0.5, 9e-8], "%.3e"), ([0.0, 2.0], "%.4g")])
def test_columns_have_one_format(values, shown):
    assert number_format(values) == shown


def test_the_picture_says_which_models_were_trained_on_another_mesh(root):
    make_checkpoints(root, QUICK)
    assert "Trained on another mesh" not in scene(good(opened()))
    words = scene(good(opened(remesh=500)))
    assert "Trained on another mesh than this one of" in words and ": all on one of " in words
    assert "The mesh" not in words  # a resolution of the same shape


@pytest.mark.parametrize("remesh", [NODES, 500])
def test_the_table_of_the_test_set_says_of_which_mesh_it_is(root, monkeypatch, remesh):
    make_checkpoints(root, QUICK)
    monkeypatch.setattr(comparison_tables, "test_scores", lambda model: {"relative_l2": 0.125})
    app = opened(remesh=remesh)
    app.session_state["comparison/tabs7"] = "Test set"
    n, shown = domain_of(QUICK).n_vertices, task(QUICK).mesh(remesh).complex.n_vertices
    words = said(good(app.run()), ("caption",))
    assert f"on the mesh of training, {n} vertices" in words and set(table(app, "Relative L²").values()) == {0.125}
    assert (f"not on the one shown ({shown})" in words) == (remesh != NODES)


def test_the_picture_says_what_another_shape_may_make_wrong(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_CHECKPOINTS", str(make_checkpoints(tmp_path, QUICK)))
    for path in (tmp_path / QUICK).glob("*.json"):
        manifest = json.loads(path.read_text())
        manifest["domain"]["mesh_hash"] = "of another mesh"
        manifest["domain"]["placements"][0]["measure"] *= 4
        path.write_text(json.dumps(manifest))
    words = scene(good(opened()))
    assert "HSD, FNO-3D, DeepONet: The mesh" in words and "area is 0.25 times that of the mesh of training" in words
