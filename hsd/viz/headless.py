"""A scene as a PNG without a browser: the same surface, colours, arrows, tubes and camera as in the page, for papers.

VTK draws off-screen; the class of its window is chosen before VTK is imported, so that no display is needed.
"""

from __future__ import annotations

import ctypes.util
import io
import os
import sys
from collections.abc import Mapping

import numpy as np

from hsd.errors import InputError, MetricError
from hsd.viz.frame import Pen, arrow_key, bar, wrapped
from hsd.viz.scene import Arrows, Panel, Scene, Surface, Tube
from hsd.viz.still import ANGLE, arrow_mesh, colour_table, common_scales, fit, scalars, sight
from hsd.viz.style import Ink, ink_of

OVERSAMPLE = 2
MAX_PIXELS = 64_000_000


def choose_window() -> None:
    """Tell VTK, before it is imported, to draw without a display.  Raises MetricError where no way is at hand."""
    if not sys.platform.startswith("linux") or "VTK_DEFAULT_OPENGL_WINDOW" in os.environ:
        return
    for library, window in (("EGL", "vtkEGLRenderWindow"), ("OSMesa", "vtkOSOpenGLRenderWindow")):
        if ctypes.util.find_library(library):
            os.environ["VTK_DEFAULT_OPENGL_WINDOW"] = window
            return
    if not os.environ.get("DISPLAY"):
        raise MetricError(
            "Drawing without a display needs the library EGL or OSMesa (Debian: libegl1 or libosmesa6).", "no_opengl"
        )


