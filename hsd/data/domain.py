"""A mesh with everything that operators read from it, as tensors on any device and in any precision."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from hsd.data.domain_arrays import PART_CODES, Arrays, Builder, DomainSpec
from hsd.data.ground import Ground
from hsd.data.scales import Scales
from hsd.data.sparse import tensor_of
from hsd.data.tasks.base import NamedFields, Task
from hsd.errors import InputError
from hsd.hodge.cache import cache_key, cached, write_atomically
from hsd.hodge.eigen import CANON
from hsd.linalg import Progress, silent
from hsd.mesh.mesh import Mesh

FORMAT = "hsd-domain-3"


FIBER_LIFTS = (1.0, 2.0, 0.5)
"""Slopes s of the bounded functions u/√(1 + (s u)²) whose resolvents a fiber may read; u has mean square about one."""


class _Product(torch.autograd.Function):
    """A x with the gradient Aᵀ g, both as CSR products (repeatable on every device)."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, matrix: torch.Tensor, transposed: torch.Tensor) -> torch.Tensor:
        ctx.transposed = transposed
        return matrix @ x

    @staticmethod
    def backward(ctx, g: torch.Tensor):
        return ctx.transposed @ g.contiguous(), None, None


class SparseMap:
    """A constant sparse matrix (n_out, n_in) as a map of the second axis: (B, n_in, …) → (B, n_out, …), in the matrix's
    precision, outside autocast."""

    def __init__(self, matrix: torch.Tensor, transposed: torch.Tensor):
        self.matrix, self.transposed = matrix, transposed

    @property
    def shape(self) -> tuple[int, int]:
        return tuple(self.matrix.shape)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        tail = x.shape[2:]
        columns = x.to(self.matrix.dtype).transpose(0, 1).reshape(x.shape[1], -1)  # (n_in, B · …)
        with torch.autocast(x.device.type, enabled=False):
            out = _Product.apply(columns.contiguous(), self.matrix, self.transposed)
        return out.reshape(self.matrix.shape[0], x.shape[0], *tail).transpose(0, 1)


@dataclass(frozen=True)
class Basis:
    """Modes of one degree as tensors: Φ and ⋆Φ (N_k, n), eigenvalues (n,) in unit⁻², part (n,) by PART_CODES."""

    modes: torch.Tensor
    star_modes: torch.Tensor
    eigenvalues: torch.Tensor
    part: torch.Tensor

    @property
    def n_modes(self) -> int:
        return self.modes.shape[1]

    @property
    def harmonic(self) -> torch.Tensor:
        """(n,) True for harmonic modes."""
        return self.part == PART_CODES["harmonic"]

    def coefficients(self, forms: torch.Tensor) -> torch.Tensor:
        """c = Φᵀ ⋆ ω, outside autocast, (B, N_k) → (B, n)."""
        with torch.autocast(forms.device.type, enabled=False):
            return forms.to(self.star_modes.dtype) @ self.star_modes

    def synthesise(self, c: torch.Tensor) -> torch.Tensor:
        """Φ c, outside autocast, (B, n) → (B, N_k)."""
        with torch.autocast(c.device.type, enabled=False):
            return c.to(self.modes.dtype) @ self.modes.T

    def complement(self, forms: torch.Tensor) -> torch.Tensor:
        """(I − ΦΦᵀ⋆) ω, applied twice, outside autocast, (B, N_k) → (B, N_k)."""
        with torch.autocast(forms.device.type, enabled=False):
            forms = forms.to(self.modes.dtype)
            for _ in range(2):
                forms = forms - self.synthesise(self.coefficients(forms))
        return forms


