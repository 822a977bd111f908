"""Spectral Energy of models without a browser: numbers of hsd, Parseval, every task, the test set."""

from __future__ import annotations

import io

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from hsd.data.ground import Ground
from hsd.data.tasks import TASKS, task
from hsd.experiments.over_samples import Bench
from hsd.mesh.io import load_mesh
from hsd.metrics import Pair
from hsd.training.predictor import load
from hsd.ui import comparison_answers as answers
from hsd.ui import spectra_view
from hsd.ui.spectra_work import Frame, band_of, cut_rows, spectrum_of
from hsd.ui.state import AppState, changed
from tests.ui.app_pages import good, page_of, press, said
from tests.ui.checkpoints import make_checkpoints

pytestmark = pytest.mark.usefixtures("model_pages")
LABELS = ("hsd", "fno3d")
FAST = ("toroidal_transport", "torus_helmholtz", "magnetostatics")
"""One scalar, one flux on a surface, one in tetrahedra; the others with the large sizes."""
QUICK = "torus_helmholtz"


def opened(name: str = QUICK, **parameters) -> AppTest:
    given = {"of": "models", "problem": name, "models": "~".join(LABELS), **parameters}
    return good(page_of("spectral_energy", 120, **given).run())


def table(app: AppTest, column: str):
    return next(d.value for d in app.dataframe if column in d.value.columns)


@pytest.mark.parametrize("name", [pytest.param(t, marks=() if t in FAST else pytest.mark.full) for t in TASKS])
def test_where_the_error_lies_is_that_of_hsd_called_directly(root, name):
    make_checkpoints(root, name, LABELS)
    frame = table(opened(name, case=4, seed=2, kept=20), "in the 20 kept")
    problem = task(name)
    predictor = load(root / name / "fno3d.safetensors")
    bench = Bench.of(problem, Ground(predictor.domain.mesh))
    made = problem.realise([problem.sample(2, 4)], bench.ground)
    nodes = predictor(predictor.domain, made.inputs[problem.inputs[0].name], made.coefficients).nodes
    pair = Pair.of_nodes(bench.yardstick, nodes, Pair.of_forms(bench.yardstick, made.target, made.target).nodes_g)
    form, error = pair.forms_g.numpy()[0], pair.form_error.numpy()[0]
    star, order = bench.ground.dec.star(bench.basis.k), np.argsort(bench.basis.eigenvalues, kind="stable")
    size = np.sqrt(form @ star @ form)
    c = (bench.basis.star_modes.T @ error)[order]
    row = frame[frame["model"] == predictor.model.title].iloc[0]
    assert row["error"] == pytest.approx(np.sqrt(error @ star @ error) / size, rel=1e-5)
    assert row["in the 20 kept"] == pytest.approx(np.linalg.norm(c[:20]) / size, rel=1e-5)
    for part in set(bench.basis.part.tolist()):
        mine = bench.basis.part[order] == part
        assert row[f"{part} modes"] == pytest.approx(np.linalg.norm(c[mine]) / size, rel=1e-5, abs=1e-9)
    squares = row["in the 20 kept"] ** 2 + row["beyond, in the basis"] ** 2 + row["outside the basis"] ** 2
    assert squares == pytest.approx(row["error"] ** 2, rel=1e-5)


def test_a_cut_moves_error_between_columns_and_never_changes_it():
    problem = task(QUICK)
    bench = Bench.of(problem, Ground(problem.mesh(200)))
    rng = np.random.default_rng(0)
    nodes, truth = rng.standard_normal((2, bench.yardstick.n_vertices, 3))
    frame, one = Frame.of(bench), spectrum_of(bench, nodes, truth)
    rows = [cut_rows(frame, one, {"a": one}, m) for m in (1, 40, len(frame.columns))]
    names = [next(name for name in row if name.endswith("kept")) for row in rows]
    kept = [row[name][0] for row, name in zip(rows, names)]
    assert kept == sorted(kept) and rows[-1]["beyond, in the basis"][0] == 0
    assert len({round(row["error"][0], 12) for row in rows}) == 1
    assert np.isclose(frame.summed(one.energies).sum(), one.energies.sum())


def test_the_archive_and_the_truncated_scene_hold_the_coefficients(root):
    make_checkpoints(root, QUICK, LABELS)
    state = changed(AppState(), {"comparison.task": QUICK, "comparison.models": LABELS, "spectrum.kept": 9})
    ready = answers.ready_of(state)
    spectra = spectra_view.spectra_of(ready, answers.outcomes(ready))
    files = spectra_view.spectra_files(state, ready, spectra, answers.outcomes(ready), {"a": "b"})
    with np.load(io.BytesIO(files["NPZ"][1]())) as file:
        assert file["coefficients_hsd"] - file["truth"] == pytest.approx(file["errors_hsd"], abs=1e-9)
    scene = spectra_view.scene_of(state, ready, spectra)
    assert len(scene.panels) == 1 + 2 * len(LABELS)
    weights = scene.panels[0].colour.mix.weights_at({"kept": 9})
    assert np.allclose(weights[:9], spectra.truth.coefficients[:9]) and not weights[9:].any()
    top = np.linalg.norm(scene.panels[0].colour.mix.columns.values @ spectra.truth.coefficients, axis=1).max()
    assert scene.panels[0].colour.limits == pytest.approx((0.0, top))


