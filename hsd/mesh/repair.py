"""Optional repair, step by step, each with a record of what it did and a stated effect on topology.

=========== ==================================================================== =======================================
step        what it does                                                         topology
=========== ==================================================================== =======================================
orient      turns cells so that all agree, where an orientation exists           unchanged
collapse    removes faces without area by edge collapses and edge flips          unchanged
split       gives each fan of cells at a non-manifold vertex its own vertex      b_0 may grow, pinches go
fill_holes  closes boundary loops of up to ``max_hole`` edges with triangles     χ + 1 a loop filled
largest     keeps the largest connected component                                only that component is left
=========== ==================================================================== =======================================

Duplicates, repeated indices and loose points are already dropped when a mesh is built.  Points of the file keep their
map: ``vertex_of_file_point`` and ``face_of_file_cell`` are composed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from hsd.errors import MetricError, Notice, TopologyError, check_choice
from hsd.mesh.collapse import collapse_flat_faces
from hsd.mesh.complex import SimplicialComplex
from hsd.mesh.mesh import Mesh, winding_of
from hsd.mesh.raw import CellBlock
from hsd.mesh.triangulate import triangulate

MAX_IDS = 1000


def repair(
    mesh: Mesh, steps: tuple[str, ...] = ("collapse", "orient"), max_hole: int = 12
) -> tuple[Mesh, tuple[Notice, ...]]:
    """The mesh after the named steps, in the order given, and one notice a step that changed something.

    max_hole : most edges of a hole that ``fill_holes`` closes.
    Raises UnknownNameError; TopologyError (not_a_surface) where a step needs a surface; MetricError (no_positions).
    """
    if mesh.points is None:
        raise MetricError(f"{mesh.name} has no positions, so there is nothing to repair them by.", "no_positions")
    record: list[Notice] = []
    for step in steps:
        check_choice("repair step", step, STEPS)
        if step != "largest" and mesh.dim != 2:
            raise TopologyError(
                f"The repair step {step!r} works on surfaces; {mesh.name} has dimension {mesh.dim}.",
                "not_a_surface",
            )
        if step == "fill_holes":
            mesh, notices = fill_holes(mesh, max_hole)
        else:
            mesh, notices = STEPS[step](mesh)
        record += notices
    return mesh.with_notices(*record) if record else mesh, tuple(record)


def rebuilt(
    mesh: Mesh,
    simplices: dict[int, np.ndarray],
    origins: dict[int, np.ndarray],
    points: np.ndarray,
    vertex_of_old: np.ndarray,
) -> Mesh:
    """A mesh of new simplices on new points, with the file maps composed.

    simplices : degree → (m_k, k+1) rows; the winding of the top degree counts.
    origins : degree → (m_k,) file cell of each row, −1 = none; vertex_of_old : (n_old,) new vertex of each old one.
    """
    cx = SimplicialComplex.from_simplices(len(points), simplices)
    vertex_of = vertex_of_old
    if mesh.vertex_of_file_point is not None:
        old = mesh.vertex_of_file_point
        vertex_of = np.where(old >= 0, vertex_of_old[np.maximum(old, 0)], -1)
    n_cells = len(mesh.face_of_file_cell) if mesh.face_of_file_cell is not None else mesh.complex.n(mesh.dim)
    face_of = np.full(n_cells, -1)
    cell_of = [np.full(n, -1) for n in cx.counts]
    for k, rows in simplices.items():
        if k > cx.dim or not len(rows):
            continue
        index = cx.find(rows)[0] if k else rows[:, 0]
        known = origins[k] >= 0
        face_of[origins[k][known][::-1]] = index[known][::-1]
        cell_of[k][index[::-1]] = origins[k][::-1]
    winding = winding_of(cx, simplices[cx.dim]) if cx.dim >= 1 and cx.dim in simplices else None
    return replace(
        mesh,
        complex=cx,
        points=points,
        winding=winding,
        vertex_of_file_point=vertex_of,
        face_of_file_cell=face_of,
        cell_of_simplex=tuple(cell_of),
    )


def wound(mesh: Mesh) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
    """Maximal simplices per degree, the top ones wound as in the source, and the file cell of each."""
    cx = mesh.complex
    rows, origins = {}, {}
    for k in range(mesh.dim + 1):
        number = np.flatnonzero(cx.is_maximal(k))
        rows[k] = cx.simplices(k)[number].copy()
        if mesh.cell_of_simplex is not None:
            origins[k] = mesh.cell_of_simplex[k][number]
        else:
            origins[k] = number if k == mesh.dim else np.full(len(number), -1)
        if k == mesh.dim and k >= 1 and mesh.winding is not None:
            flip = mesh.winding[number] < 0
            rows[k][flip, -2], rows[k][flip, -1] = rows[k][flip, -1].copy(), rows[k][flip, -2].copy()
    return rows, origins


def orient(mesh: Mesh) -> tuple[Mesh, list[Notice]]:
    """Winding made consistent, following most of each component; topology and positions unchanged.

    Raises TopologyError (non_orientable; nonmanifold, where the step ``split`` has to come first)."""
    n = len(mesh.complex.nonmanifold_facets)
    if n:
        raise TopologyError(
            f"Faces cannot be turned to agree across {n} non-manifold edge{'' if n == 1 else 's'}; "
            "take the step 'split' before 'orient'.",
            "nonmanifold",
        )
    sign = mesh.require_orientation("A consistent winding")
    turned = np.flatnonzero(sign != (mesh.winding if mesh.winding is not None else sign))
    if not len(turned):
        return mesh, []
    note = Notice(
        "oriented",
        f"{len(turned)} faces were turned to agree with their component.",
        tuple(turned[:MAX_IDS].tolist()),
    )
    return replace(mesh, winding=sign.copy()), [note]


def collapse(mesh: Mesh) -> tuple[Mesh, list[Notice]]:
    """Faces without area removed; the complex keeps its topology (link condition), see ``hsd.mesh.collapse``."""
    rows, origins = wound(mesh)
    done = collapse_flat_faces(mesh, rows[2])
    if done.n_collapsed + done.n_flipped == 0 and done.n_left == 0:
        return mesh, []
    note = Notice(
        "collapsed",
        f"{done.n_collapsed} edges were collapsed and {done.n_flipped} flipped to remove faces without area; "
        f"{done.n_left} such faces remain (no topology-preserving step removes them).",
    )
    if done.n_collapsed + done.n_flipped == 0:
        return mesh, [note]
    kept = np.unique(done.vertex_of_old)
    number = np.full(mesh.complex.n_vertices, -1)
    number[kept] = np.arange(len(kept))
    rows[2], origins[2] = done.faces, np.where(done.row >= 0, origins[2][np.maximum(done.row, 0)], -1)
    new = {k: number[done.vertex_of_old[r]] for k, r in rows.items()}
    return rebuilt(mesh, new, origins, mesh.points[kept], number[done.vertex_of_old]), [note]


def split(mesh: Mesh) -> tuple[Mesh, list[Notice]]:
    """Non-manifold vertices and edges taken apart: each fan of faces joined across manifold edges gets its own copies.

    Faces joined across an edge with three or more faces are taken apart there, too.
    """
    rows, origins = wound(mesh)
    cx = mesh.complex
    faces = cx.simplices(2)
    label, owner = _fans_across_manifold_edges(cx)
    count = np.bincount(owner, minlength=cx.n_vertices)
    if not (count > 1).any():
        return mesh, []
    first = np.full(cx.n_vertices, len(owner))
    np.minimum.at(first, owner, np.arange(len(owner)))
    extra = np.flatnonzero(first[owner] != np.arange(len(owner)))  # fans that need a copy
    vertex_of_fan = owner.copy()
    vertex_of_fan[extra] = cx.n_vertices + np.arange(len(extra))
    apart = vertex_of_fan[label].reshape(faces.shape)  # (N_2, 3) in stored order
    place = (faces[:, None, :] == rows[2][:, :, None]).argmax(axis=2)  # all faces are maximal, so in stored order
    rows[2] = np.take_along_axis(apart, place, axis=1)
    points = np.concatenate([mesh.points, mesh.points[owner[extra]]])
    note = Notice(
        "split",
        f"{int((count > 1).sum())} non-manifold vertices were split; {len(extra)} copies were added at the "
        "same positions.",
        tuple(np.flatnonzero(count > 1)[:MAX_IDS].tolist()),
    )
    return rebuilt(mesh, rows, origins, points, np.arange(cx.n_vertices)), [note]


def _fans_across_manifold_edges(cx: SimplicialComplex) -> tuple[np.ndarray, np.ndarray]:
    """Fans of face corners joined only across edges with exactly two faces: label (3 N_2,) and vertex of each fan."""
    edges = cx.faces(2)
    flat = edges.ravel()
    order = np.argsort(flat, kind="stable")
    f = flat[order]
    pair = np.flatnonzero((f[1:] == f[:-1]) & (cx.n_cofaces(1)[f[1:]] == 2))
    (t1, o1), (t2, o2) = np.divmod(order[pair], 3), np.divmod(order[pair + 1], 3)
    table = np.array([[1, 2], [0, 2], [0, 1]])  # corners of the edge that omits corner o, in increasing order
    a, b = (3 * t1[:, None] + table[o1]).ravel(), (3 * t2[:, None] + table[o2]).ravel()
    graph = sp.coo_matrix((np.ones(len(a), np.int8), (a, b)), shape=(flat.size, flat.size))
    n, label = connected_components(graph, directed=False)
    owner = np.zeros(n, np.int64)
    owner[label] = cx.simplices(2).ravel()
    return label, owner


def boundary_cycles(mesh: Mesh) -> list[np.ndarray]:
    """Boundary loops as vertex cycles, each against the winding of the face at its first edge.

    Pieces of the boundary that are no simple loop (where loops touch) are left out.
    """
    cx = mesh.complex
    t, omit = np.nonzero(cx.on_boundary(1)[cx.faces(2)])
    ends = cx.simplices(1)[cx.faces(2)[t, omit]]
    winding = mesh.winding if mesh.winding is not None else np.ones(cx.n(2), np.int8)
    against = winding[t] * np.where(omit == 1, -1, 1) > 0  # the face runs from the smaller to the larger vertex
    ends[against] = ends[against][:, ::-1]
    beside: dict[int, list[int]] = {}
    for a, b in ends.tolist():
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)
    out, seen = [], set()
    for a, b in ends.tolist():
        if a in seen:
            continue
        loop, stack = [], [(a, b)]
        while stack:
            v, towards = stack.pop()
            if v in seen:
                continue
            seen.add(v)
            loop.append(v)
            stack += [(w, w) for w in beside[v] if w != towards] + [(towards, towards)]
        if all(len(beside[v]) == 2 for v in loop):
            out.append(np.array(loop))
    return out


def fill_holes(mesh: Mesh, max_hole: int = 12) -> tuple[Mesh, list[Notice]]:
    """Boundary loops of up to max_hole edges closed by triangles on their own vertices; χ grows by 1 a loop.

    A loop is left open when a new triangle would bring a third face to an edge or would be there already.  Loops left
    open are told: how many, and how long the longest one above max_hole is.
    """
    rows, origins = wound(mesh)
    cx = mesh.complex
    new, filled, refused, above = [], 0, 0, []
    used = set(map(tuple, cx.simplices(1).tolist()))
    for loop in boundary_cycles(mesh):
        if len(loop) > max_hole:
            above.append(len(loop))
            continue
        triangles, _, crossing = triangulate(mesh.points, CellBlock.of_lengths("polygon", loop, [len(loop)]))
        outline = {tuple(sorted(pair)) for pair in zip(loop.tolist(), np.roll(loop, -1).tolist())}
        pairs = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]]), axis=1)
        inner = {tuple(p) for p in pairs.tolist()} - outline
        if len(crossing) or inner & used or (len(loop) == 3 and cx.find(loop[None])[0][0] >= 0):
            refused += 1
            continue
        used |= inner
        new.append(triangles)
        filled += 1
    notes = []
    if refused:
        notes.append(Notice("holes_left", f"{_holes(refused)} could not be filled without overlap."))
    if above:
        longest = f"the longest has {max(above)}" if len(above) > 1 else f"it has {above[0]}"
        notes.append(
            Notice(
                "holes_left",
                f"{_holes(len(above))} with more than {max_hole} edges stayed open; {longest}. "
                "A higher limit (max_hole) closes more.",
            )
        )
    if not filled:
        return mesh, notes
    added = np.concatenate(new)
    rows[2] = np.concatenate([rows[2], added])
    origins[2] = np.concatenate([origins[2], np.full(len(added), -1)])
    note = Notice(
        "filled_holes",
        f"{_holes(filled)} of up to {max_hole} edges closed with {len(added)} faces.",
    )
    return rebuilt(mesh, rows, origins, mesh.points, np.arange(cx.n_vertices)), [note, *notes]


def _holes(n: int) -> str:
    return f"{n} hole{'' if n == 1 else 's'}"


def largest(mesh: Mesh) -> tuple[Mesh, list[Notice]]:
    """The connected component with the most top simplices (then vertices); all others are dropped."""
    cx = mesh.complex
    if cx.n_components < 2:
        return mesh, []
    component = cx.component_of_vertex
    tops = np.bincount(component[cx.simplices(cx.dim)[:, 0]], minlength=cx.n_components)
    sizes = np.bincount(component)
    best = int(np.lexsort((-sizes, -tops))[0])
    kept = np.flatnonzero(component == best)
    number = np.full(cx.n_vertices, -1)
    number[kept] = np.arange(len(kept))
    rows, origins = wound(mesh)
    inside = {k: component[r[:, 0]] == best for k, r in rows.items()}
    rows = {k: number[r[inside[k]]] for k, r in rows.items()}
    origins = {k: origins[k][inside[k]] for k in rows}
    note = Notice(
        "largest_component",
        f"The largest of {cx.n_components} components was kept: {len(kept)} of {cx.n_vertices} vertices.",
    )
    return rebuilt(mesh, rows, origins, mesh.points[kept], number), [note]


STEPS: dict[str, Callable[[Mesh], tuple[Mesh, list[Notice]]]] = {
    "orient": orient,
    "collapse": collapse,
    "split": split,
    "fill_holes": fill_holes,
    "largest": largest,
}
"""Name of a repair step → function."""
