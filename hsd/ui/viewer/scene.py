"""A scene → small JSON without arrays and camera, and the assets (packed arrays) that it names by hash.

The JSON is idempotent: the page compares it with what it shows.  Positions are drawn at (x − centre) · scale.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping

import numpy as np
from scipy.spatial import cKDTree

from hsd.errors import InputError
from hsd.ui.viewer.pack import Asset, pack, quantise
from hsd.viz.palettes import colour_stops
from hsd.viz.scene import Arrows, Clip, Colour, Columns, Glyphs, Marker, Mix, Panel, Scene, Segments, Surface, Tube
from hsd.viz.superlevel import Superlevel

_PACKED: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
"""Packed assets of records that still live; a record is packed once, however often it is shown."""


def encode(scene: Scene, view: str) -> tuple[dict, list[Asset]]:
    """The message of a scene and its assets, each asset once, in the order of first use."""
    assets: dict[str, Asset] = {}

    def use(asset: Asset) -> str:
        assets.setdefault(asset.hash, asset)
        return asset.hash

    message = {
        "v": 1,
        "view": view,
        "rev": scene.rev,
        "theme": scene.theme,
        "layout": {"cols": scene.columns_of_panels, "link": scene.linked, "cells": list(scene.cells)},
        "caption": scene.caption,
        "tool": {"mode": scene.tool.mode, "kind": scene.tool.kind, "colour": scene.tool.colour},
        "camera": None
        if scene.camera is None
        else {
            "token": scene.camera.token,
            "direction": [float(x) for x in scene.camera.direction],
            "up": [float(x) for x in scene.camera.up],
        },
        "controls": [_control(c) for c in scene.controls],
        "panels": [_panel(p, use) for p in scene.panels],
    }
    return message, list(assets.values())


def mesh_hashes(message: Mapping) -> list[str]:
    """The hash of each panel's surface in an encoded scene."""
    return [panel["mesh"] for panel in message["panels"]]


def surface_asset(surface: Surface) -> Asset:
    """Positions in the unit ball (float32), normals (int8 / 127), indices."""

    def make() -> Asset:
        unit = (surface.points - surface.centre) * surface.scale
        return pack(
            "mesh",
            {
                "points": unit.astype(np.float32),
                "normals": np.rint(surface.normals * 127).astype(np.int8),
                "triangles": surface.triangles.astype(np.uint32),
                "edges": surface.edges.astype(np.uint32),
                "dots": surface.dots.astype(np.uint32),
                "tets": surface.tets.astype(np.uint32),
                "proxy": surface.proxy.astype(np.uint32),
            },
            closed=bool(surface.closed),
            n_faces=int(surface.n_faces),
            centre=[float(x) for x in surface.centre],
            scale=float(surface.scale),
        )

    return _once(surface, None, make)


def columns_asset(columns: Columns, surface: Surface | None) -> Asset:
    """Quantised columns on the drawn vertices or triangles of a surface, or on glyphs (surface None)."""

    def make() -> Asset:
        values = columns.values
        if surface is not None:
            rows, total = (
                (surface.vertex_of, surface.n_mesh_vertices)
                if columns.where == "vertex"
                else (surface.face_of, surface.n_mesh_faces)
            )
            if len(values) != total:
                raise InputError(
                    f"Values on each {columns.where} of {surface.name} must be {total}; got {len(values)}.", "shape"
                )
            values = values[rows]
        level, scale = quantise(values)
        return pack("columns", {"q": level, "scale": scale}, where=columns.where)

    return _once(columns, surface, make)


def _once(record: object, surface: Surface | None, make) -> Asset:
    known = _PACKED.setdefault(record, {})
    key = id(surface) if surface is not None else None
    entry = known.get(key)
    if entry is not None and (surface is None or entry[0]() is surface):
        return entry[1]
    asset = make()
    known[key] = (weakref.ref(surface) if surface is not None else None, asset)
    return asset


def _control(c) -> dict:
    return {
        "id": c.id,
        "label": c.label,
        "min": float(c.minimum),
        "max": float(c.maximum),
        "step": float(c.step),
        "value": float(c.value),
        "labels": list(c.labels),
        "play": bool(c.play),
        "keys": bool(c.keys),
        "report": bool(c.report),
    }


def _panel(panel: Panel, use) -> dict:
    surface = panel.surface
    return {
        "title": panel.title,
        "mesh": use(surface_asset(surface)),
        "colour": None if panel.colour is None else _colour(panel.colour, surface, use),
        "arrows": None if panel.arrows is None else _arrows(panel.arrows, surface, use),
        "tubes": [_tube(t, surface, use) for t in panel.tubes],
        "segments": [_segments(s, surface, use) for s in panel.segments if len(s.points)],
        "dots": [_dots(d, surface, use) for d in panel.dots if len(d.points)],
        "markers": [_marker(m, surface) for m in panel.markers],
        "iso": None
        if panel.isolines is None
        else {
            "n": int(panel.isolines.n),
            "levels": [float(x) for x in panel.isolines.levels],
            "level": panel.isolines.level,
        },
        "super": None if panel.superlevel is None else _superlevel(panel.superlevel, surface, use),
        "clip": None if panel.clip is None else _clip(panel.clip),
        "half": None if panel.half is None else {"control": panel.half.control, "right": panel.half.right},
        "opacity": float(panel.opacity),
        "wireframe": bool(panel.wireframe),
        "plain": panel.plain,
        "alt": panel.alt or _alt(panel),
        "shown": [len(surface.triangles), int(surface.n_faces)],
    }


