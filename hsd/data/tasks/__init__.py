"""The physical tasks, by name; each module is one task: equation, sampler, generator, exact properties."""

from __future__ import annotations

from importlib import import_module

from hsd.data.tasks.base import Task
from hsd.errors import UnknownNameError

TASKS = {
    "external_aerodynamics": "ExternalAerodynamics",
    "magnetostatics": "Magnetostatics",
    "toroidal_transport": "ToroidalTransport",
    "ellipsoid_aerodynamics": "EllipsoidAerodynamics",
    "torus_helmholtz": "TorusHelmholtz",
    "vorticity_dynamics": "VorticityDynamics",
}
"""Name of the task (and of its module here) → its class."""


def task(name: str, **config) -> Task:
    """The task of that name; ``config`` replaces entries of its frozen config.  Raises UnknownNameError."""
    if name not in TASKS:
        raise UnknownNameError("task", name, TASKS)
    return getattr(import_module(f"hsd.data.tasks.{name}"), TASKS[name])(**config)