def render(
    scene: Scene,
    size: tuple[int, int] = (1600, 1200),
    controls: Mapping[str, float] | None = None,
    direction: tuple[float, float, float] | None = None,
    transparent: bool = False,
    about: Mapping[str, str] | None = None,
) -> bytes:
    """PNG of a scene.

    size      : (width, height) in pixels;  controls : values of its sliders (default: those of the scene)
    direction : of sight (default: the scene's camera, else the page's first view)
    about     : what the picture was made from, kept in the file as text by name
    Raises InputError (size), MetricError (no_opengl).
    """
    width, height = size
    if min(size) < 64 or width * height > MAX_PIXELS:
        raise InputError(
            f"A picture has at least 64 pixels a side and {MAX_PIXELS} in all; got {width} × {height}.", "size"
        )
    choose_window()
    from PIL import Image, ImageDraw
    from PIL.PngImagePlugin import PngInfo

    ink = ink_of(scene.theme)
    values = {c.id: c.value for c in scene.controls} | dict(controls or {})
    n = len(scene.panels)
    columns = scene.columns_of_panels or (n if n <= 3 else 2)
    rows = 1 + max(scene.cell_of(i) for i in range(n)) // columns
    text = max(12, round(min(width / columns / 36, height / rows / 30) * ink.size / 13))
    foot = wrapped(scene.caption, width - 2 * text, round(text * 0.9))
    body = height - round(1.5 * text * len(foot)) - (text if foot else 0)
    image = Image.new("RGBA", size, (0, 0, 0, 0) if transparent else ink.paper)
    pen = Pen(ImageDraw.Draw(image), ink, text)
    limits, arrow_lengths = common_scales(scene, values)
    cell_w, cell_h = width // columns, body // rows
    cameras = []
    for panel in scene.panels:
        bar_w = 0 if panel.colour is None else round(7.5 * text)
        cameras.append(fit(panel.surface, sight(scene, panel, direction), (cell_w - bar_w) / cell_h))
    if scene.linked:
        cameras = [max(cameras, key=lambda c: c["depth"])] * n
    for i, panel in enumerate(scene.panels):
        x, y = (scene.cell_of(i) % columns) * cell_w, (scene.cell_of(i) // columns) * cell_h
        bar_w = 0 if panel.colour is None else round(7.5 * text)
        box = (cell_w - bar_w, cell_h)
        drawn = draw_panel(panel, values, limits[i], arrow_lengths[i], cameras[i], box, ink, text)
        right, start, end = _half(panel, values, box[0])
        drawn = drawn.crop((start, 0, end, cell_h))
        image.paste(drawn, (x + start, y), drawn)
        if right:
            pen.draw.line((x + start, y, x + start, y + cell_h), fill=ink.ink, width=max(2, round(text / 8)))
        if panel.title:
            pen.text((x + right * box[0] // 2 + text * 0.8, y + text * 0.4), panel.title, bold=True)
        if panel.colour is not None and not right:
            bar(pen, panel.colour, limits[i], (x + box[0], y, bar_w, cell_h))
        named = {x.label: x.colour for x in (*panel.tubes, *panel.segments, *panel.dots) if x.label}
        lift = 2.8 if panel.arrows is not None else 1.4
        for j, (label, colour) in enumerate(reversed(named.items())):
            pen.swatch((x + text * 0.8, y + cell_h - text * (lift + 1.5 * j)), colour, label)
        if panel.arrows is not None:
            per_unit = cell_h / (2 * cameras[i]["depth"] * np.tan(np.radians(ANGLE / 2)))
            at = (x + text * 0.8, y + cell_h - 1.2 * text)
            arrow_key(pen, at, arrow_lengths[i] * per_unit, panel.arrows.name, panel.arrows.unit)
    for j, line in enumerate(foot):
        pen.text((text, body + text * 0.4 + 1.5 * text * j), line, 0.9, muted=True)
    out = io.BytesIO()
    info = PngInfo()
    for name, said in (about or {}).items():
        info.add_itxt(name[:79], said)
    image.save(out, "PNG", dpi=(300, 300), pnginfo=info)
    return out.getvalue()


def _half(panel: Panel, controls: Mapping[str, float], width: int) -> tuple[bool, int, int]:
    """Whether a panel is the right one of two halves, and the columns of pixels that it fills."""
    if panel.half is None:
        return False, 0, width
    at = round(width * min(1.0, max(0.0, controls[panel.half.control])))
    return (True, at, width) if panel.half.right else (False, 0, at)


# ---- drawing -----------------------------------------------------------------------------------------------------


def draw_panel(panel: Panel, controls, limits, arrow_length: float, camera: dict, size, ink: Ink, text: int):
    """One panel without its bar, as a Pillow image (RGBA)."""
    import pyvista as pv
    from PIL import Image

    surface = panel.surface
    plotter = pv.Plotter(off_screen=True, window_size=[OVERSAMPLE * s for s in size], lighting=None)
    try:
        plotter.add_light(pv.Light(light_type="headlight"))
        line = OVERSAMPLE * text / 13 * ink.thick
        _draw_surface(pv, plotter, panel, controls, limits, ink, line)
        clip = _clip_plane(panel, controls)
        if panel.arrows is not None and arrow_length > 0:
            _draw_arrows(pv, plotter, panel.arrows, surface, controls, arrow_length, ink, clip)
        for tube in panel.tubes:
            _draw_tube(pv, plotter, tube, surface, ink)
        for s in panel.segments:
            if len(s.points):
                ends = _unit(surface, np.asarray(s.points, float).reshape(-1, 3))
                cells = np.column_stack([np.full(len(ends) // 2, 2), np.arange(len(ends)).reshape(-1, 2)])
                lines = pv.PolyData(ends, lines=cells)
                plotter.add_mesh(lines, color=s.colour, line_width=s.width * line, lighting=False)
        for d in panel.dots:
            if len(d.points):
                points = pv.PolyData(_unit(surface, d.points))
                plotter.add_mesh(points, color=d.colour, point_size=d.size * line, render_points_as_spheres=True)
        for m in panel.markers:
            where = np.asarray(m.bary) @ surface.corner_points(int(m.face)) if m.position is None else m.position
            ball = pv.Sphere(radius=0.026 * ink.thick, center=_unit(surface, np.asarray(where, float)[None])[0])
            plotter.add_mesh(ball, color=m.colour, smooth_shading=True)
        plotter.camera.position, plotter.camera.focal_point = camera["position"], camera["focal"]
        plotter.camera.up, plotter.camera.view_angle = camera["up"], ANGLE
        plotter.renderer.ResetCameraClippingRange()
        pixels = plotter.screenshot(None, return_img=True, transparent_background=True)
    finally:
        plotter.close()
    return Image.fromarray(np.asarray(pixels)).convert("RGBA").resize(size, Image.Resampling.LANCZOS)


def _unit(surface: Surface, points: np.ndarray) -> np.ndarray:
    return (np.asarray(points, float) - surface.centre) * surface.scale


def _clip_plane(panel: Panel, controls) -> tuple[np.ndarray, float] | None:
    """Normal and offset: x·normal ≤ offset is kept."""
    if panel.clip is None:
        return None
    normal = np.asarray(panel.clip.normal, float) / np.linalg.norm(panel.clip.normal)
    at = controls[panel.clip.position] if isinstance(panel.clip.position, str) else panel.clip.position
    along = _unit(panel.surface, panel.surface.points) @ normal
    return normal, float(along.min() + np.ptp(along) * at)


def is_planar(points: np.ndarray) -> bool:
    """Whether a plane holds all points; light that it throws back would cover it whole."""
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(spread[-1] <= 1e-9 * spread[0])


def _draw_surface(pv, plotter, panel: Panel, controls, limits, ink: Ink, line: float) -> None:
    surface, colour = panel.surface, panel.colour
    points = _unit(surface, surface.points)
    look = {
        "ambient": 0.3,
        "diffuse": 0.76,
        "specular": 0.0 if is_planar(surface.points) else 0.06,
        "specular_power": 24,
        "opacity": panel.opacity,
        "show_edges": panel.wireframe,
        "edge_color": ink.muted,
        "line_width": line if panel.wireframe else 2 * line,
        "point_size": 6 * line,
    }
    options: dict = {"color": panel.plain}
    values = None
    if colour is not None:
        values = scalars(colour, controls)
        table = pv.LookupTable(values=colour_table(colour), nan_color="#b9bec6", scalar_range=limits)
        options = {
            "scalars": "values",
            "cmap": table,
            "clim": limits,
            "show_scalar_bar": False,
            "interpolate_before_map": colour.where == "vertex" and colour.kind != "category",
        }
    clip = _clip_plane(panel, controls)
    for kind, cells in (("faces", surface.triangles), ("lines", surface.edges), ("verts", surface.dots[:, None])):
        if len(cells) == 0:
            continue
        padded = np.column_stack([np.full(len(cells), cells.shape[1]), cells])
        mesh = pv.PolyData(points, **{kind: padded.ravel() if kind != "verts" else padded})
        mesh.point_data["Normals"] = surface.normals
        mesh.GetPointData().SetActiveNormals("Normals")
        mine = options
        if values is not None and colour.where == "vertex":
            mesh.point_data["values"] = values[surface.vertex_of]
        elif values is not None and kind == "faces":
            mesh.cell_data["values"] = values[surface.face_of]
        else:
            mine = {"color": panel.plain}
        if clip is not None:
            mesh = mesh.clip(normal=clip[0], origin=clip[0] * clip[1])
            if "Normals" in mesh.point_data:
                mesh.GetPointData().SetActiveNormals("Normals")
        if mesh.n_cells == 0:
            continue
        _with_lines(plotter, mesh, panel, colour, limits, ink, line, kind, values)
        plotter.add_mesh(mesh, smooth_shading=False, interpolation="Phong", **mine, **look)
    if clip is not None and len(surface.tets):
        _draw_cap(
            pv, plotter, surface, points, values if colour and colour.where == "vertex" else None, clip, options, panel
        )


def _with_lines(plotter, mesh, panel: Panel, colour, limits, ink: Ink, line: float, kind: str, values) -> None:
    """Level lines of vertex values."""
    if panel.isolines is None or kind != "faces" or values is None or colour.where != "vertex":
        return
    n = panel.isolines.n
    levels = panel.isolines.levels or tuple(np.linspace(limits[0], limits[1], n + 2)[1:-1])
    contour = mesh.contour(list(levels), scalars="values") if levels else None
    if contour is not None and contour.n_points:
        contour.points = contour.points * 1.003
        plotter.add_mesh(contour, color=ink.ink, line_width=1.2 * line, opacity=0.6, lighting=False)


def _draw_cap(pv, plotter, surface: Surface, points, values, clip, options: dict, panel: Panel) -> None:
    cells = np.column_stack([np.full(len(surface.tets), 4), surface.tets]).ravel()
    grid = pv.UnstructuredGrid(cells, np.full(len(surface.tets), int(pv.CellType.TETRA), np.uint8), points)
    if values is not None:
        grid.point_data["values"] = values[surface.vertex_of]
    cap = grid.slice(normal=clip[0], origin=clip[0] * clip[1])
    if cap.n_cells:
        plotter.add_mesh(cap, lighting=False, **(options if values is not None else {"color": panel.plain}))


def _draw_arrows(pv, plotter, arrows: Arrows, surface: Surface, controls, length: float, ink: Ink, clip) -> None:
    for halo, colour in ((True, ink.paper), (False, arrows.colour or ink.ink)):
        if halo and arrows.glyphs.volume:
            continue
        points, triangles = arrow_mesh(arrows, surface, controls, length, halo)
        if len(points) == 0:
            continue
        cells = np.column_stack([np.full(len(triangles), 3), triangles]).ravel()
        mesh = pv.PolyData(points, faces=cells)
        if clip is not None:
            mesh = mesh.clip(normal=clip[0], origin=clip[0] * clip[1])
        if mesh.n_cells:
            culling = None if arrows.glyphs.volume else "back"
            plotter.add_mesh(mesh, color=colour, lighting=False, culling=culling)


def _draw_tube(pv, plotter, tube: Tube, surface: Surface, ink: Ink) -> None:
    points = _unit(surface, tube.points)
    if len(points) < 2:
        return
    if tube.closed:
        points = np.concatenate([points, points[:1]])
    line = pv.PolyData(points, lines=np.r_[len(points), np.arange(len(points))])
    shape = line.tube(radius=tube.radius * ink.thick, n_sides=16)
    plotter.add_mesh(shape, color=tube.colour, smooth_shading=True, ambient=0.3, diffuse=0.76)
