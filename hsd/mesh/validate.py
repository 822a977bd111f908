"""Validators: each looks at a mesh for one kind of defect and answers in notices with a sentence and the ids concerned.

What loading found (welding, duplicates, loose points, …) is already in ``mesh.notices`` and is not repeated here.  All
tolerances are relative: a mesh in millimetres and in metres gives the same notices.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hsd.errors import Notice, check_choice
from hsd.mesh.cotan import cotan_weights
from hsd.mesh.facts import consistently_oriented, orientation_clashes
from hsd.mesh.manifold import nonmanifold_edges, nonmanifold_vertices
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import zero_measure
from hsd.mesh.quality import dihedral_angles, face_angles, mean_ratios

MAX_IDS = 1000
NO_WEIGHT = 1e-6
"""Cotan weights (they have no unit) up to this size count as zero: right angles read from 32-bit coordinates."""
NEEDLE = 0.02
"""Cells with a mean ratio below this are reported as badly shaped (equilateral: 1)."""


def _notice(kind: str, message: str, ids: np.ndarray) -> list[Notice]:
    return [Notice(kind, message, tuple(int(i) for i in ids[:MAX_IDS]))]


def _vertices(mesh: Mesh, k: int, i: int) -> str:
    return "(" + ", ".join(str(v) for v in mesh.complex.simplices(k)[i].tolist()) + ")"


def nonmanifold_edge(mesh: Mesh) -> list[Notice]:
    """Edges with three or more faces; in tet meshes edges whose link is neither a path nor a cycle."""
    bad = nonmanifold_edges(mesh.complex)
    if not len(bad):
        return []
    n = int(mesh.complex.n_cofaces(1)[bad[0]])
    why = f"has {n} faces" if mesh.dim == 2 else "has a link that is neither one path nor one cycle"
    return _notice(
        "nonmanifold_edge",
        f"{len(bad)} edge(s) are non-manifold, the first is edge {_vertices(mesh, 1, bad[0])}, which {why}; "
        "Hodge theory on "
        "the complex is sound, but there is no surface orientation or genus.",
        bad,
    )


def nonmanifold_facet(mesh: Mesh) -> list[Notice]:
    """Faces of a tet mesh with three or more tets."""
    bad = mesh.complex.nonmanifold_facets if mesh.dim == 3 else np.zeros(0, np.int64)
    if not len(bad):
        return []
    return _notice(
        "nonmanifold_facet",
        f"{len(bad)} face(s) lie in more than two tetrahedra, the first is face {_vertices(mesh, 2, bad[0])}.",
        bad,
    )


def nonmanifold_vertex(mesh: Mesh) -> list[Notice]:
    """Vertices whose link is not connected or no manifold, beyond the ends of non-manifold edges."""
    bad = nonmanifold_vertices(mesh.complex)
    if not len(bad):
        return []
    ends = np.unique(mesh.complex.simplices(1)[nonmanifold_edges(mesh.complex)])
    alone = np.setdiff1d(bad, ends)
    first = alone[0] if len(alone) else bad[0]
    return _notice(
        "nonmanifold_vertex",
        f"{len(bad)} vertices are non-manifold ({len(alone)} of them only touch there, without a non-manifold edge), "
        f"the first is vertex {first}: the cells around it form no single disk.",
        bad,
    )


def inconsistent_orientation(mesh: Mesh) -> list[Notice]:
    """Neighbouring cells wound against each other on a mesh that can be oriented."""
    if mesh.dim < 2 or mesh.complex.orientation is None or consistently_oriented(mesh):
        return []
    bad = orientation_clashes(mesh)
    return _notice(
        "inconsistent_orientation",
        f"{len(bad)} of {mesh.complex.n(mesh.dim)} cells are wound against the rest of their component, the "
        "first is cell "
        f"{bad[0]} {_vertices(mesh, mesh.dim, bad[0])}; the mesh can be oriented, and a consistent "
        "orientation is used.",
        bad,
    )


def non_orientable(mesh: Mesh) -> list[Notice]:
    """No consistent orientation exists although every facet has at most two cells."""
    cx = mesh.complex
    if mesh.dim < 2 or len(cx.nonmanifold_facets) or cx.orientation is not None:
        return []
    return _notice(
        "non_orientable",
        "The mesh is non-orientable (as a Möbius strip is): it has no global normal, and the absolute and "
        "relative Betti "
        "numbers over Q are not dual.",
        np.zeros(0, np.int64),
    )


def zero_area_face(mesh: Mesh) -> list[Notice]:
    """Faces without area, to rounding."""
    bad = zero_measure(mesh, 2) if mesh.dim >= 2 and mesh.has_metric else []
    if not len(bad):
        return []
    return _notice(
        "zero_area_face",
        f"{len(bad)} face(s) have no area, the first is face {bad[0]} with vertices "
        f"{_vertices(mesh, 2, bad[0])}; topology "
        "and star='unit' work, metric operators need the repair step 'collapse'.",
        bad,
    )


def zero_volume_tet(mesh: Mesh) -> list[Notice]:
    """Tetrahedra without volume, to rounding."""
    bad = zero_measure(mesh, 3) if mesh.dim == 3 and mesh.has_metric else []
    if not len(bad):
        return []
    return _notice(
        "zero_volume_tet",
        f"{len(bad)} tetrahedra have no volume, the first is tetrahedron {bad[0]} with vertices "
        f"{_vertices(mesh, 3, bad[0])}; topology and star='unit' work, metric operators refuse them.",
        bad,
    )


def zero_length_edge(mesh: Mesh) -> list[Notice]:
    """Edges without length: two vertices in one place that an edge joins."""
    if not mesh.has_metric or mesh.complex.n(1) == 0:
        return []
    l2 = mesh.squared_lengths
    bad = np.flatnonzero(l2 <= 0)
    if not len(bad):
        return []
    return _notice(
        "zero_length_edge",
        f"{len(bad)} edge(s) have no length, the first is edge {_vertices(mesh, 1, bad[0])}; weld the mesh or "
        "repair it "
        "with the step 'collapse'.",
        bad,
    )


def _weights(mesh: Mesh) -> np.ndarray:
    """Cotan weights of the edges that have faces; +1 elsewhere, so that those are never reported."""
    weight = cotan_weights(mesh)
    return np.where(mesh.complex.n_cofaces(1) > 0, weight, 1.0)


def negative_cotan_weight(mesh: Mesh) -> list[Notice]:
    """Edges whose cotan weight is negative: the diagonal ⋆_1 is not positive there."""
    if mesh.dim != 2 or not mesh.has_metric:
        return []
    weight = _weights(mesh)
    bad = np.flatnonzero(weight < -NO_WEIGHT)
    if not len(bad):
        return []
    worst = bad[weight[bad].argmin()]
    return _notice(
        "negative_cotan_weight",
        f"{len(bad)} of {len(weight)} edges have a negative cotan weight (angles opposite them sum to more "
        "than 180°), the "
        f"worst is edge {_vertices(mesh, 1, worst)} with {weight[worst]:.6g}; star='diagonal' is refused "
        "there, the default "
        "star='galerkin' is positive.",
        bad,
    )


def zero_cotan_weight(mesh: Mesh) -> list[Notice]:
    """Edges whose cotan weight vanishes (right angles opposite): the diagonal ⋆_1 is singular."""
    if mesh.dim != 2 or not mesh.has_metric:
        return []
    bad = np.flatnonzero(np.abs(_weights(mesh)) <= NO_WEIGHT)
    if not len(bad):
        return []
    return _notice(
        "zero_cotan_weight",
        f"{len(bad)} of {mesh.complex.n(1)} edges have cotan weight zero (to {NO_WEIGHT:g}), the first is edge "
        f"{_vertices(mesh, 1, bad[0])}; star='diagonal' is singular or close to it, the default "
        "star='galerkin' is positive.",
        bad,
    )


def non_finite_field(mesh: Mesh) -> list[Notice]:
    """Fields with NaN or infinite values."""
    out = []
    for what, fields in (("point", mesh.point_fields), ("cell", mesh.cell_fields)):
        for name, values in fields.items():
            values = np.asarray(values)
            if values.dtype.kind not in "fc" or not values.size:
                continue
            bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
            if len(bad):
                out += _notice(
                    "non_finite_field",
                    f"The {what} field {name!r} has {len(bad)} of {len(values)} values that are not finite, "
                    "the first in "
                    f"row {bad[0]}; mend it before it serves as a target, a threshold or a form.",
                    bad,
                )
    return out


def poor_quality(mesh: Mesh) -> list[Notice]:
    """Needles, caps and slivers that are not quite flat."""
    if mesh.dim < 2 or not mesh.has_metric:
        return []
    ratio = mean_ratios(mesh, mesh.dim)
    flat = np.zeros(len(ratio), bool)
    flat[zero_measure(mesh, mesh.dim)] = True
    bad = np.flatnonzero((ratio < NEEDLE) & ~flat)
    if not len(bad):
        return []
    angles = face_angles(mesh) if mesh.dim == 2 else dihedral_angles(mesh)
    return _notice(
        "poor_quality",
        f"{len(bad)} of {len(ratio)} cells are very thin (mean ratio below {NEEDLE}), the first is cell "
        f"{bad[0]}; angles "
        f"range from {angles[~flat].min():.3g}° to {angles[~flat].max():.3g}°, so expect inaccurate metric "
        "results there.",
        bad,
    )


def several_components(mesh: Mesh) -> list[Notice]:
    """More than one connected piece."""
    count = mesh.complex.n_components
    if count < 2:
        return []
    sizes = np.bincount(mesh.complex.component_of_vertex)
    return _notice(
        "several_components",
        f"The mesh has {count} connected pieces; the largest has {sizes.max()} of {sizes.sum()} vertices, the smallest "
        f"{sizes.min()}.",
        np.zeros(0, np.int64),
    )


def isolated_vertices(mesh: Mesh) -> list[Notice]:
    """Vertices that no edge touches, on meshes that have edges."""
    bad = np.flatnonzero(mesh.complex.is_maximal(0)) if mesh.dim else np.zeros(0, np.int64)
    if not len(bad):
        return []
    return _notice(
        "isolated_vertices",
        f"{len(bad)} vertices touch no edge, the first is vertex {bad[0]}; each counts as a component of its own.",
        bad,
    )


def mixed_dimension(mesh: Mesh) -> list[Notice]:
    """Maximal simplices of several dimensions (wires at a surface, sheets at a solid)."""
    cx = mesh.complex
    own = {k: int(cx.is_maximal(k).sum()) for k in range(1, mesh.dim)}
    hanging = {k: n for k, n in own.items() if n}
    if not hanging:
        return []
    words = {1: "edge(s) in no face", 2: "face(s) in no tetrahedron"}
    text = " and ".join(f"{n} {words[k]}" for k, n in hanging.items())
    k = min(hanging)
    return _notice(
        "mixed_dimension",
        f"The complex holds {text}; they count in topology and carry the measure of their own dimension.",
        np.flatnonzero(cx.is_maximal(k)),
    )


VALIDATORS: dict[str, Callable[[Mesh], list[Notice]]] = {
    check.__name__: check
    for check in (
        nonmanifold_edge,
        nonmanifold_facet,
        nonmanifold_vertex,
        inconsistent_orientation,
        non_orientable,
        zero_area_face,
        zero_volume_tet,
        zero_length_edge,
        negative_cotan_weight,
        zero_cotan_weight,
        non_finite_field,
        poor_quality,
        several_components,
        isolated_vertices,
        mixed_dimension,
    )
}
"""Kind of notice → the validator that finds it."""


def validate(mesh: Mesh, kinds: tuple[str, ...] | None = None) -> tuple[Notice, ...]:
    """The findings of all validators, or of those named; raises UnknownNameError for an unknown kind."""
    names = VALIDATORS if kinds is None else [check_choice("validator", kind, VALIDATORS) for kind in kinds]
    return tuple(notice for name in names for notice in VALIDATORS[name](mesh))
