"""The de Rham map: smooth functions and vector fields → cochains, by quadrature over simplices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hsd.dec.flat import conormals, positions, simplex_vectors, top_signs
from hsd.dec.quadrature import simplex_rule
from hsd.dec.whitney import reads_as_vector
from hsd.errors import InputError
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures


def de_rham(
    mesh: Mesh, k: int, function: Callable[[np.ndarray], np.ndarray], order: int = 4, flux: bool = False
) -> np.ndarray:
    """R: smooth k-forms → Ω^k, (Rω)(σ) = ∫_σ ω over every stored k-simplex.

    function : points (m, D) → (m,) for k = 0 and densities (k = n ≥ 2), → (m, D) for vector fields: circulation for
               k = 1, flux for k = 2 in tetrahedra, and flux through the edges of a surface for k = 1 with flux=True
               (signs as in :func:`hsd.dec.flat.flat_flux_matrix`).
    order    : polynomials up to this degree are integrated exactly on each (flat) simplex; d R = R d then holds
               to rounding, else to the error O(h^(order+1)) of the rule.
    Returns (N_k,), unit of the function · length^k.
    Raises InputError (degree, quadrature, shape, non_finite_field), MetricError, TopologyError (non_orientable).
    """
    p = positions(mesh)
    vector = reads_as_vector(mesh, k, rotate=flux)
    bary, weights = simplex_rule(k, order)
    corners = p[mesh.complex.simplices(k)]  # (N_k, k+1, D)
    places = np.einsum("qi,mid->mqd", bary, corners).reshape(-1, p.shape[1])
    values = np.asarray(function(places), np.float64)
    expected = places.shape if vector else (len(places),)
    if values.shape != expected:
        raise InputError(
            f"The function must give shape {expected} at {len(places)} points for degree {k}; got {values.shape}.",
            "shape",
        )
    if not np.isfinite(values).all():
        raise InputError("The function is not finite at some quadrature points of the mesh.", "non_finite_field")
    mean = np.einsum("q,mq...->m...", weights, values.reshape(len(corners), len(bary), *values.shape[1:]))
    if vector:
        normals = conormals(mesh) if flux else simplex_vectors(mesh, k)
        return (mean * normals).sum(axis=1)
    if k == 0:
        return mean
    return mean * measures(mesh, k) * top_signs(mesh, "The integral of a density")
