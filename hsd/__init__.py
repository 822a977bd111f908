"""Hodge explorer: topology, Hodge decomposition and Hodge spectral bases of meshes.

The public names below are loaded at first use, so that ``import hsd`` costs nothing:

>>> import hsd
>>> mesh = hsd.gallery("torus", 500)
>>> hsd.report(mesh)["betti_Q"]
[1, 2, 1]
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

_HOME_OF = {
    "HsdError": "hsd.errors",
    "Notice": "hsd.errors",
    "SimplicialComplex": "hsd.mesh.complex",
    "Mesh": "hsd.mesh.mesh",
    "load_mesh": "hsd.mesh.io",
    "load_mesh_bytes": "hsd.mesh.io",
    "save_mesh": "hsd.mesh.io",
    "mesh_from_edges": "hsd.mesh.from_graph",
    "mesh_from_points": "hsd.mesh.from_points",
    "repair": "hsd.mesh.repair",
    "gallery": "hsd.mesh.primitives",
    "DEC": "hsd.dec.operators",
    "flat": "hsd.dec.flat",
    "flat_flux": "hsd.dec.flat",
    "de_rham": "hsd.dec.de_rham",
    "sharp": "hsd.dec.whitney",
    "read_field": "hsd.dec.read_field",
    "betti_numbers": "hsd.hodge.homology",
    "Homology": "hsd.hodge.homology",
    "HodgeSolver": "hsd.hodge.solver",
    "HodgeBasis": "hsd.hodge.spectrum",
    "lowest_modes": "hsd.hodge.spectrum",
    "spectral_derivative": "hsd.hodge.spectrum",
    "spectral_energy": "hsd.hodge.spectral_energy",
    "circulations": "hsd.hodge.decomposition",
    "fluxes": "hsd.hodge.decomposition",
    "decompose": "hsd.hodge.decomposition",
    "Decomposer": "hsd.hodge.decomposition",
    "Transfer": "hsd.hodge.transfer",
    "transfer_basis": "hsd.hodge.functional_map",
    "functional_map": "hsd.hodge.functional_map",
    "report": "hsd.hodge.report",
    "load": "hsd.training.predictor",
    "Domain": "hsd.data.domain",
    "Dataset": "hsd.data.dataset",
    "Ground": "hsd.data.ground",
}

__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str):
    if name not in _HOME_OF:
        raise AttributeError(f"module 'hsd' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
