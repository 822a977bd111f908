"""FNO-3D, Geo-FNO, DeepONet, GNO and MeshGraphNet: sizes, symmetry, transfer, gradients, other meshes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from hsd.data.batch import Batch
from hsd.data.domain import Domain
from hsd.data.domain_arrays import Builder
from hsd.data.ground import Ground
from hsd.data.tasks.base import NamedFields
from hsd.errors import InputError, UnknownNameError
from hsd.mesh.mesh import Mesh
from hsd.models.base import Operator
from hsd.models.registry import make_model, model_class
from hsd.nn.learned_grid import Trilinear
from hsd.nn.message_passing import radius_graph
from hsd.training.steps import node_error
from tests.data.test_domain import CASES, made
from tests.models.domains import ALL, domain_of

MODELS = ("fno3d", "geo_fno", "deeponet", "gno", "meshgraphnet")
GRIDS = ("fno3d", "geo_fno")
CLOSE = {"gno": {"radius": 0.6}}
"""On small meshes the table's radius holds no neighbours."""


def random_model(name: str, domain: Domain, task: str | None = None, **config) -> Operator:
    """A model with every weight moved away from its start, so that nothing is zero by initialisation."""
    torch.manual_seed(7)
    model = make_model(name, domain, task, **config).to(domain.dtype)
    for p in model.parameters():
        p.data += 0.05 * torch.randn_like(p)
    return model


@cache
def double(case: str) -> Domain:
    return made(case)[0].to(dtype=torch.float64)


def random_batch(domain: Domain, size: int = 2, seed: int = 0) -> Batch:
    """White noise in the modes of the source, and random coefficients of the domain's fields."""
    rng = np.random.default_rng(seed)
    c = rng.standard_normal((size, domain.source.n_modes)) * domain.arrays["vertex_measure"].sum() ** 0.5
    fields = {k: rng.standard_normal((size, domain.arrays[f"field/{k}"].shape[1])) for k in domain.field_names}
    return Batch.of_arrays(domain, c @ domain.arrays["source/modes"].T, None, fields)


# ---- sizes and config ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("model", MODELS)
def test_real_parameters_are_in_the_common_range(model, name):
    torch.manual_seed(0)
    assert 200_000 <= make_model(model, domain_of(name), name).n_parameters <= 310_000


@pytest.mark.parametrize("model", MODELS)
def test_unknown_entries_of_the_config_are_named(model):
    with pytest.raises(UnknownNameError, match="widht"):
        model_class(model).make_config(None, widht=3)


@pytest.mark.parametrize("model", MODELS)
def test_same_seed_same_weights_and_same_training(model):
    domain, _ = made("scalar to flux")
    batch, curves = random_batch(domain), []
    for _ in range(2):
        torch.manual_seed(3)
        fresh = make_model(model, domain)
        optimiser = torch.optim.AdamW(fresh.parameters(), lr=1e-3)
        losses = []
        for _ in range(3):
            optimiser.zero_grad()
            loss = fresh(batch, domain).nodes.square().mean()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        curves.append(losses)
    assert curves[0] == curves[1] and len(set(curves[0])) == 3


# ---- the map ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("model", MODELS)
def test_every_weight_gets_a_finite_gradient(model, case):
    domain, _ = made(case)
    net = random_model(model, domain, **CLOSE.get(model, {}))
    out = net(random_batch(domain), domain)
    assert out.nodes.shape == (2, domain.n_vertices, net.signature.node_outputs) and out.forms is None
    out.nodes.square().mean().backward()
    for key, p in net.named_parameters():
        assert p.grad is not None and torch.isfinite(p.grad).all(), key
        assert float(p.grad.abs().max()) > 0, key


@pytest.mark.parametrize("case", ("scalar to scalar", "density to flux"))
@pytest.mark.parametrize("model", MODELS)
def test_samples_of_a_batch_do_not_see_each_other(model, case):
    domain, batch = double(case), random_batch(double(case), 3)
    net = random_model(model, domain, **CLOSE.get(model, {}))
    with torch.no_grad():
        together = net(batch, domain).nodes
        alone = torch.cat([net(batch[i : i + 1], domain).nodes for i in range(3)])
    assert float((together - alone).norm() / alone.norm()) < 1e-12


