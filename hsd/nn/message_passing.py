"""Graphs on the vertices of a domain and the three sums over their edges, each with an exact, repeatable gradient.

Node values are kept vertex first, (n, B, C), so that one edge moves one contiguous row of the whole batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.spatial import cKDTree

from hsd.data.domain import Domain
from hsd.data.sparse import csr_tensor

BLOCK = 1024
"""Vertices whose neighbours are looked up at once."""
ENTRIES = 2**20
"""About the largest number of entries of one sparse product; channels are taken together up to that."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Directed edges sender → receiver, sorted by receiver, then sender.

    senders, receivers : (E,);  into: (n + 1,) first edge of each receiver
    order, out_of      : (E,) edges sorted by sender, and (n + 1,) first one of each sender, for gradients
    """

    senders: torch.Tensor
    receivers: torch.Tensor
    into: torch.Tensor
    order: torch.Tensor
    out_of: torch.Tensor

    @classmethod
    def of(cls, senders: np.ndarray, receivers: np.ndarray, n: int, device: torch.device) -> Graph:
        """From (E,) vertex numbers without repeated pairs."""
        by_receiver = np.lexsort((senders, receivers))
        senders, receivers = senders[by_receiver], receivers[by_receiver]
        order = np.lexsort((receivers, senders))

        def starts(ends: np.ndarray) -> np.ndarray:
            return np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n))])

        arrays = (senders, receivers, starts(receivers), order, starts(senders))
        return cls(*(torch.as_tensor(a.astype(np.int64)).to(device) for a in arrays))

    @property
    def n(self) -> int:
        return len(self.into) - 1

    @property
    def n_edges(self) -> int:
        return len(self.senders)

    @cached_property
    def channels_at_once(self) -> int:
        return max(1, min(128, ENTRIES // max(self.n_edges, 1)))

    @cached_property
    def stacked(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Row starts and columns of ``channels_at_once`` copies of the graph as one block diagonal matrix."""
        return _copies(self.into, self.senders, self.channels_at_once)

    @cached_property
    def stacked_transposed(self) -> tuple[torch.Tensor, torch.Tensor]:
        return _copies(self.out_of, self.receivers[self.order], self.channels_at_once)

    def from_senders(self, x: torch.Tensor) -> torch.Tensor:
        """Values of the senders on the edges, (n, …) → (E, …)."""
        return _Gather.apply(x, self.senders, self.order, self.out_of)

    def from_receivers(self, x: torch.Tensor) -> torch.Tensor:
        """Values of the receivers on the edges, (n, …) → (E, …)."""
        return _Gather.apply(x, self.receivers, None, self.into)

    def sum_into(self, x: torch.Tensor) -> torch.Tensor:
        """Sums over the edges into each receiver, (E, …) → (n, …)."""
        return _Sum.apply(x, self.receivers, self.into)

    def integrate(self, kernel: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """out[c, i] = Σ over edges e = (j → i) of kernel[c, e] v[c, j], (C, E) and (C, n, B) → (C, n, B)."""
        return _KernelSum.apply(kernel, v, self)

    def products(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        """out[c, e] = q[c, i] · k[c, j] on the edges e = (j → i), (C, n, d) twice → (C, E)."""
        return _EdgeProducts.apply(q, k, self)


def _copies(starts: torch.Tensor, columns: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    n, n_edges = len(starts) - 1, len(columns)
    copy = torch.arange(count, device=starts.device)[:, None]
    rows = torch.cat([(starts[:-1] + copy * n_edges).flatten(), starts.new_tensor([count * n_edges])])
    return rows, (columns + copy * n).flatten()


def _matrix(starts: torch.Tensor, columns: torch.Tensor, values: torch.Tensor, width: int) -> torch.Tensor:
    return csr_tensor(starts, columns, values, (len(starts) - 1, width), check=False)


def _segment_sums(x: torch.Tensor, edges: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
    """Σ of rows x[edges[starts[i] : starts[i + 1]]], (E, …) → (n, …), as a product with a matrix of ones.

    In float32 at least: sparse products of bfloat16 are not to be had on every device.
    """
    with torch.autocast(x.device.type, enabled=False):
        rows = x.reshape(len(x), -1).to(torch.promote_types(x.dtype, torch.float32))
        ones = torch.ones(len(edges), dtype=rows.dtype, device=x.device)
        return (_matrix(starts, edges, ones, len(x)) @ rows).reshape(-1, *x.shape[1:])


class _Gather(torch.autograd.Function):
    """x[index]; ``order``: the edges sorted by index, None where they are;  starts: first of each index."""

    @staticmethod
    def forward(ctx, x, index, order, starts):
        ctx.order, ctx.starts = order, starts
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx, g):
        edges = torch.arange(len(g), device=g.device) if ctx.order is None else ctx.order
        return _segment_sums(g.contiguous(), edges, ctx.starts), None, None, None


class _Sum(torch.autograd.Function):
    """Sums of the rows between ``starts``, rows sorted by ``index``."""

    @staticmethod
    def forward(ctx, x, index, starts):
        ctx.index = index
        return _segment_sums(x.contiguous(), torch.arange(len(x), device=x.device), starts)

    @staticmethod
    def backward(ctx, g):
        return g.index_select(0, ctx.index), None, None


class _KernelSum(torch.autograd.Function):
    """Channels are blocks of one sparse product; gradients: the transposed product, and the product at the edges."""

    @staticmethod
    def forward(ctx, kernel, v, graph):
        with torch.autocast(v.device.type, enabled=False):
            dtype = torch.promote_types(v.dtype, torch.float32)
            kernel, v = kernel.to(dtype).contiguous(), v.to(dtype).contiguous()
            ctx.save_for_backward(kernel, v)
            ctx.graph = graph
            return _blockwise(graph.stacked, graph, kernel, v)

    @staticmethod
    def backward(ctx, g):
        (kernel, v), graph = ctx.saved_tensors, ctx.graph
        g = g.to(v.dtype).contiguous()
        to_kernel = _sampled(graph, g, v) if ctx.needs_input_grad[0] else None
        return to_kernel, _integrated_back(graph, kernel, g) if ctx.needs_input_grad[1] else None, None


class _EdgeProducts(torch.autograd.Function):
    """Channels are blocks of one product at the places of a sparse matrix; gradients: products with that matrix."""

    @staticmethod
    def forward(ctx, q, k, graph):
        with torch.autocast(q.device.type, enabled=False):
            dtype = torch.promote_types(q.dtype, torch.float32)
            q, k = q.to(dtype).contiguous(), k.to(dtype).contiguous()
            ctx.save_for_backward(q, k)
            ctx.graph = graph
            return _sampled(graph, q, k)

    @staticmethod
    def backward(ctx, g):
        (q, k), graph = ctx.saved_tensors, ctx.graph
        g = g.to(q.dtype).contiguous()
        to_q = _blockwise(graph.stacked, graph, g, k) if ctx.needs_input_grad[0] else None
        return to_q, _integrated_back(graph, g, q) if ctx.needs_input_grad[1] else None, None


def _sampled(graph: Graph, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Products of rows of the receivers (left) and the senders (right), (C, n, d) twice → (C, E)."""
    out = []
    for a, b in zip(left.split(graph.channels_at_once), right.split(graph.channels_at_once), strict=True):
        pattern = _block(graph.stacked, graph, a.new_zeros(len(a), graph.n_edges))
        sampled = torch.sparse.sampled_addmm(pattern, a.flatten(0, 1), b.flatten(0, 1).T, beta=0.0)
        out.append(sampled.values().reshape(len(a), -1))
    return torch.cat(out)


def _integrated_back(graph: Graph, kernel: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    """Sums over the edges out of each sender, kernel (C, E), g (C, n, d) at the receivers → (C, n, d)."""
    return _blockwise(graph.stacked_transposed, graph, kernel.index_select(1, graph.order), g)


def _block(stacked: tuple[torch.Tensor, torch.Tensor], graph: Graph, kernel: torch.Tensor) -> torch.Tensor:
    """The block diagonal matrix of a few channels, values (c, E)."""
    c, n = len(kernel), graph.n
    starts, columns = stacked
    return _matrix(starts[: c * n + 1], columns[: c * graph.n_edges], kernel.flatten(), c * n)


def _blockwise(
    stacked: tuple[torch.Tensor, torch.Tensor], graph: Graph, kernel: torch.Tensor, v: torch.Tensor
) -> torch.Tensor:
    out = []
    for k, v_k in zip(kernel.split(graph.channels_at_once), v.split(graph.channels_at_once), strict=True):
        out.append((_block(stacked, graph, k) @ v_k.flatten(0, 1)).reshape(v_k.shape))
    return torch.cat(out)


def mesh_graph(domain: Domain) -> Graph:
    """The edges of the mesh in both directions, made once a domain."""

    def make() -> Graph:
        a, b = domain.arrays["edges"].T
        return Graph.of(np.concatenate([a, b]), np.concatenate([b, a]), domain.n_vertices, domain.device)

    return domain.cached("mesh_graph", make)


def radius_graph(domain: Domain, radius: float, limit: int) -> Graph:
    """Edges from the vertices within ``radius`` of each vertex, itself included, at most ``limit`` of them.

    Distances are those of ``moment_points``.  Where there are more, ``limit`` of them are drawn by a fixed function of
    the offset x_j − x_i, which does not depend on how vertices are numbered; the vertex itself always stays.
    """

    def make() -> Graph:
        return Graph.of(*near_pairs(domain.arrays["moment_points"], radius, limit), domain.n_vertices, domain.device)

    return domain.cached(("radius_graph", radius, limit), make)


def mean_edge(domain: Domain) -> float:
    """Mean length of the mesh's edges in ``moment_points``."""
    ends = domain.arrays["moment_points"][domain.arrays["edges"]]  # (E, 2, D)
    return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean())


def near_pairs(points: np.ndarray, radius: float, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """(senders, receivers) of :func:`radius_graph` for points (n, D)."""
    tree, n = cKDTree(points), len(points)
    senders, receivers = [], []
    for first in range(0, n, BLOCK):
        rows = np.arange(first, min(first + BLOCK, n))
        found = tree.query_ball_point(points[rows], radius)
        counts = np.array([len(f) for f in found])
        i, j = np.repeat(rows, counts), np.concatenate(found).astype(np.int64)
        lot = _lots((points[j] - points[i]) / radius)
        lot[i == j] = -1.0
        order = np.lexsort((lot, i))
        rank = np.arange(len(i)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = order[rank < limit]
        senders.append(j[kept])
        receivers.append(i[kept])
    return np.concatenate(senders), np.concatenate(receivers)


def _lots(offsets: np.ndarray) -> np.ndarray:
    """A number in [0, 1) for each offset (m, D), scattered like random ones; rounding errors move it by 1e-11."""
    directions = np.sqrt(np.array([2.0, 3.0, 5.0, 7.0, 11.0, 13.0]))[: offsets.shape[1]]
    return np.mod(1e3 * (offsets @ directions + np.square(offsets) @ directions[::-1]), 1.0)


def vertex_weights(domain: Domain, graph: Graph) -> torch.Tensor:
    """(E,) shares μ_j / Σ μ of the senders' areas or volumes among the edges into each receiver."""
    measure = domain.tensor("vertex_measure")[graph.senders]
    return measure / graph.sum_into(measure[:, None])[graph.receivers, 0]
