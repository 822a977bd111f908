"""The gallery: shapes from own code at any resolution, each with what is known of it.

``gallery("torus", 3000)`` builds a mesh; ``GALLERY["torus"]`` says what its Betti numbers must be.
"""

from __future__ import annotations

from numbers import Integral

from hsd.errors import InputError, UnknownNameError
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives.car import car
from hsd.mesh.primitives.catalogue import GALLERY, GalleryEntry
from hsd.mesh.primitives.flat import flat_torus, flat_torus_eigenvalues

__all__ = ["GALLERY", "MAX_VERTICES", "GalleryEntry", "car", "flat_torus", "flat_torus_eigenvalues", "gallery"]

MAX_VERTICES = 2_000_000


def gallery(name: str, n_vertices: int = 3000, **options) -> Mesh:
    """The shape ``name`` with about ``n_vertices`` vertices.

    From 500 to 100 000 vertices the count comes within 15 %; below, the nearest the shape allows, down to its smallest
    valid mesh.  The same arguments give the same mesh, bit for bit.
    Raises UnknownNameError (unknown_name) listing the names; InputError (bad_size, bad_option).
    """
    if name not in GALLERY:
        raise UnknownNameError("gallery shape", name, GALLERY)
    if not isinstance(n_vertices, Integral) or isinstance(n_vertices, bool) or not 1 <= n_vertices <= MAX_VERTICES:
        raise InputError(
            f"n_vertices must be a whole number from 1 to {MAX_VERTICES} (500 to 100000 is usual); got {n_vertices!r}.",
            "bad_size",
        )
    entry = GALLERY[name]
    unknown = sorted(set(options) - set(entry.options))
    if unknown:
        known = ", ".join(entry.options) or "none"
        raise InputError(f"{name} has no option {unknown[0]!r}; its options: {known}.", "bad_option")
    return entry.build(max(int(n_vertices), entry.smallest), **options)
