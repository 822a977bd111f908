"""``python -m hsd figure``: the picture is that of the scene asked for; bad input is one sentence, before long work."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from PIL import Image

import hsd
from hsd import cli
from hsd.cli import build_parser
from hsd.cli_figure import PRESETS, scene_of
from hsd.hodge.compose import Composer
from hsd.hodge.named_field import NAMES
from hsd.hodge.presets import preset
from hsd.hodge.spectral_energy import by_eigenvalue, spectral_energy
from hsd.linalg import silent
from hsd.viz.build import form_columns


@pytest.fixture(autouse=True)
def _private_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_CACHE", str(tmp_path / "cache"))


def arguments(*words):
    return build_parser().parse_args(["figure", *map(str, words)])


def test_a_mode_is_written_as_png(tmp_path, capsys):
    out = tmp_path / "mode.png"
    words = [
        "figure",
        "gallery:torus:200",
        "--mode",
        "1",
        "--n",
        "6",
        "--generators",
        "--size",
        "400x300",
        "--out",
        out,
    ]
    assert cli.main([str(w) for w in words]) == 0
    assert "400 × 300" in capsys.readouterr().out
    image = Image.open(io.BytesIO(out.read_bytes()))
    assert image.size == (400, 300) and len(image.convert("RGB").getcolors(10**6)) > 500
    assert list(tmp_path.glob("*.part")) == []


@pytest.mark.parametrize("k", [0, 1, 2])
def test_the_scene_shows_the_mode_of_the_library(k):
    mesh = hsd.gallery("torus", 200)
    args = arguments("gallery:torus:200", "--degree", k, "--mode", 2, "--n", 6, "--out", "x.png")
    scene = scene_of(args, mesh, silent)
    basis = hsd.lowest_modes(mesh, k, 6)
    from hsd.viz.build import form_columns

    mode = basis.modes[:, by_eigenvalue(basis)[[2]]]
    mix = scene.panels[0].colour.mix
    assert np.array_equal(mix.columns.values @ mix.weights_at({"mode": 2}), form_columns(mesh, k, mode).values[..., 0])
    assert scene.controls[0].value == 2 and f"{basis.eigenvalues[by_eigenvalue(basis)[2]]:.5g}" in scene.caption


def test_a_field_and_its_truncation_have_the_error_of_the_library():
    mesh = hsd.gallery("torus", 200)
    words = ["gallery:torus:200", "--field", "preset:waves:3", "--keep", 4, "--n", 8, "--out", "x.png"]
    scene = scene_of(arguments(*words), mesh, silent)
    from hsd.dec.preset_fields import preset_field

    energy = spectral_energy(hsd.lowest_modes(mesh, 1, 8), preset_field(mesh, 1, "waves", 3))
    assert len(scene.panels) == 3 and f"4 modes kept, relative error {energy.errors[4]:.4g}." in scene.caption
    alone = scene_of(arguments(*words[:3], "--out", "x.png"), mesh, silent)
    assert len(alone.panels) == 1 and alone.caption == "Field: waves, seed 3."


def values_of(panel, controls):
    mix = panel.colour.mix
    return mix.columns.values @ mix.weights_at(controls)


@pytest.mark.parametrize("name, k", [("double_torus", 1), ("annulus", 0), ("sphere", 2), ("ball", 1), ("ball", 2)])
def test_the_four_panels_are_those_of_the_page(name, k):
    mesh = hsd.gallery(name, 300)
    scene = scene_of(arguments(f"gallery:{name}:300", "--degree", k, "--parts", "--out", "x.png"), mesh, silent)
    solver = hsd.HodgeSolver(mesh)
    omega = Composer(solver).form(preset("mixture", mesh, k, solver.betti[k]))
    parts = hsd.Decomposer(mesh, k, solver=solver)(omega)
    assert len(scene.panels) == 4
    controls = {c.id: c.value for c in scene.controls}
    for panel, values in zip(scene.panels, (omega, parts.exact, parts.coexact, parts.harmonic), strict=True):
        wanted = form_columns(mesh, k, values[:, None]).values[..., 0]
        size = np.abs(form_columns(mesh, k, omega[:, None]).values).max()
        assert np.abs(values_of(panel, controls) - wanted).max() < 1e-6 * size
        assert len(panel.markers) == 4  # the placed points
    share = 100 * parts.energies["exact"] / parts.energies["total"]
    assert f"dα {share:.3g} %" in scene.caption


def test_a_composition_of_the_app_is_drawn_and_split(tmp_path, capsys):
    mesh = hsd.gallery("torus", 300)
    file, out = tmp_path / "composition.json", tmp_path / "parts.png"
    field = preset("random", mesh, 1, 2, seed=5)
    file.write_text(json.dumps(field.to_record()))
    words = ["gallery:torus:300", "--field", file, "--parts", "--size", "500x400", "--out", out]
    assert cli.main(["figure", *map(str, words)]) == 0
    assert len(Image.open(out).convert("RGB").getcolors(10**6)) > 500
    scene = scene_of(arguments(*words), mesh, silent)
    assert len(scene.panels[0].markers) == len(field.points) and "composition.json" in scene.caption
    capsys.readouterr()
    assert cli.main(["decompose", "gallery:torus:300", "--field", str(file), "--via-vectors"]) == 0
    assert "through ♭" in capsys.readouterr().out


def test_all_presets_are_named_in_the_help():
    assert PRESETS == NAMES


BAD = {
    "parts and keep": (
        ["gallery:torus:100", "--parts", "--keep", "3", "--field", "preset:waves", "--out", "x.png"],
        "usage",
    ),
    "no such composition": (["gallery:torus:100", "--parts", "--field", "none.json", "--out", "x.png"], "no_file"),
    "no vectors": (["gallery:torus:100", "--parts", "--degree", "0", "--via-vectors", "--out", "x.png"], "no_vectors"),
    "format": (["gallery:torus:100", "--out", "x.jpg"], "unknown_format"),
    "folder": (["gallery:torus:100", "--out", "nowhere/x.png"], "no_folder"),
    "keep without field": (["gallery:torus:100", "--keep", "3", "--out", "x.png"], "usage"),
    "mode beyond": (["gallery:torus:100", "--n", "4", "--mode", "4", "--out", "x.png"], "n_modes"),
    "negative mode": (["gallery:torus:100", "--n", "4", "--mode", "-1", "--out", "x.png"], "n_modes"),
    "size": (["gallery:torus:100", "--n", "4", "--size", "8x8", "--out", "x.png"], "size"),
    "no positions": (["gallery:flat_torus:100", "--n", "4", "--out", "x.png"], "not_drawable"),
    "preset": (["gallery:torus:100", "--field", "preset:nothing", "--out", "x.png"], "unknown_name"),
    "seed": (["gallery:torus:100", "--field", "preset:waves:x", "--out", "x.png"], "bad_number"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words, kind = BAD[name]
    assert cli.main(["figure", *words]) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"error [{kind}]: ") and err.count("\n") == 1 and not out
    assert list(tmp_path.glob("*.png*")) == []


@pytest.mark.parametrize("words", [["--size", "wide"], ["--view", "0,0,0"], ["--view", "1,2"], ["--theme", "pink"]])
def test_wrong_usage_exits_with_2(words, capsys):
    with pytest.raises(SystemExit) as stop:
        arguments("gallery:torus:100", "--out", "x.png", *words)
    assert stop.value.code == 2
    assert "usage" in capsys.readouterr().err
