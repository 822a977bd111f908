"""What HSD guarantees for any weights: orthogonal fiber, exact harmonic coefficients, exact laws, invariance."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch

from hsd.data.batch import Batch, reference_coefficients
from hsd.data.domain import Domain
from hsd.errors import UnknownNameError
from hsd.models.hsd import HSD, SPECTRAL_ONLY
from hsd.models.presets import PAPER, PRESETS, TINY
from hsd.models.registry import make_model
from tests.models.domains import ALL, batch_of, domain_of

RICH = {"layers": 3, "products": 2, "lift": 2, "channels": 4, "penalty": 0.3}
VARIANTS = {
    "default": {},
    "rich": RICH,
    "untied": {**RICH, "tied": False},
    "grid": {"fiber": "both", "commutator": True, "fiber_width": 4, "fiber_depth": 2, "fiber_modes": 2},
    "tiny": TINY,
    "paper": {**PAPER, "fiber_width": 4, "fiber_depth": 2, "fiber_modes": 2},
}
INVARIANT = tuple(v for v in VARIANTS if v != "paper")


def random_model(name: str, variant: str, domain: Domain, batch: Batch):
    """A model with every weight moved away from its start, so that nothing is zero by initialisation."""
    torch.manual_seed(8)
    model = make_model("hsd", domain, None, **VARIANTS[variant]).to(domain.dtype)
    model.prepare(batch, domain)
    for p in model.parameters():
        p.data += 0.05 * torch.randn_like(p)
    return model.eval()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ALL)
def test_harmonic_coefficients_and_mass_are_exact_under_autocast(name, variant):
    domain, batch = domain_of(name), batch_of(name)
    reference = reference_coefficients(batch, domain)
    model = random_model(name, variant, domain, batch)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        forms = model(batch, domain).forms
    assert forms.dtype == torch.float32 and torch.isfinite(forms).all()
    if reference is not None and reference.shape[1]:
        size = (forms * domain.sparse("target_star")(forms)).sum(dim=1).mean().sqrt()
        error = domain.target.coefficients(forms)[:, domain.target.harmonic] - reference
        assert float(error.abs().max() / size) < 2e-6


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ALL)
def test_fiber_is_orthogonal_to_the_base(name, variant):
    domain, batch = domain_of(name), batch_of(name)
    model = random_model(name, variant, domain, batch)
    with torch.no_grad():
        forms = model(batch, domain).forms
        rest = domain.target.complement(forms)
        star = domain.sparse("target_star")
        size = (rest * star(rest)).sum(dim=1).sqrt()
        inner = domain.target.coefficients(rest).abs().max(dim=1).values
    assert float(size.min()) > 1e-4
    assert float((inner / size).max()) < 1e-5


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ALL)
def test_harmonic_coefficients_equal_the_reference(name, variant):
    domain, batch = domain_of(name), batch_of(name)
    reference = reference_coefficients(batch, domain)
    if reference is None or not reference.shape[1]:
        assert name in ("ellipsoid_aerodynamics", "torus_helmholtz")
        return
    model = random_model(name, variant, domain, batch)
    with torch.no_grad():
        forms = model(batch, domain).forms
    got = domain.target.coefficients(forms)[:, domain.target.harmonic]
    norm = (forms * domain.sparse("target_star")(forms)).sum(dim=1).sqrt()
    assert float(((got - reference).abs().max(dim=1).values / norm).max()) < 1e-6


@pytest.mark.parametrize("variant", [v for v in VARIANTS if VARIANTS[v].get("fiber", "resolvent") == "resolvent"])
@pytest.mark.parametrize(
    "name", [n for n in ALL if n not in ("toroidal_transport", "vorticity_dynamics", "magnetostatics")]
)
def test_flow_is_incompressible_to_rounding(name, variant):
    domain, batch = domain_of(name), batch_of(name)
    model = random_model(name, variant, domain, batch)
    with torch.no_grad():
        forms = model(batch, domain).forms
        d = domain.sparse("target_d")
        size = float(forms.abs().max())
        assert float(d(forms).abs().max()) < 2e-5 * size


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ("toroidal_transport", "vorticity_dynamics"))
def test_mass_is_exact(name, variant):
    domain, batch = domain_of(name, dtype=torch.float64), batch_of(name, dtype=torch.float64)
    model = random_model(name, variant, domain, batch)
    with torch.no_grad():
        out = model(batch, domain).forms
    weights = domain.tensor("vertex_measure")
    mass = (batch.source.abs() @ weights).clamp(min=1e-12)
    assert float(((out - batch.source) @ weights / mass).abs().max()) < 1e-10


@pytest.mark.parametrize("variant", ("default", "paper"))
def test_data_that_do_not_conserve_the_mean_are_not_forced_to(variant):
    """Where source and target have one degree, the harmonic part is set only if all training samples conserve it."""
    domain, batch = domain_of("toroidal_transport"), batch_of("toroidal_transport")
    squares = replace(batch, target=batch.source.square())
    mean = domain.tensor("vertex_measure") / domain.tensor("vertex_measure").sum()
    for samples, conserves in ((batch, True), (squares, False)):
        model = random_model("toroidal_transport", variant, domain, samples)
        assert bool(model.conserves) == conserves
        with torch.no_grad():
            same = torch.allclose(model(samples, domain).forms @ mean, samples.source @ mean, atol=1e-5)
        assert same == conserves


def test_one_training_sample_is_enough_to_prepare():
    domain, batch = domain_of("external_aerodynamics"), batch_of("external_aerodynamics")
    model = make_model("hsd", domain, None)
    model.prepare(batch[:1], domain)
    with torch.no_grad():
        assert torch.isfinite(model(batch, domain).forms).all()


def rotated(domain: Domain, seed: int) -> Domain:
    """The same domain with signs flipped and blocks of equal eigenvalues rotated, all derived arrays with them."""
    rng = np.random.default_rng(seed)
    arrays = dict(domain.arrays)
    turns = {}
    same = domain.spec.source[0] == domain.spec.target[0]
    pairs = arrays["pairs"]
    for end in ("source",) if same else ("source", "target"):
        lam, part = arrays[f"{end}/eigenvalues"], arrays[f"{end}/part"]
        q = np.eye(len(lam))
        if end == "target":
            q[np.ix_(pairs[:, 1], pairs[:, 1])] = turns["source"][np.ix_(pairs[:, 0], pairs[:, 0])]
            free = np.setdiff1d(np.arange(len(lam)), pairs[:, 1])
        else:
            free = np.arange(len(lam))
        start = 0
        while start < len(free):
            stop = start + 1
            while (
                stop < len(free)
                and part[free[stop]] == part[free[start]]
                and lam[free[stop]] - lam[free[stop - 1]] <= 1e-4 * lam[free[stop]]
            ):
                stop += 1
            block = free[start:stop]
            q[np.ix_(block, block)] = np.linalg.qr(rng.standard_normal((len(block), len(block))))[0]
            start = stop
        turns[end] = q
    if same:
        turns["target"] = turns["source"]
    for end in ("source", "target"):
        for which in ("modes", "star_modes"):
            arrays[f"{end}/{which}"] = arrays[f"{end}/{which}"] @ turns[end]
    arrays["chi_hat"] = turns["source"].T @ arrays["chi_hat"]
    for key in arrays:
        if key.startswith("contraction/"):
            arrays[key] = np.einsum("ij,mjk,kl->mil", turns["source"].T, arrays[key], turns["source"])
        if key.startswith("harmonic_of/") or key == "harmonic_frame":
            harmonic = arrays["target/part"] == 0
            arrays[key] = turns["target"][np.ix_(harmonic, harmonic)].T @ arrays[key]
    return Domain(domain.mesh, domain.spec, arrays, domain.device, domain.dtype)


@pytest.mark.parametrize("variant", INVARIANT)
@pytest.mark.parametrize("name", ALL)
def test_signs_and_rotations_of_modes_do_not_change_the_output(name, variant):
    domain, batch = domain_of(name), batch_of(name)
    model = random_model(name, variant, domain, batch)
    with torch.no_grad():
        plain = model(batch, domain).forms
        turned = model(batch, rotated(domain, 3)).forms
    assert float((plain - turned).norm() / plain.norm()) < 1e-4


@pytest.mark.parametrize("name", ("external_aerodynamics", "toroidal_transport"))
def test_the_paper_variant_does_depend_on_the_modes(name):
    """The exemption is real: the invariance test can fail."""
    domain, batch = domain_of(name), batch_of(name)
    model = random_model(name, "paper", domain, batch)
    with torch.no_grad():
        plain = model(batch, domain).forms
        turned = model(batch, rotated(domain, 3)).forms
    assert float((plain - turned).norm() / plain.norm()) > 1e-3


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ALL)
def test_every_weight_gets_a_finite_gradient(name, variant):
    domain, batch = domain_of(name), batch_of(name)
    model = random_model(name, variant, domain, batch)
    loss = (model(batch, domain).forms - batch.target).square().mean()
    extras = [model.penalty(domain, torch.Generator().manual_seed(step)) for step in range(20)]
    (loss + sum(extra for extra in extras if extra is not None)).backward()
    for key, p in model.named_parameters():
        assert p.grad is not None and torch.isfinite(p.grad).all(), key


def test_without_projection_the_fiber_is_not_orthogonal():
    """The switch of the ablation does what it says."""
    name = "external_aerodynamics"
    domain, batch = domain_of(name), batch_of(name)
    torch.manual_seed(0)
    on = make_model("hsd", domain, None, fiber="grid", fiber_width=4, fiber_depth=1, fiber_modes=2)
    off = make_model("hsd", domain, None, fiber="grid", fiber_width=4, fiber_depth=1, fiber_modes=2, project=False)
    for p in on.parameters():
        p.data += 0.1 * torch.randn_like(p)
    off.load_state_dict(on.state_dict())
    with torch.no_grad():
        a, b = (domain.target.coefficients(m(batch, domain).forms) for m in (on, off))
    assert float((a - b).abs().max()) > 1e-3 * float(a.abs().max())


def test_switches_change_the_number_of_parameters():
    domain = domain_of("toroidal_transport")
    counts = {
        name: make_model("hsd", domain, None, **entries).n_parameters
        for name, entries in {
            "plain": {},
            "no path": {"global_path": False},
            "no fiber": {"fiber": "none"},
            "layers": {"layers": 3},
            "untied": {"layers": 3, "tied": False},
            "products": {"products": 1},
            "lift": {"lift": 3},
            "grid": {"fiber": "grid"},
        }.items()
    }
    assert len(set(counts.values())) == len(counts)
    assert counts["no path"] < counts["plain"] < counts["layers"] < counts["untied"]


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_configs(preset):
    domain = domain_of("external_aerodynamics")
    model = make_model("hsd", domain, "external_aerodynamics", **PRESETS[preset])
    assert model.n_parameters > 0
    if preset == "tiny":
        assert model.n_parameters < 10_000


SWITCHES = {
    "layers": {"layers": 3},
    "untied": {"layers": 2, "tied": False},
    "products": {"products": 1},
    "poles": {"poles": 2},
    "hats": {"hats": 20},
    "flow": {"flow": 2},
    "lift": {"lift": 2},
    "lifts of the fiber": {"fiber_lifts": 2},
    "no global path": {"global_path": False},
    "first moments": {"moments": 1, "moment_products": True},
    "grid": {"fiber": "grid", "fiber_width": 3, "fiber_depth": 1, "fiber_modes": 2},
    "both fibers": {"fiber": "both", "fiber_width": 3, "fiber_depth": 1, "fiber_modes": 2, "masked": False},
    "no fiber": {"fiber": "none"},
    "commutator": {"commutator": True},
    "penalty": {"penalty": 1.0},
}


@pytest.mark.parametrize("name", ALL)
def test_any_two_switches_go_together(name):
    domain, batch = domain_of(name), batch_of(name)
    for pair in combinations(SWITCHES, 2):
        torch.manual_seed(4)
        model = make_model(
            "hsd", domain, None, channels=2, hidden=4, **{k: v for s in pair for k, v in SWITCHES[s].items()}
        )
        model.prepare(batch, domain)
        with torch.no_grad():
            forms = model(batch, domain).forms
        assert forms.shape == batch.target.shape and torch.isfinite(forms).all(), pair


def test_the_published_form_reads_none_of_the_entries_of_the_spectral_one():
    domain, batch = domain_of("torus_helmholtz"), batch_of("torus_helmholtz")
    other = {"channels": 3, "layers": 2, "tied": False, "products": 1, "poles": 2, "hats": 5, "flow": 3}
    other |= {"product_channels": 2, "lift": 2, "global_path": False, "moments": 1, "moment_products": True}
    other |= {"fiber_lifts": 2, "penalty": 1.0}
    assert set(other) == SPECTRAL_ONLY
    found = []
    for entries in ({}, other):
        torch.manual_seed(0)
        model = make_model(
            "hsd", domain, None, **{**PAPER, "fiber_width": 4, "fiber_depth": 1, "n_modes": 24, **entries}
        )
        model.prepare(batch, domain)
        with torch.no_grad():
            found.append(model(batch, domain).forms)
        assert model.penalty(domain, torch.Generator().manual_seed(0)) is None
        assert HSD.fiber_lifts(model.config) is None
    assert torch.equal(*found)


def test_unknown_choices_are_refused():
    domain = domain_of("toroidal_transport")
    for entries in ({"variant": "best"}, {"fiber": "carbon"}):
        with pytest.raises(UnknownNameError, match="known"):
            make_model("hsd", domain, None, **entries)


def test_missing_fiber_features_leave_the_base():
    domain, batch = domain_of("ellipsoid_aerodynamics"), batch_of("ellipsoid_aerodynamics")
    model = random_model("ellipsoid_aerodynamics", "default", domain, batch)
    with torch.no_grad():
        whole, base = model(batch, domain).forms, model(replace(batch, fiber=None), domain).forms
    c, d = domain.target.coefficients(whole), domain.target.coefficients(base)
    assert torch.allclose(c, d, atol=1e-4 * float(c.abs().max()))
    assert not torch.allclose(whole, base)
