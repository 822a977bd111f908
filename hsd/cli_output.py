"""Results of the command line as files: .npz with the cochains, or a mesh file with fields that a viewer draws."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hsd import __version__
from hsd.dec.flat import top_signs
from hsd.dec.whitney import evaluation_matrix
from hsd.errors import InputError, naming
from hsd.mesh.io import save_mesh
from hsd.mesh.io.writers import cells_to_write

PART_ARRAYS = (
    "exact", "coexact", "harmonic", "alpha", "beta", "residual", "inner", "harmonic_coefficients", "periods"
)  # fmt: skip


def save_modes(path: Path, mesh, basis) -> None:
    """Write a basis: .npz holds modes, eigenvalues and parts; a mesh file one field a mode."""
    if path.suffix.lower() == ".npz":
        write_npz(
            path,
            modes=basis.modes,
            eigenvalues=basis.eigenvalues,
            part=basis.part,
            **_mesh_arrays(mesh),
            **provenance(mesh, basis.k, basis.bc, basis.star),
        )
    else:
        digits = len(str(max(basis.n_modes - 1, 1)))
        names = [f"mode_{i:0{digits}d}_{part}" for i, part in enumerate(basis.part)]
        where_from = provenance(mesh, basis.k, basis.bc, basis.star)
        _save_fields(path, mesh, basis.k, dict(zip(names, basis.modes.T, strict=True)), where_from)


def save_decomposition(path: Path, mesh, omega: np.ndarray, parts, more: Mapping[str, object] | None = None) -> None:
    """Write a decomposition: .npz holds ω, its parts and potentials; a mesh file ω and its parts as fields.

    more : further provenance, such as what the field is and its seed
    """
    where_from = provenance(mesh, parts.k, parts.bc, parts.star) | dict(more or {})
    if path.suffix.lower() == ".npz":
        arrays = {name: getattr(parts, name) for name in PART_ARRAYS}
        write_npz(
            path,
            omega=omega,
            **arrays,
            energies=np.array(list(parts.energies.values())),
            energy_names=np.array(list(parts.energies)),
            zeros=np.array(list(parts.zeros.values())),
            zero_names=np.array(list(parts.zeros)),
            **_mesh_arrays(mesh),
            **where_from,
        )
    else:
        fields = {"omega": omega, "exact": parts.exact, "coexact": parts.coexact, "harmonic": parts.harmonic}
        _save_fields(path, mesh, parts.k, fields, where_from)


def load_decomposition(path: Path):
    """(ω, Decomposition) from an .npz file of :func:`save_decomposition`.  Raises InputError (not_a_decomposition)."""
    from hsd.hodge.decomposition import Decomposition

    try:
        with np.load(path, allow_pickle=False) as data:
            arrays = {name: data[name] for name in PART_ARRAYS}
            parts = Decomposition(
                int(data["degree"]),
                str(data["boundary_condition"]),
                str(data["star"]),
                **arrays | {"residual": float(data["residual"])},
                energies=dict(zip(data["energy_names"].tolist(), data["energies"].tolist(), strict=True)),
                zeros=dict(zip(data["zero_names"].tolist(), data["zeros"].tolist(), strict=True)),
            )
            return data["omega"], parts
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path.name} holds no decomposition; compute it again.", "not_a_decomposition") from error


def write_npz(path: Path, **arrays) -> None:
    """Write arrays to an archive in one step: a reader sees the old file or the whole new one."""
    part = path.with_name(path.name + ".part")
    try:
        with naming(path), part.open("wb") as stream:
            np.savez_compressed(stream, **{k: v for k, v in arrays.items() if v is not None})
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def provenance(mesh, k: int, bc: str, star: str) -> dict:
    """What a result was made from, as every file of results carries it."""
    return {
        "degree": k,
        "boundary_condition": bc,
        "star": star,
        "mesh_name": mesh.name,
        "mesh_hash": mesh.content_hash,
        "version": __version__,
    }


def _mesh_arrays(mesh) -> dict[str, np.ndarray]:
    """The mesh itself, so that the file is complete; nothing where it has edge lengths alone."""
    names = {0: "vertices", 1: "edges", 2: "faces", 3: "tets"}
    if mesh.points is None and (mesh.dim > 1 or mesh.lengths2 is not None):
        return {}
    cells, _ = cells_to_write(mesh)
    out = {names[k]: rows[:, 0] if k == 0 else rows for k, rows in cells.items() if len(rows)}
    return out if mesh.points is None else out | {"points": mesh.points}


def check_fits(path: Path | None, mesh, k: int) -> None:
    """Refuse, before the long work, a file that cannot hold k-forms of this mesh.

    Raises InputError (cannot_write), MetricError (no_positions), TopologyError (non_orientable).
    """
    if path is None or path.suffix.lower() == ".npz":
        return
    if mesh.dim == 3 and path.suffix.lower() == ".vtp":
        raise InputError("A .vtp file holds no tetrahedra; write .vtu, .vtk or .npz.", "cannot_write")
    if mesh.points is None or mesh.points.shape[1] > 3:
        raise InputError(
            f"{mesh.name} has no positions in the plane or in space, so no viewer can draw it; write .npz.",
            "cannot_write",
        )
    if k == mesh.dim >= 2:
        top_signs(mesh, "A density in a file for a viewer (.npz holds the cochain)")


def _save_fields(path: Path, mesh, k: int, cochains: dict[str, np.ndarray], where_from: dict) -> None:
    """Write cochains as what a viewer draws: node values (k = 0), vectors of the cells, or densities (k = dim ≥ 2)."""
    if k == 0:
        save_mesh(mesh, path, point_data=cochains, cell_data={}, provenance=where_from)
        return
    n_cells, n = mesh.complex.n(mesh.dim), mesh.dim
    centres = np.full((n_cells, n + 1), 1.0 / (n + 1))
    evaluate = evaluation_matrix(mesh, k, np.arange(n_cells), centres)
    fields = {name: (evaluate @ omega).reshape(n_cells, -1) for name, omega in cochains.items()}
    for name, values in fields.items():
        if values.shape[1] == 1:
            fields[name] = values[:, 0]
        else:
            fields[name] = np.pad(values, ((0, 0), (0, 3 - values.shape[1])))
    save_mesh(mesh, path, point_data={}, cell_data=fields, provenance=where_from)
