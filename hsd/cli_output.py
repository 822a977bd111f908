"""Results of the command line as files: .npz with the cochains, or a mesh file with fields that a viewer draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hsd import __version__


def save_modes(path: Path, mesh, basis) -> None:
    """Write a basis: .npz holds modes, eigenvalues and parts; a mesh file one field a mode."""
    if path.suffix.lower() == ".npz":
        write_npz(
            path,
            modes=basis.modes,
            eigenvalues=basis.eigenvalues,
            part=basis.part,
            **_provenance(mesh, basis.k, basis.bc, basis.star),
        )
    else:
        digits = len(str(max(basis.n_modes - 1, 1)))
        names = [f"mode_{i:0{digits}d}_{part}" for i, part in enumerate(basis.part)]
        _save_fields(path, mesh, basis.k, dict(zip(names, basis.modes.T, strict=True)))


def save_decomposition(path: Path, mesh, omega: np.ndarray, parts) -> None:
    """Write a decomposition: .npz holds ω, its parts and potentials; a mesh file ω and its parts as fields."""
    fields = {"omega": omega, "exact": parts.exact, "coexact": parts.coexact, "harmonic": parts.harmonic}
    if path.suffix.lower() == ".npz":
        write_npz(
            path,
            **fields,
            alpha=parts.alpha,
            beta=parts.beta,
            residual=parts.residual,
            energies=np.array(list(parts.energies.values())),
            energy_names=np.array(list(parts.energies)),
            **_provenance(mesh, parts.k, parts.bc, parts.star),
        )
    else:
        _save_fields(path, mesh, parts.k, fields)


def write_npz(path: Path, **arrays) -> None:
    """Write arrays to an archive in one step: a reader sees the old file or the whole new one."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as stream:
            np.savez_compressed(stream, **{k: v for k, v in arrays.items() if v is not None})
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _provenance(mesh, k: int, bc: str, star: str) -> dict:
    return {
        "degree": k,
        "boundary_condition": bc,
        "star": star,
        "mesh_name": mesh.name,
        "mesh_hash": mesh.content_hash,
        "version": __version__,
    }


def _save_fields(path: Path, mesh, k: int, cochains: dict[str, np.ndarray]) -> None:
    raise NotImplementedError