def form_map(mesh: Mesh, other: Mesh, new: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each k-simplex of ``mesh`` went in ``other`` (vertex i became new[i]), and its sign."""
    return other.complex.find(new[mesh.complex.simplices(k)])


def relabelled(case: str) -> tuple[Domain, Batch, Batch, np.ndarray]:
    """The domain built again on the mesh with shuffled vertex numbers, a batch here and there, and order[new] = old."""
    domain, builder = double(case), made(case)[1]
    mesh = domain.mesh
    order = np.random.default_rng(5).permutation(domain.n_vertices)
    new = np.argsort(order)
    other = Mesh.from_cells(mesh.points[order], new[mesh.oriented_cells()], mesh.name)
    fields = {}
    for name, f in builder.fields.items():
        ids, sign = form_map(mesh, other, new, f.degree)
        values = np.zeros_like(f.values)
        values[ids] = sign[:, None] * f.values
        fields[name] = NamedFields(f.degree, f.reading, values, f.reference)
    arrays = Builder(Ground(other), domain.spec, fields).run()
    there = Domain(other, domain.spec, arrays, dtype=torch.float64)
    batch = random_batch(domain)
    ids, sign = form_map(mesh, other, new, domain.spec.source[0])
    source = np.zeros(batch.source.shape)
    source[:, ids] = sign * batch.source.numpy()
    moved = Batch.of_arrays(there, source, None, {k: v.numpy() for k, v in batch.coefficients.items()})
    return there, batch, moved, order


@pytest.mark.parametrize("case", CASES)
def test_relabelling_the_mesh_relabels_the_prediction(case):
    domain = double(case)
    there, batch, moved, order = relabelled(case)
    for model in MODELS:
        net = random_model(model, domain, **CLOSE.get(model, {}))
        with torch.no_grad():
            plain, renamed = net(batch, domain).nodes, net(moved, there).nodes
        assert float((renamed - plain[:, order]).norm() / plain.norm()) < 1e-6, model
        assert float((renamed - plain).norm() / plain.norm()) > 1e-3, model


@pytest.mark.parametrize("model", MODELS)
def test_networks_on_places_and_edges_run_once_for_the_whole_batch(model):
    """GNO's kernel, Geo-FNO's deformation, the trunk and the edge encoder do not see the batch."""
    parts = {"gno": "edges", "geo_fno": "deformation", "deeponet": "trunk", "meshgraphnet": "encode_edges"}
    domain, _ = made("scalar to flux")
    net = random_model(model, domain)
    sizes = []
    part = getattr(net, parts.get(model, "grid"))
    part.register_forward_hook(lambda module, given, out: sizes.append(out.numel()))
    for size in (1, 3):
        net(random_batch(domain, size), domain)
    assert len(sizes) == 2 and sizes[1] == sizes[0] * (3 if model == "fno3d" else 1)


def test_gno_evaluates_its_kernel_once_for_many_samples_and_again_for_other_weights(monkeypatch):
    domain = double("scalar to flux")
    net, batch = random_model("gno", domain, **CLOSE["gno"]), random_batch(domain)
    calls, kernels = [], type(net).kernels

    def counted(self, *arguments):
        calls.append(1)
        return kernels(self, *arguments)

    monkeypatch.setattr(type(net), "kernels", counted)
    trained = net.train()(batch, domain).nodes.detach()
    net.eval()
    with torch.no_grad():
        once, twice = (net(batch, domain).nodes for _ in range(2))
        assert len(calls) == 2 and torch.equal(once, twice) and torch.equal(once, trained)
        net.channels.weight.mul_(2)
        assert not torch.allclose(net(batch, domain).nodes, once) and len(calls) == 3


def test_gno_reaches_neighbours_on_coarse_meshes_and_keeps_its_radius_on_fine_ones():
    coarse, fine = (domain_of("torus_helmholtz", nodes=n) for n in (300, 2400))
    net = random_model("gno", coarse, "torus_helmholtz")
    assert net.radius(fine) == net.config.radius < net.radius(coarse)
    for domain in (coarse, fine):
        graph = radius_graph(domain, net.radius(domain), net.config.neighbours)
        assert 5 < graph.n_edges / graph.n < 33 and int(graph.into.diff().min()) > 1


# ---- memory ----------------------------------------------------------------------------------------------------------


class Largest(TorchDispatchMode):
    """The largest number of entries of any tensor that an operation makes."""

    entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for t in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(t, torch.Tensor) and t.layout == torch.strided:
                self.entries = max(self.entries, t.numel())
        return out


def largest(step) -> int:
    with Largest() as mode:
        step()
    return mode.entries


@pytest.mark.parametrize("model", MODELS)
def test_memory_grows_no_faster_than_the_mesh(model):
    """Four times the vertices: the largest tensor of a training step is at most about four times larger."""
    entries, sizes = [], []
    for nodes in (300, 1200):
        domain = domain_of("toroidal_transport", nodes=nodes)
        net = random_model(model, domain, **({"radius": 0.6, "neighbours": 6} if model == "gno" else {}))
        batch = random_batch(domain)
        net(batch, domain)  # graphs are made
        entries.append(largest(lambda n=net, b=batch, d=domain: n(b, d).nodes.square().mean().backward()))
        sizes.append(domain.n_vertices)
    assert entries[1] / entries[0] < 1.1 * sizes[1] / sizes[0]
    x = torch.ones(1200, 1)
    assert largest(lambda: x @ x.T) == 1200**2  # the check sees pairs of vertices


# ---- grids -----------------------------------------------------------------------------------------------------------


class Coordinates(nn.Module):
    """In place of the network on the grid: the coordinates that it is given as its last three channels."""

    def forward(self, u):
        return u[..., -3:]


class FirstThree(nn.Module):
    """In place of the decoder: what was sampled from the grid."""

    def forward(self, x):
        return x[..., :3]


@pytest.mark.parametrize("case", CASES)
def test_grid_models_decode_the_coordinate_functions_to_the_places_of_the_vertices(case):
    """With the identity between lift and sampling the axes come back in order: x as x, y as y, z as z."""
    domain = double(case)
    size = domain.spec.grid_size
    fixed = 2 * (domain.tensor("points") - domain.tensor("grid/low")) / domain.tensor("grid/step") / (size - 1) - 1
    for model in GRIDS:
        net = random_model(model, domain, **({"grid": size} if model == "geo_fno" else {"modes": 2}))
        if model == "geo_fno":
            for p in net.deformation.parameters():
                p.data.zero_()
        net.grid, net.decode = Coordinates(), FirstThree()
        with torch.no_grad():
            got = net(random_batch(domain), domain).nodes
        assert float((got - fixed).abs().max()) < 1e-9, model


def test_geo_fno_reads_and_writes_at_the_deformed_places():
    domain = double("scalar to flux")
    net = random_model("geo_fno", domain)
    axes = grid_axes(net.config.grid)
    with torch.no_grad():
        start = model_class("geo_fno")(domain).double().transfer(domain).sample(axes)
        for p in net.deformation.parameters():
            p.data *= 2
        moved = net.transfer(domain).sample(axes)
        net.grid, net.decode = Coordinates(), FirstThree()
        got = net(random_batch(domain), domain).nodes[0]
    assert torch.allclose(got, moved, atol=1e-12)
    assert float((moved - start).std(dim=0).min()) > 0.005


def grid_axes(size: int) -> torch.Tensor:
    axis = torch.linspace(-1, 1, size, dtype=torch.float64)
    return torch.stack(torch.meshgrid(axis, axis, axis, indexing="ij"), dim=-1).reshape(-1, 3)


@pytest.mark.parametrize("model", GRIDS)
def test_lifted_constants_come_back_as_constants(model):
    """Lift and sampling share their places: ι 1 = 1 wherever the mesh is, so R ι 1 = 1."""
    domain = double("scalar to scalar")
    ones = torch.ones(1, domain.n_vertices, 1, dtype=torch.float64)
    if model == "fno3d":
        back = domain.sparse("grid/node_sampling")(domain.sparse("grid/node_lift")(ones))[0]
        assert float((back - 1).abs().max()) < 1e-12
    else:
        transfer = random_model(model, domain).transfer(domain)
        assert isinstance(transfer, Trilinear)
        lifted, _ = transfer.splat(ones[0], domain.tensor("vertex_measure"))
        back = transfer.sample(lifted)
        assert float(back.detach().max()) <= 1 and float(back.detach().mean()) > 0.98


# ---- training and other meshes ---------------------------------------------------------------------------------------


def smooth_target(domain: Domain, size: int = 8) -> tuple[Batch, torch.Tensor]:
    """Low modes, and node values Σ c_k P_k(x), P_k random polynomials of degree one in the place."""
    rng, k = np.random.default_rng(3), min(6, domain.source.n_modes)
    c = rng.standard_normal((size, k))
    fields = {n: rng.standard_normal((size, domain.arrays[f"field/{n}"].shape[1])) for n in domain.field_names}
    scale = domain.arrays["vertex_measure"].sum() ** 0.5
    batch = Batch.of_arrays(domain, scale * c @ domain.arrays["source/modes"][:, :k].T, None, fields)
    x = np.column_stack([np.ones(domain.n_vertices), domain.arrays["moment_points"]])
    n_out = int(domain.arrays["target_nodes/shape"][0]) // domain.n_vertices
    values = np.einsum("bk,kmc,nm->bnc", c, rng.standard_normal((k, x.shape[1], n_out)), x)
    return batch, torch.as_tensor(values, dtype=torch.float32)


def fit(model: str, domain: Domain, steps: int = 300) -> list[float]:
    """Mean squared relative errors of a fresh model with the learning rate of its config, until a tenth is reached."""
    batch, truth = smooth_target(domain)
    torch.manual_seed(0)
    net = make_model(model, domain, **CLOSE.get(model, {}))
    optimiser = torch.optim.AdamW(net.parameters(), lr=net.config.lr, weight_decay=net.config.weight_decay)
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = node_error(net(batch, domain).nodes, truth, domain).square().mean()
        losses.append(loss.item())
        if losses[-1] < 0.1 * losses[0]:
            break
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
    return losses


@pytest.mark.full
@pytest.mark.parametrize("model", MODELS)
def test_learns_eight_samples_by_heart(model):
    losses = fit(model, made("scalar to flux, no handle", 100, 12)[0])
    assert losses[-1] < 0.1 * losses[0] and 0.5 < losses[0] < 5


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("model", MODELS)
def test_learns_eight_samples_by_heart_on_every_kind_of_domain(model, case):
    losses = fit(model, made(case)[0])
    assert losses[-1] < 0.1 * losses[0]


@pytest.mark.parametrize("model", MODELS)
def test_another_kind_of_domain_is_refused_in_one_sentence(model):
    domain, _ = made("scalar to flux")
    net = random_model(model, domain)
    other, _ = made("scalar to scalar")
    with pytest.raises(InputError, match="another kind of domain") as error:
        net(random_batch(other), other)
    assert error.value.kind == "other_signature" and "target" in str(error.value)


def analytic_batch(domain: Domain) -> Batch:
    x = domain.arrays["moment_points"]
    return Batch.of_arrays(domain, np.stack([x[:, 0] * x[:, 1], np.sin(2 * x[:, 2])]))


@pytest.mark.parametrize("model", MODELS)
def test_trained_weights_run_on_other_meshes(model):
    """Weights made on 300 vertices are loaded into a model made on another mesh, sensors included."""
    domain, other = (domain_of("torus_helmholtz", nodes=n) for n in (300, 600))
    net = random_model(model, domain, "torus_helmholtz")
    assert net.mesh_free
    loaded = make_model(model, other, "torus_helmholtz")
    loaded.load_state_dict(net.state_dict())
    with torch.no_grad():
        first, second = net(analytic_batch(other), other).nodes, loaded(analytic_batch(other), other).nodes
    assert torch.equal(first, second) and first.shape[1] == other.n_vertices
    assert torch.isfinite(first).all()


@pytest.mark.parametrize("model", ("fno3d", "deeponet", "gno"))
def test_finer_meshes_change_the_prediction_little(model):
    """The mean output of models that read integrals or fixed places agrees between 400 and 1600 vertices."""
    config = {"radius": 0.5, "neighbours": 120} if model == "gno" else {}
    coarse, fine = (domain_of("torus_helmholtz", nodes=n) for n in (400, 1600))
    net = random_model(model, coarse, "torus_helmholtz", **config)
    means = []
    with torch.no_grad():
        for domain in (coarse, fine):
            share = domain.tensor("vertex_measure") / domain.tensor("vertex_measure").sum()
            out = net(analytic_batch(domain), domain).nodes
            means.append(torch.einsum("n,bnc->bc", share, out))
    assert float((means[0] - means[1]).abs().max()) < 0.1 * float(out.square().mean().sqrt())
