"""The validation sample that is redrawn as a run learns: predicted in a thread of its own, never in a page's script."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from hsd.errors import HsdError
from hsd.viz.scene import Scene
from hsd.viz.task_sample import Sample, file_sample
from hsd.viz.training_scene import learning_scene

if TYPE_CHECKING:
    from hsd.training.snapshot import Observer, Snapshot

PATIENCE = 0.25
"""Seconds that a page waits for a prediction before it goes on with the last one."""
REST, SHARE = 1.0, 4.0
"""Seconds between two predictions of a run that trains, and at least so many times what the last one took, so that
looking does not slow it down."""
KEPT = 2


@dataclass(frozen=True, eq=False)
class Look:
    """stamp : of the state that was read;  error : sentence where it could not be."""

    stamp: int
    i: int
    snapshot: Snapshot | None = None
    sample: Sample | None = None
    error: str = ""


class Watcher:
    """Predictions of runs by folder and validation sample, one at a time for all visitors."""

    def __init__(self):
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="training-look")
        self._lock = threading.Lock()
        self._observers: OrderedDict[Path, Observer] = OrderedDict()
        self._looks: OrderedDict[tuple[Path, int], Look] = OrderedDict()
        self._under_way: dict[tuple[Path, int], Future] = {}
        self._next: dict[Path, float] = {}

    def look(self, folder: Path, i: int, alive: bool) -> tuple[Look | None, bool]:
        """The latest look at a sample, and whether a newer one is being made; of a run that trains the last one is
        given at once, and the newer one when the page asks again."""
        key, stamp = (folder, i), stamp_of(folder)
        with self._lock:
            known, future = self._looks.get(key), self._under_way.get(key)
            if stamp == 0 or (known is not None and known.stamp == stamp):
                return known, False
            rested = not alive or time.monotonic() > self._next.get(folder, 0.0)
            if future is None and (rested or known is None):
                future = self._under_way[key] = self._pool.submit(self._make, folder, i, stamp)
        if future is None:
            return known, False
        try:
            future.result(0.0 if alive and known is not None else PATIENCE)
        except TimeoutError:
            return known, True
        with self._lock:
            return self._looks.get(key), False

    def _make(self, folder: Path, i: int, stamp: int) -> None:
        """In the thread: predict, and leave the look; where the best weights are those of the last look, it stays."""
        from hsd.training.state import STATE, best_weights

        began, known = time.monotonic(), self._looks.get((folder, i))
        try:
            if known and known.snapshot and best_weights(folder / STATE)[0] == known.snapshot.epoch:
                look = replace(known, stamp=stamp)
            else:
                observer = self._observer(folder)
                snapshot = observer.look(i)
                look = Look(stamp, i, snapshot, file_sample(observer.dataset, observer.ground, snapshot.number))
        except HsdError as error:
            look = Look(stamp, i, error=error.message)
        except (OSError, RuntimeError, MemoryError) as error:
            look = Look(stamp, i, error=f"The sample could not be predicted ({error}); the training goes on.")
        with self._lock:
            self._looks[folder, i] = look
            self._looks.move_to_end((folder, i))
            while len(self._looks) > 8:
                self._looks.popitem(last=False)
            self._under_way.pop((folder, i), None)
            now = time.monotonic()
            self._next[folder] = now + max(REST, SHARE * (now - began))

    def _observer(self, folder: Path) -> Observer:
        from hsd.training.snapshot import Observer

        if folder not in self._observers:
            self._observers[folder] = Observer(folder)
        self._observers.move_to_end(folder)
        while len(self._observers) > KEPT:
            self._observers.popitem(last=False)
        return self._observers[folder]


@st.cache_resource(show_spinner=False)
def watcher() -> Watcher:
    """One for the server."""
    return Watcher()


def stamp_of(folder: Path) -> int:
    """Changes with the run's saved state; 0 where there is none."""
    from hsd.training.snapshot import STATE

    try:
        return (folder / STATE).stat().st_mtime_ns
    except OSError:
        return 0


def scene_of(folder: Path, look: Look, theme: str, caption: str) -> Scene:
    """The picture of a look, one object as long as the weights are the same, so that the viewer is sent it once."""
    return _scene(str(folder), look.snapshot.epoch, look.i, theme, caption, look)


@st.cache_resource(max_entries=8, show_spinner=False)
def _scene(folder: str, epoch: int, i: int, theme: str, caption: str, _look: Look) -> Scene:
    from hsd.ui.task_view import place_of

    place = place_of(_look.sample.ground.mesh, "slice")
    return learning_scene(place, _look.sample, _look.snapshot.nodes, theme, caption)
