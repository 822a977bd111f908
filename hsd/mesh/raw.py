"""What a reader hands over: points, cells and fields exactly as the file has them, nothing cleaned yet.

Cells are kept ragged: block ``kind`` says what a row of vertex numbers means, ``flat`` and ``offsets`` hold the rows,
``file_cells`` their numbers in the file (the row of a cell field).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hsd.errors import InputError, Notice

KINDS = {
    "vertex": "vertex cell",
    "line": "line",
    "polygon": "face",
    "strip": "triangle strip",
    "tetra": "tetrahedron",
}
"""Kinds of cell blocks and the word for one cell in messages: each vertex of a ``vertex`` row is a 0-simplex, a
``line`` row is a chain of edges, a ``polygon`` row a face of three or more corners, a ``strip`` row a strip."""

DEGREE = {"vertex": 0, "line": 1, "polygon": 2, "strip": 2, "tetra": 3}
SHORTEST = {"vertex": 1, "line": 2, "polygon": 3, "strip": 3, "tetra": 4}


@dataclass(frozen=True, eq=False)
class CellBlock:
    """Rows of file point numbers of one kind.

    kind : key of :data:`KINDS`; flat : (n,) int64 point numbers; offsets : (m + 1,) int64, row i is
    flat[offsets[i]:offsets[i+1]]; file_cells : (m,) int64; is_marker : lower-dimensional elements that only tag a
    boundary and are no geometry.
    """

    kind: str
    flat: np.ndarray
    offsets: np.ndarray
    file_cells: np.ndarray
    is_marker: bool = False

    @classmethod
    def of_rows(cls, kind: str, rows: np.ndarray, first_cell: int = 0, **more) -> CellBlock:
        """A block of equally long rows, (m, width), numbered from ``first_cell`` unless ``file_cells`` is given."""
        rows = np.asarray(rows, np.int64)
        m, width = rows.shape
        cells = more.pop("file_cells", np.arange(first_cell, first_cell + m))
        return cls(kind, rows.reshape(-1), np.arange(m + 1) * width, np.asarray(cells, np.int64), **more)

    @classmethod
    def of_lengths(cls, kind: str, flat: np.ndarray, lengths: np.ndarray, first_cell: int = 0, **more) -> CellBlock:
        """A block of rows of the given lengths, numbered from ``first_cell`` unless ``file_cells`` is given."""
        lengths = np.asarray(lengths, np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        cells = more.pop("file_cells", np.arange(first_cell, first_cell + len(lengths)))
        return cls(kind, np.asarray(flat, np.int64), offsets, np.asarray(cells, np.int64), **more)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """(m,) number of corners of each row."""
        return np.diff(self.offsets)

    @property
    def row_of_entry(self) -> np.ndarray:
        """(n,) row of each entry of ``flat``."""
        return np.repeat(np.arange(len(self)), self.lengths)


@dataclass(eq=False)
class RawMesh:
    """A mesh file as read.

    points       : (n, D) float64, D ≥ 2, or None for a graph without positions
    blocks       : cell blocks; file cell numbers are distinct over all of them
    point_fields : name → array with n rows; cell_fields : name → array with n_cells rows
    format       : name of the format; index_base : 0 or 1, how the file counts points and cells in messages
    is_soup      : the format has no index, so equal positions are one point
    n_graph      : number of vertices of a graph without positions
    n_file_cells : number of cells in the file where some are in no block, else None
    """

    points: np.ndarray | None
    blocks: list[CellBlock] = field(default_factory=list)
    point_fields: dict[str, np.ndarray] = field(default_factory=dict)
    cell_fields: dict[str, np.ndarray] = field(default_factory=dict)
    format: str = "array"
    index_base: int = 0
    is_soup: bool = False
    n_graph: int = 0
    notices: list[Notice] = field(default_factory=list)
    n_file_cells: int | None = None

    @property
    def n_points(self) -> int:
        return self.n_graph if self.points is None else len(self.points)

    @property
    def n_cells(self) -> int:
        return sum(len(b) for b in self.blocks) if self.n_file_cells is None else self.n_file_cells

    def check(self) -> None:
        """Refuse what no cleaning can mend: wrong shapes, rows that are too short, point numbers out of range.

        Raises InputError (shape, empty, short_cell, index_out_of_range, coordinates_too_large).
        """
        n, base = self.n_points, self.index_base
        if self.points is not None and (self.points.ndim != 2 or self.points.shape[1] < 2):
            raise InputError(f"Points must have shape (n, D) with D ≥ 2; found {self.points.shape}.", "shape")
        if n == 0 and self.n_cells == 0:
            raise InputError(
                f"The {self.format} file holds no points and no cells; export the mesh again and check that "
                "it was saved.",
                "empty",
            )
        for block in self.blocks:
            word = KINDS[block.kind]
            short = np.flatnonzero(block.lengths < SHORTEST[block.kind])
            if len(short):
                raise InputError(
                    f"{word.capitalize()} {short[0] + base} has {block.lengths[short[0]]} corner(s); "
                    f"a {word} needs at least {SHORTEST[block.kind]}.",
                    "short_cell",
                    block.file_cells[short[:100]],
                )
            bad = np.flatnonzero((block.flat < 0) | (block.flat >= n))
            if len(bad):
                row = int(np.searchsorted(block.offsets, bad[0], side="right") - 1)
                limits = f"{base} to {n - 1 + base}" if n else "none"
                raise InputError(
                    f"{word.capitalize()} {row + base} names vertex index {int(block.flat[bad[0]]) + base} of {n} "
                    f"vertices in the file (allowed: {limits}); the file is damaged or cut.",
                    "index_out_of_range",
                    block.file_cells[np.unique(np.searchsorted(block.offsets, bad[:100], side="right") - 1)],
                )
        if self.points is not None and n:
            big = np.abs(self.points)
            bad = np.flatnonzero(((big > 1e50) & np.isfinite(big)).any(axis=1))
            if len(bad):
                raise InputError(
                    f"Vertex {bad[0] + base} has a coordinate beyond 1e50, so volumes overflow; check the "
                    "file's units.",
                    "coordinates_too_large",
                    bad[:100],
                )
        for what, fields, rows in (("point", self.point_fields, n), ("cell", self.cell_fields, self.n_cells)):
            for name, values in fields.items():
                if len(values) != rows:
                    raise InputError(
                        f"The {what} field {name!r} has {len(values)} rows, but the file has {rows} {what}s.",
                        "shape",
                    )
