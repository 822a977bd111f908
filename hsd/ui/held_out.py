"""Truth and chosen models over test samples, for Level Sets and Spectral Energy: on request, kept on disk.

Test samples are those of the data that the first chosen model was trained with; samples that another chosen model was
trained on or chosen with are left out.  Of a dataset file they are those of its split on the mesh shown.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from hsd.errors import HsdError, InputError
from hsd.ui import comparison_models
from hsd.ui.bound import bound_selectbox
from hsd.ui.comparison_answers import Progress, Ready
from hsd.ui.comparison_models import Model
from hsd.ui.comparison_view import Bar
from hsd.ui.comparison_work import said
from hsd.ui.state import get_state

if TYPE_CHECKING:
    from hsd.experiments.over_samples import Bench, Contender, Digest

SIZES = (16, 32, 64, 128, 256, 600)
REMEMBERED = 12
"""Passes kept in memory; all are on disk."""


@dataclass(frozen=True, eq=False)
class Pass:
    """Digests of the truth and of the models over samples ``numbers`` of ``seed``.

    refused : title → sentence of models that take no part
    """

    seed: int
    numbers: np.ndarray
    truth: Digest
    found: Mapping[Model, Digest]
    refused: Mapping[str, str] = field(default_factory=dict)


_passes: OrderedDict[tuple, Pass] = OrderedDict()


def samples_of(ready: Ready, most: int) -> tuple[int, np.ndarray]:
    """Seed and numbers of at most ``most`` test samples.  Raises InputError (no_test_set)."""
    from hsd.experiments.over_samples import held_out_numbers

    if ready.file is not None:
        numbers = ready.file.numbers_of("test", ready.ground)[:most]
        if len(numbers):
            return get_state().seed, numbers
        raise InputError(f"{ready.task.title} has no test sample on the mesh shown; choose another.", "no_test_set")
    for model in ready.models:
        try:
            data = comparison_models.manifest_of(model).get("data") or {}
        except HsdError:
            continue
        if isinstance(data.get("n_samples"), int):
            seed, numbers = held_out_numbers(data)
            fair = [int(i) for i in numbers if all(_unseen(m, seed, int(i)) for m in ready.models)]
            if fair:
                return seed, np.array(fair[:most])
    raise InputError(
        "No chosen model says which samples are its test set; choose a shipped model or a run on this task.",
        "no_test_set",
    )


def _unseen(model: Model, seed: int, i: int) -> bool:
    try:
        return comparison_models.part_of_sample(model, seed, i) in ("test", "unseen")
    except HsdError:
        return True


def bench_of(ready: Ready) -> Bench:
    """What truth and models are measured with on this mesh."""
    return _bench(ready.task.name, ready.mesh.content_hash, ready)


@st.cache_resource(max_entries=4, show_spinner="Reading the modes of the mesh")
def _bench(task: str, mesh: str, _ready: Ready) -> Bench:
    from hsd.experiments.over_samples import Bench

    return Bench.of(_ready.task, _ready.ground, comparison_models.yardstick_of(_ready.task, _ready.ground))


def contender_of(ready: Ready, model: Model) -> Contender:
    """A model as the pass takes it; torch's failures become sentences, and visitors take turns block by block."""
    from hsd.experiments.over_samples import Contender

    def predict(source: np.ndarray, coefficients: Mapping[str, np.ndarray]) -> np.ndarray:
        predictor = comparison_models.predictor_of(model, ready.task, ready.ground, ready.device)
        with comparison_models.TURN, said(model.title):
            return predictor(predictor.domain, source, coefficients).nodes

    return Contender(str(comparison_models.manifest_of(model)["sha256"]), predict)


def pass_of(ready: Ready, progress: Progress | None) -> Pass | None:
    """The pass over the test samples of the state; None where it is not on disk and there is no ``progress``.

    Raises InputError (no_test_set) and those of the truth.
    """
    seed, numbers = samples_of(ready, get_state().levels.samples)
    models = tuple((str(m.path), comparison_models.stamp(m.path)) for m in ready.models)
    key = (ready.task.name, ready.mesh.content_hash, seed, tuple(numbers.tolist()), models, ready.device)
    if key not in _passes:
        made = _made(ready, seed, numbers, progress)
        if made is None:
            return None
        _passes[key] = made
        while len(_passes) > REMEMBERED:
            _passes.popitem(last=False)
    return _passes[key]


def _made(ready: Ready, seed: int, numbers: np.ndarray, progress: Progress | None) -> Pass | None:
    from hsd.experiments.over_samples import over_samples

    contenders, refused = {}, {}
    for model in ready.models:
        try:
            comparison_models.check_task(model, ready.task)
            contenders[model.title] = contender_of(ready, model)
        except HsdError as error:
            refused[model.title] = error.message
    more = {} if progress is None else {"progress": progress}
    bench = bench_of(ready)
    made = over_samples(bench, seed, numbers, contenders, compute=progress is not None, refused=refused, **more)
    if made is None:
        return None
    truth, digests = made
    return Pass(seed, numbers, truth, {m: digests[m.title] for m in ready.models if m.title in digests}, refused)


def offered(ready: Ready, key: str, words: str) -> Pass | None:
    """The pass where it is there; else a button that makes it, with progress.  Sentences where there can be none."""
    left, middle = st.columns([1, 3], vertical_alignment="bottom")
    with left:
        sizes = sorted({*SIZES, get_state().levels.samples})
        bound_selectbox("Test samples", "levels.samples", sizes, lambda n: f"up to {n}", name=key)
    try:
        _, numbers = samples_of(ready, get_state().levels.samples)
    except InputError as error:
        st.info(error.message)
        return None
    found = pass_of(ready, None)
    if found is None:
        with middle:
            pressed = st.button(words.format(n=len(numbers)), key=f"{key}/run", type="primary")
        if pressed and computed(ready) is not None:
            st.rerun()
        return None
    with middle:
        n, task = len(found.numbers), ready.task.title
        of = (
            f"of the split of {task}"
            if ready.file is not None
            else (f"of {task} (seed {found.seed}), which no chosen model was trained on")
        )
        st.caption(f"{n} test samples {of}; kept on disk.")
    for title, sentence in found.refused.items():
        st.warning(f"{title}: {sentence}")
    return found


def computed(ready: Ready) -> Pass | None:
    """Make the pass with progress on the page."""
    bar = Bar()
    try:
        return pass_of(ready, bar)
    finally:
        bar.done()
