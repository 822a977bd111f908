"""HSD: Hodge spectral duality, a base on Hodge modes, a fiber ⋆-orthogonal to it, harmonic coefficients exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from hsd.data.batch import Batch, reference_coefficients
from hsd.data.domain import FIBER_LIFTS, Domain
from hsd.data.domain_arrays import RESOLVENT_SHIFTS
from hsd.errors import check_choice
from hsd.models.base import ModelConfig, Operator, Prediction
from hsd.nn.bracket_flow import BracketFlow
from hsd.nn.filters import N_BANDS, Filter, apply_filter, filter_features, parts_of
from hsd.nn.global_path import GlobalPath
from hsd.nn.grid_fiber import Commutator, GridFiber
from hsd.nn.harmonic import constrained
from hsd.nn.hodge_paper import PaperLayer
from hsd.nn.mlp import mlp
from hsd.nn.poles import Poles, gains
from hsd.nn.pseudo_spectral import ProductLayer, advection
from hsd.nn.switches import SPECTRAL_ONLY, idle_switches

VARIANTS = ("spectral", "paper")
REACH = 12.0
"""Spectral norm, root mean square over training samples, that the matrices of v·∇ are scaled to."""
CONSERVED = 1e-4
"""Largest difference of harmonic coefficients, relative to the fields, with which data count as conserving them."""
NOISE = 3
"""Random coefficient vectors that the stability penalty sees at once."""
PENALTY_SHARE = 1 / 3
"""Part of the steps, drawn at random, that carry the stability penalty, with its weight divided by this."""
STEP_SCALES = (1.0, 1.0, 0.3, 0.051)
"""Of z, λ̂z/100, Az and A²z in a coefficient layer: alike in size, so that one learning rate suits all weights."""
MOMENTS = (1, 2)
FIBERS = ("resolvent", "grid", "both", "none")


@dataclass(frozen=True)
class HSDConfig(ModelConfig):
    """Switches of HSD.

    variant        : "spectral" (filters and invariants only, fits every mesh) or "paper" (as published)
    n_modes        : modes of the domain to ask for
    channels       : channels of coefficients
    layers         : coefficient layers (0: filters alone); tied: one set of weights for all of them
    products       : how many of the layers (at least one, even with layers = 0) carry a product layer; 0 is none
    poles          : of the filters, for symbols with resonances, placed by the training samples and then learned
    hats           : hat functions of λ̂ in the filters, for any symbol, on the mesh of training alone
    flow           : Runge–Kutta steps of the quadratic flow after the layers (scalars on oriented surfaces), 0 is none
    product_channels, hidden : sizes of the product layer's network
    lift           : pointwise functions of the input before the modes, 0 is none
    global_path    : moments and energies → amounts of 1, x, x xᵀ and of harmonic fields
    moments        : order of the moments that the global path reads and returns, 1 or 2
    moment_products : the global path also reads the products of its invariants
    fiber          : "resolvent", "grid", "both" or "none";  commutator : the pointwise correction
    fiber_lifts    : bounded functions of the input's values, 0 to 3, whose resolvents the fiber reads beside its own
    project        : the fiber's ⋆-orthogonal projection (off only for ablations)
    penalty        : weight of the stability penalty of deep linear layers, in the mean over steps
    fiber_width, fiber_depth, fiber_modes, masked : the grid fiber's Fourier network and its soft mask
    base_hidden    : hidden width of the published base (variant "paper")
    """

    lr: float = 1e-2
    variant: str = "spectral"
    n_modes: int = 128
    channels: int = 8
    layers: int = 0
    tied: bool = True
    products: int = 0
    flow: int = 0
    poles: int = 0
    hats: int = 0
    product_channels: int = 3
    hidden: int = 32
    lift: int = 0
    global_path: bool = True
    moments: int = 2
    moment_products: bool = False
    fiber: str = "resolvent"
    fiber_lifts: int = 0
    commutator: bool = False
    project: bool = True
    penalty: float = 0.0
    fiber_width: int = 11
    fiber_depth: int = 3
    fiber_modes: int = 4
    masked: bool = True
    base_hidden: int = 32
    may_be_zero: ClassVar[frozenset[str]] = frozenset(
        {"layers", "products", "flow", "poles", "hats", "lift", "fiber_lifts", "moments"}
    )


class HSD(Operator):
    """ω = Φ c̃ + (I − ΦΦᵀ⋆) fiber, with the harmonic entries of c̃ set to the reference (P-3, Algorithm 1).

    Holds for any weights: the fiber is ⋆-orthogonal to Φ; harmonic coefficients equal the reference where the task
    knows one, or, where source and target have one degree, the source's if all training samples conserve them; where
    the target's degree differs from the source's, the base and the resolvent fiber lie in d Ω^s (δ Ω^s) plus the
    harmonic fields, so that dω = 0 (δω = 0) holds to rounding; variant "spectral" depends on the modes only through
    their eigenspaces.
    """

    name = "hsd"
    title = "HSD"
    version = 2
    citation = "Hodge Spectral Duality operators; this project's paper"
    differences = (
        "Variant 'spectral': filters of λ, coefficient layers, products and invariants replace the gated network on "
        "raw coefficients; a resolvent fiber replaces the grid. Variant 'paper' is the published form. The commutator "
        "of either reads node values of the form and of the base, not their derivatives at quadrature points."
    )
    reads = "cochains through their Hodge coefficients"
    reads_scales = True
    Config = HSDConfig
    task_config: ClassVar = {
        "toroidal_transport": {"layers": 12, "n_modes": 512, "penalty": 0.3, "lift": 2, "fiber": "none"},
        "vorticity_dynamics": {"flow": 32, "n_modes": 256, "channels": 1, "global_path": False, "fiber": "none"},
        "magnetostatics": {"lift": 2, "fiber_lifts": 2},
        "external_aerodynamics": {
            "channels": 4,
            "hidden": 16,
            "moments": 1,
            "moment_products": True,
            "weight_decay": 0.3,
        },
        "ellipsoid_aerodynamics": {"moments": 1, "moment_products": True, "weight_decay": 0.3},
        "torus_helmholtz": {"poles": 1},
    }

    def __init__(self, domain: Domain, config: HSDConfig | None = None):
        super().__init__(domain, config)
        check_choice("variant of HSD", self.config.variant, VARIANTS)
        check_choice("fiber of HSD", self.config.fiber, FIBERS)
        check_choice("order of HSD's moments", self.config.moments, MOMENTS)
        check_choice("number of HSD's fiber_lifts", self.config.fiber_lifts, range(len(FIBER_LIFTS) + 1))
        self.network = SpectralNetwork(domain, self.config) if self.config.variant == "spectral" else None
        if self.network is None:
            self.layers = nn.ModuleList(PaperLayer(domain, self.config) for _ in range(2))
        self.mesh_free = self.fits_other_meshes(self.config)
        self.register_buffer("conserves", torch.tensor(True))

    @classmethod
    def fiber_lifts(cls, config: HSDConfig) -> int | None:
        reads = config.variant == "spectral" and config.fiber in ("resolvent", "both")
        return config.fiber_lifts if reads else None

    @classmethod
    def fits_other_meshes(cls, config: HSDConfig) -> bool:
        return config.variant == "spectral"

    @classmethod
    def idle_entries(cls, config: HSDConfig) -> frozenset[str]:
        if config.variant == "paper":
            return SPECTRAL_ONLY
        return frozenset() if config.layers else frozenset({"penalty"})

    @classmethod
    def idle_on(cls, config: HSDConfig, degree: int, dim: int, oriented: bool) -> dict[str, str]:
        return idle_switches(config, degree, dim, oriented)

    @property
    def fiber_weights(self) -> torch.Tensor | None:
        return None if self.network is None else self.network.resolvents

    @property
    def reads_coordinates(self) -> bool:
        own = self.network
        return own is None or any(part is not None for part in (own.path, own.grid, own.commutator))

    def predict(self, batch: Batch, domain: Domain) -> Prediction:
        reference = reference_coefficients(batch, domain)
        holds = self.conserves if domain.reference_name is None else None
        if self.network is not None:
            forms = self.network(batch, domain, reference, holds)
        else:
            forms = first_guess(batch, domain)
            for layer in self.layers:
                forms = layer(forms, batch, domain, reference, holds)
        return Prediction(forms=forms, domain=domain)

    def prepare(self, batch: Batch, domain: Domain) -> None:
        """Fix from training samples the scales of the global path, and whether the harmonic part is conserved."""
        if domain.reference_name is None and batch.target is not None:
            self.conserves.fill_(conserves_harmonic(batch, domain))
        if self.network is not None:
            self.network.prepare(batch, domain)

    def penalty(self, domain: Domain, generator: torch.Generator) -> torch.Tensor | None:
        if self.network is None or not self.config.penalty or not self.config.layers:
            return None
        if float(torch.rand(1, generator=generator)) >= PENALTY_SHARE:
            return None
        return self.config.penalty / PENALTY_SHARE * self.network.growth(domain, generator)


def conserves_harmonic(batch: Batch, domain: Domain) -> bool:
    """Whether the targets of all samples have the harmonic coefficients of their sources; False for two degrees."""
    reference = reference_coefficients(batch, domain)
    if reference is None:
        return False
    found = domain.target.coefficients(batch.target)[:, domain.target.harmonic]
    size = (batch.target * domain.sparse("target_star")(batch.target)).sum(dim=1).mean().sqrt()
    return bool(((found - reference).abs() <= CONSERVED * size).all())


def linear_step(
    z: torch.Tensor, growth: torch.Tensor, weight: torch.Tensor, lam: torch.Tensor, along: torch.Tensor | None
) -> torch.Tensor:
    """What one coefficient layer adds to z (B, C, K): m z/10 + W [z, λ̂z/100, Az, A²z]."""
    parts = [z, lam * z]
    if along is not None:
        first = z @ along.transpose(-1, -2)
        parts += [first, first @ along.transpose(-1, -2)]
    return growth * z + weight @ torch.cat(parts, dim=1)


def first_guess(batch: Batch, domain: Domain) -> torch.Tensor:
    """ω⁽⁰⁾ from the input by ⋆ and projection only: Σ c_i φ_{t(i)} over matching modes, (B, N_t)."""
    if domain.spec.source[0] == domain.spec.target[0]:
        return batch.source
    i, j = domain.pairs.T
    return domain.source.coefficients(batch.source)[:, i] @ domain.target.modes[:, j].T


class SpectralNetwork(nn.Module):
    """Filters, coefficient layers, products, global path and fiber of the variant "spectral"."""

    def __init__(self, domain: Domain, config: HSDConfig):
        super().__init__()
        self.config = config
        s, dim = domain.spec.source[0], domain.mesh.dim
        self.parts = parts_of(s, dim)
        n_parts, c = len(self.parts), config.channels
        pointwise = config.lift if domain.has("source_value") else 0
        self.lift = mlp([1, 16, pointwise], last_zero=False) if pointwise else None
        n_in = 1 + pointwise
        more = config.hats + config.poles
        self.poles = Poles(config.poles) if config.poles else None
        self.into = Filter(c, n_in, n_parts, noise=0.1, more=more)
        with torch.no_grad():
            self.into.weight[:, 0, :, 0] += 1.0
        n_harmonic = int((domain.arrays["target/part"] == 0).sum())
        self.own_harmonic = n_harmonic if domain.reference_name is None and s != domain.spec.target[0] else 0
        seen = domain.arrays["chi"].shape[1] + self.own_harmonic
        self.path = None
        if config.global_path and seen:
            options = (config.moments, config.moment_products)
            self.path = GlobalPath(domain, n_in, config.hidden, self.own_harmonic, *options)
        copies = 1 if config.tied else max(config.layers, 1)
        if config.layers:
            self.growths = nn.ModuleList(Filter(c, 1, n_parts, noise=0.0, more=more) for _ in range(copies))
            self.weights = nn.ParameterList(nn.Parameter(0.02 * torch.randn(c, 4 * c)) for _ in range(copies))
        self.n_products = min(config.products, max(config.layers, 1)) if domain.has("gradient/data") else 0
        self.products = nn.ModuleList(
            ProductLayer(c, config.product_channels, config.hidden, n_parts, domain.has("normals"), more=more)
            for _ in range(self.n_products if config.products and not config.tied else min(1, self.n_products))
        )
        flows = config.flow and domain.has("gradient/data") and domain.has("normals")
        self.flow = BracketFlow(config.flow) if flows else None
        self.register_buffer("reach", torch.tensor(1.0))
        self.out = Filter(1, c, n_parts, mean=1.0 / c, noise=0.02, more=more)
        self.resolvents = self.chi = self.grid = self.commutator = None
        if config.fiber in ("resolvent", "both"):
            self.resolvents = nn.Parameter(torch.zeros(len(RESOLVENT_SHIFTS) * (1 + config.fiber_lifts)))
            self.chi = nn.Parameter(torch.zeros(1 + len(RESOLVENT_SHIFTS)))
        if config.fiber in ("grid", "both"):
            self.grid = GridFiber(domain, config.fiber_width, config.fiber_depth, config.fiber_modes, config.masked)
        if config.commutator:
            self.commutator = Commutator(domain, config.hidden)

    # ---- the map -------------------------------------------------------------------------------------------------

    def forward(
        self, batch: Batch, domain: Domain, reference: torch.Tensor | None, holds: torch.Tensor | None
    ) -> torch.Tensor:
        features = self.features(domain)
        x = self.lifted(batch, domain)  # (B, C_in, N_s)
        z = apply_filter(self.into(features), x @ domain.source.star_modes)  # (B, C, K)
        amounts = harmonic = None
        if self.path is not None:
            amounts, harmonic = self.path(x, batch, domain)
            z = torch.cat([z[:, :1] + (amounts @ domain.tensor("chi_hat").T)[:, None], z[:, 1:]], dim=1)
        along = advection(batch, domain)
        z = self.evolve(z, features, domain, along if along is None else along * self.reach)
        c = self.to_target(apply_filter(self.out(features), z)[:, 0], domain)
        if self.own_harmonic and harmonic is not None:  # of two degrees, and no field of the task says it
            reference, holds = harmonic @ domain.tensor("harmonic_frame").T, None
        c = constrained(c, domain.target, reference, holds)
        base = domain.target.synthesise(c)
        fiber = self.fiber(batch, base, amounts, domain)
        if fiber is None:
            return base
        return base + (domain.target.complement(fiber) if self.config.project else fiber)

    def features(self, domain: Domain) -> torch.Tensor:
        """What the filters are made of, for each mode of the source."""
        return filter_features(domain.source, domain.scale2, self.parts, self.config.hats, self.poles)

    def lifted(self, batch: Batch, domain: Domain) -> torch.Tensor:
        """The source and pointwise functions of its values, as forms, (B, C_in, N_s)."""
        x = batch.source[:, None]
        if self.lift is None:
            return x
        value = domain.tensor("source_value")
        more = self.lift((batch.source * value)[..., None]).transpose(1, 2) / value  # (B, lift, N_s)
        return torch.cat([x, more], dim=1)

    def evolve(
        self, z: torch.Tensor, features: torch.Tensor, domain: Domain, along: torch.Tensor | None
    ) -> torch.Tensor:
        """The coefficient layers: z ← z (1 + m(λ̂)/10) + W [z, λ̂z/100, Az, A²z] + products; W with STEP_SCALES."""
        lam = domain.source.eigenvalues * (domain.scale2 / 100)
        linear, rounds = self.linear_layers(features, along is not None), max(self.config.layers, 1)
        for layer in range(rounds):
            if layer < self.config.layers:
                z = z + linear_step(z, *linear[layer], lam, along)
            done, due = (i * self.n_products // rounds for i in (layer, layer + 1))
            if due > done:
                z = z + self.products[min(done, len(self.products) - 1)](z, features, domain)
        if self.flow is not None:
            z = torch.cat([self.flow(z[:, 0], features[: 1 + N_BANDS], domain)[:, None], z[:, 1:]], dim=1)
        return z

    def linear_layers(self, features: torch.Tensor, moving: bool) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """(m(λ̂)/10, W) of each coefficient layer, those of tied layers made once.  moving: whether W reads Az, A²z."""
        if not self.config.layers:
            return []
        c, terms = self.config.channels, STEP_SCALES[: 4 if moving else 2]
        scales = features.new_tensor(terms).repeat_interleave(c)
        made = [(0.1 * m(features)[:, 0], w[:, : len(scales)] * scales) for m, w in zip(self.growths, self.weights)]
        return [made[min(layer, len(made) - 1)] for layer in range(self.config.layers)]

    def to_target(self, c: torch.Tensor, domain: Domain) -> torch.Tensor:
        """Coefficients of the source's modes → of the target's, (B, K_s) → (B, K_t): √λ̂ on matching pairs."""
        if domain.spec.source[0] == domain.spec.target[0]:
            return c
        i, j = domain.pairs.T
        out = c.new_zeros(len(c), domain.target.n_modes)
        return out.index_copy(1, j, c[:, i] * (domain.source.eigenvalues[i] * domain.scale2).sqrt())

    def fiber(
        self, batch: Batch, base: torch.Tensor, amounts: torch.Tensor | None, domain: Domain
    ) -> torch.Tensor | None:
        """Everything beyond the modes before its projection, (B, N_t), or None."""
        terms = []
        beyond = None if self.resolvents is None else batch.weighted_fiber(self.resolvents)
        if beyond is not None:
            terms.append(beyond)
        if self.chi is not None and amounts is not None:
            weighted = self.chi[:, None] * amounts[:, None]  # (B, 4, m)
            terms.append(weighted.flatten(1) @ domain.tensor("chi_fiber").flatten(1).T)
        guessing = [part for part in (self.grid, self.commutator) if part is not None]
        form = first_guess(batch, domain) if guessing else None
        terms += [part(form, base, batch, domain) for part in guessing]
        return sum(terms) if terms else None

    # ---- training ------------------------------------------------------------------------------------------------

    def prepare(self, batch: Batch, domain: Domain) -> None:
        with torch.no_grad():
            if self.path is not None:
                self.path.fit(self.lifted(batch, domain), batch, domain)
            along = advection(batch[:64], domain)
            if along is not None:
                norms = torch.linalg.matrix_norm(along.double(), ord=2)
                self.reach.copy_(REACH / norms.square().mean().sqrt().clamp(min=1e-12))
            if self.poles is not None and batch.target is not None:
                lam, gain, weight, mode = gains(batch, domain)
                smooth = filter_features(domain.source, domain.scale2, self.parts)[:, mode]
                self.poles.fit(lam, gain, weight, smooth[smooth.abs().amax(dim=1) > 0])

    def growth(self, domain: Domain, generator: torch.Generator) -> torch.Tensor:
        """relu(log |z_L|/|z_0|) of white noise, A and λ scaled up at random: deep linear layers must not amplify."""
        device, dtype = domain.device, domain.dtype

        def uniform(low: float, high: float, *shape: int) -> torch.Tensor:
            return (low + (high - low) * torch.rand(*shape, generator=generator)).to(device, dtype)

        k, c = domain.source.n_modes, self.config.channels
        z0 = torch.randn(NOISE, 1, k, generator=generator).to(device, dtype).expand(NOISE, c, k)
        along = None
        for name in domain.field_names:
            if domain.has(f"contraction/{name}"):
                matrices = domain.tensor(f"contraction/{name}")
                a = torch.randn(NOISE, len(matrices), generator=generator).to(device, dtype)
                a = torch.einsum("bm,mjk->bjk", a, matrices) * self.reach * uniform(1.0, 1.4, 1, 1, 1)
                along = a if along is None else along + a
        features = self.features(domain)
        lam = domain.source.eigenvalues * (domain.scale2 / 100) * uniform(1.0, 1.25, 1)
        z = z0
        for growth, weight in self.linear_layers(features, along is not None):
            z = z + linear_step(z, growth, weight, lam, along)
        ratio = torch.log(z.flatten(1).norm(dim=1) / z0.flatten(1).norm(dim=1))
        return torch.relu(ratio).mean()
