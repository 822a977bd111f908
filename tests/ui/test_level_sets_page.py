"""Level Sets without a browser: numbers of hsd, every task, the filter, the search, and pages without any model."""

from __future__ import annotations

import io

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from hsd.data.ground import Ground
from hsd.data.tasks import TASKS, task
from hsd.mesh.io import load_mesh
from hsd.metrics import LevelRule, Pair
from hsd.metrics.topology import betti0_counts, iou, s_beta0
from hsd.training.evaluate import yardstick_of
from hsd.training.predictor import load
from hsd.ui import level_sets_view, level_sets_work
from hsd.ui.level_sets_work import STEPS, level_field
from tests.ui.app_pages import good, page_of, press, said, scene
from tests.ui.checkpoints import NODES, make_checkpoints

pytestmark = pytest.mark.usefixtures("model_pages")
FAST = ("toroidal_transport", "torus_helmholtz", "magnetostatics")
"""One scalar, one flux on a surface, one in tetrahedra; the others with the large sizes."""
QUICK = "toroidal_transport"
LABELS = ("hsd", "fno3d", "deeponet")


def opened(name: str = QUICK, **parameters) -> AppTest:
    return good(page_of("level_sets", 120, **{"problem": name, "models": "~".join(LABELS), **parameters}).run())


def table(app: AppTest) -> dict[str, dict[str, float]]:
    frame = next(d.value for d in app.dataframe if "β0(t)" in d.value.columns)
    return {row["field"]: dict(row) for row in frame.to_dict("records")}


@pytest.mark.parametrize("name", [pytest.param(t, marks=() if t in FAST else pytest.mark.full) for t in TASKS])
def test_the_numbers_at_the_threshold_are_those_of_hsd_called_directly(root, name):
    make_checkpoints(root, name, ("hsd", "fno3d"))
    shown = table(opened(name, case=4, seed=2, level=40, least=1))
    problem, mesh = task(name), None
    for label in ("hsd", "fno3d"):
        predictor = load(root / name / f"{label}.safetensors", mesh)
        mesh = predictor.domain.mesh
        made = problem.realise([problem.sample(2, 4)], Ground(mesh))
        yardstick = yardstick_of(predictor.domain, name)
        nodes = predictor(predictor.domain, made.inputs[problem.inputs[0].name], made.coefficients).nodes
        truth = Pair.of_forms(yardstick, made.target, made.target).nodes_g
        pair = Pair.of_nodes(yardstick, nodes, truth, rule=LevelRule((0.4,), 0.01))
        nine = Pair.of_nodes(yardstick, nodes, truth, rule=LevelRule(min_persistence=0.01))
        p, g = betti0_counts(pair)
        row = shown["HSD" if label == "hsd" else predictor.model.title]
        assert (row["β0(t)"], shown["truth"]["β0(t)"]) == (p[0, 0], g[0, 0])
        assert row["IoU(t)"] == pytest.approx(iou(pair).item(), abs=1e-6)
        assert row["S(t)"] == pytest.approx(s_beta0(pair).item(), abs=1e-6)
        assert row["S_β0"] == pytest.approx(s_beta0(nine).item(), abs=1e-6)
        assert row["IoU"] == pytest.approx(iou(nine).item(), abs=1e-6)


def test_the_nine_levels_of_the_metrics_are_among_the_steps_of_the_slider():
    assert set(LevelRule().fractions) <= set(STEPS)
    problem = task(QUICK)
    ground = Ground(problem.mesh(NODES))
    from hsd.metrics.yardstick import Yardstick

    yardstick = Yardstick.of(ground, 0, "scalar")
    rng = np.random.default_rng(0)
    truth, other = rng.standard_normal((2, ground.mesh.complex.n_vertices, 1))
    true, field = (level_field(yardstick, x, truth, 0.0) for x in (truth, other))
    at = [round(100 * q) for q in LevelRule().fractions]
    assert level_sets_work.likeness(field.counts, true.counts)[at].mean() == pytest.approx(field.s_beta0)
    assert field.overlaps[at].mean() == pytest.approx(field.iou)
    assert (true.overlaps == 1).all() and true.s_beta0 == true.iou == 1
    rows = level_sets_work.component_rows(field, true.values.min(), ground.vertex_measure, 0.0, [""] * 10_000)
    assert sum(rows["share of the domain"]) == pytest.approx(
        (ground.vertex_measure[other[:, 0] >= truth.min()]).sum() / ground.measure
    )


def test_the_filter_lowers_counts_and_a_step_moves_the_threshold(root):
    make_checkpoints(root, QUICK)
    app = opened(level=30, case=0)
    before = table(app)
    next(s for s in app.slider if s.key == "state:levels.least").set_value(30)
    after = table(good(app.run()))
    assert all(after[name]["β0(t)"] <= before[name]["β0(t)"] for name in before)
    assert any(after[name]["β0(t)"] < before[name]["β0(t)"] for name in before)