def test_mesh_files_hold_whole_fields_and_those_cut_and_all_modes_give_the_projection(root, tmp_path):
    make_checkpoints(root, QUICK, LABELS)
    state = changed(AppState(), {"comparison.task": QUICK, "comparison.models": LABELS})
    ready = answers.ready_of(state)
    found = answers.outcomes(ready)
    spectra = spectra_view.spectra_of(ready, found)
    target, basis, fields = ready.sample.target, spectra_view.held_out.bench_of(ready).basis, {}
    for kept in (9, len(spectra.frame.columns)):
        cut = changed(state, {"spectrum.kept": kept})
        (tmp_path / "a.vtp").write_bytes(spectra_view.spectra_files(cut, ready, spectra, found, {})["VTP"][1]())
        fields[kept] = load_mesh(tmp_path / "a.vtp").point_fields
    low, whole = fields.values()
    nodes = ready.ground.node_values(1, target.reading, target.values)[0]
    form = basis.modes @ (basis.star_modes.T @ (ready.ground.flat_matrix(1, target.reading) @ nodes.ravel()))
    assert np.allclose(whole["truth"], nodes, atol=1e-5)
    for one in fields.values():
        wrong = one["kept_prediction_hsd"] - one["kept_truth"]
        assert np.allclose(one["kept_error_hsd"], wrong, atol=1e-5 * np.abs(wrong).max())
    expected = ready.ground.node_values(1, target.reading, form[None])[0]
    size = np.abs(expected).max()
    assert np.abs(whole["kept_truth"] - expected).max() < 1e-5 * size
    assert np.abs(low["kept_truth"] - whole["kept_truth"]).max() > 0.01 * size


def test_the_figure_over_the_test_set_has_medians_and_quartiles_of_the_library(root):
    make_checkpoints(root, QUICK, LABELS)
    app = good(press(opened(), "spectra/run"))
    assert "kept on disk" in said(app)
    frame = table(app, "truth median")
    state = changed(AppState(), {"comparison.task": QUICK, "comparison.models": LABELS})
    ready = answers.ready_of(state)
    from hsd.experiments.over_samples import held_out_numbers
    from hsd.ui.comparison_models import manifest_of
    from hsd.ui.held_out import bench_of

    bench = bench_of(ready)
    seed, numbers = held_out_numbers(manifest_of(ready.models[0])["data"])
    made = ready.task.realise([ready.task.sample(seed, int(i)) for i in numbers], ready.ground)
    nodes = Pair.of_forms(bench.yardstick, made.target, made.target).nodes_g
    c = bench.coefficients(Pair.of_nodes(bench.yardstick, nodes, nodes).forms_g.numpy())
    blocks = Frame.of(bench).blocks
    energy = c[:, Frame.of(bench).columns] ** 2
    expected = np.median(np.stack([energy[:, b].sum(axis=1) for b in blocks]), axis=1)
    assert np.allclose(frame["truth median"], expected, rtol=1e-6)
    assert (frame["truth 25 %"] <= frame["truth median"]).all() and (frame["truth median"] <= frame["truth 75 %"]).all()
    assert not [b for b in app.button if b.key == "spectra/run"]  # it is there


def test_samples_that_are_not_finite_are_left_out_of_the_bands():
    problem = task(QUICK)
    bench = Bench.of(problem, Ground(problem.mesh(200)))
    from hsd.experiments.over_samples import Contender, over_samples

    def half(source, coefficients):
        out = np.ones((len(source), bench.yardstick.n_vertices, 3))
        out[0] = np.nan
        return out

    _, found = over_samples(bench, 0, [0, 1, 2], {"half": Contender("half", half)})
    band = band_of(Frame.of(bench), found["half"])
    assert np.isfinite(band.middle).all() and np.allclose(band.low, band.high)


def test_without_any_checkpoint_the_truths_spectrum_is_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_CHECKPOINTS", str(tmp_path))
    app = opened(remesh=300)
    assert "No trained model of Helmholtz on the torus is here" in said(app)


def test_the_lines_of_code_run(root):
    make_checkpoints(root, QUICK, LABELS)
    app = page_of("spectral_energy", 120, of="models", problem=QUICK)
    app.session_state["spectra/tabs"] = "Code"
    exec(compile(good(app.run()).code[0].value, "code", "exec"), {})
