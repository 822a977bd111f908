"""Meshes: a simplicial complex with a metric, and the memory of the file that it came from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from hsd.errors import InputError, MetricError, Notice
from hsd.mesh.complex import SimplicialComplex, permutation_sign

SMALLEST, LARGEST = 1e-50, 1e50
"""Range of the longest edge: the sixth power of a length must stay a float64."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """A simplicial complex with vertex positions, or with edge lengths alone, or with neither (a plain graph).

    complex             : the simplices
    points              : (n_vertices, D) float64, D ≥ 2, or None
    lengths2            : (n_edges,) squared edge lengths given without positions (flat torus), or None
    winding             : (n_top,) int8, vertex order of the source's top cells against the stored order, or None
    point_fields        : name → array, rows in *file* order (before welding and dropping)
    cell_fields         : name → array, rows in *file* order of cells
    vertex_of_file_point: (n_file_points,) vertex of each file point, −1 = dropped; None: identity
    face_of_file_cell   : (n_file_cells,) first simplex made of each file cell (of the cell's own degree), −1 = dropped
    cell_of_simplex     : per degree k, (N_k,) file cell that a simplex came from, −1 = none; None: identity on tops
    notices             : what loading or validation found
    """

    complex: SimplicialComplex
    points: np.ndarray | None = None
    lengths2: np.ndarray | None = None
    winding: np.ndarray | None = None
    name: str = "mesh"
    point_fields: MappingProxyType | dict = field(default_factory=dict)
    cell_fields: MappingProxyType | dict = field(default_factory=dict)
    vertex_of_file_point: np.ndarray | None = None
    face_of_file_cell: np.ndarray | None = None
    cell_of_simplex: tuple[np.ndarray, ...] | None = None
    notices: tuple[Notice, ...] = ()

    def __post_init__(self):
        if self.points is not None:
            points = np.array(self.points, dtype=np.float64)
            if points.ndim != 2 or points.shape[0] != self.complex.n_vertices or points.shape[1] < 2:
                raise InputError(
                    f"Positions must have shape ({self.complex.n_vertices}, D) with D ≥ 2; got {points.shape}.", "shape"
                )
            bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
            if len(bad):
                raise InputError(
                    f"Vertex {bad[0]} has a position that is not finite ({len(bad)} such); drop or mend it.",
                    "non_finite_vertex",
                    bad[:100],
                )
            points.flags.writeable = False
            object.__setattr__(self, "points", points)
        if self.lengths2 is not None:
            lengths2 = np.array(self.lengths2, dtype=np.float64)
            if lengths2.shape != (self.complex.n(1),) or not np.isfinite(lengths2).all() or (lengths2 < 0).any():
                raise InputError(
                    f"Squared edge lengths must be {self.complex.n(1)} finite non-negative numbers, one an edge.",
                    "shape",
                )
            lengths2.flags.writeable = False
            object.__setattr__(self, "lengths2", lengths2)
        object.__setattr__(self, "point_fields", MappingProxyType(dict(self.point_fields)))
        object.__setattr__(self, "cell_fields", MappingProxyType(dict(self.cell_fields)))

    # ---- constructors ------------------------------------------------------------------------------------------

    @classmethod
    def from_cells(cls, points: np.ndarray | None, cells: np.ndarray, name: str = "mesh", **more) -> Mesh:
        """Mesh of one kind of cell: cells (m, 2 | 3 | 4) are edges, triangles or tetrahedra in any vertex order.

        points may be (n, 2), (n, 3) or (n, D); the cells' vertex order is kept as ``winding``.
        """
        cells = np.asarray(cells, np.int64)
        if cells.ndim != 2 or not 2 <= cells.shape[1] <= 4:
            raise InputError(f"Cells must have shape (m, 2), (m, 3) or (m, 4); got {cells.shape}.", "shape")
        n = len(points) if points is not None else int(cells.max(initial=-1)) + 1
        k = cells.shape[1] - 1
        cx = SimplicialComplex.from_simplices(n, {k: cells})
        return cls(cx, points, winding=winding_of(cx, cells), name=name, **more)

    def with_notices(self, *notices: Notice) -> Mesh:
        return replace(self, notices=self.notices + tuple(notices))

    # ---- shape -------------------------------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        return self.complex.dim

    @property
    def has_metric(self) -> bool:
        return self.points is not None or self.lengths2 is not None

    @cached_property
    def squared_lengths(self) -> np.ndarray:
        """(n_edges,) squared length of each edge, unit². All metric quantities come from these."""
        out = self._given_lengths
        longest = float(out.max(initial=0.0))
        if len(out) and not (longest == 0.0 or SMALLEST**2 <= longest <= LARGEST**2):
            raise MetricError(
                f"The longest edge of {self.name} is {longest**0.5:.3g} long; squared volumes need lengths between "
                f"{SMALLEST:g} and {LARGEST:g}: change the unit.",
                "scale",
            )
        out.flags.writeable = False
        return out

    @property
    def _given_lengths(self) -> np.ndarray:
        if self.lengths2 is not None:
            return self.lengths2
        if self.points is None:
            raise MetricError(
                f"{self.name} has neither positions nor edge lengths; use star='unit' or give coordinates.", "no_metric"
            )
        e = self.complex.simplices(1)
        return ((self.points[e[:, 1]] - self.points[e[:, 0]]) ** 2).sum(axis=1)

    @property
    def points3(self) -> np.ndarray:
        """Positions padded with zeros (or cut, for D > 3, to the three widest principal axes) to (n_vertices, 3)."""
        if self.points is None:
            raise MetricError(
                f"{self.name} has no positions, so it cannot be drawn or lifted to a grid.", "no_positions"
            )
        n, d = self.points.shape
        if d == 3:
            return self.points
        if d == 2:
            return np.column_stack([self.points, np.zeros(n)])
        centred = self.points - self.points.mean(axis=0)
        axes = np.linalg.svd(centred, full_matrices=False)[2][:3]
        return centred @ axes.T

    @property
    def in_space(self) -> Mesh:
        """This mesh; one of the plane, positions (n, 2), with z = 0 and the normal +z, so that its forms mean the same.

        Hash and positions are then those of the mesh in space; triangles may have been wound either way.
        """
        return self if self.points is None or self.points.shape[1] != 2 else self._raised

    @cached_property
    def _raised(self) -> Mesh:
        winding = self.winding
        if self.dim == 2:
            p = self.points[self.complex.simplices(2)]
            winding = np.where(np.linalg.det(p[:, 1:] - p[:, :1]) < 0, -1, 1).astype(np.int8)
        return replace(self, points=self.points3, winding=winding)

    @cached_property
    def orientation(self) -> np.ndarray | None:
        """The complex's orientation, flipped per component to agree with most of the file's winding, or None."""
        flood = self.complex.orientation
        if flood is None or self.winding is None or self.dim == 0:
            return flood
        agree = np.bincount(self.complex.facet_component, weights=flood * self.winding.astype(float))
        return (flood * np.where(agree < 0, -1, 1)[self.complex.facet_component]).astype(np.int8)

    def require_orientation(self, what: str) -> np.ndarray:
        self.complex.require_orientation(what)
        return self.orientation

    def oriented_cells(self) -> np.ndarray:
        """Top simplices with vertex order following :attr:`orientation` (or the file's winding where there is none)."""
        cells = self.complex.simplices(self.dim).copy()
        sign = self.orientation if self.orientation is not None else self.winding
        if sign is not None and self.dim >= 1:
            flip = sign < 0
            cells[flip, -2], cells[flip, -1] = cells[flip, -1].copy(), cells[flip, -2].copy()
        return cells

    # ---- fields in file order ----------------------------------------------------------------------------------

    def vertex_field(self, name: str) -> np.ndarray:
        """A point field on the mesh's vertices; of points that were merged the first one counts."""
        values = np.asarray(self.point_fields[name])
        if self.vertex_of_file_point is None:
            return values
        out = np.zeros((self.complex.n_vertices, *values.shape[1:]), values.dtype)
        kept = np.flatnonzero(self.vertex_of_file_point >= 0)[::-1]
        out[self.vertex_of_file_point[kept]] = values[kept]
        return out

    def vertices_to_file(self, values: np.ndarray, fill: float = np.nan) -> np.ndarray:
        """Vertex values (n_vertices, …) in file order (n_file_points, …); dropped points get ``fill``."""
        if self.vertex_of_file_point is None:
            return values
        out = values[np.maximum(self.vertex_of_file_point, 0)].astype(np.result_type(values, np.float64))
        out[self.vertex_of_file_point < 0] = fill
        return out

    @cached_property
    def content_hash(self) -> str:
        """sha256 (hex) of simplices and metric; names, fields and notices do not count."""
        digest = hashlib.sha256(self.complex.content_hash.encode())
        for array in (self.points, self.lengths2):
            digest.update(b"none" if array is None else np.ascontiguousarray(array).astype("<f8").tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"Mesh({self.name!r}, dim={self.dim}, counts={self.complex.counts})"


def winding_of(complex_: SimplicialComplex, cells: np.ndarray) -> np.ndarray:
    """±1 per top simplex: vertex order in ``cells`` against the stored order; the first mention counts."""
    winding = np.ones(complex_.n(cells.shape[1] - 1), np.int8)
    index, _ = complex_.find(cells)
    winding[index[::-1]] = permutation_sign(cells)[::-1]
    return winding
