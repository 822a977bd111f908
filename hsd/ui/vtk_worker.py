"""A process of its own that renders VTK scenes: messages in by stdin, HTML or PNG out by the old stdout.

A message is ``u64 length | npz``; the npz holds arrays and one JSON text (no pickle).  A reply is
``u64 length | u8 status | payload``: 0 and the result, or 1 and one line of text.  Everything that VTK prints goes to
stderr.  Started by :mod:`hsd.ui.vtk_scene`; it imports nothing of hsd.
"""

import ctypes.util
import io
import json
import os
import struct
import sys

import numpy as np

FILTERS = ("none", "slice", "clip", "contour", "streamlines", "tube", "outline")

LINE_POINTS, TUBE_SIDES = 10_000, 8
"""Points of all streamlines of a layer, and sides of their tubes: the browser is sent both multiplied."""


def read_exactly(stream, n: int) -> bytes:
    """n bytes, or fewer at the end of the stream."""
    out = b""
    while len(out) < n:
        piece = stream.read(n - len(out))
        if not piece:
            break
        out += piece
    return out


def dataset(pv, spec: dict, arrays: dict):
    """The mesh of a layer: cells (m, 1 … 4) are vertices, edges, triangles, tets."""
    points = arrays["points"]
    cells = arrays.get("cells", np.zeros((0, 3), np.int64))
    width = cells.shape[1]
    padded = np.column_stack([np.full(len(cells), width), cells]).astype(np.int64).ravel()
    if width == 4:
        made = pv.UnstructuredGrid(padded, np.full(len(cells), 10, np.uint8), points)
    elif width == 3:
        made = pv.PolyData(points, faces=padded)
    elif width == 2:
        made = pv.PolyData(points, lines=padded)
    else:
        made = pv.PolyData(points)
    for name, values in arrays.items():
        if name.startswith("point:"):
            made.point_data[name[6:]] = values
        elif name.startswith("cell:"):
            made.cell_data[name[5:]] = values
    return filtered(pv, made, spec.get("filter", {"name": "none"}))


def filtered(pv, made, f: dict):
    name = f["name"]
    if name == "slice":
        return made.slice(normal=f["normal"], origin=f["origin"])
    if name == "clip":
        return made.clip(normal=f["normal"], origin=f["origin"], invert=True)
    if name == "contour":
        return made.contour(isosurfaces=f["levels"], scalars=f["scalars"])
    if name == "streamlines":
        limits = {"surface_streamlines": bool(f.get("surface", False)), "max_length": f.get("max_length")}
        lines = made.streamlines_from_source(pv.PolyData(np.array(f["seeds"], float)), f["vectors"], **limits)
        lines = thinned(lines, made.point_data.keys())
        return lines.tube(radius=f["tube"], n_sides=TUBE_SIDES) if f.get("tube") and lines.n_points else lines
    if name == "tube":
        return made.tube(radius=f["radius"])
    if name == "outline":
        return made.outline()
    return made


def thinned(lines, names):
    """Streamlines with at most about LINE_POINTS points, where they bend least, and with the values of these names."""
    if lines.n_points > LINE_POINTS:
        lines = lines.decimate_polyline(1.0 - LINE_POINTS / lines.n_points)
    for name in set(lines.point_data.keys()) - set(names):
        del lines.point_data[name]
    return lines


def plotter_of(pv, scene: dict, arrays: dict):
    plotter = pv.Plotter(off_screen=True, window_size=scene["size"])
    plotter.set_background(scene["background"])
    for i, layer in enumerate(scene["layers"]):
        own = {k.split("/", 1)[1]: v for k, v in arrays.items() if k.startswith(f"{i}/")}
        made = dataset(pv, layer, own)
        if made.n_points == 0:
            continue
        options = dict(layer.get("options", {}))
        if options.get("scalars") is not None:
            options.setdefault("show_scalar_bar", True)
            options["scalar_bar_args"] = {
                "title": layer.get("bar", options["scalars"]),
                "color": scene["ink"],
                "vertical": True,
                "title_font_size": 16,
                "label_font_size": 14,
            }
        plotter.add_mesh(made, **options)
    if scene.get("title"):
        plotter.add_text(scene["title"], font_size=10, color=scene["ink"])
    plotter.camera_position = scene.get("camera") or "iso"
    plotter.reset_camera()
    plotter.camera.Dolly(scene["zoom"])  # the browser takes over where the camera stands, not its angle
    plotter.renderer.ResetCameraClippingRange()
    return plotter


def answer(message: bytes) -> bytes:
    import pyvista as pv

    with np.load(io.BytesIO(message), allow_pickle=False) as file:
        scene = json.loads(bytes(file["json"]).decode())
        arrays = {k: file[k] for k in file.files if k != "json"}
    plotter = plotter_of(pv, scene, arrays)
    try:
        if scene["want"] == "html":
            return plotter.export_html(filename=None).read().encode()
        from PIL import Image

        picture = plotter.screenshot(None, return_img=True)
        out = io.BytesIO()
        Image.fromarray(picture).save(out, "PNG")
        return out.getvalue()
    finally:
        plotter.close()


def choose_window() -> None:
    """Without a display VTK draws into memory, by EGL or else OSMesa; chosen before VTK is imported."""
    if os.environ.get("DISPLAY"):
        return
    for library, window in (("EGL", "vtkEGLRenderWindow"), ("OSMesa", "vtkOSOpenGLRenderWindow")):
        if ctypes.util.find_library(library):
            os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", window)
            return


def main() -> None:
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    choose_window()
    sys.modules["trame.widgets.vtklocal"] = None  # it would try to download WASM when a trame server starts
    source = sys.stdin.buffer
    while len(head := read_exactly(source, 8)) == 8:
        message = read_exactly(source, struct.unpack("<Q", head)[0])
        try:
            status, payload = 0, answer(message)
        except (ValueError, TypeError, KeyError, AttributeError, RuntimeError, ImportError, OSError) as error:
            status, payload = 1, f"{type(error).__name__}: {error}".splitlines()[0].encode()
        out = struct.pack("<QB", len(payload), status) + payload
        while out:
            out = out[replies.write(out) :]


if __name__ == "__main__":
    main()
