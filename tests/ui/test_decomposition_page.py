"""The page on Hodge decompositions without a browser: every gallery shape, numbers as from Python, edits, uploads."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import hsd
from hsd.hodge.compose import Composer, Composition, Point
from hsd.hodge.decomposition import circulations
from hsd.hodge.presets import preset
from hsd.mesh.primitives import GALLERY
from hsd.ui import store
from tests.meshes import kinds_first

PAGE = str(Path(__file__).resolve().parents[2] / "pages" / "hodge_decomposition.py")
VIEWS = ("parts", "potentials", "heat", "zeros", "checks")


@pytest.fixture(autouse=True)
def _private_store(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HSD_STORE", str(tmp_path_factory.getbasetemp() / "store"))


def opened(**parameters) -> AppTest:
    app = AppTest.from_file(PAGE, default_timeout=60)
    for name, value in parameters.items():
        app.query_params[name] = str(value)
    return app.run()


def parameter(app: AppTest, name: str) -> str:
    value = app.query_params[name]
    return value[0] if isinstance(value, list) else value


def table(app: AppTest, column: str) -> dict:
    """The table that has a column."""
    return next(t.value for t in app.dataframe if column in t.value.columns)


def text(app: AppTest) -> str:
    return "\n".join(e.value for kind in (app.markdown, app.caption, app.info, app.warning, app.error) for e in kind)


def said_well(app: AppTest) -> None:
    assert not app.exception, app.exception[0].message
    assert not app.error, app.error[0].value


def composed(mesh, k: int, n: int, *points: Point, circulations=()) -> str:
    return store.put_json(Composition(k, mesh.content_hash, points, tuple(circulations)).to_record())


@pytest.mark.parametrize("name", kinds_first(GALLERY))
def test_every_gallery_shape_degree_and_condition_is_shown(name):
    entry, turn = GALLERY[name], 0
    for k in range(entry.dim + 1):
        for bc, numbers in (("absolute", entry.betti), ("relative", entry.betti_relative)):
            app = opened(mesh=name, n=60, k=k, bc=bc, show=VIEWS[turn % 5], broken="wrong star" if turn % 2 else "")
            turn += 1
            said_well(app)
            assert f"{bc} b({'M' if bc == 'absolute' else 'M, ∂M'}) = ({', '.join(map(str, numbers))})" in text(app)
            assert "Laplacian" in text(app) and "positive" in text(app)


@pytest.mark.parametrize("show", VIEWS)
@pytest.mark.parametrize("mesh", ["double_torus", "solid_torus", "disk_three_holes", "klein"])
def test_every_view_of_one_forms(mesh, show):
    app = opened(mesh=mesh, n=150, show=show)
    said_well(app)
    if show == "zeros" and mesh == "solid_torus":
        assert any("Indices" in i.value or "index" in i.value for i in app.info)


@pytest.mark.parametrize("bc", ["absolute", "relative"])
@pytest.mark.parametrize("name,k", [("double_torus", 1), ("annulus", 1), ("ball_with_cavity", 2), ("torus", 0)])
def test_numbers_equal_those_of_the_library(name, k, bc):
    app = opened(mesh=name, n=150, k=k, bc=bc)
    mesh = hsd.gallery(name, 150)
    solver = hsd.HodgeSolver(mesh, bc=bc)
    omega = Composer(solver).form(preset("mixture", mesh, k, solver.betti[k]))
    parts = hsd.Decomposer(mesh, k, solver=solver)(omega)
    energies = table(app, "‖·‖²")
    np.testing.assert_allclose(energies["‖·‖²"], list(parts.energies.values()), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(table(app, "dα").to_numpy()[:, 1:].astype(float), parts.inner, atol=1e-12)
    if len(parts.periods):
        np.testing.assert_allclose(table(app, "∮ γ")["∮ γ"], parts.periods, rtol=1e-12, atol=1e-14)
        loops = table(app, "∮ δβ")
        np.testing.assert_allclose(loops["∮ δβ"], circulations(solver, k, parts.coexact), atol=1e-12)
        np.testing.assert_allclose(loops["∮ dα"], 0.0, atol=1e-10)
    assert f"{parts.energies['total']:.6g}" in text(app)


def test_a_dialled_circulation_is_read_back_on_the_double_torus():
    app = opened(mesh="double_torus", n=200, preset="dipole")
    for i, value in ((2, 1.35), (0, -0.6)):
        app.slider(key=f"compose/dial{i}").set_value(value).run()
    said_well(app)
    np.testing.assert_allclose(table(app, "∮ γ")["∮ γ"], [-0.6, 0.0, 1.35, 0.0], atol=1e-9)
    again = opened(**{name: parameter(app, name) for name in app.query_params})
    np.testing.assert_allclose(table(again, "∮ γ")["∮ γ"], [-0.6, 0.0, 1.35, 0.0], atol=1e-9)
    app.button(key="compose/undo").click().run()
    np.testing.assert_allclose(table(app, "∮ γ")["∮ γ"], [0.0, 0.0, 1.35, 0.0], atol=1e-9)


@pytest.mark.parametrize("name", ["sphere", "torus"])
def test_a_vortex_entered_as_node_vectors_is_coexact_to_one_percent(name):
    mesh = hsd.gallery(name, 3000)
    key = composed(mesh, 1, 0, Point("p1", "vortex", 700, (0.2, 0.3, 0.5)))
    app = opened(mesh=name, n=3000, field=key, entry="vectors")
    said_well(app)
    shares = dict(zip(table(app, "share")["part"], table(app, "share")["share"]))
    assert 0.99 < shares["coexact δβ"] < 1.0


def test_a_chosen_point_follows_its_sliders_and_can_be_deleted():
    mesh = hsd.gallery("sphere", 200)
    key = composed(mesh, 1, 0, Point("p1", "source", 5, (0.2, 0.3, 0.5)), Point("p2", "sink", 90, (0.2, 0.3, 0.5)))
    app = opened(mesh="sphere", n=200, field=key, point="p2")
    before = table(app, "share")["‖·‖²"].to_numpy()
    app.slider(key="state:decomposition.strength").set_value(2.0).run()
    said_well(app)
    made = Composition.from_record(store.get_json(parameter(app, "field")))
    assert [p.strength for p in made.points] == [1.0, 2.0]
    assert table(app, "share")["‖·‖²"][0] > before[0]
    app.button(key="compose/delete").click().run()
    said_well(app)
    made = Composition.from_record(store.get_json(parameter(app, "field")))
    assert [p.id for p in made.points] == ["p1"]


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv"])
def test_uploaded_fields_are_decomposed_as_from_python(suffix):
    mesh = hsd.gallery("torus", 200)
    omega = np.random.default_rng(0).standard_normal(mesh.complex.n(1))
    stream = io.BytesIO()
    if suffix == ".npy":
        np.save(stream, omega)
    elif suffix == ".npz":
        np.savez(stream, omega=omega)
    else:
        rows = np.column_stack([mesh.complex.simplices(1), omega])
        stream.write(b"tail,head,value\n")
        np.savetxt(stream, rows, delimiter=",", fmt=["%d", "%d", "%.17g"])
    app = opened(mesh="torus", n=200)
    app.file_uploader[0].set_value((f"field{suffix}", stream.getvalue(), "application/octet-stream")).run()
    said_well(app)
    expected = hsd.decompose(mesh, omega, 1)
    np.testing.assert_allclose(table(app, "share")["‖·‖²"], list(expected.energies.values()), rtol=1e-12)


def test_a_field_that_does_not_fit_is_refused_and_the_old_one_stays():
    app = opened(mesh="torus", n=200)
    before = table(app, "share")["‖·‖²"].to_numpy()
    stream = io.BytesIO()
    np.save(stream, np.zeros(7))
    app.file_uploader[0].set_value(("seven.npy", stream.getvalue(), "application/octet-stream")).run()
    assert not app.exception
    assert any("seven.npy has shape (7,)" in w.value for w in app.warning)
    np.testing.assert_array_equal(table(app, "share")["‖·‖²"], before)


def test_an_expired_field_gives_one_sentence_and_the_preset():
    app = opened(mesh="torus", n=200, field="0" * 32)
    assert not app.exception and any("no longer kept" in w.value for w in app.warning)
    assert len(table(app, "share")) == 4


@pytest.mark.parametrize("broken,fails", [("wrong star", ["δ δβ", "δγ"]), ("flipped sign", ["d dα", "dγ"])])
def test_breaking_an_operator_shows_what_fails_and_why(broken, fails):
    app = opened(mesh="double_torus", n=200, show="checks", broken=broken)
    said_well(app)
    warning = next(w.value for w in app.warning if w.value.startswith("Fails"))
    assert all(name in warning for name in fails)
    red = [m.value for m in app.markdown if m.value.startswith(":red-badge")]
    assert {name for name in ("d dα", "δ δβ", "dγ", "δγ") if any(f"{name} = 0" in r for r in red)} == set(fails)
    whole = opened(mesh="double_torus", n=200, show="checks")
    assert not [m for m in whole.markdown if m.value.startswith(":red-badge")]


@pytest.mark.parametrize("name", ["sphere", "double_torus", "disk_three_holes", "klein", "rp2", "moebius"])
def test_zeros_sum_to_the_euler_characteristic(name):
    app = opened(mesh=name, n=300, show="zeros")
    said_well(app)
    sums = table(app, "Σ index")
    assert (sums["sum"] == GALLERY[name].euler_characteristic).all() and (sums["sum"] == sums["χ"]).all()


def test_gamma_stays_in_the_heat_flow():
    app = opened(mesh="torus", n=300, show="heat", t=1.0)
    said_well(app)
    rows = table(app, "t / L²")
    assert rows["harmonic γ"].nunique() == 1
    assert (np.diff(rows["exact dα"]) < 0).all() and (np.diff(rows["coexact δβ"]) < 0).all()


def test_the_random_field_depends_on_the_seed_alone():
    first, second, other = (opened(mesh="torus", n=200, preset="random", seed=s) for s in (3, 3, 4))
    energies = [table(app, "share")["‖·‖²"].to_numpy() for app in (first, second, other)]
    np.testing.assert_array_equal(energies[0], energies[1])
    assert not np.allclose(energies[0], energies[2])


def test_changing_the_degree_keeps_the_points():
    mesh = hsd.gallery("torus", 200)
    key = composed(mesh, 1, 0, Point("p1", "source", 5, (0.2, 0.3, 0.5)), circulations=(1.0, 2.0))
    app = opened(mesh="torus", n=200, field=key, k=0)
    said_well(app)
    made = replace(Composition.from_record(store.get_json(key)), k=0, circulations=())
    solver = hsd.HodgeSolver(mesh)
    parts = hsd.Decomposer(mesh, 0, solver=solver)(Composer(solver).form(made))
    np.testing.assert_allclose(table(app, "share")["‖·‖²"], list(parts.energies.values()), rtol=1e-12, atol=1e-15)


def test_loop_and_view_come_back_from_the_link():
    app = opened(mesh="double_torus", n=200, loop=2, show="parts", tool="vortex", wd=0.25)
    said_well(app)
    for name, value in {"loop": "2", "tool": "vortex", "wd": "0.25"}.items():
        assert parameter(app, name) == value
