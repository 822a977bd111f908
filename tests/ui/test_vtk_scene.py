"""The VTK worker: offline HTML and PNG, time limit, restart, no pickle; the page without stpyvista."""

from __future__ import annotations

import io
import re
import sys

import numpy as np
import pytest

import hsd
from hsd.errors import InputError, UnknownNameError
from hsd.ui.vtk_scene import VtkLayer, VtkScene, VtkSceneError, VtkWorker, message_of
from hsd.viz import build

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def worker():
    made = VtkWorker()
    yield made
    made.stop()


def _scene(**more) -> VtkScene:
    mesh = hsd.gallery("ball", 500)
    p = mesh.points3
    vectors = np.column_stack([-p[:, 1], p[:, 0], 0.2 + 0 * p[:, 0]])
    data = {"u": p[:, 0] * p[:, 1], "v": vectors}
    cells = mesh.complex.simplices(3)
    layers = (
        VtkLayer(p, cells, data, filter={"name": "outline"}, options={"color": "#888888"}),
        VtkLayer(p, cells, data, filter={"name": "slice", "normal": [0, 1, 0], "origin": [0, 0, 0]},
                 options={"scalars": "u"}),
        VtkLayer(p, cells, data, filter={"name": "contour", "levels": [0.2], "scalars": "u"}, options={"color": "red"}),
        VtkLayer(p, cells, data, options={"color": "#0072B2"},
                 filter={"name": "streamlines", "vectors": "v", "seeds": (p[::25] / 2).tolist(), "tube": 0.01}),
    )  # fmt: skip
    return VtkScene(layers, size=(400, 300), **more)


def test_html_is_made_and_names_no_outside_script(worker):
    html = worker.ask(message_of(_scene(), "html"), 60).decode()
    assert "<html" in html[:2000].lower() and len(html) > 100_000
    sources = re.findall(r"<(?:script|link|iframe|img)[^>]+(?:src|href)=[\"']?(https?:[^\"' >]+)", html)
    assert [s for s in sources if "favicon" not in s] == []


def test_closed_streamlines_do_not_go_round_until_the_browser_is_full(worker):
    mesh = hsd.gallery("ball", 500)
    p = mesh.points3
    seeds = (0.6 * p[:: len(p) // 90]).tolist()
    flow = {"name": "streamlines", "vectors": "v", "seeds": seeds, "tube": 0.01}
    turning = np.column_stack([-p[:, 1], p[:, 0], 0 * p[:, 0]])
    layer = VtkLayer(p, mesh.complex.simplices(3), {"v": turning}, filter=flow, options={"color": "#0072B2"})
    assert 1e5 < len(worker.ask(message_of(VtkScene((layer,), size=(400, 300)), "html"), 60)) < 6e6


def test_picture_shows_the_layers_without_a_display(worker, monkeypatch):
    from PIL import Image

    monkeypatch.delenv("DISPLAY", raising=False)
    png = worker.ask(message_of(_scene(theme="dark"), "png"), 60)
    assert png.startswith(PNG)
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).reshape(-1, 3)
    assert len(np.unique(pixels, axis=0)) > 200
    assert (pixels == (0x11, 0x15, 0x1C)).all(axis=1).mean() > 0.2  # the dark background


def test_an_impossible_scene_is_a_sentence_and_the_worker_goes_on(worker):
    bad = VtkScene((VtkLayer(np.zeros((3, 3)), np.array([[0, 1, 2]]), options={"scalars": "nothing"}),))
    with pytest.raises(VtkSceneError) as caught:
        worker.ask(message_of(bad, "png"), 60)
    assert caught.value.kind == "vtk_scene" and "nothing" in caught.value.message
    process = worker.process
    assert worker.ask(message_of(_scene(), "png"), 60).startswith(PNG)
    assert worker.process is process


def test_time_limit_stops_the_worker_and_the_next_scene_starts_a_new_one():
    slow = VtkWorker([sys.executable, "-c", "import time; time.sleep(60)"])
    with pytest.raises(VtkSceneError) as caught:
        slow.ask(b"x" * 1_000_000, 0.5)
    assert caught.value.kind == "vtk_timeout" and slow.process is None
    slow.command = VtkWorker().command
    assert slow.ask(message_of(_scene(), "png"), 60).startswith(PNG)
    slow.stop()


def test_a_worker_that_dies_is_an_error_of_its_own_kind():
    dying = VtkWorker([sys.executable, "-c", "pass"])
    with pytest.raises(VtkSceneError) as caught:
        dying.ask(b"x" * 10, 20)
    assert caught.value.kind == "vtk_worker"
    assert dying.process is None


def test_a_message_that_holds_pickles_is_refused(worker):
    out = io.BytesIO()
    np.savez(out, json=np.frombuffer(b'{"want": "png", "layers": []}', np.uint8), x=np.array([{}], dtype=object))
    with pytest.raises(VtkSceneError) as caught:
        worker.ask(out.getvalue(), 60)
    assert "pickle" in caught.value.message.lower()


def test_bad_scenes_are_refused_before_the_worker_sees_them():
    with pytest.raises(UnknownNameError):
        message_of(VtkScene((VtkLayer(np.zeros((1, 3)), filter={"name": "exec"}),)), "png")
    with pytest.raises(UnknownNameError):
        message_of(VtkScene(()), "exe")
    with pytest.raises(InputError):
        message_of(VtkScene((VtkLayer(np.zeros((1, 2))),)), "png")


def _page_without_stpyvista() -> None:
    import sys

    sys.modules["stpyvista"] = None
    import numpy as np
    import streamlit as st

    from hsd.ui.vtk_scene import VtkLayer, VtkScene, show_vtk_scene

    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    layer = VtkLayer(points, np.array([[0, 1, 2]]), {"u": points[:, 0]}, options={"scalars": "u"})
    st.markdown("shown: " + show_vtk_scene(VtkScene((layer,), size=(200, 150)), "scene"))


def test_page_without_stpyvista_shows_a_picture_and_says_why(monkeypatch):
    from streamlit.testing.v1 import AppTest

    monkeypatch.setitem(sys.modules, "stpyvista", None)
    app = AppTest.from_function(_page_without_stpyvista, default_timeout=60).run()
    assert not app.exception
    assert app.markdown[0].value == "shown: picture"
    assert "stpyvista" in app.caption[0].value


def test_still_picture_of_a_viewer_scene(monkeypatch):
    from hsd.ui import vtk_scene
    from hsd.viz.scene import Colour, Panel, Scene

    mesh = hsd.gallery("torus", 500)
    scene = Scene((Panel(build.surface_of(mesh), Colour(mesh.points3[:, 2], name="height")),))
    assert vtk_scene.still_picture(scene).startswith(PNG)
    vtk_scene.worker().stop()
