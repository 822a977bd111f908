"""The lists of meshes that theorem tests run over."""

from __future__ import annotations

from functools import cache

import pytest

from hsd.dec.operators import BOUNDARY_CONDITIONS, DEC
from hsd.errors import MetricError
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import GALLERY, gallery

SMALL, MEDIUM = 60, 500
VARIANTS = ("car_notchback", "car_estate", "flat_torus_jittered", "ball")
"""Relatives of other entries: left out of the long lists, tested where they are built."""
NAMES = tuple(n for n in GALLERY if n not in VARIANTS)
KINDS = (
    "torus", "klein", "annulus", "disk_three_holes", "double_torus", "car_wing", "ball_with_cavity", "solid_torus",
)  # fmt: skip
"""One shape of each kind: closed, not orientable, with boundary, of higher genus, open car, solid."""
STARS = ("galerkin", "diagonal", "unit")
CONDITIONS = BOUNDARY_CONDITIONS


def kinds_first(names) -> list:
    """The names as parameters: one shape of each kind in the fast tier, the others in the full one."""
    return [name if name in KINDS else pytest.param(name, marks=pytest.mark.full) for name in names]


def variants_last(names) -> list:
    """The names as parameters, relatives of other entries in the full tier alone."""
    return [pytest.param(name, marks=pytest.mark.full) if name in VARIANTS else name for name in names]


@cache
def mesh_of(name: str, n: int) -> Mesh:
    return gallery(name, n)


@cache
def star_is_valid(name: str, n: int, star: str) -> bool:
    """Whether the diagonal star is positive in every degree (the other stars always are)."""
    if star != "diagonal":
        return True
    dec = DEC(mesh_of(name, n), star)
    try:
        for k in range(dec.dim + 1):
            dec.star(k)
    except MetricError as error:
        assert error.kind == "star_not_positive" and error.ids, error
        return False
    return True


def cases(n: int, stars=STARS, names=NAMES, others=()):
    """(name, star, bc) over the gallery as pytest parameters, without diagonal stars that are refused.

    others : marks of the shapes that are not one of the KINDS
    """
    return [
        pytest.param(name, star, bc, id=f"{name}-{star}-{bc}", marks=() if name in KINDS else others)
        for name in names
        for star in stars
        if star_is_valid(name, n, star)
        for bc in CONDITIONS
    ]
