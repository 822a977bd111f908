"""Steps of cleaning on the way from a raw file to a mesh: simplices as given, welding, duplicates.

Every change is a notice that names the first element in the file's own numbering.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hsd.errors import Notice
from hsd.mesh.complex import SimplicialComplex, unique_rows
from hsd.mesh.manifold import n_defects
from hsd.mesh.raw import DEGREE, RawMesh
from hsd.mesh.triangulate import strip_triangles, triangulate
from hsd.mesh.weld import Weld, box_diagonal, equal_positions, find_weld

MAX_IDS = 1000
"""Notices carry at most this many ids."""
TOO_WIDE = 0.25
"""A weld that collapses more than this share of all simplices is no seam repair."""


@dataclass
class Rows:
    """Simplices of one degree as rows of file points, with the file cell of each and whether it is only a marker."""

    rows: np.ndarray
    cell: np.ndarray
    marker: np.ndarray

    def only(self, mask: np.ndarray) -> Rows:
        return Rows(self.rows[mask], self.cell[mask], self.marker[mask])


def given_simplices(raw: RawMesh, finite: np.ndarray, notices: list[Notice]) -> dict[int, Rows]:
    """All simplices as given, without those at points that are not finite and those naming a point twice."""
    base = raw.index_base
    bad = np.flatnonzero(~finite)
    parts: dict[int, list[Rows]] = {}
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
        part = Rows(rows, block.file_cells[row], np.full(len(rows), block.is_marker))
        twice = names_twice(rows)
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
                first_ids(bad),
            )
        )
    cells = np.unique(np.concatenate(repeated)) if repeated else np.zeros(0, np.int64)
    if len(cells):
        notices.append(
            Notice(
                "repeated_index",
                f"{len(cells)} cell(s) name one vertex twice, the first is cell {cells[0] + base}; what is degenerate "
                "in them was dropped.",
                first_ids(cells),
            )
        )
    cells = np.concatenate(crossing) if crossing else np.zeros(0, np.int64)
    if len(cells):
        notices.append(
            Notice(
                "polygon_not_simple",
                f"{len(cells)} polygon(s) cross themselves or are flat, the first is cell {cells[0] + base}; their "
                "triangles may overlap.",
                first_ids(cells),
            )
        )
    return {
        k: Rows(
            np.concatenate([p.rows for p in group]),
            np.concatenate([p.cell for p in group]),
            np.concatenate([p.marker for p in group]),
        )
        for k, group in sorted(parts.items())
    }


def names_twice(rows: np.ndarray) -> np.ndarray:
    ordered = np.sort(rows, axis=1)
    return (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)


def mapped(s: Rows, label: np.ndarray) -> Rows:
    moved = Rows(label[s.rows], s.cell, s.marker)
    return moved.only(~names_twice(moved.rows))


def weld_labels(raw: RawMesh, simplices: dict[int, Rows], weld: float, notices: list[Notice]) -> np.ndarray:
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
    tries = [(find_weld(raw.points, used, t * diagonal), t) for t in (weld, 0.0)] if weld > 0 else []
    n_rows = sum(int((~s.marker).sum()) for s in simplices.values())
    before = None
    for found, tolerance in tries:
        if (found.label == start).all():
            break
        lost = _collapsed(simplices, found.label)
        if tolerance > 0 and (found.crowded or sum(map(len, lost)) > TOO_WIDE * n_rows):
            notices.append(
                Notice(
                    "weld_too_wide",
                    f"The weld tolerance {weld:g} of the box diagonal ({weld * diagonal:.3g}) would merge the mesh's "
                    "own detail (is there a stray far point?); only points at equal positions were joined.",
                )
            )
            continue
        before = before if before is not None else _defects(simplices, start, n)
        after = _defects(simplices, found.label, n)
        if any(a > b for a, b in zip(after, before)):
            if "weld_breaks_manifold" not in {notice.kind for notice in notices}:
                notices.append(
                    Notice(
                        "weld_breaks_manifold",
                        f"Joining points within {tolerance:g} of the box diagonal would raise the numbers of "
                        f"non-manifold facets, edges, vertices from {before} to {after}; only harmless "
                        "welding was done.",
                    )
                )
            continue
        notices.append(_weld_notice(found, tolerance, diagonal, np.unique(np.concatenate(lost))))
        return found.label
    if soup and (start != np.arange(n)).any():
        merged = int((start != np.arange(n)).sum())
        notices.append(
            Notice("welded", f"{merged} points were joined with a point at exactly the same position (0 points moved).")
        )
    return start


def _weld_notice(found: Weld, weld: float, diagonal: float, lost: np.ndarray) -> Notice:
    text = (
        f"{found.n_merged} points were joined with another within {weld:g} of the box diagonal "
        f"({weld * diagonal:.3g}); {found.n_moved} of them moved, by at most {found.farthest:.3g}."
    )
    if len(lost):
        text += f" {len(lost)} cell(s) collapsed and were dropped, the first is cell {lost[0]}."
    return Notice("welded", text, first_ids(lost))


def _collapsed(simplices: dict[int, Rows], label: np.ndarray) -> list[np.ndarray]:
    """File cells of the simplices that name a point twice after a weld, per degree."""
    return [s.cell[names_twice(label[s.rows]) & ~s.marker] for s in simplices.values()]


def _is_soup(simplices: dict[int, Rows]) -> bool:
    """Every triangle has its own three points and there are at least two of them."""
    s = simplices.get(2)
    if s is None or len(s.rows) < 2 or any((~o.marker).any() for k, o in simplices.items() if k != 2):
        return False
    return len(np.unique(s.rows)) == s.rows.size


def _defects(simplices: dict[int, Rows], label: np.ndarray, n: int) -> tuple[int, int, int]:
    rows = {}
    for k, s in simplices.items():
        if k >= 2:
            rows[k] = mapped(s.only(~s.marker), label).rows
    return n_defects(SimplicialComplex.from_simplices(n, rows))


def note_duplicates(simplices: dict[int, Rows], raw: RawMesh, notices: list[Notice]) -> None:
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
                    first_ids(cell),
                )
            )


def first_ids(array: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in array[:MAX_IDS])
