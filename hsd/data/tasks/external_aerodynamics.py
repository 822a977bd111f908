"""Flow on the closed surface of a car whose rear wing stands on two struts, or on a vehicle's surface from a file.

Equation and exact properties: :mod:`hsd.data.tasks._vortices`.  Wing, struts and body close one handle (b₁ = 2), so
there are two harmonic fields: h₁ in the class that counts crossings of the wing's cross-section at y = 0, and h₂, its
turn by 90°.  γ = Γ₁h₁ + Γ₂h₂ with circulations Γ that are sampled and are known to models as reference coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hsd.data.ground import Ground
from hsd.data.harmonic_frames import crossing_cocycle, handle_frame, period_frame, require_b1
from hsd.data.kept import kept_mesh
from hsd.data.smooth_shapes import PointTable, Shape, WingedCar
from hsd.data.tasks._vortices import VortexConfig, VortexFlow, rounded
from hsd.data.tasks.base import NamedFields, Record
from hsd.data.vehicle import load_vehicle
from hsd.mesh.decimate import decimate
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import car

HARMONIC_SHARE = 0.2
"""Share of the harmonic part that calibration aims at; vortices and far field get 0.4 each."""


@dataclass(frozen=True)
class ExternalConfig(VortexConfig):
    """style : of our own car; surface : path of a closed surface (STL, VTK, …) instead, made by another tool.

    surface_repair : steps of :func:`hsd.mesh.repair.repair` for that file, such as ("split", "largest")
    circulation    : standard deviation of each Γ_i
    The numbers of the default are those of the fastback; ``ExternalAerodynamics.calibrated(surface=…)`` finds others.
    """

    style: str = "fastback"
    surface: str | None = None
    surface_repair: tuple[str, ...] = ()
    circulation: float = 0.17
    amplitude: float = 0.393
    moment_scale: tuple[float, float, float] = (0.753, 0.264, 0.191)


class ExternalAerodynamics(VortexFlow):
    """Vorticity and circulations → velocity on a car.

    On a surface from a file the harmonic frame is bound to the mesh (see ``period_frame``), and without handles there
    are no harmonic fields.  Raises UnknownNameError (style), and for files what :func:`hsd.data.vehicle.load_vehicle`
    raises.
    """

    name = "external_aerodynamics"
    title = "External aerodynamics"
    dim = 2
    Config = ExternalConfig

    @property
    def place(self) -> str:
        if self.config.surface is not None:
            return f"the surface of {self.config.surface}, scaled to radius 1 round its centroid"
        return "the surface of its car with a wing on two struts, scaled to radius 1 round its centroid"

    @cached_property
    def vehicle(self) -> Mesh:
        """The surface of the file, scaled, undecimated."""
        return load_vehicle(self.config.surface, self.config.surface_repair)

    @cached_property
    def shape(self) -> Shape:
        if self.config.surface is not None:
            return PointTable.of_mesh(self.vehicle)
        return WingedCar(self.config.style)

    @cached_property
    def n_circulations(self) -> int:
        return 2 if self.config.surface is None else 2 - self.vehicle.complex.euler_characteristic

    def mesh(self, n_nodes: int | None = None) -> Mesh:
        n_nodes = n_nodes or self.config.n_nodes
        if self.config.surface is not None:
            return decimate(self.vehicle, n_nodes)
        options = {"n_vertices": n_nodes, **self.shape.options}
        mesh = kept_mesh(lambda: car(**options), "car", sorted(options.items()))
        return replace(mesh, points=self.shape.from_metres(mesh.points))

    def frame(self, ground: Ground) -> np.ndarray:
        """⋆-orthonormal harmonic forms, (N_1, b_1)."""
        if self.config.surface is not None:
            return period_frame(ground)
        require_b1(ground, 2, "the frame of one handle")
        return handle_frame(ground, crossing_cocycle(ground.mesh, 1, 0.0, self.shape.on_wing))

    def named_fields(self, ground: Ground) -> dict[str, NamedFields]:
        frame = self.frame(ground)
        return {"harmonic": NamedFields(1, "flux", frame, reference=True)} if frame.shape[1] else {}

    def draw(self, rng: np.random.Generator) -> Record:
        record = super().draw(rng)
        record["circulations"] = self.config.circulation * rng.standard_normal(self.n_circulations)
        return record

    def calibrate_more(self, near: float) -> dict[str, object]:
        b1 = self.n_circulations
        if not b1:
            return {}
        rest = HARMONIC_SHARE / (0.5 * (1.0 - HARMONIC_SHARE))
        return {"circulation": rounded(np.sqrt(rest * near / b1))}
