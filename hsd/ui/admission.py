"""Which pages, or parts of pages, a mesh closes, and why; found by asking the library, not by a list of rules."""

from __future__ import annotations

from dataclasses import dataclass

from hsd.dec.operators import DEC
from hsd.errors import HsdError
from hsd.mesh.mesh import Mesh

STARS = ("galerkin", "diagonal", "unit")
PAGES = "Harmonic Modes, Hodge Decomposition and Spectral Energy"


@dataclass(frozen=True)
class Admission:
    """What is open.  stars: those that work;  refused: star → the library's sentence;  sentences: for the report."""

    stars: tuple[str, ...]
    refused: dict[str, str]
    sentences: tuple[str, ...]


def admission(mesh: Mesh) -> Admission:
    """Try every star, absolute, in every degree."""
    refused = {}
    for star in STARS:
        try:
            dec = DEC(mesh, star, "absolute")
            for k in range(mesh.dim + 1):
                dec.star(k)
        except HsdError as error:
            refused[star] = error.message
    stars = tuple(s for s in STARS if s not in refused)
    out = []
    if "galerkin" in refused:
        rest = ", ".join(f"“{s}”" for s in stars)
        rest = f"; with the star {rest} they are open" if stars else ""
        out.append(f"{PAGES} are closed with the default star “galerkin”{rest}: {refused['galerkin']}")
    if "diagonal" in refused and "galerkin" not in refused:
        out.append(f"The star “diagonal” is closed on all pages: {refused['diagonal']}")
    if mesh.dim == 0:
        out.append("Hodge Decomposition shows only functions on points: the mesh has no edges.")
    elif mesh.dim == 1:
        out.append("Arrows and placed vortices are closed: a graph has values on edges, but no tangent vectors.")
    elif mesh.points is None:
        out.append("Arrows are closed: the mesh has edge lengths alone, so vectors have no directions in space.")
    if mesh.dim == 2 and mesh.complex.orientation is None:
        out.append(
            "Signed densities are closed on Hodge Decomposition: the mesh has no consistent orientation. Modes, "
            "harmonic fields and indices of zeros are open; vortices have no sense of rotation there."
        )
    if not mesh.complex.is_pure and mesh.dim >= 2:
        out.append("Arrows are drawn on the top-dimensional cells only: the complex has parts of lower dimension.")
    return Admission(stars, refused, tuple(out))
