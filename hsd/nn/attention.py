"""Attention that is linear in the number of vertices: normalised, Galerkin, orthogonal, and on the edges of a graph."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from hsd.nn.message_passing import Graph
from hsd.nn.mlp import mlp

JITTER = 1e-5
"""Share of the mean variance that is added to the diagonal of a covariance before it is factored."""


def split_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    """(B, n, C) → (B, heads, n, C / heads)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def join_heads(x: torch.Tensor) -> torch.Tensor:
    """(B, heads, n, d) → (B, n, heads · d)."""
    return x.transpose(1, 2).flatten(2)


def normalised_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
    """z_i = Σ_j μ_j (q_i · k_j) v_j / Σ_j μ_j (q_i · k_j), for positive q and k, in O(n d²).

    q (B, H, n, d), k and v (B, H, m, d), shares μ (m,) → (B, H, n, d)
    """
    weighted = k * shares[:, None]
    total = q @ weighted.sum(dim=2).unsqueeze(-1)  # (B, H, n, 1)
    return (q @ (weighted.transpose(2, 3) @ v)) / total


class NormalisedAttention(nn.Module):
    """Heterogeneous normalised attention: O (q̃ + 1/L Σ_l z_l), q̃ and k̃ are softmaxes over the channels of a head.

    z_l attends to the l-th function with keys and values of its own; self-attention is one function, x itself.
    forward: queries (B, n, C), functions L × (B, m, C), shares (m,) of the vertices → (B, n, C)
    Source: Hao et al. 2023, GNOT, equations 5 to 9.
    """

    def __init__(self, width: int, heads: int, functions: int = 1):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.pairs = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(functions))
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, functions: Sequence[torch.Tensor], shares: torch.Tensor) -> torch.Tensor:
        q = split_heads(self.query(x), self.heads).softmax(dim=-1)
        z = q
        for pair, y in zip(self.pairs, functions, strict=True):
            k, v = (split_heads(part, self.heads) for part in pair(y).chunk(2, dim=-1))
            z = z + normalised_attention(q, k.softmax(dim=-1), v, shares) / len(functions)
        return self.out(join_heads(z))


