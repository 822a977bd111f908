"""Mounting the viewer in a Streamlit script: assets by hash, the scene, events and exact read-outs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial

import streamlit as st

from hsd.ui.viewer.assets import ViewerAssetsError, ensure_static, loader
from hsd.ui.viewer.events import Pick, Place, ViewerEvents, read_pick, read_place
from hsd.ui.viewer.readout import readout
from hsd.ui.viewer.scene import encode, mesh_hashes
from hsd.ui.vtk_scene import still_picture
from hsd.viz.scene import Scene

HTML = '<div class="hsd-viewer"></div>'
_viewer = st.components.v2.component("hsd_viewer", html=HTML, js=loader("viewer.js", "mount"))
_asset = st.components.v2.component("hsd_viewer_asset", html="<i></i>", js=loader("store.js", "receive"))


def show(
    scene: Scene,
    key: str,
    height: int = 520,
    on_pick: Callable[[Pick], None] | None = None,
    on_place: Callable[[Place], None] | None = None,
    on_controls: Callable[[Mapping[str, float]], None] | None = None,
    fallback: Callable[[Scene], bytes | None] | None = None,
) -> ViewerEvents:
    """Show a scene and return what the user did in it.

    key      : identity of the view; camera and slider positions belong to it, also over page changes
    height   : of the canvas, CSS pixels (sliders and caption come below it)
    on_…     : called before the script runs, with the event in the mesh's own numbers
    fallback : makes a PNG of the scene, asked for only where the browser has no WebGL (default: by VTK)
    Stale events (of a surface that is no longer on show) are dropped.
    """
    try:
        _static_ready()
    except ViewerAssetsError as error:
        st.error(error.message)
        return ViewerEvents()
    memory = st.session_state.setdefault(f"_viewer/{key}", {})
    message, assets = encode(scene, key)
    message["height"] = int(height)
    memory["scene"], memory["hashes"] = scene, mesh_hashes(message)
    message["readout"] = readout(scene, memory["hashes"], memory.get("pick"))
    result = _viewer(
        key=key,
        data=message,
        on_pick_change=partial(_picked, key, on_pick),
        on_place_change=partial(_placed, key, on_place),
        on_controls_change=partial(_controls_changed, key, on_controls),
        on_nogl_change=_nothing,
    )
    with st.container(key=f"hsd-assets-{key}".replace("/", "-").replace(" ", "-"), gap=None, height=1, border=False):
        for slot, asset in enumerate(assets):
            _asset(key=f"{key}/asset/{slot}", data=asset.data, height=1)
    if result.nogl:
        picture = (fallback or still_picture)(scene)
        if picture:
            st.image(picture, caption=scene.caption or None)
    return ViewerEvents(
        pick=memory.pop("new_pick", None), place=memory.pop("new_place", None), controls=_numbers(result.controls)
    )


@lru_cache(maxsize=1)
def _static_ready() -> None:
    """Copy the page's files once a process (app.py may have done so before)."""
    ensure_static()


def _numbers(values: object) -> dict[str, float]:
    if not isinstance(values, Mapping):
        return {}
    return {str(k): float(v) for k, v in values.items() if isinstance(v, int | float)}


def _nothing() -> None:
    """Streamlit returns only names that have a callback."""


def _message(key: str, name: str) -> object:
    value = st.session_state.get(key)
    return value.get(name) if isinstance(value, Mapping) else None


def _picked(key: str, callback: Callable[[Pick], None] | None) -> None:
    memory = st.session_state.get(f"_viewer/{key}", {})
    if "scene" not in memory or (event := read_pick(memory["scene"], memory["hashes"], _message(key, "pick"))) is None:
        return
    memory["pick"] = memory["new_pick"] = event
    if callback is not None:
        callback(event)


def _placed(key: str, callback: Callable[[Place], None] | None) -> None:
    memory = st.session_state.get(f"_viewer/{key}", {})
    if "scene" not in memory:
        return
    event = read_place(memory["scene"], memory["hashes"], _message(key, "place"))
    if event is None:
        return
    memory["new_place"] = event
    if callback is not None:
        callback(event)


def _controls_changed(key: str, callback: Callable[[Mapping[str, float]], None] | None) -> None:
    if callback is not None:
        callback(_numbers(_message(key, "controls")))
