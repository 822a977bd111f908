"""Events of the page as records in the mesh's own numbers; what does not belong to the scene on show is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hsd.viz.scene import Scene, Surface


@dataclass(frozen=True)
class Pick:
    """A click on a surface.

    panel : number of the panel;  face: row of ``mesh.complex.simplices(2)``;  bary: weights of its three vertices in
    stored (increasing) order, sum 1;  vertex: the nearest of the three;  position: in the mesh's unit
    exact : False where the picture is decimated, so that the place is approximate
    controls : values of all controls at the click;  rev: of the scene that was clicked
    mesh, drawn_face, drawn_bary, seq : the same place as the page names it
    """

    panel: int
    face: int
    bary: tuple[float, float, float]
    vertex: int
    position: tuple[float, float, float]
    exact: bool = True
    controls: Mapping[str, float] = field(default_factory=dict)
    rev: str = ""
    seq: int = 0
    mesh: str = ""
    drawn_face: int = 0
    drawn_bary: tuple[float, float, float] = (1.0, 0.0, 0.0)


@dataclass(frozen=True)
class Place:
    """A point was added, moved or deleted.  ``id`` names the marker moved or deleted; ``new_id`` is free for a new one.

    op : "add" | "move" | "delete"; the other fields as in :class:`Pick` (None for "delete")
    """

    op: str
    id: str | None
    new_id: str
    kind: str
    panel: int
    face: int | None = None
    bary: tuple[float, float, float] | None = None
    position: tuple[float, float, float] | None = None
    exact: bool = True
    rev: str = ""
    seq: int = 0


@dataclass(frozen=True)
class ViewerEvents:
    """What came back in this run: a pick or a place (each in one run only), and the values of reported controls."""

    pick: Pick | None = None
    place: Place | None = None
    controls: Mapping[str, float] = field(default_factory=dict)


def on_mesh(surface: Surface, face: int, bary: list[float]) -> tuple[int, tuple[float, float, float]] | None:
    """Drawn triangle and weights → mesh triangle and weights of its vertices in stored order; None if impossible."""
    if not 0 <= face < len(surface.triangles) or len(bary) != 3:
        return None
    weights = np.clip(np.asarray(bary, float), 0.0, 1.0)
    total = weights.sum()
    if not np.isfinite(total) or total <= 0:
        return None
    weights = weights / total
    order = np.argsort(surface.corners[face])
    return int(surface.face_of[face]), tuple(float(w) for w in weights[order])


def _surface(scene: Scene, event: Mapping, hashes: list[str]) -> Surface | None:
    panel = event.get("panel")
    if not isinstance(panel, int) or not 0 <= panel < len(scene.panels) or hashes[panel] != event.get("mesh"):
        return None
    return scene.panels[panel].surface


def read_pick(scene: Scene, hashes: list[str], event: object) -> Pick | None:
    """A pick from the page's message; None when it is stale or not what it should be."""
    if not isinstance(event, Mapping) or (surface := _surface(scene, event, hashes)) is None:
        return None
    place = on_mesh(surface, int(event.get("face", -1)), list(event.get("bary", ())))
    if place is None:
        return None
    face, bary = place
    corners = surface.points[surface.triangles[int(event["face"])]]
    drawn = np.asarray(event["bary"], float)
    controls = {str(k): float(v) for k, v in dict(event.get("controls", {})).items()}
    return Pick(
        panel=int(event["panel"]),
        face=face,
        bary=bary,
        vertex=int(np.sort(surface.corners[int(event["face"])])[int(np.argmax(bary))]),
        position=tuple(float(x) for x in drawn @ corners / drawn.sum()),
        exact=not surface.decimated,
        controls=controls,
        rev=str(event.get("rev", "")),
        seq=int(event.get("seq", 0)),
        mesh=hashes[int(event["panel"])],
        drawn_face=int(event["face"]),
        drawn_bary=tuple(float(w) for w in drawn),
    )


def read_place(scene: Scene, hashes: list[str], event: object) -> Place | None:
    """A placed, moved or deleted point from the page's message; None when it is stale."""
    if not isinstance(event, Mapping) or event.get("op") not in ("add", "move", "delete"):
        return None
    if _surface(scene, event, hashes) is None:
        return None
    known = {m.id for m in scene.panels[int(event["panel"])].markers}
    op, marker = event["op"], event.get("id")
    if op != "add" and marker not in known:
        return None
    used = {m.id for p in scene.panels for m in p.markers}
    new_id = next(name for name in (f"p{i}" for i in range(1, len(used) + 2)) if name not in used)
    common = {
        "op": op,
        "id": None if op == "add" else str(marker),
        "new_id": new_id,
        "kind": str(event.get("kind", "")),
        "panel": int(event["panel"]),
        "rev": str(event.get("rev", "")),
        "seq": int(event.get("seq", 0)),
    }
    if op == "delete":
        return Place(**common)
    pick = read_pick(scene, hashes, event)
    if pick is None:
        return None
    return Place(face=pick.face, bary=pick.bary, position=pick.position, exact=pick.exact, **common)
