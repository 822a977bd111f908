"""What is computed of one model on one sample: fields, scores, time, memory, repeated steps.  No Streamlit here."""

from __future__ import annotations

import statistics
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hsd.data.ground import Ground
from hsd.data.tasks.base import Task
from hsd.errors import HsdError, InputError
from hsd.viz.task_sample import Sample

REPEATS, SECONDS = 7, 0.5
"""Warm predictions that latency is the median of: at most so many, in at most about so long, at least one."""
STEPPED = ("toroidal_transport", "vorticity_dynamics")
"""Tasks whose target is the input's field at a later time, so that a model can be applied to its own output."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """A model's answer to one sample.

    nodes : (n_vertices, C) node values;  form : (N_k,) cochain where the model makes one, else None
    scores : metric → value, as ``hsd.metrics.scoring.score`` has them;  device : where it ran, in words
    notices : what may be wrong on this mesh (:attr:`hsd.training.predictor.Predictor.notices`)
    """

    nodes: np.ndarray
    form: np.ndarray | None
    scores: Mapping[str, float]
    device: str
    notices: tuple[str, ...] = ()


def inputs_of(sample: Sample) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Source (1, N) and coefficients name → (1, m) of a sample, as predictors take them."""
    return sample.inputs[0].values, {name: np.atleast_2d(c) for name, c in sample.coefficients.items()}


def predict(predictor, domain, yardstick, sample: Sample, device: str) -> Outcome:
    """Predict and score.  Raises HsdError: those of the predictor and of score; not_finite, out_of_memory, no_run."""
    from hsd.metrics.scoring import score

    with said(predictor.model.title):
        fields = predictor(domain, *inputs_of(sample))
    if not np.isfinite(fields.nodes).all():
        raise InputError(
            f"{predictor.model.title} answers with values that are not finite here; choose another sample or model.",
            "not_finite",
        )
    scale = predictor.normaliser.channels["target"].scale
    scores = score(
        yardstick, fields.nodes, None, prediction_form=fields.forms, truth_form=sample.target.values, unit=scale
    ).mean
    nodes, form = fields.nodes[0], None if fields.forms is None else fields.forms[0]
    for array in (nodes, form):
        if array is not None:
            array.flags.writeable = False
    return Outcome(nodes, form, scores, device, predictor.notices)


class said:
    """Failures of torch inside as one sentence each (InputError: out_of_memory, no_run)."""

    def __init__(self, title: str):
        self.title = title

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind, error, trace) -> None:
        import torch

        if error is None or isinstance(error, HsdError):
            return
        where = "the CPU" if not torch.cuda.is_available() else "this device"
        full = isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "allocate memory" in str(error)
        if full:
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            raise InputError(
                f"There is not enough memory on {where} for {self.title}; take a coarser mesh, fewer models or the "
                "CPU.",
                "out_of_memory",
            ) from error
        if isinstance(error, RuntimeError):
            first = (str(error).splitlines() or [""])[0]
            raise InputError(f"{self.title} could not run on this mesh: {first}.", "no_run") from error


