"""The list of all shapes of the gallery, each with what is known of it beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import flat, handles, planar, surfaces, volumes, voxels
from hsd.mesh.primitives.car import car

Betti = tuple[int, ...]


@dataclass(frozen=True)
class GalleryEntry:
    """A shape of the gallery.

    build             : (n_vertices, **options) → Mesh
    sentence          : what it is, for a caption
    dim               : 2 surface, 3 tetrahedra
    betti             : (b_0 … b_dim) over Q, absolute
    betti_relative    : the same relative to the boundary
    betti_gf2, betti_relative_gf2 : over GF(2)
    orientable, manifold, boundary_pieces : of the complex
    measure           : area or volume of the smooth shape that the meshes tend to at order 2, or None
    positive_cotan    : every cotan weight is positive (surfaces; promised from 500 vertices on)
    min_angle         : smallest triangle angle in degrees (or dihedral angle of a tet), from 500 vertices on
    smallest          : vertex count of the smallest mesh; wishes below it give that one
    options           : names of the keyword options of ``build``
    """

    build: Callable[..., Mesh]
    sentence: str
    dim: int
    betti: Betti
    betti_relative: Betti
    betti_gf2: Betti
    betti_relative_gf2: Betti
    orientable: bool = True
    manifold: bool = True
    boundary_pieces: int = 0
    measure: float | None = None
    positive_cotan: bool = False
    min_angle: float = 15.0
    smallest: int = 12
    options: tuple[str, ...] = ()

    @property
    def euler_characteristic(self) -> int:
        return sum((-1) ** k * b for k, b in enumerate(self.betti))

    @property
    def closed(self) -> bool:
        return self.manifold and self.boundary_pieces == 0


def _entry(build, sentence, betti, relative=None, gf2=None, relative_gf2=None, **more) -> GalleryEntry:
    """Torsion-free unless given; closed (relative = absolute) unless given."""
    relative = betti if relative is None else relative
    gf2 = betti if gf2 is None else gf2
    relative_gf2 = relative if relative_gf2 is None else relative_gf2
    return GalleryEntry(build, sentence, len(betti) - 1, betti, relative, gf2, relative_gf2, **more)


def _car(style: str, **fixed) -> Callable[..., Mesh]:
    def build(n_vertices: int = 3000, **options) -> Mesh:
        return car(**{"style": style, **fixed, **options, "n_vertices": n_vertices})

    return build


GALLERY: dict[str, GalleryEntry] = {
    "sphere": _entry(
        surfaces.sphere,
        "Unit sphere: no harmonic fields, spectrum l(l + 1).",
        (1, 0, 1),
        measure=4 * np.pi,
        positive_cotan=True,
        min_angle=45.0,
        options=("radius",),
    ),
    "ellipsoid": _entry(
        handles.ellipsoid,
        "Ellipsoid with axes 3 : 2 : 1.5.",
        (1, 0, 1),
        min_angle=20.0,
        options=("axes",),
    ),
    "torus": _entry(
        surfaces.torus,
        "Torus of revolution, R = 1, r = 0.4: two independent loops, two harmonic fields.",
        (1, 2, 1),
        measure=surfaces.smooth_torus_area(),
        positive_cotan=True,
        min_angle=33.0,
        options=("R", "r"),
    ),
    "flat_torus": _entry(
        flat.flat_torus_near,
        "Flat torus given by edge lengths alone, near-equilateral triangles: exact spectrum known.",
        (1, 2, 1),
        measure=1.0,
        positive_cotan=True,
        min_angle=50.0,
        options=("kind", "seed", "jitter", "lattice"),
    ),
    "flat_torus_jittered": _entry(
        lambda n_vertices=3000, **o: flat.flat_torus_near(n_vertices, "jittered", **o),
        "Flat torus given by edge lengths alone, vertices moved at random: exact spectrum known.",
        (1, 2, 1),
        measure=1.0,
        min_angle=20.0,
        options=("seed", "jitter", "lattice"),
    ),
    "double_torus": _entry(
        handles.double_torus,
        "Double torus: genus 2, four independent loops.",
        (1, 4, 1),
        min_angle=25.0,
    ),
    "genus5_plate": _entry(
        handles.genus5_plate,
        "Plate with five holes: genus 5, ten independent loops.",
        (1, 10, 1),
        min_angle=25.0,
        smallest=24,
    ),
    "car": _entry(
        _car("fastback"),
        "Car, fastback: closed body with wheel houses and mirrors.",
        (1, 0, 1),
        min_angle=15.0,
        smallest=30,
        options=("style", "wing", "roof_rails", "mirrors"),
    ),
    "car_notchback": _entry(
        _car("notchback"),
        "Car, notchback: closed body with wheel houses and mirrors.",
        (1, 0, 1),
        min_angle=15.0,
        smallest=30,
        options=("wing", "roof_rails", "mirrors"),
    ),
    "car_estate": _entry(
        _car("estate"),
        "Car, estate: closed body with wheel houses and mirrors.",
        (1, 0, 1),
        min_angle=15.0,
        smallest=30,
        options=("wing", "roof_rails", "mirrors"),
    ),
    "car_wing": _entry(
        _car("fastback", wing=True),
        "Car with a rear wing on two struts: air can circulate through the handle, two independent loops.",
        (1, 2, 1),
        min_angle=15.0,
        smallest=30,
        options=("style", "roof_rails", "mirrors"),
    ),
    "annulus": _entry(
        surfaces.annulus,
        "Flat ring: one loop, one harmonic field tangential and one normal to the boundary.",
        (1, 1, 0),
        (0, 1, 1),
        boundary_pieces=2,
        measure=np.pi * (1 - 0.16),
        positive_cotan=True,
        min_angle=45.0,
        smallest=6,
        options=("inner", "outer"),
    ),
    "disk": _entry(
        surfaces.disk,
        "Flat disk: contractible, no harmonic 1-forms.",
        (1, 0, 0),
        (0, 0, 1),
        boundary_pieces=1,
        measure=np.pi,
        positive_cotan=True,
        min_angle=30.0,
        smallest=7,
        options=("radius",),
    ),
    "square": _entry(
        surfaces.square,
        "Flat square: contractible.",
        (1, 0, 0),
        (0, 0, 1),
        boundary_pieces=1,
        measure=1.0,
        positive_cotan=True,
        min_angle=28.0,
        smallest=5,
        options=("side",),
    ),
    "disk_three_holes": _entry(
        planar.disk_three_holes,
        "Flat disk with three holes: three loops.",
        (1, 3, 0),
        (0, 3, 1),
        boundary_pieces=4,
        measure=np.pi * (1 - 3 * planar.HOLE_RADIUS**2),
        positive_cotan=True,
        min_angle=20.0,
        smallest=24,
    ),
    "cylinder": _entry(
        surfaces.cylinder,
        "Open cylinder: one loop, two boundary loops.",
        (1, 1, 0),
        (0, 1, 1),
        boundary_pieces=2,
        measure=4 * np.pi,
        positive_cotan=True,
        min_angle=45.0,
        smallest=6,
        options=("radius", "height"),
    ),
    "moebius": _entry(
        surfaces.moebius,
        "Möbius band: one-sided, one boundary loop; relative Betti numbers depend on the field.",
        (1, 1, 0),
        (0, 0, 0),
        relative_gf2=(0, 1, 1),
        orientable=False,
        boundary_pieces=1,
        positive_cotan=True,
        min_angle=30.0,
        smallest=15,
        options=("radius", "half_width"),
    ),
    "klein": _entry(
        surfaces.klein,
        "Klein bottle (figure-8 immersion): one-sided and closed, torsion shows over GF(2).",
        (1, 1, 0),
        gf2=(1, 2, 1),
        relative_gf2=(1, 2, 1),
        orientable=False,
        min_angle=15.0,
        options=("radius", "size"),
    ),
    "rp2": _entry(
        surfaces.rp2,
        "Projective plane in six dimensions: one-sided, a loop that is closed only when run twice.",
        (1, 0, 0),
        gf2=(1, 1, 1),
        relative_gf2=(1, 1, 1),
        orientable=False,
        measure=2 * np.pi,
        positive_cotan=True,
        min_angle=45.0,
        smallest=6,
    ),
    "two_components": _entry(
        surfaces.two_components,
        "A torus and a sphere side by side: two components.",
        (2, 2, 2),
        measure=surfaces.smooth_torus_area() + 4 * np.pi * 0.36,
        positive_cotan=True,
        min_angle=33.0,
        smallest=24,
    ),
    "theta_circle": _entry(
        surfaces.theta_circle,
        "Theta graph times circle: three sheets meet along two circles (not a manifold).",
        (1, 3, 2),
        orientable=False,
        manifold=False,
        min_angle=15.0,
        smallest=15,
    ),
    "book": _entry(
        surfaces.book,
        "Three pages on one spine: an edge with three triangles (not a manifold).",
        (1, 0, 0),
        (0, 0, 2),
        orientable=False,
        manifold=False,
        boundary_pieces=1,
        measure=3.0,
        min_angle=25.0,
        smallest=5,
    ),
    "ball_with_cavity": _entry(
        volumes.ball_with_cavity,
        "Ball of radius 2 with a spherical cavity of radius 0.4: flux can come out of the cavity.",
        (1, 0, 1, 0),
        (0, 1, 0, 1),
        boundary_pieces=2,
        measure=4 / 3 * np.pi * (8 - 0.064),
        min_angle=15.0,
        smallest=24,
        options=("outer", "inner", "layers"),
    ),
    "solid_torus": _entry(
        volumes.solid_torus,
        "Solid torus: one loop through the solid.",
        (1, 1, 0, 0),
        (0, 0, 1, 1),
        boundary_pieces=1,
        measure=2 * np.pi**2 * 0.16,
        min_angle=10.0,
        smallest=21,
        options=("R", "r"),
    ),
    "box_two_cavities_tunnel": _entry(
        voxels.box_two_cavities_tunnel,
        "Box with two cavities and a tunnel: every Betti number differs from the next.",
        (1, 1, 2, 0),
        (0, 2, 1, 1),
        boundary_pieces=3,
        measure=58.0,
        min_angle=25.0,
        smallest=128,
    ),
    "ball": _entry(
        volumes.ball,
        "Solid ball: contractible.",
        (1, 0, 0, 0),
        (0, 0, 0, 1),
        boundary_pieces=1,
        measure=4 / 3 * np.pi,
        min_angle=15.0,
        smallest=13,
        options=("radius",),
    ),
    "cube": _entry(
        voxels.cube,
        "Solid cube of right-angled tetrahedra: contractible.",
        (1, 0, 0, 0),
        (0, 0, 0, 1),
        boundary_pieces=1,
        measure=1.0,
        min_angle=35.0,
        smallest=8,
        options=("side",),
    ),
}
