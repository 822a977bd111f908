"""A batch of predictions beside the truth, with what several metrics and losses share computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hsd.errors import InputError
from hsd.metrics.levels import LevelRule
from hsd.metrics.yardstick import Yardstick, apply

DEFAULT = LevelRule()


@dataclass(frozen=True, eq=False)
class Pair:
    """Prediction p and truth g of B samples on one mesh, as node values and as forms.

    nodes_p, nodes_g : (B, N_0, C) node values, C = 1 for scalars and densities, D for vectors
    forms_p, forms_g : (B, N_k) forms
    unit             : () or (C,) what node values are divided by for the mean squared error
    rule             : levels of the topological metrics
    Made by :meth:`of_nodes` (both forms by the same flat map) or :meth:`of_forms` (both node values by the same
    sharp map).  Everything is differentiable in the prediction.
    """

    yardstick: Yardstick
    nodes_p: Tensor
    nodes_g: Tensor
    forms_p: Tensor
    forms_g: Tensor
    unit: Tensor
    rule: LevelRule = DEFAULT

    @classmethod
    def of_nodes(
        cls, yardstick: Yardstick, prediction: Any, truth: Any, unit: Any = 1.0, rule: LevelRule = DEFAULT
    ) -> Pair:
        """Node values (B, N_0, C), or (B, N_0) where C = 1; arrays or tensors.  Raises InputError (shape, unit, …)."""
        p, g = (_nodes(yardstick, x, what) for x, what in ((prediction, "prediction"), (truth, "truth")))
        _same_batch(p, g)
        if yardstick.flat is None:
            return cls(yardstick, p, g, p[..., 0], g[..., 0], _unit(yardstick, unit), rule)
        forms = (apply(yardstick.flat, x.flatten(1)) for x in (p, g))  # (B, N_0·C) → (B, N_k)
        return cls(yardstick, p, g, *forms, _unit(yardstick, unit), rule)

    @classmethod
    def of_forms(
        cls, yardstick: Yardstick, prediction: Any, truth: Any, unit: Any = 1.0, rule: LevelRule = DEFAULT
    ) -> Pair:
        """Forms (B, N_k), arrays or tensors.  Raises InputError (shape, unit, non_finite_field, not_numeric)."""
        p, g = (_forms(yardstick, x, what) for x, what in ((prediction, "prediction"), (truth, "truth")))
        _same_batch(p, g)
        return cls(yardstick, sharp_of(yardstick, p), sharp_of(yardstick, g), p, g, _unit(yardstick, unit), rule)

    def __len__(self) -> int:
        return len(self.nodes_g)

    # ---- shared intermediate results -----------------------------------------------------------------------------

    @cached_property
    def node_error(self) -> Tensor:
        return self.nodes_p - self.nodes_g

    @cached_property
    def form_error(self) -> Tensor:
        return self.forms_p - self.forms_g

    @cached_property
    def derivatives(self) -> tuple[Tensor, Tensor]:
        """du of every node component along edges, of prediction and truth, (N_1, B, C) each."""
        start, end = self.yardstick.edges.T
        nodes = (x.transpose(0, 1) for x in (self.nodes_p, self.nodes_g))  # (N_0, B, C)
        return tuple(x[end] - x[start] for x in nodes)

    @cached_property
    def dirichlet(self) -> tuple[Tensor, Tensor, Tensor]:
        """Σ_c ⟨du_p, du_p⟩, ⟨du_g, du_g⟩, ⟨du_p, du_g⟩ in ⋆_1, (B,) each."""
        p, g = self.derivatives
        weight = self.yardstick.cotan
        products = (weight @ (x * y).sum(dim=2) for x, y in ((p, p), (g, g), (p, g)))  # (N_1, B) → (B,)
        return tuple(products)

    @cached_property
    def coefficient_error(self) -> Tensor:
        """ĉ_p − ĉ_g over the non-harmonic modes, (B, n)."""
        return self.form_error @ self.yardstick.modes

    @cached_property
    def coefficients(self) -> Tensor:
        """ĉ_g over the non-harmonic modes, (B, n)."""
        return self.forms_g @ self.yardstick.modes

    @cached_property
    def vorticities(self) -> tuple[Tensor, Tensor]:
        """Vorticity at the vertices, (B, N_0) of prediction and truth; only where the yardstick has one."""
        return tuple(apply(self.yardstick.vorticity, x) for x in (self.forms_p, self.forms_g))

    @cached_property
    def level_fields(self) -> tuple[Tensor, Tensor]:
        """The numbers at vertices whose level sets are compared, (B, N_0) of prediction and truth.

        The scalar (density) itself; |vorticity| of vectors on surfaces; the length of vectors elsewhere.
        """
        if not self.yardstick.is_vector:
            return self.nodes_p[..., 0], self.nodes_g[..., 0]
        if self.yardstick.vorticity is not None:
            return tuple(x.abs() for x in self.vorticities)
        return tuple(torch.linalg.vector_norm(x, dim=-1) for x in (self.nodes_p, self.nodes_g))

    @cached_property
    def level_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """:attr:`level_fields` as float64 arrays on the CPU."""
        return tuple(x.detach().cpu().double().numpy() for x in self.level_fields)

    @cached_property
    def error_energies(self) -> dict[str, Tensor]:
        """‖π_q(ω_p − ω_g)‖²_⋆ for each Hodge part q there is, (B,); solved in float64 on the CPU."""
        error = self.form_error.detach()
        finite = torch.isfinite(error).all(dim=1, keepdim=True)
        energies = self.yardstick.parts(torch.where(finite, error, torch.zeros_like(error)).cpu().double().numpy())
        nothing = torch.full_like(error[:, 0], torch.nan)
        return {name: torch.where(finite[:, 0], torch.from_numpy(e).to(error), nothing) for name, e in energies.items()}


def sharp_of(yardstick: Yardstick, forms: Tensor) -> Tensor:
    """Node values of forms (B, N_k) → (B, N_0, C) by the yardstick's sharp map."""
    if yardstick.sharp is None:
        return forms[..., None]
    return apply(yardstick.sharp, forms).unflatten(1, (yardstick.n_vertices, yardstick.n_components))