def test_without_any_checkpoint_the_truth_is_shown_with_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_CHECKPOINTS", str(tmp_path))
    app = opened(remesh=400)
    assert "No trained model of Transport on a torus is here" in said(app)
    assert list(table(app)) == ["truth"] and not [b for b in app.button if b.key == "levels:differ"]


def test_find_a_disagreement_jumps_to_a_sample_and_threshold_where_counts_differ(root):
    make_checkpoints(root, QUICK)
    app = good(press(opened(), "levels:differ"))
    words = said(app)
    assert "4 samples" in words  # the test part of 20
    if "Shown: case 1" in words:
        rows = table(app)
        assert len({row["β0(t)"] for title, row in rows.items() if title != "truth"}) > 1
    cases = [d.value for d in app.dataframe if "threshold, %" in d.value.columns]
    for frame in cases:
        assert set(frame["sample"]) <= set(held_out(root))
    assert "kept on disk" in words


def held_out(root) -> list[int]:
    from hsd.experiments.over_samples import held_out_numbers
    from hsd.training.checkpoint import read_manifest

    return held_out_numbers(read_manifest(root / QUICK / "hsd.safetensors")["data"])[1].tolist()


def test_the_figure_of_the_paper_is_shown_or_its_absence_is_said(root):
    make_checkpoints(root, QUICK)
    app = opened()
    assert "token" not in scene(app)
    app = good(press(app, "levels:agree"))
    words = said(app)
    if "have none on which truth and HSD agree" in words:
        assert "Shown: case" not in words
    else:
        rows = table(app)
        assert "token" in scene(app)  # the camera turns to the components
        assert rows["HSD"]["β0(t)"] == rows["truth"]["β0(t)"]
        assert any(row["β0(t)"] != rows["truth"]["β0(t)"] for row in rows.values())


@pytest.mark.full
def test_the_shipped_models_show_what_the_figure_of_the_paper_shows(monkeypatch):
    """Truth and HSD have one number of components at half the range where a baseline has another."""
    monkeypatch.delenv("HSD_CHECKPOINTS")
    app = good(page_of("level_sets", 600, problem=QUICK, models="hsd~fno3d~geo_fno~deeponet", level=20).run())
    rows = table(good(press(app, "levels:agree")))
    assert "At 50 %" in said(app) and "Shown: case 1" in said(app)
    assert rows["HSD"]["β0(t)"] == rows["truth"]["β0(t)"]
    assert any(row["β0(t)"] != rows["truth"]["β0(t)"] for row in rows.values())


@pytest.mark.parametrize("tab", ["Test set", "Components", "Data and export", "Code"])
def test_every_tab_opens(root, tab):
    make_checkpoints(root, QUICK)
    app = page_of("level_sets", 120, problem=QUICK)
    app.session_state["levels/tabs"] = tab
    good(app.run())
    if tab == "Code":
        assert "betti0_counts(pair)" in app.code[0].value
        exec(compile(app.code[0].value, "code", "exec"), {})
    if tab == "Components":
        frame = next(d.value for d in app.dataframe if "share of the domain" in d.value.columns)
        assert len(frame) == table(app)["truth"]["β0(t)"]


@pytest.mark.parametrize("name, kind", [(QUICK, "VTP"), (QUICK, "VTU"), ("magnetostatics", "VTU")])
def test_files_hold_fields_components_and_curves(root, tmp_path, name, kind):
    make_checkpoints(root, name, ("hsd",))
    from hsd.ui import comparison_answers as answers
    from hsd.ui.state import AppState, changed

    state = changed(AppState(), {"comparison.task": name, "comparison.models": ("hsd",), "levels.step": 20})
    ready = answers.ready_of(state)
    levels = level_sets_view.levels_of(state, ready, answers.outcomes(ready))
    files = level_sets_view.level_files(state, ready, levels, {"a": "b"})
    assert list(files) == (["NPZ", "VTP", "VTU"] if ready.mesh.dim == 2 else ["NPZ", "VTU"])
    path = tmp_path / f"a.{kind.lower()}"
    path.write_bytes(files[kind][1]())
    fields = load_mesh(path).point_fields
    with np.load(io.BytesIO(files["NPZ"][1]())) as file:
        for who in ("truth", "hsd"):
            inside = file[f"field_{who}"] >= file["threshold"]
            assert len(set(file[f"component_{who}"][inside].tolist())) == file[f"betti0_{who}"][20]
            assert (file[f"component_{who}"][~inside] == -1).all()
            assert np.allclose(fields[f"field_{who}"], file[f"field_{who}"])
            assert np.array_equal(fields[f"component_{who}"], file[f"component_{who}"])
