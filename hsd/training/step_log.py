"""Losses between the ends of epochs, for those who watch: ``steps.jsonl`` in the run folder."""

from __future__ import annotations

import json
import time
from pathlib import Path

from hsd.errors import naming

STEPS = "steps.jsonl"
SECONDS = 0.5
"""An entry at most so often."""


class StepLog:
    """Collects the loss of each step and writes the mean of those since the last entry.

    Entries: step, epoch, steps (how many the mean is over), train_loss, lr, total_steps, time (seconds since 1970).
    folder : of the run; None writes nothing
    """

    def __init__(self, folder: Path | None):
        self.path = None if folder is None else folder / STEPS
        self._losses: list[float] = []
        self._written = 0.0

    def add(self, loss: float, step: int, epoch: int, lr: float, total_steps: int | None, last: bool = False) -> None:
        """Note a step; ``last``: write now, because no other one follows."""
        self._losses.append(loss)
        if self.path is None or not (last or time.monotonic() - self._written > SECONDS):
            return
        entry = {
            "step": step,
            "epoch": epoch,
            "steps": len(self._losses),
            "train_loss": sum(self._losses) / len(self._losses),
            "lr": lr,
            "total_steps": total_steps,
            "time": round(time.time(), 3),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with naming(self.path), self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")
        self._losses, self._written = [], time.monotonic()

    def cut(self, step: int) -> None:
        """Drop entries of steps after a saved state."""
        if self.path is None or not self.path.is_file():
            return
        lines = self.path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if line.endswith("}") and json.loads(line)["step"] <= step]
        self.path.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