def _mix(mix: Mix, surface: Surface | None, use) -> dict:
    columns = mix.columns
    names = list(dict.fromkeys(columns.groups))
    return {
        "cols": use(columns_asset(columns, surface)),
        "coef": None if mix.coefficients is None else [float(f"{c:.7g}") for c in mix.coefficients],
        "mode": mix.mode,
        "cut": mix.cut,
        "always": mix.always,
        "groups": [names.index(g) for g in columns.groups] if mix.weights else [],
        "weights": [mix.weights.get(name) for name in names] if mix.weights else [],
    }


def _colour(colour: Colour, surface: Surface, use) -> dict:
    return {
        "mix": _mix(colour.mix, surface, use),
        "where": colour.where,
        "kind": colour.kind,
        "stops": colour_stops(colour.kind, len(colour.categories), colour.category_colours),
        "name": colour.name,
        "unit": colour.unit,
        "limits": None if colour.limits is None else [float(x) for x in colour.limits],
        "scale": colour.scale,
        "categories": list(colour.categories),
    }


def _arrows(arrows: Arrows, surface: Surface, use) -> dict:
    return {
        "glyphs": use(glyphs_asset(arrows.glyphs, surface)),
        "mix": _mix(arrows.mix, None, use),
        "name": arrows.name,
        "unit": arrows.unit,
        "scale": arrows.scale,
        "colour": arrows.colour,
    }


def glyphs_asset(glyphs: Glyphs, surface: Surface) -> Asset:
    """Arrow positions in the unit ball, normals, and the median distance to the nearest neighbour."""

    def make() -> Asset:
        unit = ((glyphs.points - surface.centre) * surface.scale).astype(np.float32)
        normals = np.rint(glyphs.normals * 127).astype(np.int8)
        nearest = cKDTree(unit).query(unit, k=2)[0][:, 1] if len(unit) > 1 else np.ones(1)
        spacing = float(f"{np.median(nearest):.4g}")
        return pack("glyphs", {"points": unit, "normals": normals}, volume=glyphs.volume, spacing=spacing)

    return _once(glyphs, surface, make)


def _unit(points: np.ndarray, surface: Surface) -> np.ndarray:
    return ((np.asarray(points, float) - surface.centre) * surface.scale).astype(np.float32)


def _superlevel(layer: Superlevel, surface: Surface, use) -> dict:
    return {
        "tree": use(superlevel_asset(layer, surface)),
        "control": layer.control,
        "low": float(layer.low),
        "high": float(layer.high),
        "steps": layer.n_steps,
        "colours": list(layer.colours),
        "texts": list(layer.texts),
    }


def superlevel_asset(layer: Superlevel, surface: Surface) -> Asset:
    """Field and peak of the drawn vertices (float32, uint32); parent, death and colour of the peaks."""

    def make() -> Asset:
        if len(layer.values) != surface.n_mesh_vertices:
            raise InputError(
                f"A level set on {surface.name} needs {surface.n_mesh_vertices} values; got {len(layer.values)}.",
                "shape",
            )
        at = surface.vertex_of
        return pack(
            "superlevel",
            {
                "values": layer.values[at].astype(np.float32),
                "basin": layer.basin[at].astype(np.uint32),
                "parent": layer.parent.astype(np.uint32),
                "death": np.maximum(layer.death, np.finfo(np.float32).min).astype(np.float32),
                "colour": layer.colour.astype(np.uint8),
            },
        )

    return _once(layer, surface, make)


def _tube(tube: Tube, surface: Surface, use) -> dict:
    asset = _once(tube, surface, lambda: pack("points", {"points": _unit(tube.points, surface)}))
    return {
        "points": use(asset),
        "closed": tube.closed,
        "colour": tube.colour,
        "label": tube.label,
        "radius": float(tube.radius),
    }


def _segments(s: Segments, surface: Surface, use) -> dict:
    asset = _once(s, surface, lambda: pack("points", {"points": _unit(s.points, surface).reshape(-1, 3)}))
    return {"points": use(asset), "colour": s.colour, "width": float(s.width), "label": s.label}


def _dots(dots, surface: Surface, use) -> dict:
    asset = _once(dots, surface, lambda: pack("points", {"points": _unit(dots.points, surface)}))
    return {"points": use(asset), "colour": dots.colour, "size": float(dots.size), "label": dots.label}


def _marker(marker: Marker, surface: Surface) -> dict:
    if marker.position is not None:
        position = np.asarray(marker.position, float)
    else:
        corners = surface.corner_points(int(marker.face))
        position = np.asarray(marker.bary, float) @ corners
    return {
        "id": marker.id,
        "pos": [float(f"{x:.6g}") for x in (position - surface.centre) * surface.scale],
        "kind": marker.kind,
        "colour": marker.colour,
        "label": marker.label,
        "drag": marker.drag,
    }


def _clip(clip: Clip) -> dict:
    normal = np.asarray(clip.normal, float)
    length = np.linalg.norm(normal)
    if not length > 0:
        raise InputError("The normal of a clip plane must not be zero.", "shape")
    position = clip.position if isinstance(clip.position, str) else float(clip.position)
    return {"normal": [float(x) for x in normal / length], "position": position}


def _alt(panel: Panel) -> str:
    what = f"{panel.surface.name}, {panel.surface.n_faces} triangles"
    if panel.colour is not None:
        what += f", coloured by {panel.colour.name}"
    if panel.arrows is not None:
        what += f", arrows of {panel.arrows.name or 'a vector field'}"
    if panel.tubes:
        what += f", {len(panel.tubes)} loops"
    if panel.markers:
        what += f", {len(panel.markers)} points"
    return (panel.title + ": " if panel.title else "") + what + "."
