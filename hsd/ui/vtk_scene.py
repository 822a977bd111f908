"""Whole VTK scenes (slices, contours, streamlines) through stpyvista's component, rendered by a worker process.

stpyvista's own renderer forks the app for each picture, waits without a limit, and its "panel" backend loads from
outside; so only its component is used, imported lazily, and the HTML comes from :mod:`hsd.ui.vtk_worker`.  Where
stpyvista is missing, or the worker fails or takes too long, a still picture and a sentence take its place.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import streamlit as st

from hsd.errors import HsdError, InputError, check_choice
from hsd.ui.vtk_worker import FILTERS
from hsd.viz.palettes import colour_stops
from hsd.viz.scene import Scene

WORKER = Path(__file__).with_name("vtk_worker.py")
TIME_LIMIT = 30.0
"""Seconds; the first scene imports VTK, which takes a few."""
COLOURS = {"light": ("#ffffff", "#1f2328"), "dark": ("#11151c", "#f0f2f5"), "projector": ("#ffffff", "#000000")}


class VtkSceneError(HsdError):
    """The worker did not deliver (kinds: vtk_timeout, vtk_worker, vtk_scene)."""

    default_kind = "vtk_scene"


@dataclass(frozen=True, eq=False)
class VtkLayer:
    """A mesh, one filter and how it is drawn.

    cells   : (m, 2 | 3 | 4) edges, triangles or tets, or None for points
    point_data, cell_data : name → array
    filter  : {"name": "slice" | "clip" | "contour" | "streamlines" | "tube" | "outline" | "none", …}: slice and clip
              take normal and origin; contour levels and scalars; streamlines vectors (a name), seeds (points),
              tube, surface, max_length
    options : of ``pyvista.Plotter.add_mesh`` that are numbers, texts or lists (scalars, clim, opacity, color, …)
    kind    : of the values, for the colour map;  bar: title of the scalar bar
    """

    points: np.ndarray
    cells: np.ndarray | None = None
    point_data: Mapping[str, np.ndarray] = field(default_factory=dict)
    cell_data: Mapping[str, np.ndarray] = field(default_factory=dict)
    filter: Mapping = field(default_factory=lambda: {"name": "none"})
    options: Mapping = field(default_factory=dict)
    kind: str = "signed"
    bar: str = ""


@dataclass(frozen=True, eq=False)
class VtkScene:
    """Layers in one picture; size in pixels (width, height); alt: what is to be seen, in words; zoom: beyond the
    distance from which the sphere around everything is in view."""

    layers: tuple[VtkLayer, ...]
    size: tuple[int, int] = (900, 520)
    title: str = ""
    theme: str = "light"
    alt: str = "A VTK scene"
    zoom: float = 1.0


def message_of(scene: VtkScene, want: str) -> bytes:
    """The scene as an npz with one JSON text; raises InputError (shape, unknown_name)."""
    check_choice("VTK output", want, ("html", "png"))
    check_choice("theme", scene.theme, COLOURS)
    arrays: dict[str, np.ndarray] = {}
    layers = []
    for i, layer in enumerate(scene.layers):
        check_choice("VTK filter", layer.filter.get("name", "none"), FILTERS)
        points = np.asarray(layer.points, np.float64)
        if points.ndim != 2 or points.shape[1] != 3:
            raise InputError(f"Points of a VTK layer must have shape (n, 3); got {points.shape}.", "shape")
        arrays[f"{i}/points"] = points
        if layer.cells is not None:
            arrays[f"{i}/cells"] = np.asarray(layer.cells, np.int64)
        for prefix, data in (("point", layer.point_data), ("cell", layer.cell_data)):
            for name, values in data.items():
                arrays[f"{i}/{prefix}:{name}"] = np.asarray(values, np.float64)
        options = dict(layer.options)
        if options.get("scalars") is not None:
            options.setdefault("cmap", colour_stops(layer.kind))
        layers.append({"filter": dict(layer.filter), "options": options, "bar": layer.bar or options.get("scalars")})
    background, ink = COLOURS[scene.theme]
    head = {
        "want": want,
        "size": list(scene.size),
        "background": background,
        "ink": ink,
        "title": scene.title,
        "zoom": scene.zoom,
        "layers": layers,
    }
    arrays["json"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


class VtkWorker:
    """One worker process, started when first needed and again after a failure; calls from many sessions take turns."""

    def __init__(self, command: list[str] | None = None):
        self.command = command or [sys.executable, "-P", str(WORKER)]
        self.lock = threading.Lock()
        self.process: subprocess.Popen | None = None

    def ask(self, message: bytes, time_limit: float = TIME_LIMIT) -> bytes:
        """The worker's result.  Raises VtkSceneError (vtk_timeout, vtk_worker, vtk_scene)."""
        deadline = time.monotonic() + time_limit
        if not self.lock.acquire(timeout=time_limit):
            raise VtkSceneError("The VTK worker was busy for too long; try again.", "vtk_timeout")
        try:
            if self.process is None or self.process.poll() is not None:
                self._start()
            self._write(struct.pack("<Q", len(message)) + message, deadline)
            size, status = struct.unpack("<QB", self._read(9, deadline))
            payload = self._read(size, deadline)
        except (VtkSceneError, OSError) as error:
            self.stop()
            if isinstance(error, VtkSceneError):
                raise
            raise VtkSceneError(f"The VTK worker could not be reached ({error}).", "vtk_worker") from error
        finally:
            self.lock.release()
        if status:
            raise VtkSceneError(f"VTK could not make the scene: {payload.decode(errors='replace')}", "vtk_scene")
        return payload

    def stop(self) -> None:
        """End the process, if any."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            for pipe in (self.process.stdin, self.process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()
            self.process = None

    def _start(self) -> None:
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        os.set_blocking(self.process.stdin.fileno(), False)

    def _wait(self, read: bool, deadline: float) -> None:
        pipe = self.process.stdout if read else self.process.stdin
        left = max(deadline - time.monotonic(), 0.0)
        ready = select.select([pipe], [], [], left)[0] if read else select.select([], [pipe], [], left)[1]
        if not ready:
            raise VtkSceneError("The VTK scene took too long and was stopped.", "vtk_timeout")

    def _write(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            self._wait(False, deadline)
            view = view[os.write(self.process.stdin.fileno(), view[: 1 << 16]) :]

    def _read(self, n: int, deadline: float) -> bytes:
        pieces = []
        while n:
            self._wait(True, deadline)
            piece = os.read(self.process.stdout.fileno(), min(n, 1 << 20))
            if not piece:
                raise VtkSceneError("The VTK worker ended without an answer.", "vtk_worker")
            pieces.append(piece)
            n -= len(piece)
        return b"".join(pieces)


@st.cache_resource(max_entries=1, show_spinner=False)
def worker() -> VtkWorker:
    """The app's worker."""
    made = VtkWorker()
    atexit.register(made.stop)
    return made