class GalerkinAttention(nn.Module):
    """O q (Σ_j μ_j k̂_j v̂_jᵀ), keys and values normalised in each head, no softmax.

    forward: queries (B, n, C), y (B, m, C), shares (m,) of the vertices of y → (B, n, C)
    Source: Cao 2021, Choose a transformer: Fourier or Galerkin.
    """

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.pair = nn.Linear(width, 2 * width)
        self.key_norm, self.value_norm = nn.LayerNorm(width // heads), nn.LayerNorm(width // heads)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, y: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
        q = split_heads(self.query(x), self.heads)
        k, v = (split_heads(part, self.heads) for part in self.pair(y).chunk(2, dim=-1))
        k, v = self.key_norm(k) * shares[:, None], self.value_norm(v)
        return self.out(join_heads(q @ (k.transpose(2, 3) @ v)))


class OrthogonalAttention(nn.Module):
    """(K f)(x) = Σ_i σ_i ψ̂_i(x) ⟨ψ̂_i, V f⟩, σ > 0, ψ̂ = ψ L⁻ᵀ with L Lᵀ = E⟨ψ, ψᵀ⟩ over the samples.

    ψ̂ estimates the eigenfunctions of the kernel, ψ is linear in the normalised features.  In training L comes from the
    batch, whose covariance also moves the buffer ``covariance``; in evaluation it comes from that buffer.  While
    weights move fast the buffer lags behind, so that errors in evaluation are large until the learning rate has fallen.
    forward: features (B, n, C), f (B, n, C), shares (n,) of the vertices → (B, n, C)
    Source: Xiao et al. 2024, Improved operator learning by orthogonal attention, section 3.
    """

    covariance: torch.Tensor
    updates: torch.Tensor

    def __init__(self, width: int, modes: int, momentum: float = 0.9):
        super().__init__()
        self.momentum = momentum
        self.norm = nn.LayerNorm(width)
        self.features = nn.Linear(width, modes)
        self.value = nn.Linear(width, width)
        self.strength = nn.Parameter(torch.zeros(modes))
        self.register_buffer("covariance", torch.eye(modes))
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor, f: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
        psi = self.orthonormal(x, shares)
        amounts = (psi * shares[:, None]).transpose(1, 2) @ self.value(f)  # (B, modes, C)
        return psi @ (nn.functional.softplus(self.strength)[:, None] * amounts)

    def orthonormal(self, x: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
        """ψ̂, (B, n, modes)."""
        psi = self.features(self.norm(x))
        with torch.autocast(psi.device.type, enabled=False):
            psi = psi.to(shares.dtype)
            covariance = self.covariance
            if self.training:
                rows = (psi * shares[:, None].sqrt()).flatten(0, 1)
                covariance = rows.T @ rows / len(psi)
                self.track(covariance.detach())
            return psi @ whitening(covariance)

    @torch.no_grad()
    def track(self, covariance: torch.Tensor) -> None:
        """Move the running covariance by one batch; the first one replaces it."""
        kept = self.momentum * (self.updates > 0)
        self.covariance.copy_(kept * self.covariance + (1 - kept) * covariance)
        self.updates += 1


def whitening(covariance: torch.Tensor) -> torch.Tensor:
    """L⁻ᵀ with L Lᵀ = C + jitter, (k, k) → (k, k); in float64 whatever the precision of C."""
    c = covariance.double()
    one = torch.eye(len(c), dtype=c.dtype, device=c.device)
    factor = torch.linalg.cholesky(c + (JITTER * c.diagonal().mean() + 1e-12) * one)
    return torch.linalg.solve_triangular(factor, one, upper=False).T.to(covariance.dtype)


class GraphAttention(nn.Module):
    """Multi-head attention of each vertex to its neighbours, with keys and values moved by the edge's features.

    a_ij = softmax over j of q_i · (k_j + e_ij) / √d,  out_i = O Σ_j a_ij (v_j + w_ij), over edges j → i; O(edges).
    forward: v (n, B, C), edge features (E, n_features) → (n, B, C)
    Source: Shi et al. 2021, Masked label prediction, equations 3 to 5 (the layer that HAMLET builds on).
    """

    def __init__(self, width: int, heads: int, edge_features: int):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(width, 3 * width)
        self.edge = nn.Linear(edge_features, 2 * width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, edges: torch.Tensor, graph: Graph) -> torch.Tensor:
        _, b, width = x.shape
        q, k, v = (self.split(part) for part in self.to_qkv(x).chunk(3, dim=-1))  # (B · heads, n, d)
        edge_k, edge_v = (part.unflatten(0, (self.heads, -1)) for part in self.edge.weight.chunk(2))  # (heads, d, F)
        # what an edge adds to its key meets the query before it is gathered, and what it adds to its value comes after
        asked = (q.unflatten(0, (b, -1)) @ edge_k).permute(2, 0, 1, 3)  # (n, B, heads, F)
        own = (graph.from_receivers(asked) * edges[:, None, None]).sum(dim=-1)  # (E, B, heads)
        scores = graph.products(q, k).T.unflatten(-1, (b, -1)) + own
        weights = edge_softmax(scores / (width // self.heads) ** 0.5, graph)
        seen = graph.sum_into(weights[..., None] * edges[:, None, None])  # (n, B, heads, F)
        out = graph.integrate(weights.flatten(1).T, v).unflatten(0, (b, -1)).permute(2, 0, 1, 3)  # (n, B, heads, d)
        out = out + torch.einsum("nbhf,hdf->nbhd", seen.to(edge_v.dtype), edge_v)
        return self.out(out.flatten(-2).to(x.dtype))

    def split(self, x: torch.Tensor) -> torch.Tensor:
        """(n, B, C) → (B · heads, n, C / heads)."""
        return x.unflatten(-1, (self.heads, -1)).permute(1, 2, 0, 3).flatten(0, 1)


def edge_softmax(scores: torch.Tensor, graph: Graph) -> torch.Tensor:
    """exp(s_e) / Σ exp(s) over the edges into the same receiver, (E, …) → (E, …)."""
    with torch.no_grad():
        index = graph.receivers.reshape(-1, *(1 for _ in scores.shape[1:])).expand_as(scores)
        start = scores.new_full((graph.n, *scores.shape[1:]), -torch.inf)
        top = start.scatter_reduce(0, index, scores, "amax")
    e = torch.exp(scores - top[graph.receivers])
    return e / graph.from_receivers(graph.sum_into(e))


class FeedForward(nn.Module):
    """x + M(norm(x)) with a two-layer network M, ``ratio`` times as wide inside."""

    def __init__(self, width: int, ratio: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.network = mlp([width, ratio * width, width])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.network(self.norm(x))


class GatedExperts(nn.Module):
    """Σ_k g_k(place) E_k(x): a mixture of two-layer networks whose weights depend on the place only (geometric gating).

    All experts are evaluated by two matrix products, since the gate commutes with their second layer.
    forward: x (B, n, C), gates (n, experts) that sum to 1 → (B, n, C)
    """

    def __init__(self, width: int, hidden: int, experts: int):
        super().__init__()
        self.experts = experts
        self.inner = nn.Linear(width, experts * hidden)
        self.outer = nn.Linear(experts * hidden, width, bias=False)
        self.bias = nn.Parameter(torch.zeros(experts, width))
        bound = hidden**-0.5
        nn.init.uniform_(self.outer.weight, -bound, bound)

    def forward(self, x: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
        h = nn.functional.gelu(self.inner(x)).unflatten(-1, (self.experts, -1)) * gates[:, :, None].to(x.dtype)
        return self.outer(h.flatten(-2)) + gates @ self.bias
