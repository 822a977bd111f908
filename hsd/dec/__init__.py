"""Discrete exterior calculus: conventions of the whole library.

- Simplices are stored with increasing vertex numbers; B_k has signs (−1)^i only, ``d(k) = B_{k+1}ᵀ``, and
  ``d(k+1) @ d(k)`` has no non-zero entry.  A cochain ω ∈ Ω^k is one number per k-simplex in stored order, the integral
  of the form over the simplex in its stored vertex order (k = 1: positive from the smaller to the larger vertex).
- ``star(k)`` is the mass matrix of ⟨a, b⟩ = aᵀ ⋆_k b: "galerkin" (default; lumped ⋆_0, Whitney ⋆_1 … ⋆_{n−1},
  1/measure for ⋆_n), "diagonal" (circumcentric; refused unless clearly positive), "unit" (combinatorial).
- ``codifferential(k) = star(k−1)⁻¹ B_k star(k)`` is the ⋆-adjoint of d; ``laplacian(k) = d δ + δ d`` is **positive**.
- ``absolute``: nothing imposed, H^k(M); as vector fields 1-forms are tangential.  ``relative``: zero on boundary
  simplices, H^k(M, ∂M); 1-forms are normal.  For 2-forms in tetrahedra it is the other way round.
- Lengths carry the unit of the positions; eigenvalues of Δ have unit⁻²; there is no absolute tolerance anywhere.
"""
