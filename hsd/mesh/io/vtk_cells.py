"""VTK cell types as cell blocks: vertices, lines, polygons, strips, tetrahedra; quadratic ones by their corners."""

from __future__ import annotations

import numpy as np

from hsd.errors import InputError, Notice
from hsd.mesh.raw import CellBlock

KIND = {
    1: "vertex",
    2: "vertex",
    3: "line",
    4: "line",
    5: "polygon",
    6: "strip",
    7: "polygon",
    9: "polygon",
    10: "tetra",
}
FIXED = {1: 1, 3: 2, 5: 3, 8: 4, 9: 4, 10: 4}
CORNERS = {21: ("line", 2), 22: ("polygon", 3), 23: ("polygon", 4), 28: ("polygon", 4), 24: ("tetra", 4)}
REFUSED = {11: "voxels", 12: "hexahedra", 13: "wedges", 14: "pyramids", 42: "polyhedra"}
PIXEL = 8


def check_offsets(offsets: np.ndarray, n_entries: int, name: str) -> np.ndarray:
    """Offsets (m + 1,) from 0 that rise to at most n_entries; raises InputError (bad_offsets)."""
    if len(offsets) and (offsets[0] != 0 or (np.diff(offsets) < 0).any() or offsets[-1] > n_entries):
        bad = int(np.flatnonzero(np.diff(offsets) < 0)[0]) if (np.diff(offsets) < 0).any() else len(offsets) - 2
        raise InputError(
            f"{name}: the cell offsets do not rise from 0 to the {n_entries} connectivity entries (near cell {bad}).",
            "bad_offsets",
        )
    return offsets


def cell_blocks(
    flat: np.ndarray, offsets: np.ndarray, types: np.ndarray, name: str
) -> tuple[list[CellBlock], list[Notice]]:
    """Blocks by VTK cell type, with the numbers of the cells in the file.

    Raises InputError (unsupported_cells, short_cell, bad_offsets).
    """
    check_offsets(offsets, len(flat), name)
    flat, lengths = flat[: offsets[-1]], np.diff(offsets)
    row = np.repeat(np.arange(len(lengths)), lengths)
    blocks, notices = [], []
    for type_ in np.unique(types):
        chosen = types == type_
        cells, entries, own = np.flatnonzero(chosen), flat[chosen[row]], lengths[chosen]
        if type_ == 0:
            notices.append(
                Notice("empty_cells", f"{len(cells)} empty cell(s) were dropped.", tuple(cells[:100].tolist()))
            )
            continue
        if type_ in CORNERS:
            kind, corners = CORNERS[type_]
            if (own < corners).any():
                raise InputError(f"{name}: cell {cells[0]} of VTK type {type_} has too few points.", "short_cell")
            start = np.cumsum(own) - own
            entries, own = entries[(start[:, None] + np.arange(corners)).ravel()], np.full(len(cells), corners)
            notices.append(
                Notice(
                    "higher_order_cells",
                    f"{len(cells)} curved cell(s) of VTK type {type_} are used by their corners.",
                )
            )
        elif type_ == PIXEL or type_ in KIND:
            kind = KIND.get(int(type_), "polygon")
            bad = np.flatnonzero(own != FIXED[type_]) if type_ in FIXED else []
            if len(bad):
                raise InputError(
                    f"{name}: cell {cells[bad[0]]} of VTK type {type_} has {own[bad[0]]} points; "
                    f"{FIXED[type_]} are needed.",
                    "short_cell",
                    cells[bad[:100]],
                )
            if type_ == PIXEL:
                entries = entries.reshape(-1, 4)[:, [0, 1, 3, 2]].ravel()
        else:
            word = REFUSED.get(int(type_), f"cells of VTK type {type_}")
            raise InputError(
                f"{name} holds {len(cells)} {word}; vertices, lines, polygons, triangle strips and tetrahedra "
                "are read: "
                "split the cells into tetrahedra first.",
                "unsupported_cells",
                cells[:100],
            )
        blocks.append(CellBlock.of_lengths(kind, entries, own, file_cells=cells))
    return blocks, notices
