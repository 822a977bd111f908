"""Packing and scenes: round trips, alignment, hashes, quantisation bounds, small messages, stale events."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hsd
from hsd.errors import InputError, UnknownNameError
from hsd.hodge.homology import Homology
from hsd.ui.viewer.events import read_pick, read_place
from hsd.ui.viewer.pack import LEVELS, NAN_LEVEL, pack, quantise, unpack
from hsd.ui.viewer.readout import readout
from hsd.ui.viewer.scene import columns_asset, encode, mesh_hashes
from hsd.viz import build
from hsd.viz.scene import (
    Arrows,
    Clip,
    Colour,
    Columns,
    Control,
    Dots,
    Isolines,
    Marker,
    Mix,
    Panel,
    Scene,
    Segments,
    Tool,
)

ARRAYS = {
    "f": np.linspace(0, 1, 7, dtype=np.float32).reshape(7, 1),
    "u": np.arange(5, dtype=np.uint32),
    "q": np.arange(-3, 4, dtype=np.int16),
    "n": np.arange(-1, 2, dtype=np.int8),
    "b": np.arange(3, dtype=np.uint8),
    "none": np.zeros((0, 3), np.float32),
}


def test_unpack_is_the_inverse_of_pack():
    for more in ({}, {"text": "λ" * 50}, {"x": list(range(400))}):
        asset = pack("thing", ARRAYS, **more)
        head, arrays = unpack(asset.data)
        assert head["kind"] == "thing" and head["hash"] == asset.hash
        assert {k: head[k] for k in more} == more
        for name, array in ARRAYS.items():
            assert arrays[name].shape == array.shape and np.array_equal(arrays[name], array)


def test_every_array_starts_at_a_multiple_of_eight():
    for length in range(40):
        head, _ = unpack(pack("thing", ARRAYS, pad="x" * length).data)
        assert [e["off"] % 8 for e in head["arrays"].values()] == [0] * len(ARRAYS)


def test_the_hash_names_the_content():
    base = pack("thing", ARRAYS)
    assert pack("thing", dict(ARRAYS)).hash == base.hash
    changed = [pack("other", ARRAYS), pack("thing", ARRAYS, more=1)]
    for name in ("f", "u", "q", "n", "b"):
        array = ARRAYS[name].copy()
        array.flat[0] += 1
        changed.append(pack("thing", {**ARRAYS, name: array}))
    hashes = [base.hash, *(a.hash for a in changed)]
    assert len(set(hashes)) == len(hashes)


def test_types_that_the_page_cannot_read_are_refused():
    with pytest.raises(InputError):
        pack("thing", {"x": np.zeros(3)})


@pytest.mark.parametrize("shape", [(50, 4), (50, 3, 4)])
def test_quantisation_errs_by_at_most_half_a_level(shape):
    rng = np.random.default_rng(3)
    values = rng.standard_normal(shape) * np.array([1e-9, 1.0, 1e7, 0.0])
    level, scale = quantise(values)
    assert level.dtype == np.int16 and level.shape == (shape[-1], *shape[:-1])
    back = np.moveaxis(level * scale.astype(float).reshape(-1, *[1] * (len(shape) - 1)), 0, -1)
    top = np.abs(values).max(axis=tuple(range(len(shape) - 1)))
    assert (np.abs(back - values) <= top * (0.5 / LEVELS + 1e-7)).all()


def test_not_a_number_keeps_its_place():
    values = np.array([[1.0, np.nan], [np.inf, 2.0], [-1.0, -2.0]])
    level, _ = quantise(values)
    assert np.array_equal(level == NAN_LEVEL, [[False, True, False], [True, False, False]])


# ---- scenes ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torus():
    mesh = hsd.gallery("torus", 800)
    return mesh, build.surface_of(mesh)


def _rich(torus, **more) -> Scene:
    mesh, surface = torus
    basis = hsd.lowest_modes(mesh, 1, 6)
    columns, glyphs = build.mode_columns(basis), build.glyphs_of(mesh, surface, 100)
    panel = Panel(
        surface,
        Colour(Mix(columns, mode="mode"), "unsigned", "|φ|"),
        arrows=Arrows(glyphs, Mix(build.mode_arrows(basis, glyphs), mode="mode")),
        tubes=build.loop_tubes(surface, mesh.complex.simplices(1), Homology(mesh.complex).cycles(1)[:, 0]),
        segments=(Segments(np.zeros((2, 2, 3))),),
        dots=(Dots(np.ones((4, 3))),),
        markers=(Marker("a", 5, (0.2, 0.3, 0.5)),),
        isolines=Isolines(5),
        clip=Clip((0, 0, 2), 0.5),
    )  # fmt: skip
    return Scene((panel, panel), (Control("mode", "Mode", 0, 5, 0, labels=columns.labels),), **more)


def test_a_scene_is_small_json_without_arrays(torus):
    message, assets = encode(_rich(torus), "v")
    text = json.dumps(message)
    assert len(text) < 6000
    named = {p["mesh"] for p in message["panels"]} | {p["arrows"]["glyphs"] for p in message["panels"]}
    assert named <= {a.hash for a in assets}
    assert len({a.hash for a in assets}) == len(assets) == 7  # both panels share them
    assert "camera" in message and message["camera"] is None


def test_encoding_is_repeatable_and_a_new_field_changes_one_asset_only(torus):
    mesh, surface = torus
    first, assets = encode(Scene((Panel(surface, Colour(mesh.points3[:, 0])),)), "v")
    again, same = encode(Scene((Panel(surface, Colour(mesh.points3[:, 0].copy())),)), "v")
    assert json.dumps(first) == json.dumps(again) and [a.hash for a in assets] == [a.hash for a in same]
    _, other = encode(Scene((Panel(surface, Colour(mesh.points3[:, 1])),)), "v")
    assert assets[0].hash == other[0].hash and assets[1].hash != other[1].hash
    assert len(other[1]) < 2 * mesh.complex.n_vertices + 1000  # 16 bits a vertex


def test_values_arrive_at_the_drawn_vertices_and_triangles():
    mesh = hsd.gallery("cube", 300)  # creases double vertices, tets have an inside
    surface = build.surface_of(mesh)
    values = np.arange(mesh.complex.n_vertices, dtype=float)
    _, arrays = unpack(columns_asset(Columns(values[:, None]), surface).data)
    back = arrays["q"][0] * float(arrays["scale"][0])
    assert np.allclose(back, surface.vertex_of, atol=0.01)
    assert np.allclose(surface.points, mesh.points3[surface.vertex_of])
    with pytest.raises(InputError):
        columns_asset(Columns(np.zeros((3, 1))), surface)


def test_a_scene_that_names_an_unknown_control_is_refused(torus):
    _, surface = torus
    columns = Columns(np.zeros((surface.n_mesh_vertices, 2)))
    with pytest.raises(InputError) as caught:
        Scene((Panel(surface, Colour(Mix(columns, mode="nothing"))),))
    assert caught.value.kind == "unknown_control"
    for bad in (lambda: Scene(()), lambda: Columns(np.zeros(3)), lambda: Columns(np.zeros((3, 2, 1)))):
        with pytest.raises(InputError):
            bad()
    panel = Panel(surface)
    for bad in (lambda: Tool("fly"), lambda: Colour(np.zeros(3), "rainbow"), lambda: Scene((panel,), theme="x")):
        with pytest.raises(UnknownNameError):
            bad()


# ---- events ------------------------------------------------------------------------------------------------------


def _event(message: dict, face: int, bary: list[float], **more) -> dict:
    return {"panel": 0, "mesh": message["panels"][0]["mesh"], "face": face, "bary": bary, "seq": 1,
            "controls": {"mode": 2}, "rev": "r", **more}  # fmt: skip


@pytest.mark.parametrize("name", ["torus", "moebius", "cube", "ball_with_cavity"])
def test_a_picked_place_is_the_same_point_in_the_mesh(name):
    mesh = hsd.gallery(name, 500)
    surface = build.surface_of(mesh)
    scene = Scene((Panel(surface),))
    message, _ = encode(scene, "v")
    rng = np.random.default_rng(0)
    for face in rng.integers(0, len(surface.triangles), 40):
        bary = rng.dirichlet(np.ones(3))
        pick = read_pick(scene, mesh_hashes(message), _event(message, int(face), list(bary)))
        drawn = bary @ surface.points[surface.triangles[face]]
        triangle = mesh.complex.simplices(2)[pick.face]
        assert np.allclose(np.dot(pick.bary, mesh.points3[triangle]), drawn, atol=1e-12)
        assert np.allclose(pick.position, drawn, atol=1e-12)
        assert pick.exact and pick.vertex == triangle[np.argmax(pick.bary)]


STALE = {
    "no event": None,
    "another surface": {"mesh": "0" * 16},
    "no such panel": {"panel": 7},
    "panel as text": {"panel": "0"},
    "no such face": {"face": 10**7},
    "negative face": {"face": -1},
    "two weights": {"bary": [0.5, 0.5]},
    "zero weights": {"bary": [0, 0, 0]},
    "not a number": {"bary": [float("nan"), 0, 0]},
}


@pytest.mark.parametrize("name", STALE)
def test_stale_and_broken_events_are_dropped(torus, name):
    scene = _rich(torus)
    message, _ = encode(scene, "v")
    event = None if STALE[name] is None else {**_event(message, 3, [0.2, 0.3, 0.5]), **STALE[name]}
    assert read_pick(scene, mesh_hashes(message), event) is None
    assert read_place(scene, mesh_hashes(message), event and {**event, "op": "add"}) is None


def test_places_name_known_markers_and_free_names(torus):
    scene = _rich(torus)
    message, _ = encode(scene, "v")
    hashes = mesh_hashes(message)
    event = _event(message, 3, [0.2, 0.3, 0.5], kind="vortex")
    added = read_place(scene, hashes, {**event, "op": "add"})
    face = read_pick(scene, hashes, event).face
    assert (added.op, added.id, added.new_id, added.kind, added.face) == ("add", None, "p1", "vortex", face)
    moved = read_place(scene, hashes, {**event, "op": "move", "id": "a"})
    assert (moved.op, moved.id) == ("move", "a") and moved.face is not None
    deleted = read_place(scene, hashes, {**event, "op": "delete", "id": "a"})
    assert (deleted.op, deleted.face) == ("delete", None)
    assert read_place(scene, hashes, {**event, "op": "delete", "id": "unknown"}) is None
    assert read_place(scene, hashes, {**event, "op": "explode", "id": "a"}) is None


def test_the_readout_follows_scene_and_controls_and_ends_with_its_surface(torus):
    mesh, surface = torus
    scene = _rich(torus)
    message, _ = encode(scene, "v")
    pick = read_pick(scene, mesh_hashes(message), _event(message, 3, [0.2, 0.3, 0.5]))
    shown = readout(scene, mesh_hashes(message), pick)
    vectors = scene.panels[0].colour.mix.columns.values[mesh.complex.simplices(2)[pick.face], :, 2]
    expected = np.dot(pick.bary, np.linalg.norm(vectors, axis=1))
    assert [float(t) for t in shown["texts"]] == pytest.approx([expected] * 2, rel=1e-9)
    assert readout(scene, mesh_hashes(message), None) is None
    assert readout(scene, ["0" * 16] * 2, pick) is None
    flat = Scene((Panel(surface, Colour(mesh.points3[:, 2], name="z", unit="mm")),))
    text = readout(flat, mesh_hashes(encode(flat, "v")[0]), pick)["texts"][0]
    assert text.endswith(" mm") and float(text.split()[0]) == pytest.approx(pick.position[2], rel=1e-9)


def test_weights_follow_mode_cut_and_groups():
    columns = Columns(np.zeros((2, 4)), groups=("a", "a", "b", "b"))
    mix = Mix(columns, np.array([1.0, 2.0, 3.0, 4.0]), cut="n", weights={"b": "w"})
    assert np.array_equal(mix.weights_at({"n": 4, "w": 0.5}), [1, 2, 1.5, 2])
    assert np.array_equal(mix.weights_at({"n": 1, "w": 0.5}), [1, 0, 0, 0])
    assert np.array_equal(Mix(columns, mode="m").weights_at({"m": 2}), [0, 0, 1, 0])


# ---- files of the page -------------------------------------------------------------------------------------------


def test_static_files_are_copied_checked_and_mended(tmp_path, monkeypatch):
    from hsd.ui.viewer import assets

    static = assets.ensure_static(tmp_path)
    vtk, own = static / assets.VTK_NAME, static / assets.web_folder()
    assert assets._sha256(vtk) == assets.VTK_SHA256
    assert "Kitware" in (static / f"{assets.VTK_NAME}.LICENSE.txt").read_text()
    assert {f.name for f in own.iterdir()} == {f.name for f in assets.WEB.iterdir()}
    vtk.write_bytes(b"damaged")
    for i in range(6):
        (static / f"viewer-old{i}").mkdir()
    assets.ensure_static(tmp_path)
    assert assets._sha256(vtk) == assets.VTK_SHA256
    assert own.is_dir() and len(list(static.glob("viewer-*"))) == assets.KEPT
    vtk.write_bytes(b"damaged")
    other = tmp_path / "vtk.js"
    other.write_bytes(b"another version")
    monkeypatch.setattr(assets, "find_vtk", lambda: other)
    with pytest.raises(assets.ViewerAssetsError, match="checksum"):
        assets.ensure_static(tmp_path)


def test_a_changed_module_gets_a_new_folder(tmp_path, monkeypatch):
    import shutil

    from hsd.ui.viewer import assets

    before = assets.web_folder()
    copy = tmp_path / "web"
    shutil.copytree(assets.WEB, copy)
    (copy / "view.js").write_text("// changed\n")
    monkeypatch.setattr(assets, "WEB", copy)
    assert assets.web_folder.__wrapped__() != before


def test_without_panel_the_error_says_what_to_install(monkeypatch):
    from hsd.ui.viewer import assets

    monkeypatch.setattr(assets.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(assets.ViewerAssetsError, match="pip install"):
        assets.find_vtk()


def test_page_modules_stay_short_and_ask_no_outside_address():
    import re

    from hsd.ui.viewer import assets

    for file in assets.WEB.glob("*.js"):
        text = file.read_text()
        assert len(text.splitlines()) <= 400, file.name
        assert not re.search(r"(https?:|//[a-z]+\.[a-z]+/)", text), file.name
