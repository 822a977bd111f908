"""Harmonic Modes and Spectral Energy without a browser: every gallery shape, degree and condition; numbers of hsd."""

from __future__ import annotations

import io
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import hsd
from hsd.dec.preset_fields import preset_field
from hsd.hodge.spectral_energy import by_eigenvalue, spectral_energy, weyl_law
from hsd.mesh.primitives import GALLERY
from hsd.ui import modes_view, spectrum_view, store
from hsd.ui.export import figure_html, table_csv
from hsd.ui.state import AppState, changed
from tests.meshes import kinds_first

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("harmonic_modes", "spectral_energy")
SHAPES = [name for name in GALLERY if name not in ("car_notchback", "car_estate")]


@pytest.fixture(autouse=True)
def _private_store(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HSD_STORE", str(tmp_path_factory.getbasetemp() / "store"))


def opened(page: str, **parameters) -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages" / f"{page}.py"), default_timeout=60)
    for name, value in parameters.items():
        app.query_params[name] = str(value)
    return app.run()


def again(app: AppTest, **state) -> AppTest:
    """The same session with other values of its bound widgets, one run."""
    for path, value in state.items():
        widget = next(w for kind in (app.selectbox, app.radio) for w in kind if w.key == f"state:{path}")
        widget.set_value(value)
    return app.run()


def text(app: AppTest) -> str:
    return "\n".join(e.value for kind in (app.caption, app.info, app.markdown) for e in kind)


@cache
def basis_of(name: str, n: int, k: int, n_modes: int, bc: str = "absolute"):
    return hsd.lowest_modes(hsd.gallery(name, n), k, n_modes, bc=bc)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", kinds_first(SHAPES))
def test_no_exception_for_any_shape_degree_and_boundary_condition(page, name):
    app = opened(page, mesh=name, n=120, modes=8, k=0)
    dim, bounded = GALLERY[name].dim, hsd.gallery(name, 120).complex.has_boundary
    degrees = next(w for w in app.selectbox if w.key == "state:k")
    assert len(degrees.options) == dim + 1  # degrees that a mesh lacks are not offered
    for k in range(dim + 1):
        for bc in ("absolute", "relative"):
            again(app, k=k, bc=bc)
            assert not app.exception and not app.error, (k, bc, [e.value for e in app.error])
            assert "Δ = dδ + δd is positive" in text(app)
            if bounded:
                assert f"{bc.capitalize()} boundary condition" in text(app)


@pytest.mark.parametrize("page", PAGES)
def test_a_mesh_without_free_forms_is_one_sentence(page):
    key = store.put(b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "triangle.off")
    app = opened(page, file=key, k=0, bc="relative", modes=4)
    assert not app.exception and not app.error
    assert any("relative conditions leave no 0-form" in i.value for i in app.info)
    again(app, bc="absolute")
    assert not app.exception and not app.error and len(app.dataframe) >= 1


@pytest.mark.parametrize("page", PAGES)
def test_a_degree_beyond_the_dimension_becomes_one_that_exists(page):
    app = opened(page, mesh="disk", n=60, k=3, modes=4)
    assert not app.exception and not app.error


# ---- Harmonic Modes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 1, 2])
def test_table_of_modes_is_that_of_the_library(k):
    app = opened("harmonic_modes", mesh="torus", n=250, k=k, modes=12)
    basis = basis_of("torus", 250, k, 12)
    order = by_eigenvalue(basis)
    table = app.dataframe[0].value
    assert np.allclose(table["eigenvalue"], basis.eigenvalues[order], rtol=1e-12, atol=0)
    assert table["part"].tolist() == basis.part[order].tolist()
    assert np.allclose(table["residual"], basis.residuals[order])
    betti = hsd.report(basis.mesh)["betti_Q"][k]
    assert f"{betti} harmonic (b{'₀₁₂₃'[k]} = {betti})" in text(app)


def test_period_matrix_is_that_of_the_library():
    app = opened("harmonic_modes", mesh="double_torus", n=200, k=1, modes=4)
    app.session_state["modes/tabs"] = "Periods"
    app.run()
    table = app.dataframe[0].value
    shown = np.column_stack([table[f"γ{j}"] for j in range(1, 5)])
    assert np.allclose(shown, basis_of("double_torus", 200, 1, 4).solver.harmonic(1).periods)
    assert "Period matrix" in text(app)


def test_a_refused_star_is_a_sentence_and_the_galerkin_star_is_offered():
    app = opened("harmonic_modes", mesh="ball_with_cavity", n=250, k=1, star="diagonal", modes=4)
    assert not app.exception and len(app.error) == 1
    assert "not clearly positive" in app.error[0].value
    offer = next(b for b in app.button if "galerkin" in b.label)
    offer.click().run()
    assert not app.error and len(app.dataframe) == 1
    assert next(w for w in app.selectbox if w.key == "state:star").value == "galerkin"


def test_rotation_shows_residuals_or_says_that_a_mode_is_alone():
    app = opened("harmonic_modes", mesh="torus", n=250, k=1, modes=8, turn=1, mode=2)
    found = re.search(r"residuals at θ = (.*)\. Single", text(app))
    assert all(float(r.split(":")[1]) < 1e-8 for r in found.group(1).split(", "))
    alone = opened("harmonic_modes", mesh="double_torus", n=200, k=0, modes=6, turn=1, mode=3)
    assert "alone with its eigenvalue" in text(alone)


@pytest.mark.parametrize(("name", "k", "words"), [("flat_torus", 1, "has no positions"), ("klein", 2, "be oriented")])
def test_what_cannot_be_drawn_is_said_in_one_sentence_and_spectra_are_shown(name, k, words):
    app = opened("harmonic_modes", mesh=name, n=150, k=k, modes=6)
    said = [i.value for i in app.info if words in i.value]
    assert len(said) == 1 and said[0].count(". ") == 0
    assert len(app.dataframe[0].value) >= 6


def test_exports_hold_the_modes_and_where_they_come_from():
    basis = basis_of("torus", 250, 1, 12)
    assert modes_view.formats_for(basis.mesh, 1) == [".npz", ".vtp", ".vtu"]
    assert modes_view.formats_for(hsd.gallery("flat_torus", 100), 1) == [".npz"]
    with np.load(io.BytesIO(modes_view.exporter(basis, ".npz")())) as archive:
        assert np.array_equal(archive["modes"], basis.modes) and str(archive["mesh_hash"]) == basis.mesh.content_hash
    assert modes_view.exporter(basis, ".vtp")().startswith(b"<?xml")


def run_code(code: str) -> dict:
    """Names that lines of Python define."""
    names: dict = {}
    exec(compile(code, "page", "exec"), names)
    return names


@pytest.mark.parametrize(("k", "number"), [(0, 3), (1, 0), (2, 1)])
def test_the_lines_beside_the_picture_make_the_mode(k, number):
    state = changed(AppState(), {"mesh.n": 250, "k": k, "n_modes": 12})
    basis = basis_of("torus", 250, k, 12)
    names = run_code(modes_view.modes_code(state, basis.mesh, basis, number))
    assert np.array_equal(names["mode"], basis.modes[:, by_eigenvalue(basis)[number]])
    if k == 1:
        assert np.array_equal(names["periods"], basis.solver.harmonic(1).periods)
        assert names["vectors"].shape == (basis.mesh.complex.n_vertices, 3)


def test_the_command_beside_the_picture_is_understood():
    from hsd.cli import build_parser

    state = changed(AppState(), {"k": 2, "bc": "relative", "star": "unit", "modes.generators": True})
    args = build_parser().parse_args(modes_view.modes_command(state, hsd.gallery("torus", 100), 4).split()[3:])
    assert (args.degree, args.bc, args.star, args.mode, args.generators) == (2, "relative", "unit", 4, True)


def test_angles_find_their_step_and_pairs_stay_inside_a_block():
    assert [modes_view.angle_step(a) for a in (0.0, 45.0, 180.0, 272.0)] == [0, 9, 36, 18]
    blocks = modes_view.table_of(basis_of("torus", 250, 1, 12))[1]
    block = modes_view.block_with(blocks, 0)
    assert modes_view.pair_of(block, 0, -1) == (0, 1) and modes_view.pair_of(block, 1, 0) == (1, 0)
    assert modes_view.pair_of(None, 0, 1) is None


# ---- Spectral Energy -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "source"), [(0, "blob"), (1, "waves"), (1, "vortex_pair"), (2, "random")])
def test_energies_errors_and_parseval_are_those_of_the_library(k, source):
    app = opened("spectral_energy", mesh="torus", n=250, k=k, modes=12, source=source, seed=7, cut=5)
    basis = basis_of("torus", 250, k, 12)
    energy = spectral_energy(basis, preset_field(basis.mesh, k, source, 7))
    table = app.dataframe[1].value
    assert np.allclose(table["energy"], energy.energies, rtol=1e-10)
    assert np.allclose(table["error with modes up to this"], energy.errors[1:], rtol=1e-10)
    said = f"With 5 of 12 modes the relative error is {energy.errors[5]:.6g}; all of them reach {energy.floor:.6g}."
    assert said in text(app) and f"= {energy.parseval:.1e}." in text(app)
    for part in ("exact", "coexact"):
        law = weyl_law(basis.mesh, k, part)
        assert law is None or law.text in text(app)


def test_shares_of_parts_are_those_of_the_decomposition():
    app = opened("spectral_energy", mesh="torus", n=250, k=1, modes=12, source="waves", seed=7)
    basis = basis_of("torus", 250, 1, 12)
    energies = hsd.decompose(basis.mesh, preset_field(basis.mesh, 1, "waves", 7), 1).energies
    table = app.dataframe[0].value
    for part, share in zip(table["part"], table["share"]):
        assert np.isclose(share, energies[part] / energies["total"], rtol=1e-6, atol=1e-12)
    assert table["share"].sum() == pytest.approx(1.0)


def test_composed_field_of_the_decomposition_page_is_offered():
    app = opened("spectral_energy", mesh="torus", n=250, k=1, modes=8, source="composed")
    assert not app.exception and not app.error and "Parseval" in text(app)


def test_the_unit_star_has_no_weyl_law_and_says_so():
    app = opened("spectral_energy", mesh="torus", n=250, k=1, modes=8, star="unit")
    assert "Weyl's law does not apply" in text(app)


def test_the_lines_beside_the_plots_make_the_energies():
    state = changed(AppState(), {"mesh.n": 250, "n_modes": 12, "spectrum.source": "blob", "seed": 3})
    mesh = hsd.gallery("torus", 250)
    field = spectrum_view.field_of(state, mesh)
    names = run_code(spectrum_view.energy_code(state, mesh, field, 5))
    energy = spectral_energy(basis_of("torus", 250, 1, 12), field.omega)
    assert np.array_equal(names["energy"].coefficients, energy.coefficients)
    assert np.array_equal(names["truncated"], energy.reconstruct(5))


def test_the_archive_holds_field_coefficients_and_truncated_sum():
    state = changed(AppState(), {"mesh.n": 250, "n_modes": 12})
    basis = basis_of("torus", 250, 1, 12)
    field = spectrum_view.field_of(state, basis.mesh)
    energy = spectrum_view.energy_of(basis, field)
    with np.load(io.BytesIO(spectrum_view.energy_npz(energy, field, 5, {"seed": "0"}))) as archive:
        assert np.array_equal(archive["omega"], field.omega) and str(archive["seed"]) == "0"
        assert np.array_equal(archive["coefficients"], energy.coefficients)
        assert np.array_equal(archive["truncated"], energy.reconstruct(5)) and int(archive["kept"]) == 5


@pytest.mark.parametrize("tab", ["Export", "Code"])
def test_every_tab_of_the_modes_page_opens(tab):
    app = opened("harmonic_modes", mesh="annulus", n=120, k=1, modes=6)
    app.session_state["modes/tabs"] = tab
    app.run()
    assert not app.exception and not app.error
    if tab == "Code":
        assert "hsd.lowest_modes" in app.code[0].value and "python -m hsd figure" in app.code[1].value
    else:
        assert {"NPZ", "VTP", "VTU", "CSV", "HTML"} <= {b.label for b in app.get("download_button")}


def test_fields_of_the_mesh_file_are_offered():
    from dataclasses import replace

    mesh = hsd.gallery("torus", 100)
    height = mesh.points[:, 2]
    mesh = replace(mesh, point_fields={"height": height})
    state = changed(AppState(), {"k": 0, "spectrum.source": "file:height"})
    assert "file:height" in spectrum_view.sources(state, mesh)
    assert np.array_equal(spectrum_view.field_of(state, mesh).omega, height)


def test_tables_and_plots_are_exported_with_their_provenance():
    import plotly.graph_objects as go

    data = table_csv({"a": [1, 2], "b": ["x", "y"]}, {"mesh": "torus"}).decode()
    assert data.splitlines() == ["# mesh: torus", "a,b", "1,x", "2,y"]
    page = figure_html(go.Figure(), {"mesh": "torus"})
    assert b"mesh torus" in page and b"<script src=" not in page
