"""Truth and models over many samples of a task: spectra, bars of level sets and errors, kept on disk block by block.

    truth, found = over_samples(Bench.of(task, ground), seed, numbers, {"hsd": Contender(sha256, predict)})
    truth.counts(rule), found["hsd"].relative_l2, found["hsd"].error_energies

All fields are node values of one sharp map, their forms of one flat map, for the truth too, as in the tables.
Samples are computed 16 at a time; a block that is on disk is not computed again, so that a broken run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hsd.data.ground import Ground
from hsd.data.splits import PARTS, split_codes
from hsd.data.tasks.base import Realisation, Task
from hsd.errors import HsdError
from hsd.hodge.cache import cache_key, read_entry, write_entry
from hsd.hodge.spectrum import HodgeBasis
from hsd.metrics.field import relative_l2
from hsd.metrics.levels import LevelRule, SuperlevelBars, superlevel_bars
from hsd.metrics.pair import Pair, node_values
from hsd.metrics.topology import iou
from hsd.metrics.yardstick import N_MODES, Yardstick, default_basis
from hsd.training.evaluate import VORTICITY_TASKS

BLOCK = 16
VERSION = "over-samples-1"
Predict = Callable[[np.ndarray, Mapping[str, np.ndarray]], np.ndarray]
"""Source (B, N) and coefficients name → (B, m), physical → node values (B, n_vertices, C)."""


@dataclass(frozen=True, eq=False)
class Bench:
    """What samples are made and measured with: task, mesh, yardstick, and the basis (harmonic modes included)."""

    task: Task
    ground: Ground
    yardstick: Yardstick
    basis: HodgeBasis

    @classmethod
    def of(cls, task: Task, ground: Ground, yardstick: Yardstick | None = None) -> Bench:
        target = task.target
        basis = default_basis(ground, target.degree, N_MODES)
        if yardstick is None:
            vorticity = task.family in VORTICITY_TASKS
            yardstick = Yardstick.of(ground, target.degree, target.reading, basis, is_vorticity=vorticity)
        return cls(task, ground, yardstick, basis)

    def coefficients(self, forms: np.ndarray) -> np.ndarray:
        """c = Φᵀ ⋆ ω of forms (B, N_k), (B, n) in the order of the basis."""
        return np.asarray(forms, np.float64) @ self.basis.star_modes


@dataclass(frozen=True)
class Contender:
    """A model: checksum of its weights and what predicts with it."""

    sha256: str
    predict: Predict


@dataclass(frozen=True, eq=False)
class Digest:
    """What is kept of a field over B samples.

    numbers : (B,) of the samples;  energies: (B, n) |c|² by column of the basis
    bars : of the superlevel sets of its level field;  low, high: (B,) range of the truth's
    relative_l2, iou, error_energies : against the truth (of the truth itself 0, 1, zeros); NaN where not finite
    """

    numbers: np.ndarray
    energies: np.ndarray
    error_energies: np.ndarray
    relative_l2: np.ndarray
    iou: np.ndarray
    low: np.ndarray
    high: np.ndarray
    bars: SuperlevelBars

    def counts(self, rule: LevelRule) -> np.ndarray:
        """β0 at the rule's levels, (B, T)."""
        size = self.high - self.low
        levels = self.low[:, None] + np.array(rule.fractions) * size[:, None]
        return self.bars.betti0(levels, rule.min_persistence * size)


def held_out_numbers(data: Mapping) -> tuple[int, np.ndarray]:
    """Seed and numbers of the test samples of the data that a checkpoint was trained with (``manifest["data"]``)."""
    seed = int(data.get("seed", 0))
    split = int((data.get("split") or {}).get("seed", seed))
    return seed, np.flatnonzero(split_codes(int(data["n_samples"]), split) == PARTS["test"])


