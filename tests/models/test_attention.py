"""Attention blocks against their dense formulas, and GNOT, ONO and HAMLET: sizes, symmetry, cost, other meshes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hsd.data.batch import Batch, node_inputs
from hsd.data.domain import Domain
from hsd.models.registry import make_model
from hsd.nn.attention import (
    GalerkinAttention,
    GatedExperts,
    GraphAttention,
    NormalisedAttention,
    OrthogonalAttention,
    edge_softmax,
    join_heads,
    split_heads,
    whitening,
)
from hsd.nn.input_functions import function_widths, input_functions, place_features, vertex_shares
from hsd.nn.message_passing import Graph
from hsd.training.steps import node_error
from tests.models.by_heart import train
from tests.models.domains import ALL, batch_of, domain_of

MODELS = ("gnot", "ono", "hamlet")
B, N, C, H = 3, 40, 12, 3


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def shares(n: int = N) -> torch.Tensor:
    return random(n, seed=5).softmax(dim=0)


def block(cls, *args, **entries):
    torch.manual_seed(1)
    return cls(*args, **entries).double()


# ---- blocks against dense formulas -----------------------------------------------------------------------------------


def test_normalised_attention_equals_the_dense_matrix_applied_to_each_function():
    m, mu, x = block(NormalisedAttention, C, H, functions=2), shares(), random(B, N, C)
    functions = [random(B, N, C, seed=1), random(B, N, C, seed=2)]
    q = split_heads(m.query(x), H).softmax(dim=-1)
    expected = q
    for pair, y in zip(m.pairs, functions, strict=True):
        k, v = (split_heads(p, H) for p in pair(y).chunk(2, dim=-1))
        scores = q @ k.softmax(dim=-1).transpose(2, 3) * mu  # (B, H, N, N)
        expected = expected + scores / scores.sum(dim=-1, keepdim=True) @ v / 2
    assert torch.allclose(m(x, functions, mu), m.out(join_heads(expected)), atol=1e-12)


def test_normalised_attention_returns_constant_values_unchanged():
    """Its weights are positive and sum to one."""
    m, mu = block(NormalisedAttention, C, H), shares()
    torch.nn.init.zeros_(m.pairs[0].weight[C:])
    x = random(B, N, C)
    q = split_heads(m.query(x), H).softmax(dim=-1)
    constant = m.pairs[0].bias[C:].reshape(H, 1, C // H)
    assert torch.allclose(m(x, [x], mu), m.out(join_heads(q + constant)), atol=1e-12)


def test_galerkin_attention_equals_the_dense_matrix():
    m, mu, x, y = block(GalerkinAttention, C, H), shares(), random(B, N, C), random(B, N, C, seed=1)
    q = split_heads(m.query(x), H)
    k, v = (split_heads(p, H) for p in m.pair(y).chunk(2, dim=-1))
    dense = (q @ m.key_norm(k).transpose(2, 3) * mu) @ m.value_norm(v)
    assert torch.allclose(m(x, y, mu), m.out(join_heads(dense)), atol=1e-12)


def random_graph(n: int = N) -> Graph:
    rng = np.random.default_rng(0)
    senders, receivers = np.nonzero(rng.random((n, n)) < 0.15)
    both = np.concatenate([senders, np.arange(n)]), np.concatenate([receivers, np.arange(n)])
    pairs = np.unique(np.stack(both), axis=1)
    return Graph.of(pairs[0], pairs[1], n, torch.device("cpu"))


def test_graph_attention_equals_masked_dense_attention():
    graph, x = random_graph(), random(N, B, C)
    features = random(graph.n_edges, 4, seed=3)
    m = block(GraphAttention, C, H, 4)
    q, k, v = (p.unflatten(-1, (H, -1)) for p in m.to_qkv(x).chunk(3, dim=-1))  # (N, B, H, d)
    edge_k, edge_v = (p.unflatten(-1, (H, -1)) for p in m.edge(features).chunk(2, dim=-1))  # (E, H, d)
    dense_k, dense_v = (torch.zeros(N, N, H, C // H, dtype=x.dtype) for _ in range(2))
    mask = torch.full((N, N), -torch.inf, dtype=x.dtype)
    at = graph.receivers, graph.senders
    dense_k[at], dense_v[at], mask[at] = edge_k.detach(), edge_v.detach(), 0.0
    scores = torch.einsum("ibhd,ijbhd->ijbh", q, k[None] + dense_k[:, :, None]) / (C // H) ** 0.5
    a = (scores + mask[:, :, None, None]).softmax(dim=1)
    out = torch.einsum("ijbh,ijbhd->ibhd", a, v[None] + dense_v[:, :, None]).flatten(-2)
    assert torch.allclose(m(x, features, graph), m.out(out), atol=1e-12)


def test_edge_softmax_sums_to_one_at_every_receiver_and_does_not_overflow():
    graph = random_graph()
    a = edge_softmax(1e4 * random(graph.n_edges, B, H), graph)
    assert torch.isfinite(a).all() and (a >= 0).all()
    assert torch.allclose(graph.sum_into(a), torch.ones(N, B, H, dtype=a.dtype), atol=1e-12)


def test_experts_by_two_products_equal_the_gated_sum_of_networks():
    m, x, gates = block(GatedExperts, C, 7, 4), random(B, N, C), random(N, 4, seed=2).softmax(dim=-1)
    m.bias.data = random(4, C, seed=9)
    expected = torch.zeros_like(x)
    for i in range(4):
        rows = slice(7 * i, 7 * (i + 1))
        h = torch.nn.functional.gelu(x @ m.inner.weight[rows].T + m.inner.bias[rows])
        expected = expected + gates[:, i, None] * (h @ m.outer.weight[:, rows].T + m.bias[i])
    assert torch.allclose(m(x, gates), expected, atol=1e-12)


def test_whitening_inverts_the_covariance_and_survives_a_singular_one():
    a = random(6, 6)
    w = whitening(a @ a.T)
    assert torch.allclose(w.T @ a @ a.T @ w, torch.eye(6, dtype=w.dtype), atol=1e-2)
    assert torch.isfinite(whitening(torch.ones(6, 6, dtype=torch.float64))).all()
    assert torch.isfinite(whitening(torch.zeros(6, 6))).all()


def gram(psi: torch.Tensor, mu: torch.Tensor) -> torch.Tensor:
    """E⟨ψ, ψᵀ⟩ over the samples."""
    return torch.einsum("n,bni,bnj->ij", mu, psi, psi) / len(psi)


def test_features_of_orthogonal_attention_are_orthonormal():
    m, mu, x = block(OrthogonalAttention, C, 5), shares(), random(B, N, C)
    one = torch.eye(5, dtype=x.dtype)
    assert torch.allclose(gram(m.orthonormal(x, mu), mu), one, atol=1e-3)
    m.eval()
    assert torch.allclose(gram(m.orthonormal(x, mu), mu), one, atol=1e-3)


def test_running_covariance_moves_in_training_only_and_by_its_momentum():
    m, mu = block(OrthogonalAttention, C, 5, momentum=0.75), shares()
    batches = [random(B, N, C, seed=s) for s in range(3)]
    expected = None
    for x in batches:
        m.orthonormal(x, mu)
        new = gram(m.features(m.norm(x)), mu)
        expected = new if expected is None else 0.75 * expected + 0.25 * new
    assert torch.allclose(m.covariance, expected, atol=1e-12)
    before = m.covariance.clone()
    m.eval()
    m(batches[0], batches[1], mu)
    assert torch.equal(m.covariance, before) and int(m.updates) == 3


def test_evaluation_does_not_depend_on_the_other_samples_of_the_batch():
    m, mu, x = block(OrthogonalAttention, C, 5), shares(), random(B, N, C)
    m(x, x, mu)
    m.eval()
    assert torch.allclose(m(x, x, mu)[:1], m(x[:1], x[:1], mu), atol=1e-12)


def test_orthogonal_kernel_is_symmetric_and_positive():
    m, mu, x = block(OrthogonalAttention, C, 5), shares(), random(1, N, C)
    m.orthonormal(x, mu)
    m.eval()
    m.value.weight.data, m.value.bias.data = torch.eye(C, dtype=x.dtype), torch.zeros(C, dtype=x.dtype)
    f, g = random(1, N, C, seed=1), random(1, N, C, seed=2)

    def product(a: torch.Tensor, b: torch.Tensor) -> float:
        return float(torch.einsum("n,bnc,bnc->", mu, a, b).detach())

    left, right = product(f, m(x, g, mu)), product(m(x, f, mu), g)
    assert left == pytest.approx(right, rel=1e-10)
    assert product(f, m(x, f, mu)) > 0


# ---- inputs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_input_functions_are_the_node_inputs_taken_apart(name):
    domain, batch = domain_of(name), batch_of(name)
    widths, places = function_widths(domain), place_features(domain, 2)
    parts = input_functions(batch, domain, places)
    assert len(parts) == 1 + len(domain.field_names)
    joined = torch.cat([p[..., :w] for p, w in zip(parts, widths, strict=True)], dim=-1)
    assert torch.equal(joined, node_inputs(batch, domain))
    assert all(torch.equal(p[0, :, w:], places) for p, w in zip(parts, widths, strict=True))
    assert float(vertex_shares(domain).sum()) == pytest.approx(1, abs=1e-5)


# ---- models ----------------------------------------------------------------------------------------------------------


def random_model(model: str, name: str, domain: Domain):
    torch.manual_seed(3)
    made = make_model(model, domain, name).to(domain.dtype)
    for p in made.parameters():
        p.data += 0.05 * torch.randn_like(p)
    return made


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("model", MODELS)
def test_every_weight_gets_a_finite_gradient(model, name):
    domain, batch = domain_of(name), batch_of(name)
    made = random_model(model, name, domain)
    out = made(batch, domain).nodes
    assert out.shape == (len(batch), domain.n_vertices, made.signature.node_outputs)
    node_error(out, domain.target_nodes(batch.target), domain).mean().backward()
    for key, p in made.named_parameters():
        assert p.grad is not None and torch.isfinite(p.grad).all(), key
        assert float(p.grad.abs().max()) > 0, key


def relabelled(domain: Domain, order: np.ndarray) -> Domain:
    """The domain with vertex i called by its place in ``order``: what node models read, permuted."""
    arrays, n, new = dict(domain.arrays), domain.n_vertices, np.argsort(order)
    for key in ("points", "moment_points", "vertex_measure"):
        arrays[key] = arrays[key][order]
    arrays["edges"] = np.sort(new[arrays["edges"]], axis=1)
    for name in domain.field_names:
        arrays[f"field_nodes/{name}"] = arrays[f"field_nodes/{name}"][:, order]
    parts = tuple(arrays[f"source_nodes/{p}"] for p in ("data", "indices", "indptr"))
    matrix = sp.csr_matrix(parts, shape=arrays["source_nodes/shape"])
    width = matrix.shape[0] // n
    matrix = matrix[(order[:, None] * width + np.arange(width)).ravel()]
    arrays |= {f"source_nodes/{p}": getattr(matrix, p) for p in ("data", "indices", "indptr")}
    return Domain(domain.mesh, domain.spec, arrays, domain.device, domain.dtype)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("model", MODELS)
def test_renaming_vertices_renames_the_output(model, name):
    domain, batch = domain_of(name, dtype=torch.float64), batch_of(name, 2, dtype=torch.float64)
    made = random_model(model, name, domain)
    order = np.random.default_rng(0).permutation(domain.n_vertices)
    with torch.no_grad():
        made.train()
        made(batch, domain)  # one step of running covariances
        made.eval()
        plain, renamed = made(batch, domain).nodes, made(batch, relabelled(domain, order)).nodes
    assert float((renamed - plain[:, order]).norm() / plain.norm()) < 1e-9
    assert float((renamed - plain).norm() / plain.norm()) > 1e-3


@pytest.mark.parametrize("model", MODELS)
def test_same_seed_same_weights_and_output(model):
    name = "toroidal_transport"
    domain, batch = domain_of(name), batch_of(name)
    first, second = (random_model(model, name, domain) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first.state_dict().values(), second.state_dict().values()))
    assert torch.equal(first(batch, domain).nodes, second(batch, domain).nodes)


class Shapes(TorchDispatchMode):
    """Records the shapes of all strided tensors that operations make."""

    def __init__(self):
        super().__init__()
        self.seen: set[tuple[int, ...]] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for t in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(t, torch.Tensor) and t.layout == torch.strided:
                self.seen.add(tuple(t.shape))
        return out


@contextmanager
def shapes() -> Iterator[set[tuple[int, ...]]]:
    with Shapes() as mode:
        yield mode.seen


@pytest.mark.parametrize("model", MODELS)
def test_no_tensor_pairs_all_vertices_with_all_vertices(model):
    name = "toroidal_transport"
    domain, batch = domain_of(name), batch_of(name, 2)
    n, made = domain.n_vertices, random_model(model, name, domain)
    with shapes() as seen:
        made(batch, domain).nodes.square().mean().backward()
    assert any(n in s for s in seen)
    assert not [s for s in seen if s.count(n) > 1 or n * n in s]
    with shapes() as seen:  # the check can fail
        x = torch.ones(n, 1)
        _ = x @ x.T
    assert [s for s in seen if s.count(n) > 1]


def analytic_batch(domain: Domain) -> Batch:
    """Sources of degree 0 that are functions of the place, the same on every mesh."""
    x = domain.arrays["moment_points"]
    sources = np.stack([x[:, 0] * x[:, 1], np.sin(2 * x[:, 2]), np.exp(-2 * np.sum((x - 0.5) ** 2, axis=1))])
    return Batch.of_arrays(domain, sources)


@pytest.mark.parametrize("name", ("vorticity_dynamics", "torus_helmholtz"))
@pytest.mark.parametrize("model", MODELS)
def test_runs_on_finer_meshes_and_its_mean_output_converges(model, name):
    """Sums are integrals: the mean of the output approaches that at 1200 vertices, in second order by a factor 3."""
    domains = [domain_of(name, nodes=n) for n in (300, 600, 1200)]
    made = random_model(model, name, domains[0])
    with torch.no_grad():
        made(analytic_batch(domains[0]), domains[0])
        made.eval()
        outs = [made(analytic_batch(d), d).nodes for d in domains]
    for d, out in zip(domains, outs, strict=True):
        assert out.shape == (3, d.n_vertices, made.signature.node_outputs)
    means = [torch.einsum("n,bnc->bc", vertex_shares(d), out) for d, out in zip(domains, outs, strict=True)]
    size = float(outs[-1].square().mean().sqrt())
    coarse, fine = (float((m - means[2]).abs().max()) / size for m in means[:2])
    assert coarse < 0.3 and fine < 0.6 * coarse


@pytest.mark.full
@pytest.mark.parametrize("model", MODELS)
def test_learns_eight_samples_by_heart(model):
    name = "vorticity_dynamics"
    domain, batch = domain_of(name, nodes=60), batch_of(name, 8, nodes=60)
    torch.manual_seed(0)
    made = make_model(model, domain, name)
    losses = train(made, batch, domain)
    assert losses[-1] < 0.1 * losses[0]
