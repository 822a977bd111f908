"""Task cards: what a task's data are like, and how far predictors come that understand nothing.

Energies are ‖ω‖²_⋆ of float64 samples.  Errors are relative L2 of node values, (Σ w_v |u_p − u_g|² / Σ w_v |u_g|²)^½
with the lumped ⋆_0 as w, averaged over the test samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hsd.data.ground import Ground, square_norms
from hsd.data.plan import Plan, versions
from hsd.data.ridge import Features, fit_ridge
from hsd.data.splits import PARTS as SPLIT
from hsd.data.splits import split_codes
from hsd.data.tasks.base import FieldSpec, Task
from hsd.errors import InputError
from hsd.hodge.solver import HodgeSolver
from hsd.hodge.spectrum import BLOCK_GAP, HodgeBasis
from hsd.linalg import Progress, one_blas_thread, silent

N_MODES = (64, 128, 256)
ENERGY_KEPT = 0.99
BATCH = 100
CLOSED = 1e-9
"""Backward error below which a form counts as closed or coclosed, so that one of its parts needs no solve."""
SOLVED_SAMPLES = 100
"""Samples of which exact and coexact parts are solved for in three dimensions, where that is slow."""


def task_card(
    name: str,
    n_samples: int = 1000,
    n_nodes: int | None = None,
    seed: int = 0,
    *,
    config: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """The card of a task as plain values for JSON.

    task, title, equation, config, seed, n_samples, n_nodes, versions : what it was made from
    mesh       : counts, Betti numbers, measure
    inputs, target : spec; effective_dimension, number of ⋆-principal components for 99 % of the variance, and
                 participation (Σλ)²/Σλ²
    shares     : Hodge component → share of the mean energy of the target; shares_from: number of samples
    parts      : part of the making → mean ‖f_p‖² / mean Σ_q ‖f_q‖²; cross: mean of ‖f‖² − Σ_q ‖f_q‖² over the same;
                 cross_absolute: that of the absolute values
    floor      : for 64, 128, 256 modes of the components that occur (and all harmonic ones), relative L2 of what the
                 projection leaves, in ⋆ (all samples) and in node values (test samples)
    predictors : zero, mean (of the training samples), identity (None where it does not type), ridge (linear on
                 spectral coefficients, modes and penalty by validation)
    Raises what Plan.of raises, InputError (n_samples) for fewer than 10 samples.
    """
    plan = Plan.of(name, n_samples, n_nodes, seed, config)
    if plan.n_samples < 10:
        raise InputError(f"A card needs at least 10 samples; got {plan.n_samples}.", "n_samples")
    task = plan.make_task()
    progress("making the mesh", None)
    ground = Ground(task.mesh())
    with one_blas_thread():
        return _card(plan, task, ground, progress)


def _card(plan: Plan, task: Task, ground: Ground, progress: Progress) -> dict[str, Any]:
    data = _Samples(plan, task, ground, progress)
    cx = ground.mesh.complex
    codes = split_codes(plan.n_samples, plan.seed)
    card: dict[str, Any] = {
        "task": task.name,
        "title": task.title,
        "equation": task.equation,
        "config": task.config_dict,
        "seed": plan.seed,
        "n_samples": plan.n_samples,
        "n_nodes": plan.n_nodes,
        "versions": versions(),
        "split": {part: int((codes == code).sum()) for part, code in SPLIT.items()},
        "mesh": {"counts": list(cx.counts), "betti": list(ground.solver.betti), "measure": ground.measure},
        "inputs": [],
        **data.shares(),
    }
    for spec in (*task.inputs, task.target):
        progress(f"principal components of {spec.title or spec.name}", None)
        values = data.target if spec is task.target else data.inputs[spec.name]
        entry = {"name": spec.name, "title": spec.title, "degree": spec.degree, "reading": spec.reading}
        entry |= principal_components(values, ground.dec.star(spec.degree))
        if spec is task.target:
            card["target"] = entry
        else:
            card["inputs"].append(entry)
    card["coefficients"] = {key: int(v.shape[1]) for key, v in data.coefficients.items()}
    progress("modes", None)
    bases = {spec.name: _basis(ground.solver, spec.degree, data.used(spec), progress) for spec in task.inputs}
    target = _Target(ground, task.target, data.target, codes == SPLIT["test"])
    basis = _basis(ground.solver, task.target.degree, data.used(task.target), progress)
    progress("floors and predictors", None)
    card["floor"] = target.floors(basis)
    card["predictors"], card["ridge"] = _predictors(task, data, target, basis, bases, codes)
    return card


class _Samples:
    """The samples as float32, and sums of energies taken while they were float64."""

    def __init__(self, plan: Plan, task: Task, ground: Ground, progress: Progress):
        n = plan.n_samples
        self.task, self.ground = task, ground
        blocks: dict[str, list[np.ndarray]] = {}
        self.energy = {"exact": 0.0, "coexact": 0.0, "harmonic": 0.0}
        self.part_energy: dict[str, float] = {}
        self.cross = self.cross_absolute = 0.0
        self.solved = 0
        self.components: dict[str, set[str]] = {spec.name: set() for spec in (*task.inputs, task.target)}
        for start in range(0, n, BATCH):
            progress(f"{start} of {n} samples", start / n)
            result = task.realise(task.samples(plan.seed, start, min(start + BATCH, n)), ground)
            self._add_energies(result.target, result.parts)
            for spec in task.inputs:
                if start == 0:
                    self.components[spec.name] = _occurring(ground.solver, spec.degree, result.inputs[spec.name])
                blocks.setdefault(spec.name, []).append(result.inputs[spec.name].astype(np.float32))
            blocks.setdefault("/target", []).append(result.target.astype(np.float32))
            for name, values in result.coefficients.items():
                blocks.setdefault(f"/{name}/coefficients", []).append(values)
        self.target = np.concatenate(blocks.pop("/target"))
        self.coefficients = {k.split("/")[1]: np.concatenate(v) for k, v in blocks.items() if k.startswith("/")}
        self.inputs = {k: np.concatenate(v) for k, v in blocks.items() if not k.startswith("/")}

    def _add_energies(self, target: np.ndarray, parts: Mapping[str, np.ndarray]) -> None:
        k, dec = self.task.target.degree, self.ground.dec
        total = square_norms(dec.star(k), target)
        if self.ground.mesh.dim < 3 or self.solved < SOLVED_SAMPLES:
            for part, energy in hodge_energies(self.ground.solver, k, target).items():
                self.energy[part] += float(energy.sum())
            self.solved += len(target)
        own = {name: square_norms(dec.star(k), values) for name, values in parts.items()}
        for name, energy in own.items():
            self.part_energy[name] = self.part_energy.get(name, 0.0) + float(energy.sum())
        if own:
            cross = total - sum(own.values())
            self.cross += float(cross.sum())
            self.cross_absolute += float(np.abs(cross).sum())

    def shares(self) -> dict[str, Any]:
        total = sum(self.energy.values()) or 1.0
        out: dict[str, Any] = {
            "shares": {part: energy / total for part, energy in self.energy.items()},
            "shares_from": self.solved,
            "parts": {},
        }
        made = sum(self.part_energy.values())
        if made > 0:
            out["parts"] = {name: energy / made for name, energy in self.part_energy.items()}
            out["cross"], out["cross_absolute"] = self.cross / made, self.cross_absolute / made
        return out

    def used(self, spec: FieldSpec) -> set[str]:
        """Components beside the harmonic one that carry energy."""
        if spec is not self.task.target:
            return self.components[spec.name]
        total = sum(self.energy.values())
        return {part for part in ("exact", "coexact") if self.energy[part] > 1e-6 * total}


def hodge_energies(solver: HodgeSolver, k: int, forms: np.ndarray) -> dict[str, np.ndarray]:
    """‖·‖²_⋆ of the exact, coexact and harmonic parts of k-forms (B, N_k), (B,) each.

    Forms that are closed or coclosed to rounding need no solve.
    """
    dec = solver.dec
    omega = forms.T  # (N_k, B)
    total = square_norms(dec.star(k), forms)
    harmonic = ((solver.harmonic(k).orthonormal.T @ (dec.star(k) @ omega)) ** 2).sum(axis=0)
    rest, zero = np.maximum(total - harmonic, 0.0), np.zeros(len(forms))
    flux = dec.star(k) @ omega
    if k == 0 or _vanishes(dec.boundary(k), flux):
        exact, coexact = zero, rest
    elif k == dec.dim or _vanishes(dec.d(k), omega):
        exact, coexact = rest, zero
    else:
        exact = square_norms(dec.star(k), (dec.d(k - 1) @ solver.exact_potential(k, omega)).T)
        coexact = np.maximum(rest - exact, 0.0)
    return {"exact": exact, "coexact": coexact, "harmonic": harmonic}


def _vanishes(matrix, x: np.ndarray) -> bool:
    return np.abs(matrix @ x).sum() <= CLOSED * (abs(matrix) @ np.abs(x)).sum()


def _occurring(solver: HodgeSolver, k: int, forms: np.ndarray) -> set[str]:
    energy = {part: float(e.sum()) for part, e in hodge_energies(solver, k, forms).items()}
    return {part for part in ("exact", "coexact") if energy[part] > 1e-6 * sum(energy.values())}


def principal_components(values: np.ndarray, star) -> dict[str, Any]:
    """Number of ⋆-principal components with 99 % of the variance of forms (n, N_k), and (Σλ)²/Σλ²."""
    gram = np.empty((len(values), len(values)))
    for start in range(0, len(values), BATCH):
        rows = slice(start, start + BATCH)
        gram[rows] = ((star @ values[rows].T.astype(np.float64)).T) @ values.T
    gram -= gram.mean(axis=0)
    gram -= gram.mean(axis=1, keepdims=True)
    variance = np.clip(np.linalg.eigvalsh((gram + gram.T) / 2)[::-1], 0.0, None)
    if variance.sum() == 0:
        return {"effective_dimension": 0, "participation": 0.0}
    kept = np.cumsum(variance) / variance.sum()
    return {
        "effective_dimension": int(np.searchsorted(kept, ENERGY_KEPT) + 1),
        "participation": float(variance.sum() ** 2 / (variance**2).sum()),
    }


# ---- modes, floors, predictors -----------------------------------------------------------------------------------


def _basis(solver: HodgeSolver, k: int, components: set[str], progress: Progress) -> HodgeBasis:
    """All harmonic modes and at most 256 others, shared out among the components that occur."""
    each = max(N_MODES) // max(len(components), 1)
    n = {part: min(each, solver.rank_d(k - 1 if part == "exact" else k)) for part in components}
    return HodgeBasis(solver.mesh, k, n.get("exact", 0), n.get("coexact", 0), solver=solver, progress=progress)


def lowest_columns(basis: HodgeBasis, n: int) -> np.ndarray:
    """Columns of the harmonic modes and of at most n others, shared out among the parts, each ending at a gap."""
    parts = [part for part in ("exact", "coexact") if len(basis.index(part))]
    columns = [basis.index("harmonic")]
    for part in parts:
        own = basis.index(part)
        count = min(n // len(parts), len(own))
        values = basis.eigenvalues[own]
        while 0 < count < len(own) and values[count] - values[count - 1] <= BLOCK_GAP * values[count]:
            count -= 1
        columns.append(own[:count])
    return np.concatenate(columns)


class _Target:
    """Target forms with what measures errors of their node values."""

    def __init__(self, ground: Ground, spec: FieldSpec, forms: np.ndarray, test: np.ndarray):
        self.ground, self.spec, self.forms, self.test = ground, spec, forms, test
        self.nodes = ground.node_values(spec.degree, spec.reading, forms[test].astype(np.float64))
        self.weight = ground.vertex_measure
        self.size = np.sqrt(np.einsum("v,bvc->b", self.weight, self.nodes**2))

    def error(self, predicted: np.ndarray) -> float:
        """Mean relative L2 of predicted test forms (B_test, N_k) in node values; samples that are zero do not count."""
        nodes = self.ground.node_values(self.spec.degree, self.spec.reading, predicted)
        error = np.sqrt(np.einsum("v,bvc->b", self.weight, (nodes - self.nodes) ** 2))
        known = self.size > 0
        return float((error[known] / self.size[known]).mean()) if known.any() else 0.0

    def floors(self, basis: HodgeBasis) -> list[dict[str, Any]]:
        star = self.ground.dec.star(self.spec.degree)
        total = np.concatenate([square_norms(star, b.astype(np.float64)) for b in _batches(self.forms)])
        c = np.concatenate([basis.coefficients(b.T) for b in _batches(self.forms)], axis=1)  # (n_modes, n)
        out = []
        for n in N_MODES:
            columns = lowest_columns(basis, n)
            left = np.maximum(total - (c[columns] ** 2).sum(axis=0), 0.0)
            projected = (basis.modes[:, columns] @ c[columns][:, self.test]).T
            known = total > 0
            counts = {part: int((basis.part[columns] == part).sum()) for part in ("harmonic", "exact", "coexact")}
            out.append(
                {
                    "asked": n,
                    "modes": counts,
                    "star_error": float(np.sqrt(left[known] / total[known]).mean()) if known.any() else 0.0,
                    "node_error": self.error(projected),
                }
            )
        return out


def _batches(forms: np.ndarray):
    for start in range(0, len(forms), BATCH):
        yield forms[start : start + BATCH]


def _predictors(
    task: Task, data: _Samples, target: _Target, basis: HodgeBasis, bases: dict[str, HodgeBasis], codes: np.ndarray
) -> tuple[dict[str, float | None], dict[str, Any]]:
    train, test = codes == SPLIT["train"], codes == SPLIT["test"]
    n_test = int(test.sum())
    mean = data.target[train].mean(axis=0, dtype=np.float64)
    same = [s.name for s in task.inputs if (s.degree, s.reading) == (task.target.degree, task.target.reading)]
    star = target.ground.dec.star(task.target.degree)
    coefficients = np.concatenate([basis.coefficients(b.T) for b in _batches(data.target)], axis=1).T
    features = []
    for n in N_MODES:
        columns = {name: lowest_columns(b, n) for name, b in bases.items()}
        spectra = {
            name: np.concatenate([(b.star_modes[:, columns[name]].T @ x.T).T for x in _batches(data.inputs[name])])
            for name, b in bases.items()
        }
        features.append(Features.of(n, spectra, data.coefficients, train))
    total = np.concatenate([square_norms(star, b.astype(np.float64)) for b in _batches(data.target)])
    ridge = fit_ridge(features, coefficients, total, train, codes == SPLIT["validation"])
    predicted = ridge.predict(test) @ basis.modes.T
    errors = {
        "zero": target.error(np.zeros((n_test, data.target.shape[1]))),
        "mean": target.error(np.broadcast_to(mean, (n_test, len(mean)))),
        "identity": target.error(data.inputs[same[0]][test].astype(np.float64)) if same else None,
        "ridge": target.error(predicted),
    }
    return errors, {"modes": ridge.features.n_modes, "penalty": ridge.penalty, "on_edge": ridge.on_edge}
