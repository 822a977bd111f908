"""Progress of long work on a terminal: stage, share done and time left, on one line of the error stream."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

SECONDS = 30.0
"""A line at least so often of work with a known share, where lines are not rewritten."""


class Progress:
    """Callable (stage, fraction | None, note) that rewrites one line; leaving its ``with`` block wipes it.

    stream : where to write, None for nowhere
    live   : rewrite one line (a terminal), else write a line for each stage, note, ten per cent and half a minute
    The time left is that at the pace since the stage began, which may be with a part of it done (a resumed run).
    """

    def __init__(self, stream: TextIO | None, live: bool, clock: Callable[[], float] = time.monotonic):
        self._stream, self._live, self._clock = stream, live, clock
        self._stage, self._start, self._begun, self._width = None, 0.0, 0.0, 0
        self._last, self._written = (), 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_) -> None:
        if self._stream is not None and self._live and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0

    def __call__(self, stage: str, fraction: float | None = None, note: str = "") -> None:
        if self._stream is None:
            return
        now = self._clock()
        fraction = None if fraction is None else min(max(float(fraction), 0.0), 1.0)
        if stage != self._stage:
            self._stage, self._start, self._begun = stage, now, fraction or 0.0
        elapsed = now - self._start
        text = stage
        if fraction is not None:
            text += f" {100 * fraction:3.0f} %"
        if note:
            text += f", {note}"
        if elapsed >= 1:
            text += f", {duration(elapsed)}"
            if fraction is not None and self._begun < fraction < 1:
                left = elapsed * (1 - fraction) / (fraction - self._begun)
                text += f", about {duration(left)} left"
        if self._live:
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            key = (stage, note, None if fraction is None else int(10 * fraction))
            if key != self._last or (fraction is not None and now - self._written >= SECONDS):
                self._stream.write(text + "\n")
                self._last, self._written = key, now
        self._stream.flush()


def duration(seconds: float) -> str:
    """Seconds in words: ``8 s``, ``2 min 05 s``, ``1 h 10 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