@st.cache_data(max_entries=16, show_spinner="Rendering the VTK scene")
def rendered(message: bytes, time_limit: float = TIME_LIMIT) -> bytes:
    """The worker's result for a message; equal scenes are rendered once."""
    return worker().ask(message, time_limit)


def show_vtk_scene(scene: VtkScene, key: str, time_limit: float = TIME_LIMIT) -> str:
    """Show a scene one can turn, or a still picture and a sentence, or the sentence alone.

    Returns what was shown: "interactive", "picture" or "nothing".  The camera starts anew with every changed scene.
    """
    reason = ""
    try:
        import stpyvista

        mount = stpyvista._stpv_component
    except (ImportError, AttributeError):
        reason = "stpyvista 0.2.1 is not installed, so this is a still picture (pip install stpyvista==0.2.1)."
    if not reason:
        try:
            html = rendered(message_of(scene, "html"), time_limit).decode()
            width, height = scene.size
            data = {"_html": html, "backend": "trame", "height": height, "width": width, "use_container_width": True}
            mount(key=key, data=data)
            return "interactive"
        except VtkSceneError as error:
            reason = f"{error.message} This is a still picture."
    try:
        st.image(rendered(message_of(scene, "png"), time_limit), caption=scene.alt)
        st.caption(reason)
        return "picture"
    except VtkSceneError as error:
        st.warning(error.message)
        return "nothing"


def still_picture(scene: Scene) -> bytes | None:
    """PNG of the first panel of a viewer scene, for browsers without WebGL; None where it cannot be made."""
    panel = scene.panels[0]
    s = panel.surface
    if not len(s.triangles):
        return None
    options: dict = {"smooth_shading": True, "color": panel.plain}
    point_data, cell_data, kind = {}, {}, "signed"
    if panel.colour is not None and panel.colour.kind != "category":
        colour = panel.colour
        values = colour.mix.columns.values @ colour.mix.weights_at({c.id: c.value for c in scene.controls})
        if colour.mix.columns.is_vector:
            values = np.linalg.norm(values, axis=1)
        if colour.where == "vertex":
            point_data["values"] = values[s.vertex_of]
        else:
            cell_data["values"] = values[s.face_of]
        top = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
        limits = colour.limits or ((-top, top) if colour.kind == "signed" else (0.0, top))
        options = {"smooth_shading": True, "scalars": "values", "clim": list(limits)}
        kind = colour.kind
    name = panel.colour.name if panel.colour is not None else ""
    layer = VtkLayer(s.points, s.triangles, point_data, cell_data, options=options, kind=kind, bar=name)
    theme = scene.theme if scene.theme in COLOURS else "light"
    try:
        return rendered(message_of(VtkScene((layer,), title=panel.title, theme=theme), "png"))
    except VtkSceneError:
        return None
