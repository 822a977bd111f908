"""From a raw file to a mesh: clean, triangulate, weld, number, and remember where everything came from.

Order: index check → points that are not finite → triangulation → repeated indices → welding → duplicates → loose
points → one simplicial complex of all that is left.  Every change is a notice; nothing changes in silence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hsd.errors import InputError, Notice
from hsd.mesh.complex import SimplicialComplex, unique_rows
from hsd.mesh.manifold import n_defects
from hsd.mesh.mesh import Mesh, winding_of
from hsd.mesh.raw import DEGREE, RawMesh
from hsd.mesh.triangulate import strip_triangles, triangulate
from hsd.mesh.weld import Weld, box_diagonal, equal_positions, find_weld

MAX_IDS = 1000
"""Notices carry at most this many ids."""


@dataclass
class _Rows:
    """Simplices of one degree as rows of file points, with the file cell of each and whether it is only a marker."""

    rows: np.ndarray
    cell: np.ndarray
    marker: np.ndarray

    def only(self, mask: np.ndarray) -> _Rows:
        return _Rows(self.rows[mask], self.cell[mask], self.marker[mask])


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
        return _graph(raw, _simplices(raw, np.ones(raw.n_points, bool), notices), name, keep_loose, fill_triangles, notices)
    finite = np.isfinite(raw.points).all(axis=1)
    simplices = _simplices(raw, finite, notices)
    degrees = [k for k, s in simplices.items() if (~s.marker).any()]
    if not any(k >= 1 for k in degrees):
        if any(DEGREE[b.kind] >= 1 for b in raw.blocks):
            why = "; ".join(n.message for n in notices[:3])
            raise InputError(f"No cell of the {raw.format} file is usable. {why}", "empty")
        return _cloud(raw, finite, name, radius, notices)
    dim = max(degrees)
    if dim == 1:
        return _graph(raw, simplices, name, keep_loose, fill_triangles, notices, finite)
    label = _weld(raw, simplices, weld, notices)
    for k in simplices:
        simplices[k] = _mapped(simplices[k], label)
    _note_duplicates(simplices, raw, notices)
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
    numbered = {k: _Rows(number[s.rows], s.cell, s.marker) for k, s in simplices.items()}
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


# ---- steps -----------------------------------------------------------------------------------------------------


def _simplices(raw: RawMesh, finite: np.ndarray, notices: list[Notice]) -> dict[int, _Rows]:
    """All simplices as given, without those at points that are not finite and those naming a point twice."""
    base = raw.index_base
    bad = np.flatnonzero(~finite)
    parts: dict[int, list[_Rows]] = {}
    dropped, repeated, crossing = [], [], []
    for block in raw.blocks:
        degree = DEGREE[block.kind]
        if len(bad) and len(block):
            touched = np.bincount(block.row_of_entry, weights=~finite[block.flat], minlength=len(block)) > 0
            dropped.append(block.file_cells[touched])
            keep = ~touched
            block = type(block).of_lengths(
                block.kind,
                block.flat[keep[block.row_of_entry]],
                block.lengths[keep],
                file_cells=block.file_cells[keep],
                is_marker=block.is_marker,
            )
        if block.kind == "polygon":
            rows, row, crossed = triangulate(raw.points if raw.points is not None else np.zeros((0, 2)), block)
            crossing.append(block.file_cells[crossed])
        elif block.kind == "strip":
            rows, row = strip_triangles(block)
        elif block.kind == "line":
            inner = np.ones(len(block.flat), bool)
            inner[block.offsets[1:] - 1] = False
            start = np.flatnonzero(inner)
            rows, row = np.stack([block.flat[start], block.flat[start + 1]], axis=1), block.row_of_entry[start]
        elif block.kind == "vertex":
            rows, row = block.flat[:, None], block.row_of_entry
        else:
            rows, row = block.flat.reshape(-1, 4), np.arange(len(block))
        part = _Rows(rows, block.file_cells[row], np.full(len(rows), block.is_marker))
        twice = _names_twice(rows)
        if block.kind != "strip":  # strips use repeated points to turn corners
            repeated.append(part.cell[twice])
        parts.setdefault(degree, []).append(part.only(~twice))
    if len(bad):
        cells = np.concatenate(dropped) if dropped else np.zeros(0, np.int64)
        counted = "counted from 1" if base else "counted from 0"
        notices.append(
            Notice(
                "non_finite_vertex",
                f"{len(bad)} point(s) have coordinates that are not finite, the first is vertex {bad[0] + base} "
                f"({counted}); dropped together with {len(cells)} cell(s) that use them.",
                _ids(bad),
            )
        )
    cells = np.unique(np.concatenate(repeated)) if repeated else np.zeros(0, np.int64)
    if len(cells):
        notices.append(
            Notice(
                "repeated_index",
                f"{len(cells)} cell(s) name one vertex twice, the first is cell {cells[0] + base}; what is degenerate "
                "in them was dropped.",
                _ids(cells),
            )
        )
    cells = np.concatenate(crossing) if crossing else np.zeros(0, np.int64)
    if len(cells):
        notices.append(
            Notice(
                "polygon_not_simple",
                f"{len(cells)} polygon(s) cross themselves or are flat, the first is cell {cells[0] + base}; their "
                "triangles may overlap.",
                _ids(cells),
            )
        )
    return {
        k: _Rows(
            np.concatenate([p.rows for p in group]),
            np.concatenate([p.cell for p in group]),
            np.concatenate([p.marker for p in group]),
        )
        for k, group in sorted(parts.items())
    }


def _names_twice(rows: np.ndarray) -> np.ndarray:
    ordered = np.sort(rows, axis=1)
    return (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)


def _mapped(s: _Rows, label: np.ndarray) -> _Rows:
    moved = _Rows(label[s.rows], s.cell, s.marker)
    return moved.only(~_names_twice(moved.rows))


def _weld(raw: RawMesh, simplices: dict[int, _Rows], weld: float, notices: list[Notice]) -> np.ndarray:
    """(n,) the file point that stands for each file point, after the manifold check."""
    n = raw.n_points
    used = np.zeros(n, bool)
    for s in simplices.values():
        used[s.rows.ravel()] = True
    soup = raw.is_soup or _is_soup(simplices)
    start = np.arange(n)
    if soup:
        ids = np.flatnonzero(used)
        start[ids] = ids[equal_positions(raw.points[ids])]
    diagonal = box_diagonal(raw.points[used])
    tries = [find_weld(raw.points, used, weld * diagonal), find_weld(raw.points, used, 0.0)] if weld > 0 else []
    before = None
    for attempt, found in enumerate(tries):
        if (found.label == start).all():
            break
        before = before if before is not None else _defects(simplices, start, n)
        after = _defects(simplices, found.label, n)
        if any(a > b for a, b in zip(after, before)):
            if attempt == 0:
                notices.append(
                    Notice(
                        "weld_breaks_manifold",
                        f"Joining points within {weld:g} of the box diagonal would raise the number of non-manifold "
                        f"facets, edges, vertices from {before} to {after}; only welding that does no such harm was done.",
                    )
                )
            continue
        _note_weld(found, weld if attempt == 0 else 0.0, diagonal, simplices, notices)
        return found.label
    if soup and (start != np.arange(n)).any():
        merged = int((start != np.arange(n)).sum())
        notices.append(
            Notice("welded", f"{merged} points were joined with a point at exactly the same position (0 points moved).")
        )
    return start


def _note_weld(found: Weld, weld: float, diagonal: float, simplices: dict[int, _Rows], notices: list[Notice]) -> None:
    lost = [s.cell[_names_twice(found.label[s.rows])] for s in simplices.values()]
    lost = np.unique(np.concatenate(lost))
    text = (
        f"{found.n_merged} points were joined with another within {weld:g} of the box diagonal ({weld * diagonal:.3g}); "
        f"{found.n_moved} of them moved, by at most {found.farthest:.3g}."
    )
    if len(lost):
        text += f" {len(lost)} cell(s) collapsed and were dropped, the first is cell {lost[0]}."
    notices.append(Notice("welded", text, _ids(lost)))
    if found.crowded:
        notices.append(
            Notice(
                "weld_too_wide",
                f"The weld tolerance {weld:g} of the box diagonal joins most points with many others (is there a stray "
                "far point?); only points at equal positions were joined.",
            )
        )


def _is_soup(simplices: dict[int, _Rows]) -> bool:
    """Every triangle has its own three points and there are at least two of them."""
    s = simplices.get(2)
    if s is None or len(s.rows) < 2 or any((~o.marker).any() for k, o in simplices.items() if k != 2):
        return False
    return len(np.unique(s.rows)) == s.rows.size


def _defects(simplices: dict[int, _Rows], label: np.ndarray, n: int) -> tuple[int, int, int]:
    rows = {}
    for k, s in simplices.items():
        if k >= 2:
            rows[k] = _mapped(s.only(~s.marker), label).rows
    return n_defects(SimplicialComplex.from_simplices(n, rows))


def _note_duplicates(simplices: dict[int, _Rows], raw: RawMesh, notices: list[Notice]) -> None:
    words = {1: ("duplicate_edges", "line(s)"), 2: ("duplicate_faces", "face(s)"), 3: ("duplicate_tets", "tet(s)")}
    for k, (kind, word) in words.items():
        s = simplices.get(k)
        if s is None or not len(s.rows):
            continue
        s = s.only(~s.marker)
        _, inverse = unique_rows(np.sort(s.rows, axis=1), raw.n_points)
        first = np.full(int(inverse.max(initial=-1)) + 1, len(inverse))
        np.minimum.at(first, inverse, np.arange(len(inverse)))
        again = np.flatnonzero(first[inverse] != np.arange(len(inverse)))
        if len(again):
            cell = s.cell[again]
            notices.append(
                Notice(
                    kind,
                    f"{len(again)} {word} repeat an earlier one (either winding), the first is cell "
                    f"{cell[0] + raw.index_base}; each counts once, since a complex is a set.",
                    _ids(cell),
                )
            )


def _loose_notice(loose: np.ndarray, kept: bool, raw: RawMesh) -> Notice:
    fate = "kept as isolated vertices" if kept else "dropped (keep_loose=True keeps them)"
    return Notice(
        "unreferenced_vertices",
        f"{len(loose)} point(s) belong to no cell, the first is vertex {loose[0] + raw.index_base}; they were {fate}.",
        _ids(loose),
    )


def _origins(
    complex_: SimplicialComplex, numbered: dict[int, _Rows], n_cells: int
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


def _ids(array: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in array[:MAX_IDS])


# ---- graphs and point clouds -------------------------------------------------------------------------------------


def _graph(
    raw: RawMesh,
    simplices: dict[int, _Rows],
    name: str,
    keep_loose: bool,
    fill_triangles: bool,
    notices: list[Notice],
    finite: np.ndarray | None = None,
) -> Mesh:
    from hsd.mesh.from_graph import mesh_from_edges

    n = raw.n_points
    edges = simplices.get(1, _Rows(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), np.zeros(0, bool)))
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
    _note_duplicates({1: edges}, raw, notices)
    kept = np.flatnonzero(used)
    number = np.full(n, -1)
    number[kept] = np.arange(len(kept))
    rows = number[edges.rows]
    distinct, _ = unique_rows(np.sort(rows, axis=1), max(len(kept), 1))
    points = None if raw.points is None else raw.points[kept]
    mesh = mesh_from_edges(distinct, points, len(kept), name=name, fill_triangles=fill_triangles)
    numbered = {k: _Rows(number[s.rows], s.cell, s.marker) for k, s in simplices.items() if k <= 1}
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