def node_values(yardstick: Yardstick, forms: Any, what: str = "forms") -> Tensor:
    """Node values of any forms (B, N_k), array or tensor → (B, N_0, C).  Raises InputError (shape, not_numeric)."""
    return sharp_of(yardstick, _forms(yardstick, forms, what))


def _tensor(yardstick: Yardstick, values: Any, what: str) -> Tensor:
    values = torch.as_tensor(values)
    if values.is_complex():
        raise InputError(f"The {what} holds real numbers; got {values.dtype}.", "not_numeric")
    return values.to(device=yardstick.device, dtype=yardstick.dtype)


def _nodes(yardstick: Yardstick, values: Any, what: str) -> Tensor:
    values = _tensor(yardstick, values, what)
    if values.ndim == 2 and yardstick.n_components == 1:
        values = values[..., None]
    expected = (yardstick.n_vertices, yardstick.n_components)
    if values.ndim != 3 or values.shape[1:] != expected:
        raise InputError(
            f"Node values of the {what} have shape (samples, {expected[0]}, {expected[1]}); got {tuple(values.shape)}.",
            "shape",
        )
    return _finite_truth(values, what)


def _forms(yardstick: Yardstick, values: Any, what: str) -> Tensor:
    values = _tensor(yardstick, values, what)
    if values.ndim != 2 or values.shape[1] != yardstick.n_simplices:
        raise InputError(
            f"{yardstick.degree}-forms of the {what} have shape (samples, {yardstick.n_simplices}); got "
            f"{tuple(values.shape)}.",
            "shape",
        )
    return _finite_truth(values, what)


def _finite_truth(values: Tensor, what: str) -> Tensor:
    if what == "truth":
        bad = torch.nonzero(~torch.isfinite(values.flatten(1)).all(dim=1)).flatten()
        if len(bad):
            raise InputError(
                f"The truth is not finite in {len(bad)} of {len(values)} samples, the first is {int(bad[0])}; "
                "mend or drop them.",
                "non_finite_field",
                bad[:100].tolist(),
            )
    return values


def _same_batch(p: Tensor, g: Tensor) -> None:
    if len(p) != len(g):
        raise InputError(f"Prediction and truth hold {len(p)} and {len(g)} samples; they must agree.", "shape")
    if len(p) == 0:
        raise InputError("There is no sample to score.", "empty")


def _unit(yardstick: Yardstick, unit: Any) -> Tensor:
    unit = torch.as_tensor(unit, dtype=yardstick.dtype, device=yardstick.device)
    if unit.shape not in ((), (1,), (yardstick.n_components,)) or not bool((unit > 0).all()):
        raise InputError(
            f"The unit of node values is a positive number or one for each of {yardstick.n_components} components; "
            f"got {unit.tolist()}.",
            "unit",
        )
    return unit
