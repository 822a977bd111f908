"""The report on a mesh: counts, manifoldness, exact Betti numbers, metric facts and what validation found."""

from __future__ import annotations

from hsd.hodge.homology import Homology
from hsd.mesh.facts import facts
from hsd.mesh.mesh import Mesh
from hsd.mesh.validate import validate


def report(mesh: Mesh) -> dict:
    """Facts of a mesh as plain numbers, strings and lists: the object that ``python -m hsd report --json`` prints.

    Keys: V E F T chi components boundary_loops closed orientable edge_manifold vertex_manifold genus betti_Q
    betti_relative_Q betti_GF2 area volume quality warnings, and counts of defects.  Betti lists have dim + 1 entries.
    ``warnings`` is a list of {kind, message} of loading and validation.
    """
    out = facts(mesh)
    absolute = Homology(mesh.complex, "absolute")
    out["betti_Q"] = list(absolute.betti("Q"))
    out["betti_relative_Q"] = list(Homology(mesh.complex, "relative").betti("Q"))
    out["betti_GF2"] = list(absolute.betti("GF2"))
    seen, warnings = set(), []
    for notice in (*mesh.notices, *validate(mesh)):
        if (notice.kind, notice.message) not in seen:
            seen.add((notice.kind, notice.message))
            warnings.append({"kind": notice.kind, "message": notice.message})
    out["warnings"] = warnings
    return out