def over_samples(
    bench: Bench,
    seed: int,
    numbers: Sequence[int],
    contenders: Mapping[str, Contender],
    progress: Callable[[float, str], None] = lambda share, words: None,
    compute: bool = True,
    refused: dict[str, str] | None = None,
) -> tuple[Digest, dict[str, Digest]] | None:
    """Digests of the truth and of every contender over samples of a seed.

    compute : False returns None where a block is not on disk yet
    refused : takes the sentence of each contender that cannot run; without it its HsdError is raised
    """
    numbers = np.asarray(numbers, np.int64)
    chunks = [numbers[i : i + BLOCK] for i in range(0, len(numbers), BLOCK)]
    names, out = ("", *contenders), {}
    done, total = 0, max(len(chunks) * len(names), 1)
    for chunk in chunks:
        made: Realisation | None = None
        for name in names:
            if name and refused and name in refused:
                continue
            sha = contenders[name].sha256 if name else "truth"
            key = _key(bench, seed, chunk, sha)
            arrays = read_entry(key)
            if arrays is None:
                if not compute:
                    return None
                progress(done / total, f"{name or 'Truth'}: samples {done // len(names) * BLOCK + 1} of {len(numbers)}")
                if made is None:
                    made = bench.task.realise([bench.task.sample(seed, int(i)) for i in chunk], bench.ground)
                try:
                    arrays = _measure(bench, made, contenders[name].predict if name else None)
                except HsdError as error:
                    if refused is None or not name:
                        raise
                    refused[name] = error.message
                    out.pop(name, None)
                    continue
                write_entry(key, arrays)
            out.setdefault(name, []).append(arrays)
            done += 1
    digests = {name: _joined(numbers, blocks) for name, blocks in out.items()}
    return digests.pop(""), digests


def _key(bench: Bench, seed: int, numbers: np.ndarray, sha: str) -> str:
    config = sorted((k, repr(v)) for k, v in bench.task.config_dict.items() if k not in ("n_samples", "loss_weights"))
    mesh, n = bench.ground.mesh.content_hash, bench.basis.n_modes
    return cache_key(VERSION, bench.task.name, config, mesh, n, seed, numbers.tolist(), sha)


def _measure(bench: Bench, made: Realisation, predict: Predict | None) -> dict[str, np.ndarray]:
    """Arrays of one block of the truth or of one model."""
    yardstick = bench.yardstick
    truth = node_values(yardstick, made.target, "truth")
    nodes = truth
    if predict is not None:
        nodes = predict(made.inputs[bench.task.inputs[0].name], made.coefficients)
    pair = Pair.of_nodes(yardstick, nodes, truth)
    p, g = pair.level_arrays
    finite = np.isfinite(p).all(axis=1) & np.isfinite(pair.forms_p.numpy()).all(axis=1)
    bars = superlevel_bars(np.where(finite[:, None], p, 0.0), yardstick.edges.numpy())
    c = bench.coefficients(pair.forms_p.numpy())
    e = bench.coefficients(pair.form_error.numpy())
    return {
        "energies": c**2,
        "error_energies": e**2,
        "relative_l2": np.where(finite, relative_l2(pair).numpy(), np.nan),
        "iou": np.where(finite, iou(pair).numpy(), np.nan),
        "low": g.min(axis=1),
        "high": g.max(axis=1),
        "bar_field": bars.field,
        "bar_birth": bars.birth,
        "bar_death": bars.death,
    }


def _joined(numbers: np.ndarray, blocks: Sequence[Mapping[str, np.ndarray]]) -> Digest:
    names = ("energies", "error_energies", "relative_l2", "iou", "low", "high")
    plain = {name: np.concatenate([b[name] for b in blocks]) for name in names}
    starts = np.cumsum([0, *(len(b["low"]) for b in blocks)])[:-1]
    field = np.concatenate([b["bar_field"] + start for b, start in zip(blocks, starts)])
    birth, death = (np.concatenate([b[name] for b in blocks]) for name in ("bar_birth", "bar_death"))
    return Digest(numbers, **plain, bars=SuperlevelBars(len(numbers), field, birth, death))
