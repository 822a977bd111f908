"""From a raw file to a mesh: clean, triangulate, weld, number, and remember where everything came from.

Order: index check → points that are not finite → triangulation → repeated indices → welding → duplicates → loose
points → one simplicial complex of all that is left.  Every change is a notice; nothing changes in silence.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hsd.errors import InputError, Notice
from hsd.mesh.clean import Rows, first_ids, given_simplices, mapped, note_duplicates, weld_labels
from hsd.mesh.complex import SimplicialComplex, unique_rows
from hsd.mesh.mesh import Mesh, winding_of
from hsd.mesh.raw import DEGREE, RawMesh


def build_mesh(
    raw: RawMesh,
    name: str = "mesh",
    weld: float = 1e-6,
    keep_loose: bool = False,
    fill_triangles: bool = False,
    radius: float | None = None,
) -> Mesh:
    """The mesh of a raw file.

    weld : tolerance relative to the diagonal of the bounding box, 0 = off (formats without an index still join equal
    positions); keep_loose : keep points that no cell uses as isolated vertices; fill_triangles : a graph becomes its
    clique complex up to triangles; radius : for point clouds, see ``mesh_from_points``.
    Graphs are never welded.  Raises InputError (empty, index_out_of_range, …).
    """
    if not (np.isfinite(weld) and 0 <= weld < 1):
        raise InputError(f"The weld tolerance is relative to the box diagonal, 0 ≤ weld < 1; got {weld}.", "bad_option")
    raw.check()
    notices = list(raw.notices)
    if raw.points is None:
        return _graph(
            raw,
            given_simplices(raw, np.ones(raw.n_points, bool), notices),
            name,
            keep_loose,
            fill_triangles,
            notices,
        )
    finite = np.isfinite(raw.points).all(axis=1)
    simplices = given_simplices(raw, finite, notices)
    degrees = [k for k, s in simplices.items() if (~s.marker).any()]
    if not any(k >= 1 for k in degrees):
        if any(DEGREE[b.kind] >= 1 for b in raw.blocks):
            why = "; ".join(n.message for n in notices[:3])
            raise InputError(f"No cell of the {raw.format} file is usable. {why}", "empty")
        return _cloud(raw, finite, name, radius, notices)
    dim = max(degrees)
    if dim == 1:
        return _graph(raw, simplices, name, keep_loose, fill_triangles, notices, finite)
    label = weld_labels(raw, simplices, weld, notices)
    for k in simplices:
        simplices[k] = mapped(simplices[k], label)
    note_duplicates(simplices, raw, notices)
    used = np.zeros(raw.n_points, bool)
    for s in simplices.values():
        used[s.rows[~s.marker].ravel()] = True
    if not used.any() or not any((~s.marker).any() for k, s in simplices.items() if k >= 1):
        raise InputError(
            f"All cells of the {raw.format} file collapse to points or lines when equal positions are joined; "
            "check the coordinates or load with weld=0.",
            "empty",
        )
    own = finite & (label == np.arange(raw.n_points))
    loose = np.flatnonzero(own & ~used)
    if len(loose):
        notices.append(_loose_notice(loose, keep_loose, raw))
        if keep_loose:
            used[loose] = True
    kept = np.flatnonzero(used)
    number = np.full(raw.n_points, -1)
    number[kept] = np.arange(len(kept))
    vertex_of = np.where(finite, number[label], -1)
    numbered = {k: Rows(number[s.rows], s.cell, s.marker) for k, s in simplices.items()}
    complex_ = SimplicialComplex.from_simplices(len(kept), {k: s.rows[~s.marker] for k, s in numbered.items()})
    top = numbered[complex_.dim]
    face_of, cell_of = _origins(complex_, numbered, raw.n_cells)
    return Mesh(
        complex_,
        raw.points[kept],
        winding=winding_of(complex_, top.rows[~top.marker]),
        name=name,
        point_fields=raw.point_fields,
        cell_fields=raw.cell_fields,
        vertex_of_file_point=vertex_of,
        face_of_file_cell=face_of,
        cell_of_simplex=cell_of,
        notices=tuple(notices),
    )


# ---- shared by all kinds ------------------------------------------------------------------------------------------


def _loose_notice(loose: np.ndarray, kept: bool, raw: RawMesh) -> Notice:
    fate = "kept as isolated vertices" if kept else "dropped (keep_loose=True keeps them)"
    return Notice(
        "unreferenced_vertices",
        f"{len(loose)} point(s) belong to no cell, the first is vertex {loose[0] + raw.index_base}; they were {fate}.",
        first_ids(loose),
    )


def _origins(
    complex_: SimplicialComplex, numbered: dict[int, Rows], n_cells: int
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """face_of_file_cell and cell_of_simplex; of several the first in file order counts."""
    face_of = np.full(n_cells, -1)
    cell_of = [np.full(n, -1) for n in complex_.counts]
    for k, s in numbered.items():
        known = (s.rows >= 0).all(axis=1) & (k <= complex_.dim)
        s = s.only(known)
        if not len(s.rows):
            continue
        index, _ = complex_.find(s.rows) if k else (s.rows[:, 0], None)
        s, index = s.only(index >= 0), index[index >= 0]
        face_of[s.cell[::-1]] = index[::-1]
        cell_of[k][index[::-1]] = s.cell[::-1]
    return face_of, tuple(cell_of)


# ---- graphs and point clouds -------------------------------------------------------------------------------------


def _graph(
    raw: RawMesh,
    simplices: dict[int, Rows],
    name: str,
    keep_loose: bool,
    fill_triangles: bool,
    notices: list[Notice],
    finite: np.ndarray | None = None,
) -> Mesh:
    from hsd.mesh.from_graph import mesh_from_edges

    n = raw.n_points
    edges = simplices.get(1, Rows(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), np.zeros(0, bool)))
    if raw.points is not None:
        used = np.zeros(n, bool)
        for s in simplices.values():
            used[s.rows[~s.marker].ravel()] = True
        loose = np.flatnonzero(finite & ~used)
        if len(loose):
            notices.append(_loose_notice(loose, keep_loose, raw))
            used[loose] |= keep_loose
    else:
        used = np.ones(n, bool)
    note_duplicates({1: edges}, raw, notices)
    kept = np.flatnonzero(used)
    number = np.full(n, -1)
    number[kept] = np.arange(len(kept))
    rows = number[edges.rows]
    distinct, _ = unique_rows(np.sort(rows, axis=1), max(len(kept), 1))
    points = None if raw.points is None else raw.points[kept]
    mesh = mesh_from_edges(distinct, points, len(kept), name=name, fill_triangles=fill_triangles)
    numbered = {k: Rows(number[s.rows], s.cell, s.marker) for k, s in simplices.items() if k <= 1}
    face_of, cell_of = _origins(mesh.complex, numbered, raw.n_cells)
    return replace(
        mesh,
        point_fields=raw.point_fields,
        cell_fields=raw.cell_fields,
        vertex_of_file_point=number,
        face_of_file_cell=face_of,
        cell_of_simplex=cell_of,
        notices=tuple(notices) + mesh.notices,
    )


def _cloud(raw: RawMesh, finite: np.ndarray, name: str, radius: float | None, notices: list[Notice]) -> Mesh:
    from hsd.mesh.from_points import mesh_from_points

    if not finite.any():
        raise InputError(f"No point of the {raw.format} file has finite coordinates.", "empty")
    mesh = mesh_from_points(raw.points[finite], name=name, radius=radius)
    inner = mesh.vertex_of_file_point
    vertex_of = np.full(raw.n_points, -1)
    vertex_of[finite] = np.arange(int(finite.sum())) if inner is None else inner
    return replace(
        mesh,
        point_fields=raw.point_fields,
        vertex_of_file_point=vertex_of,
        notices=tuple(notices) + mesh.notices,
    )
