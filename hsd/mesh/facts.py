"""Facts of a mesh as plain numbers: counts, manifoldness, orientability, area and volume, quality."""

from __future__ import annotations

import numpy as np

from hsd.mesh.manifold import nonmanifold_edges, nonmanifold_vertices
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures, zero_measure
from hsd.mesh.quality import quality


def facts(mesh: Mesh) -> dict:
    """Counts and properties; None where a property has no meaning (manifoldness of a graph, area without a metric).

    V E F T chi components: of the whole complex.
    boundary_loops: connected pieces of the boundary (loops where the mesh is a manifold); boundary_edges: edges in one
    face (for tets: edges of the boundary surface).
    closed: has faces or tets and no boundary.
    nonmanifold_edges, nonmanifold_vertices: by their links (``hsd.mesh.manifold``).
    edge_manifold, vertex_manifold: there are none of those.
    orientable: None where some facet has three or more cells; consistently_oriented: the file's winding agrees
    everywhere.
    genus: (2 − χ − loops)/2 of a connected orientable manifold surface, else None.
    area: of the faces (of a tet mesh: of its boundary surface).
    volume: of the tets, or enclosed by a closed, orientable surface in space, else None.
    zero_area_faces, zero_volume_tets: to rounding, relative to the longest edge.
    """
    cx, surface = mesh.complex, mesh.dim >= 2
    edges, vertices = nonmanifold_edges(cx), nonmanifold_vertices(cx)
    facets = cx.nonmanifold_facets
    edge_manifold = len(edges) == 0 and len(facets) == 0
    out = {
        "V": cx.n(0),
        "E": cx.n(1),
        "F": cx.n(2),
        "T": cx.n(3),
        "chi": cx.euler_characteristic,
        "components": cx.n_components,
        "boundary_loops": cx.n_boundary_pieces if surface else None,
        "closed": not cx.has_boundary if surface else None,
        "orientable": (None if len(facets) else cx.orientation is not None) if surface else None,
        "edge_manifold": edge_manifold if surface else None,
        "vertex_manifold": len(vertices) == 0 if surface else None,
        "genus": None,
        "boundary_edges": int(cx.on_boundary(1).sum()) if surface else None,
        "nonmanifold_edges": len(edges) if surface else None,
        "nonmanifold_vertices": len(vertices) if surface else None,
        "consistently_oriented": consistently_oriented(mesh) if surface else None,
        "zero_area_faces": len(zero_measure(mesh, 2)) if surface and mesh.has_metric else None,
        "zero_volume_tets": len(zero_measure(mesh, 3)) if mesh.dim == 3 and mesh.has_metric else None,
        "area": area(mesh),
        "volume": volume(mesh),
        "quality": quality(mesh),
    }
    manifold = edge_manifold and len(vertices) == 0 and cx.is_pure and mesh.dim == 2
    if manifold and cx.n_components == 1 and cx.orientation is not None:
        out["genus"] = (2 - cx.euler_characteristic - cx.n_boundary_pieces) // 2
    return out


def consistently_oriented(mesh: Mesh) -> bool:
    """True when the winding of the source never passes a facet twice in one direction."""
    cx = mesh.complex
    if mesh.winding is None:
        return cx.orientation is not None
    faces = cx.faces(cx.dim)
    sign = mesh.winding[:, None] * (-1) ** np.arange(cx.dim + 1)
    plus = np.bincount(faces[sign > 0], minlength=cx.n(cx.dim - 1))
    minus = np.bincount(faces[sign < 0], minlength=cx.n(cx.dim - 1))
    return bool(max(plus.max(initial=0), minus.max(initial=0)) <= 1)


def area(mesh: Mesh) -> float | None:
    """Total area of the faces of a surface, or of the boundary surface of a tet mesh, unit²."""
    if mesh.dim < 2 or not mesh.has_metric:
        return None
    areas = measures(mesh, 2)
    return float(areas[mesh.complex.on_boundary(2)].sum() if mesh.dim == 3 else areas.sum())


def volume(mesh: Mesh) -> float | None:
    """Total volume of the tets, or the volume that a closed orientable surface in 3-D space encloses, unit³.

    Enclosed: |Σ det(a, b, c)| / 6 over the faces as wound, with positions taken from the middle of the box.
    """
    cx = mesh.complex
    if mesh.dim == 3 and mesh.has_metric:
        return float(measures(mesh, 3).sum())
    space = mesh.points is not None and mesh.points.shape[1] == 3
    if mesh.dim != 2 or not space or cx.has_boundary or cx.orientation is None:
        return None
    middle = 0.5 * (mesh.points.max(axis=0) + mesh.points.min(axis=0))
    cells = mesh.oriented_cells()
    p = (mesh.points - middle)[cells]
    return float(abs(np.einsum("fi,fi->", p[:, 0], np.cross(p[:, 1], p[:, 2]))) / 6.0)


def orientation_clashes(mesh: Mesh) -> np.ndarray:
    """Top simplices whose winding is against most of their component, where an orientation exists."""
    if mesh.winding is None or mesh.orientation is None:
        return np.zeros(0, np.int64)
    return np.flatnonzero(mesh.winding != mesh.orientation)
