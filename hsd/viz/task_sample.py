"""One sample of a task or of a dataset file as named fields on one mesh, with its Hodge parts and its history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from hsd.data.dataset import Dataset
from hsd.data.ground import Ground, square_norms
from hsd.data.schema import VECTORS
from hsd.data.tasks.base import FieldSpec, Realisation, Record, Task
from hsd.errors import InputError
from hsd.hodge.decomposition import PARTS
from hsd.linalg import one_blas_thread
from hsd.viz.palettes import PARTS as LOOKS

CLOSED = 1e-9
"""Backward error below which a form counts as closed or coclosed, so that one of its parts needs no solve."""
ZERO = 1e-18
"""Parts below this share of the energy are rounding."""
ROTATED = {"exact": "rotational dψ", "coexact": "gradient δβ", "harmonic": "harmonic γ"}
"""Names of the parts of a velocity that is given as the flux 1-form on a surface."""
MAKING = {
    ("vortices", "local"): "local: vortices",
    ("vortices", "global"): "global: moments",
    ("vortices", "harmonic"): "harmonic: γ",
    ("torus_helmholtz", "local"): "local: dψ",
    ("torus_helmholtz", "global"): "global: Σ cᵢ γᵢ",
    ("magnetostatics", "local"): "local: a B_P",
    ("magnetostatics", "global"): "global: by h",
}


@dataclass(frozen=True, eq=False)
class Shown:
    """One field at T times: (T, N_k) cochains, or (T, n_vertices, D) where it reads "vectors"; T = 1 if steady."""

    name: str
    title: str
    degree: int
    reading: str
    values: np.ndarray

    @classmethod
    def of(cls, spec: FieldSpec, values: np.ndarray) -> Shown:
        return cls(spec.name, spec.title or spec.name, spec.degree, spec.reading, np.asarray(values, np.float64))

    def named(self, name: str, title: str, values: np.ndarray) -> Shown:
        """Another field of the same kind."""
        return replace(self, name=name, title=title, values=values)

    @property
    def is_vector(self) -> bool:
        return self.reading in ("circulation", "flux", VECTORS)


@dataclass(frozen=True, eq=False)
class Sample:
    """What is known of one sample.

    inputs, target : T = 1;  making : parts of the target by its making;  coefficients : in the domain's named fields
    states, times  : the trajectory (T, …) and its times (T,), None for steady data
    carrier        : the velocity that moves a scalar, T = 1 or as many as states
    harmonic       : (N_k, b) ⋆-orthonormal harmonic fields of the target's degree where the task knows them
    record         : mesh-free record of a task's sample, empty for files
    """

    ground: Ground
    inputs: tuple[Shown, ...]
    target: Shown
    making: tuple[Shown, ...] = ()
    coefficients: Mapping[str, np.ndarray] = field(default_factory=dict)
    states: Shown | None = None
    times: np.ndarray | None = None
    carrier: Shown | None = None
    harmonic: np.ndarray | None = None
    record: Record = field(default_factory=dict)


def task_sample(task: Task, ground: Ground, seed: int, i: int) -> Sample:
    """Sample i of a seed on a mesh.  Raises what the task raises."""
    return record_sample(task, ground, task.sample(seed, i))


def record_sample(task: Task, ground: Ground, record: Record, made: Realisation | None = None) -> Sample:
    """The sample that a mesh-free record means on a mesh; ``made``: its realisation.  Raises what the task raises."""
    made = made or task.realise([record], ground)
    target = Shown.of(task.target, made.target)
    kind = "vortices" if task.name.endswith("aerodynamics") else task.name
    making = tuple(target.named(name, MAKING.get((kind, name), name), values) for name, values in made.parts.items())
    named = task.named_fields(ground)
    known = [f.values for f in named.values() if f.reference and f.degree == target.degree]
    return Sample(
        ground,
        tuple(Shown.of(spec, made.inputs[spec.name]) for spec in task.inputs),
        target,
        making,
        {name: values[0] for name, values in made.coefficients.items()},
        None if made.trajectory is None else target.named("state", _letter(target), made.trajectory[0]),
        None if made.trajectory is None else np.asarray(task.times),
        _carrier(task, ground, made),
        np.hstack(known) if known else None,
        record,
    )


def _letter(target: Shown) -> str:
    """ "Final vorticity ω(T)" → "ω(t)"."""
    last = target.title.split()[-1] if target.title else ""
    return f"{last.partition('(')[0]}(t)" if "(" in last else f"{target.title} at t"


def _carrier(task: Task, ground: Ground, made) -> Shown | None:
    if task.name == "toroidal_transport":
        values = made.coefficients["velocity"] @ task.velocities(ground).T
        return Shown("velocity", "Velocity v", 1, "circulation", values)
    if task.name == "vorticity_dynamics":
        psi = task.flow(ground).stream_function(np.ascontiguousarray(made.trajectory[0].T))
        return Shown("velocity", "Velocity u", 1, "flux", (ground.dec.d(0) @ psi).T)
    return None


def file_sample(data: Dataset, ground: Ground, i: int) -> Sample:
    """Sample i of a dataset file; ``ground`` stands on its mesh.  Raises InputError (no_sample)."""
    if not 0 <= i < data.n_samples:
        raise InputError(
            f"{data.path.name} has samples 0 to {data.n_samples - 1}; there is no sample {i}.", "no_sample"
        )
    mesh = int(data.mesh_of_sample[i])

    def row(key: str, axis: int = 0) -> np.ndarray:
        values = np.asarray(data.array(key)[i], np.float64)
        return values.take(np.arange(data.row_length(key, mesh)), axis=axis)

    def padded(values: np.ndarray) -> np.ndarray:
        """Node vectors of the plane, (…, 2), as vectors of space, as the mesh is."""
        flat = data.target_spec.reading == VECTORS and values.shape[-1] == 2
        return np.concatenate([values, np.zeros_like(values[..., :1])], axis=-1) if flat else values

    target = Shown.of(data.target_spec, padded(row("target")[None]))
    states = times = None
    if data.trajectory is not None:
        states = target.named("state", _letter(target), padded(row("trajectory", axis=1)))
        last = float(data.schema.provenance.get("config", {}).get("duration", len(states.values) - 1))
        times = np.linspace(0.0, last, len(states.values))
    return Sample(
        ground,
        tuple(Shown.of(spec, row(f"input/{spec.name}")[None]) for spec in data.inputs),
        target,
        coefficients={name: row(f"coefficient/{name}") for name in data.schema.fields},
        states=states,
        times=times,
    )


# ---- numbers -----------------------------------------------------------------------------------------------------


def as_form(sample: Sample, shown: Shown) -> tuple[int, np.ndarray]:
    """Degree and cochains (T, N_k) of a field; node vectors through ♭ to 1-forms."""
    if shown.reading != VECTORS:
        return shown.degree, shown.values
    flat = sample.ground.flat_matrix(1, "circulation")
    return 1, (flat @ shown.values.reshape(len(shown.values), -1).T).T


def energies(sample: Sample, shown: Shown) -> np.ndarray:
    """‖·‖²_⋆ at each time, (T,)."""
    k, forms = as_form(sample, shown)
    return square_norms(sample.ground.dec.star(k), forms)


def hodge_parts(sample: Sample, shown: Shown) -> tuple[Shown, ...]:
    """Exact, coexact and harmonic part of a field, those that are not zero.

    Closed and coclosed forms need no solve; otherwise each part comes from its own one.
    """
    k, forms = as_form(sample, shown)
    ground, dec = sample.ground, sample.ground.dec
    omega = forms.T  # (N_k, T)
    with one_blas_thread():
        known = sample.harmonic if shown.degree == sample.target.degree else None
        fields = ground.solver.harmonic(k).orthonormal if known is None else known
        harmonic = fields @ (fields.T @ (dec.star(k) @ omega))
        rest = omega - harmonic
        none = np.zeros_like(omega)
        if k == 0 or _vanishes(dec.boundary(k), dec.star(k) @ omega):
            exact, coexact = none, rest
        elif k == dec.dim or _vanishes(dec.d(k), omega):
            exact, coexact = rest, none
        else:
            exact = dec.d(k - 1) @ ground.solver.exact_potential(k, omega)
            coexact = rest - exact
    reading = "circulation" if shown.reading == VECTORS else shown.reading
    names = ROTATED if shown.reading == "flux" and k == 1 else {part: LOOKS[part].name for part in PARTS}
    if k == 0:
        names = {"exact": "", "coexact": "rest: coexact δβ", "harmonic": "mean: harmonic γ"}
    out = [
        Shown(part, names[part], k, reading, np.ascontiguousarray(values.T))
        for part, values in zip(PARTS, (exact, coexact, harmonic))
    ]
    total = energies(sample, shown).max(initial=0.0)
    return tuple(s for s in out if energies(sample, s).max(initial=0.0) > ZERO * total)


def _vanishes(matrix, x: np.ndarray) -> bool:
    return bool(np.abs(matrix @ x).sum() <= CLOSED * (abs(matrix) @ np.abs(x)).sum())


def node_values(sample: Sample, shown: Shown) -> np.ndarray:
    """(T, n_vertices, C): what models are scored on; C = 1 for numbers, D for vectors."""
    if shown.reading == VECTORS:
        return shown.values
    return sample.ground.node_values(shown.degree, shown.reading, shown.values)


def history(sample: Sample) -> dict[str, np.ndarray]:
    """Curves over the times of the trajectory, by name: (T,) each.

    0-forms: ∫u, ½∫u², least and largest value; with a velocity that the state makes, also its energy ½∫|u|².
    Other forms: ½‖·‖²_⋆ and the largest length at a node.
    """
    states, area = sample.states, sample.ground.vertex_measure
    half = 0.5 * energies(sample, states)
    if states.reading != "scalar":
        size = np.linalg.norm(node_values(sample, states), axis=2)
        return {"½‖·‖²": half, "largest length": size.max(axis=1)}
    u = states.title.partition("(")[0] if "(t)" in states.title else "u"
    out = {f"∫{u}": states.values @ area}
    moving = sample.carrier is not None and len(sample.carrier.values) == len(states.values)
    if moving:
        out["energy ½∫|u|²"] = 0.5 * energies(sample, sample.carrier)
    out[f"enstrophy ½∫{u}²" if moving else f"½∫{u}²"] = half
    out[f"min {u}"], out[f"max {u}"] = states.values.min(axis=1), states.values.max(axis=1)
    return out


def mass_size(sample: Sample) -> float:
    """Largest ∫|u| of the states, by which a drift of ∫u is measured."""
    return float((np.abs(sample.states.values) @ sample.ground.vertex_measure).max())


def field_rows(sample: Sample, fields: tuple[Shown, ...]) -> dict[str, list]:
    """The data table: one row a field (the last time of those that move)."""
    total = float(energies(sample, sample.target)[-1]) or 1.0
    rows: dict[str, list] = {name: [] for name in ("field", "degree", "reads as", "least", "largest", "‖·‖² in ⋆",
                                                    "of the target's")}  # fmt: skip
    for shown in fields:
        last = replace(shown, values=shown.values[-1:])
        nodes = node_values(sample, last)[0]
        size = np.linalg.norm(nodes, axis=1) if shown.is_vector else nodes[:, 0]
        energy = float(energies(sample, last)[0])
        same = (shown.degree, shown.reading) == (sample.target.degree, sample.target.reading)
        values = (shown.title, shown.degree, shown.reading, float(size.min()), float(size.max()), energy,
                  energy / total if same else None)  # fmt: skip
        for column, value in zip(rows.values(), values):
            column.append(value)
    return rows
