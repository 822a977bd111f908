"""How many steps a run has, and the learning rate along them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hsd.training.config import TrainingConfig

WARM_STEPS, MEASURED_STEPS = 2, 6
"""First steps that are not timed, and steps that are, before the schedule of a run with a limit in minutes is laid."""
AGAIN = (0.1, 0.2, 0.4, 0.8)
"""Shares of such a limit after which the schedule is laid again, from the pace since it was last laid."""
WARM_UP = 0.05


@dataclass
class Progress:
    """Where a run is; all of it is in its saved state.

    step, epoch, seconds : finished steps, epoch under way (from 0), training time so far
    warm_seconds         : of these, in the steps before the measured ones
    total_steps          : of the schedule; None until it is laid
    laid_again           : shares of a limit in minutes (AGAIN) after which the schedule has been laid again;
    laid_step, laid_seconds : where it was last laid
    done_in_epoch        : batches of the epoch that are finished;  sums: of the training loss in this epoch
    best, best_epoch     : smallest validation error and where it was
    """

    step: int = 0
    epoch: int = 0
    done_in_epoch: int = 0
    sums: list[float] = field(default_factory=lambda: [0.0, 0.0])
    seconds: float = 0.0
    warm_seconds: float = 0.0
    total_steps: int | None = None
    laid_step: int = 0
    laid_seconds: float = 0.0
    laid_again: int = 0
    best: float = math.inf
    best_epoch: int = -1
    finished: bool = False

    @property
    def is_at_end(self) -> bool:
        """Whether the schedule has no further step."""
        return self.total_steps is not None and self.step >= self.total_steps

    def share(self, config: TrainingConfig) -> float:
        """Share of the run that is done, as far as is known."""
        if self.total_steps:
            return min(1.0, self.step / self.total_steps)
        return min(1.0, self.seconds / (60 * config.minutes)) if config.minutes else 0.0


def lay(p: Progress, config: TrainingConfig, n_batches: int) -> None:
    """Set ``total_steps`` after a step.

    A run in epochs has them at once.  One in minutes has as many as fit at the pace of its first measured steps; these
    say little, so they are counted again after the shares AGAIN of the budget (and where its steps are done before).
    All of it depends on p only, so that a resumed run lays what it would have laid.
    """
    if not config.minutes:
        p.total_steps = config.epochs * n_batches
        return
    budget = 60 * config.minutes
    if p.total_steps is None:
        if p.step == WARM_STEPS:
            p.warm_seconds = p.seconds
        elif p.step >= WARM_STEPS + MEASURED_STEPS:
            each = (p.seconds - p.warm_seconds) / MEASURED_STEPS
            p.total_steps = p.step + max(1, _fitting(budget - p.seconds, each))
            p.laid_step, p.laid_seconds = p.step, p.seconds
    elif p.laid_again < len(AGAIN):
        is_due = p.seconds >= AGAIN[p.laid_again] * budget and p.step >= p.laid_step + MEASURED_STEPS
        if is_due or p.is_at_end:
            each = (p.seconds - p.laid_seconds) / (p.step - p.laid_step)
            p.total_steps = p.step + _fitting(budget - p.seconds, each)
            p.laid_step, p.laid_seconds = p.step, p.seconds
            p.laid_again = max(p.laid_again + 1, sum(p.seconds >= share * budget for share in AGAIN))


def _fitting(seconds: float, each: float) -> int:
    return max(0, round(seconds / max(each, 1e-9)))


def factor(p: Progress, schedule: str) -> float:
    """What the learning rate of the next step is multiplied with: 1, or a warm-up and a cosine to zero."""
    if schedule != "cosine":
        return 1.0
    if not p.total_steps:
        return 0.1
    warm = max(1, int(WARM_UP * p.total_steps))
    past = min(1.0, max(0.0, (p.step - warm) / max(1, p.total_steps - warm)))
    return min(1.0, (p.step + 1) / warm) * 0.5 * (1 + math.cos(math.pi * past))