# ---- time and memory ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """latency_ms : median of ``n`` warm predictions of one sample, physical values in and out
    load : wall clock over computing time of those, about 1 where nothing else runs; 0 where that is not known (GPU)
    memory_mb : peak of a prediction's arrays beyond weights and domain, 10⁶ bytes;  parameters: trained real numbers
    """

    latency_ms: float
    n: int
    memory_mb: float
    parameters: int
    device: str
    load: float = 0.0


def cost(predictor, domain, sample: Sample, device: str) -> Cost:
    """Measure a model.  Raises HsdError (out_of_memory, no_run)."""
    source, coefficients = inputs_of(sample)
    with said(predictor.model.title):
        peak = peak_bytes(predictor, domain, source, coefficients)
        times, begun, computed = [], time.perf_counter(), time.thread_time()
        while len(times) < REPEATS and (not times or time.perf_counter() - begun < SECONDS):
            start = time.perf_counter()
            predictor(domain, source, coefficients)
            times.append(1000 * (time.perf_counter() - start))
        computed = time.thread_time() - computed
    load = sum(times) / 1000 / max(computed, 1e-9) if predictor.domain.device.type == "cpu" else 0.0
    return Cost(statistics.median(times), len(times), peak / 1e6, predictor.model.n_parameters, device, load)


def peak_bytes(predictor, domain, source: np.ndarray, coefficients: Mapping[str, np.ndarray]) -> int:
    """Peak bytes of tensors alive during one prediction that were made by it."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Meter(TorchDispatchMode):
        """Counts each new storage once, until it dies."""

        def __init__(self):
            super().__init__()
            self.now = self.peak = 0
            self.seen: weakref.WeakSet = weakref.WeakSet()

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            before = {id(t.untyped_storage()) for t in tree_leaves((args, kwargs)) if is_dense(t)}
            out = function(*args, **(kwargs or {}))
            for tensor in tree_leaves(out):
                if is_dense(tensor):
                    self.add(tensor.untyped_storage(), before)
            return out

        def add(self, storage, before: set[int]) -> None:
            if id(storage) in before or storage in self.seen:
                return
            self.seen.add(storage)
            self.now += storage.nbytes()
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self.drop, storage.nbytes())

        def drop(self, n: int) -> None:
            self.now -= n

    def is_dense(value) -> bool:
        return isinstance(value, torch.Tensor) and value.layout == torch.strided

    with Meter() as meter:
        predictor(domain, source, coefficients)
    return meter.peak


# ---- repeated steps ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rollout:
    """States of a field at times: (T, n_vertices), (T,); and its curves by name, (T,) each."""

    states: np.ndarray
    times: np.ndarray
    curves: Mapping[str, np.ndarray]


def rollout(predictor, domain, task: Task, ground: Ground, sample: Sample, steps: int) -> Rollout:
    """A model applied to its own output ``steps`` times, from the sample's initial state: times 0, T, 2T, …

    From the first state on that is not finite all are NaN.  Raises HsdError (out_of_memory, no_run).
    """
    source, coefficients = inputs_of(sample)
    states = np.full((steps + 1, source.shape[1]), np.nan)
    states[0] = source[0]
    for i in range(steps):
        with said(predictor.model.title):
            fields = predictor(domain, states[i : i + 1], coefficients)
        after = fields.nodes[0, :, 0] if fields.forms is None else fields.forms[0]
        if not np.isfinite(after).all():
            break
        states[i + 1] = after
    times = task.config.duration * np.arange(steps + 1)
    return Rollout(states, times, state_curves(task, ground, states))


def true_rollout(task: Task, ground: Ground, sample: Sample, steps: int) -> Rollout:
    """The truth over the same time, at all snapshots of every step, by the task's own solver."""
    n = task.config.n_snapshots
    times = np.linspace(0.0, steps * task.config.duration, steps * n + 1)
    source, coefficients = inputs_of(sample)
    if task.name == "toroidal_transport":
        transport = task.transport(ground)
        states = transport.trajectory(source, coefficients["velocity"], times, task.coefficient_range)[0]
    else:
        states = task.flow(ground).trajectory(source, times)[0]
    return Rollout(states, times, state_curves(task, ground, states))


def state_curves(task: Task, ground: Ground, states: np.ndarray) -> dict[str, np.ndarray]:
    """∫u and ½∫u² of a transported scalar; ∫ω, energy ½∫|u|² and enstrophy ½∫ω² of a vorticity; (T,) each."""
    area = ground.vertex_measure
    mass, square = states @ area, 0.5 * (states**2) @ area
    if task.name != "vorticity_dynamics":
        return {"mass ∫u": mass, "energy ½∫u²": square}
    energy = np.full(len(states), np.nan)
    good = np.isfinite(states).all(axis=1)
    free = states[good] - (mass[good] / area.sum())[:, None]
    if good.any():
        flow, omega = task.flow(ground), np.ascontiguousarray(free.T)
        energy[good] = flow.energy(omega, flow.stream_function(omega))
    return {"mass ∫ω": mass, "energy ½∫|u|²": energy, "enstrophy ½∫ω²": square}