class Domain:
    """Complex, metric, bases, derivative pairs, node maps, grid transfer and contractions of one mesh, as tensors.

    Made by :meth:`build` (from a task) or :meth:`from_mesh`; every tensor is made at first use on ``device`` and in
    ``dtype``.  ``arrays`` holds the float64 originals, names as in ``hsd.data.domain_arrays``.

    λ̂ = λ · scale2 with scale2 = measure^(2/n)/4π has no unit, so that filters are scale-free; on other resolutions of
    one shape they are taken in the scales of the mesh of training (:meth:`in_scales`).
    """

    def __init__(self, mesh: Mesh, spec: DomainSpec, arrays: Arrays, device="cpu", dtype: torch.dtype = torch.float32):
        self.mesh, self.spec, self.arrays = mesh, spec, arrays
        self.device, self.dtype = torch.device(device), dtype
        self._tensors: dict[str, torch.Tensor] = {}
        self._sparse: dict[str, SparseMap] = {}
        self._derived: dict[Hashable, Any] = {}

    # ---- making, keeping -----------------------------------------------------------------------------------------

    @classmethod
    def build(
        cls, task: Task, mesh: Mesh | None = None, n_modes: int = 128, grid_size: int = 16, progress: Progress = silent
    ) -> Domain:
        """The domain of a task, on its own mesh or another one of its shape; constants come from the disk cache.

        Raises what :meth:`hsd.data.tasks.base.Task.built_on` and :meth:`from_mesh` raise.
        """
        mesh = (mesh or task.mesh()).in_space
        spec = DomainSpec.of(task, n_modes, grid_size)
        ground = Ground(mesh, spec.star, spec.bc)
        fields, frame = task.built_on(ground)
        return cls.from_mesh(mesh, spec, fields, frame, progress, ground)

    @classmethod
    def from_mesh(
        cls,
        mesh: Mesh,
        spec: DomainSpec,
        fields: Mapping[str, NamedFields] | None = None,
        frame: np.ndarray | None = None,
        progress: Progress = silent,
        ground: Ground | None = None,
    ) -> Domain:
        """The domain of any mesh (one of the plane is put into space); ``frame`` as in
        :meth:`hsd.data.tasks.base.Task.frame`.

        Raises InputError (degree, dimension, n_modes), MetricError, TopologyError.
        """
        mesh = ground.mesh if ground is not None else mesh
        if mesh.in_space is not mesh:
            mesh, ground = mesh.in_space, None
        fields = dict(fields or {})
        marks = [(n, f.degree, f.reading, f.reference, f.values.tobytes()) for n, f in sorted(fields.items())]
        turned = None if frame is None else frame.tobytes()
        key = cache_key("domain", FORMAT, CANON, mesh.content_hash, spec, marks, turned)

        def compute() -> Arrays:
            return Builder(ground or Ground(mesh, spec.star, spec.bc), spec, fields, frame, progress).run()

        return cls(mesh, spec, cached(key, lambda entry: "pairs" in entry, compute))

    def to(self, device=None, dtype: torch.dtype | None = None) -> Domain:
        """The same domain on another device or in another precision."""
        return Domain(self.mesh, self.spec, self.arrays, device or self.device, dtype or self.dtype)

    def save(self, path: str | Path) -> None:
        """Write mesh, spec and arrays as one ``.npz`` without pickle, atomically."""
        head = {"format": FORMAT, "spec": asdict(self.spec), "name": self.mesh.name}
        buffer = io.BytesIO()
        top = self.mesh.complex.simplices(self.mesh.dim)
        cells = self.mesh.oriented_cells() if self.mesh.orientation is not None else top
        about = {"head": np.array(json.dumps(head)), "mesh/points": self.mesh.points, "mesh/cells": cells}
        np.savez(buffer, **self.arrays, **about)
        write_atomically(Path(path), buffer.getvalue())

    @classmethod
    def load(cls, path: str | Path, device="cpu", dtype: torch.dtype = torch.float32) -> Domain:
        """A domain written by :meth:`save`.  Raises InputError (no_file, bad_domain_file)."""
        path = Path(path)
        if not path.is_file():
            raise InputError(f"There is no domain file {path}.", "no_file")
        try:
            with np.load(path, allow_pickle=False) as data:
                arrays = {name: data[name] for name in data.files}
            head = json.loads(str(arrays.pop("head")))
            points, cells = arrays.pop("mesh/points"), arrays.pop("mesh/cells")
        except (ValueError, KeyError, zipfile.BadZipFile, OSError, EOFError) as error:
            raise InputError(
                f"{path.name} is no whole domain file ({error}); write it again with Domain.save.", "bad_domain_file"
            ) from error
        if head.get("format") != FORMAT:
            raise InputError(
                f"{path.name} has the format {head.get('format')!r}; this version reads {FORMAT!r}.", "bad_domain_file"
            )
        spec = {k: tuple(v) if isinstance(v, list) else v for k, v in head["spec"].items()}
        mesh = Mesh.from_cells(points, cells, head["name"])
        return cls(mesh, DomainSpec(**spec), arrays, device, dtype)

    # ---- tensors -------------------------------------------------------------------------------------------------

    def tensor(self, name: str) -> torch.Tensor:
        """The array of that name as a tensor (floats in ``dtype``), cached."""
        if name not in self._tensors:
            tensor = torch.as_tensor(np.array(self.arrays[name]))  # a copy: cached arrays are read-only
            self._tensors[name] = tensor.to(self.device, self.dtype if tensor.is_floating_point() else None)
        return self._tensors[name]

    def sparse(self, name: str) -> SparseMap:
        """The sparse matrix of that name as a differentiable map, cached."""
        if name not in self._sparse:
            a = self.arrays
            parts = tuple(a[f"{name}/{part}"] for part in ("data", "indices", "indptr"))
            csr = sp.csr_matrix(parts, shape=a[f"{name}/shape"])
            self._sparse[name] = SparseMap(*(tensor_of(m, self.dtype, self.device) for m in (csr, csr.T)))
        return self._sparse[name]

    def has(self, name: str) -> bool:
        return name in self.arrays or f"{name}/data" in self.arrays

    def cached(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What ``make`` gives, kept under a key of this domain: graphs and other structures that models derive."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    @cached_property
    def source(self) -> Basis:
        return self._basis("source")

    @cached_property
    def target(self) -> Basis:
        return self._basis("target")

    def _basis(self, name: str) -> Basis:
        return Basis(*(self.tensor(f"{name}/{part}") for part in ("modes", "star_modes", "eigenvalues", "part")))

    @cached_property
    def _features(self) -> Builder:
        builder = Builder(Ground(self.mesh, self.spec.star, self.spec.bc), self.spec, {}, scales=self.scales)
        builder.prepare_features()
        return builder

    def prepare_fiber(self) -> None:
        """Factor the operators of :meth:`fiber_features`, which otherwise its first call does."""
        _ = self._features

    def fiber_features(self, forms: np.ndarray, lifts: int = 0, block: int = 128) -> np.ndarray:
        """Resolvent features of source forms and of bounded functions of their values, on the CPU, factored once.

        (B, N_s) → (B, N_t, 3 (1 + lifts)) float32: first those of the forms, then those of u/√(1 + (s u)²), u their
        values or densities, s the first ``lifts`` of FIBER_LIFTS (only for 0- and n-forms; others have no features).
        """
        out = []
        for i in range(0, len(forms), block):
            some = np.asarray(forms[i : i + block], float)
            stack = self._lifted(some, lifts)
            solved = self._features.fiber(np.concatenate(stack).T)  # (N_t, 3, (1 + lifts) B), one solve for all
            n_target, n_solved = solved.shape[:2]
            parts = solved.astype(np.float32).reshape(n_target, n_solved, len(stack), len(some))
            out.append(parts.transpose(3, 0, 2, 1).reshape(len(some), n_target, len(stack) * n_solved))
        return np.concatenate(out)

    def fiber_sum(self, forms: np.ndarray, weights: torch.Tensor, block: int = 128) -> np.ndarray:
        """Σ_i w_i of the resolvent features i, by one solve a resolvent instead of one a feature.

        (B, N_s), weights (3 (1 + lifts),) in the order of :meth:`fiber_features` → (B, N_t) float32, equal to
        ``fiber_features(forms, lifts) @ weights`` up to rounding; zeros where there are no features.
        """
        n_solved = self._features.n_resolvents
        if not n_solved:
            return np.zeros((len(forms), self.arrays["target/modes"].shape[0]), np.float32)
        table = weights.detach().double().cpu().numpy().reshape(-1, n_solved)  # (1 + lifts, 3)
        out = []
        for i in range(0, len(forms), block):
            stack = self._lifted(np.asarray(forms[i : i + block], float), len(table) - 1)
            mixed = [sum(w * x for w, x in zip(column, stack)).T for column in table.T]
            out.append(self._features.fiber_sum(mixed).T.astype(np.float32))
        return np.concatenate(out)

    def _lifted(self, forms: np.ndarray, lifts: int) -> list[np.ndarray]:
        """The forms, and those of the bounded functions of their values, (B, N_s) each."""
        if not lifts or "source_value" not in self.arrays:
            return [forms]
        value = self.arrays["source_value"]
        u = forms * value
        return [forms, *(u / np.sqrt(1 + (s * u) ** 2) / value for s in FIBER_LIFTS[:lifts])]

    @cached_property
    def gradient_modes(self) -> torch.Tensor:
        """∇Φ at the vertices times √scale2, (3, n_vertices, K), for sources of degree 0."""
        gradients = self.sparse("gradient")(self.source.modes.T)  # (K, n_vertices · D)
        return gradients.reshape(len(gradients), self.n_vertices, -1).permute(2, 1, 0).contiguous() * self.scale2**0.5

    # ---- scales --------------------------------------------------------------------------------------------------

    @cached_property
    def scales(self) -> Scales:
        """Of this mesh, or those that it was put into."""
        a = self.arrays
        measure = a["measure"] if "measure" in a else a["vertex_measure"].sum()
        cutoff = a["cutoff"] if "cutoff" in a else a["source/eigenvalues"].max(initial=0.0)
        return Scales(float(a["scale2"]), float(measure), float(cutoff))

    @property
    def scale2(self) -> float:
        return self.scales.scale2

    def in_scales(self, scales: Scales, fiber: bool = True) -> Domain:
        """This domain with what depends on scales made for others, where they hold here; else itself.  Kept.

        fiber : whether the fiber's constants are needed, which take sparse solves
        """
        if scales.equal(self.scales) or not scales.hold_on(self.scales):
            return self
        return self.cached(("scales", scales, fiber), lambda: self._put_into(scales, fiber))

    def _put_into(self, scales: Scales, fiber: bool) -> Domain:
        changed = {name: np.array(value) for name, value in asdict(scales).items()}
        builder = self._features.in_scales(scales) if fiber else None
        if builder is not None:
            changed["chi_fiber"] = builder.chi_fiber(self.arrays["chi"])
        out = Domain(self.mesh, self.spec, {**self.arrays, **changed}, self.device, self.dtype)
        out._tensors = {name: tensor for name, tensor in self._tensors.items() if name not in changed}
        out._sparse = dict(self._sparse)
        if builder is not None:
            out._features = builder
        return out

    @property
    def n_vertices(self) -> int:
        return len(self.arrays["points"])

    @property
    def pairs(self) -> torch.Tensor:
        """(n_pairs, 2): column of the source basis, column of the target basis that d/√λ (δ/√λ) makes of it."""
        return self.tensor("pairs")

    @property
    def field_names(self) -> tuple[str, ...]:
        return tuple(sorted(name.removeprefix("field/") for name in self.arrays if name.startswith("field/")))

    @property
    def reference_name(self) -> str | None:
        """Name of the domain's fields whose coefficients are the target's harmonic ones, known from the input."""
        names = [name.removeprefix("harmonic_of/") for name in self.arrays if name.startswith("harmonic_of/")]
        return names[0] if names else None

    def source_nodes(self, forms: torch.Tensor) -> torch.Tensor:
        """Node values of source forms, (B, N_s) → (B, n_vertices, C)."""
        return self.sparse("source_nodes")(forms).reshape(len(forms), self.n_vertices, -1)

    def target_nodes(self, forms: torch.Tensor) -> torch.Tensor:
        """Node values of target forms, (B, N_t) → (B, n_vertices, C)."""
        return self.sparse("target_nodes")(forms).reshape(len(forms), self.n_vertices, -1)
