"""``python -m hsd figure``: the picture is that of the scene asked for; bad input is one sentence, before long work."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

import hsd
from hsd import cli
from hsd.cli import build_parser
from hsd.cli_figure import scene_of
from hsd.hodge.spectral_energy import by_eigenvalue, spectral_energy
from hsd.linalg import silent


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


BAD = {
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
