"""Graphs: sums over edges equal dense matrices with exact gradients; neighbourhoods are those of the definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hsd.nn.message_passing import Graph, mesh_graph, near_pairs, radius_graph, vertex_weights
from hsd.nn.sensors import farthest_points, nearest_vertices
from tests.data.test_domain import CASES, made


def random_graph(n: int = 7, seed: int = 0) -> tuple[Graph, torch.Tensor]:
    """A graph and its dense pattern (receiver, sender); vertex 2 receives nothing, vertex 4 sends nothing."""
    pattern = np.random.default_rng(seed).random((n, n)) < 0.4
    pattern[2], pattern[:, 4] = False, False
    receivers, senders = np.nonzero(pattern)
    shuffled = np.random.default_rng(1).permutation(len(senders))
    return Graph.of(senders[shuffled], receivers[shuffled], n, torch.device("cpu")), torch.as_tensor(pattern)


def doubles(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()


def test_edges_read_their_ends_and_sums_are_products_with_the_incidence_matrix():
    graph, pattern = random_graph()
    x, y = doubles(7, 2, 3), doubles(graph.n_edges, 2, 3)
    assert torch.equal(graph.from_senders(x), x[graph.senders])
    assert torch.equal(graph.from_receivers(x), x[graph.receivers])
    incidence = torch.nn.functional.one_hot(graph.receivers, 7).double().T
    assert torch.allclose(graph.sum_into(y), torch.einsum("ne,ebc->nbc", incidence, y), atol=1e-14)
    joined = graph.sum_into(graph.from_senders(x))
    assert torch.allclose(joined, torch.einsum("ij,jbc->ibc", pattern.double(), x), atol=1e-14)
    for operation, at in ((graph.from_senders, x), (graph.from_receivers, x), (graph.sum_into, y)):
        assert torch.autograd.gradcheck(operation, (at,))


@pytest.mark.parametrize("at_once", (1, 2, 5))
def test_kernel_integral_is_a_matrix_product_in_every_channel(at_once, monkeypatch):
    graph = random_graph()[0]
    monkeypatch.setattr("hsd.nn.message_passing.ENTRIES", at_once * graph.n_edges)
    assert graph.channels_at_once == at_once
    kernel, v = doubles(5, graph.n_edges, seed=2), doubles(5, 7, 3, seed=3)
    dense = torch.zeros(5, 7, 7, dtype=torch.float64)
    dense[:, graph.receivers, graph.senders] = kernel.detach()
    assert torch.allclose(graph.integrate(kernel, v), dense @ v, atol=1e-14)
    assert torch.autograd.gradcheck(graph.integrate, (kernel, v))


@pytest.mark.parametrize("at_once", (1, 2, 5))
def test_products_at_the_edges_are_those_of_a_dense_matrix(at_once, monkeypatch):
    graph = random_graph()[0]
    monkeypatch.setattr("hsd.nn.message_passing.ENTRIES", at_once * graph.n_edges)
    q, k = doubles(5, 7, 3, seed=2), doubles(5, 7, 3, seed=3)
    dense = q @ k.transpose(1, 2)
    assert torch.allclose(graph.products(q, k), dense[:, graph.receivers, graph.senders], atol=1e-14)
    assert torch.autograd.gradcheck(graph.products, (q, k))


@pytest.mark.parametrize("case", CASES)
def test_mesh_graph_has_every_edge_in_both_directions(case):
    domain, _ = made(case)
    graph = mesh_graph(domain)
    assert graph is mesh_graph(domain)
    pairs = {*zip(graph.senders.tolist(), graph.receivers.tolist(), strict=True)}
    edges = {tuple(e) for e in domain.arrays["edges"].tolist()}
    assert pairs == edges | {(b, a) for a, b in edges} and len(pairs) == graph.n_edges


@pytest.mark.parametrize("radius", (0.05, 0.4, 1.0))
def test_neighbourhoods_are_balls_thinned_to_the_limit(radius):
    points = np.random.default_rng(0).random((700, 3))
    close = np.linalg.norm(points[:, None] - points[None], axis=2) <= radius
    for limit in (700, 8):
        senders, receivers = near_pairs(points, radius, limit)
        assert close[receivers, senders].all()
        assert len({*zip(senders.tolist(), receivers.tolist(), strict=True)}) == len(senders)
        counts = np.bincount(receivers, minlength=700)
        assert np.array_equal(counts, np.minimum(close.sum(axis=1), limit))
        assert (np.bincount(receivers[senders == receivers], minlength=700) == 1).all()


def test_thinned_neighbourhoods_do_not_depend_on_the_numbering_and_favour_no_direction():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((2000, 3))
    points *= (rng.random(2000) ** (1 / 3) / np.linalg.norm(points, axis=1))[:, None]
    order = rng.permutation(2000)
    first = {*zip(*(a.tolist() for a in near_pairs(points, 0.5, 16)), strict=True)}
    senders, receivers = near_pairs(points[order], 0.5, 16)
    second = {*zip(order[senders].tolist(), order[receivers].tolist(), strict=True)}
    assert first == second
    inner = np.linalg.norm(points[order][receivers], axis=1) < 0.5
    offsets = (points[order][senders] - points[order][receivers])[inner]
    size = np.sqrt((offsets**2).mean())
    assert np.abs(offsets.mean(axis=0)).max() < 5 * size / np.sqrt(len(offsets))
    covariance = offsets.T @ offsets / len(offsets) / size**2
    assert np.abs(covariance - np.eye(3)).max() < 8 / np.sqrt(len(offsets))


@pytest.mark.parametrize("case", CASES)
def test_shares_of_measure_sum_to_one_in_every_neighbourhood(case):
    domain, _ = made(case)
    graph = radius_graph(domain, 0.5, 8)
    assert graph is radius_graph(domain, 0.5, 8) and graph is not radius_graph(domain, 0.5, 9)
    weights = vertex_weights(domain, graph)
    assert float(weights.min()) > 0
    assert torch.allclose(graph.sum_into(weights[:, None]), torch.ones(graph.n, 1), atol=1e-6)


def test_farthest_points_cover_the_set_as_closely_as_they_are_apart():
    points = np.random.default_rng(0).random((400, 3))
    for count in (2, 10, 100):
        chosen = farthest_points(points, count)
        between = np.linalg.norm(chosen[:, None] - chosen[None], axis=2) + 9 * np.eye(count)
        covered = np.linalg.norm(points[:, None] - chosen[None], axis=2).min(axis=1)
        assert covered.max() <= between.min() + 1e-12
        assert np.array_equal(chosen, farthest_points(points, 100)[:count])
    again = farthest_points(points, 900)
    assert np.array_equal(again[:400], again[400:800]) and len(np.unique(again[:400], axis=0)) == 400


@pytest.mark.parametrize("case", ("scalar to scalar", "density to flux"))
def test_nearest_vertices_are_the_vertices_themselves_and_the_nearest_elsewhere(case):
    domain, _ = made(case)
    x = domain.tensor("moment_points")
    assert torch.equal(nearest_vertices(x, domain), torch.arange(len(x)))
    places = x[::3] + 0.05 * torch.randn(len(x[::3]), 3, generator=torch.Generator().manual_seed(0))
    found = nearest_vertices(places, domain)
    distances = (places[:, None].double() - x[None].double()).norm(dim=2)
    assert torch.allclose(distances[torch.arange(len(places)), found], distances.min(dim=1).values)
