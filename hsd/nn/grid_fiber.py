"""The grid fiber of HSD: lift to the grid, a Fourier neural operator, pull-back, and the pointwise commutator."""

from __future__ import annotations

import torch
from torch import nn

from hsd.data.batch import Batch, n_node_inputs, n_node_outputs, node_inputs
from hsd.data.domain import Domain
from hsd.nn.mlp import grid_points, mlp
from hsd.nn.spectral_conv import GridNetwork


class GridFiber(nn.Module):
    """Forms of the target's degree: R FNO(ι ω, ι ω_base, ι inputs, mask, positions), (B, N_t), zero at the start.

    masked : multiply by the soft mask before the transform, against ringing (P-D.5)
    """

    def __init__(self, domain: Domain, width: int, depth: int, modes: int, masked: bool = True):
        super().__init__()
        size = domain.spec.grid_size
        channels = domain.arrays["grid/target_sampling/shape"][1] // size**3
        self.masked = masked
        self.network = GridNetwork(2 * channels + n_node_inputs(domain) + 4, channels, width, depth, modes, size, True)

    def forward(self, form: torch.Tensor, base: torch.Tensor, batch: Batch, domain: Domain) -> torch.Tensor:
        n = len(form)
        lift, size = domain.sparse("grid/target_lift"), domain.spec.grid_size
        fields = [lift(f).reshape(n, size**3, -1) for f in (form, base)]
        fields.append(domain.sparse("grid/node_lift")(node_inputs(batch, domain)))
        mask = domain.tensor("grid/mask")[None, :, None].expand(n, -1, -1)
        u = torch.cat(fields, dim=-1)
        u = torch.cat([u * mask if self.masked else u, mask], dim=-1)
        places = grid_points(size, u.device, u.dtype)[None].expand(n, -1, -1)
        out = self.network(torch.cat([u, places], dim=-1))  # (B, size³, channels)
        return domain.sparse("grid/target_sampling")(out.reshape(n, -1))


class Commutator(nn.Module):
    """A pointwise correction at the vertices from the smoothed form R ι ω and the base's node values, zero at first.

    broadcast : a number of global features (a linear map of the coefficients, as published), or 0
    (B, N_t) forms and (B, broadcast) → (B, N_t)
    """

    def __init__(self, domain: Domain, hidden: int, broadcast: int = 0):
        super().__init__()
        c = n_node_outputs(domain)
        self.network = mlp([2 * c + n_node_inputs(domain) + broadcast, hidden, c], last_zero=True)

    def forward(
        self, form: torch.Tensor, base: torch.Tensor, batch: Batch, domain: Domain, q: torch.Tensor | None = None
    ) -> torch.Tensor:
        smooth = domain.sparse("grid/target_sampling")(domain.sparse("grid/target_lift")(form))
        z = [domain.target_nodes(smooth), domain.target_nodes(base), node_inputs(batch, domain)]
        if q is not None:
            z.append(q[:, None].expand(-1, domain.n_vertices, -1))
        nodes = self.network(torch.cat(z, dim=-1))
        return domain.sparse("target_flat")(nodes.flatten(1))
