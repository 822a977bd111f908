"""The one loop that trains every model: AdamW, schedule, clipping, early stopping, resumable at any moment."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from hsd.errors import InputError, SolverError, naming
from hsd.linalg import silent
from hsd.models.base import Operator
from hsd.models.registry import make_model
from hsd.training.config import TrainingConfig
from hsd.training.data import TrainingData
from hsd.training.parallel import Group
from hsd.training.schedule import Progress, factor, lay
from hsd.training.state import LOG, STATE, read_state, write_state
from hsd.training.step_log import StepLog
from hsd.training.steps import Objective, batches, validation_error

Report = Callable[[dict[str, Any]], None]
SAVE_SECONDS, SHOW_SECONDS = 20.0, 0.2


class Trainer:
    """Trains one model on training data; ``fit`` sees training and validation samples only.

    folder : where state, best weights and the log (``log.jsonl``) go; None keeps nothing on disk
    report : called after each epoch with its log entry;  should_stop: asked after each step
    show   : called with "training" and the share of the run that is done, after a step, a few times a second
    Raises SolverError (diverged), naming the epoch; the best weights so far are kept.
    """

    def __init__(
        self,
        data: TrainingData,
        config: TrainingConfig,
        folder: Path | None = None,
        device: str = "cpu",
        report: Report = lambda entry: None,
        should_stop: Callable[[], bool] = lambda: False,
        task: str | None = None,
        show: Callable[[str, float], None] = silent,
    ):
        self.config, self.folder = config, folder
        self.report, self.should_stop, self.show = report, should_stop, show
        self.group = Group(device)
        self.step_log = StepLog(folder if self.group.is_first else None)
        self.device = self.group.local_device
        dtype = torch.float64 if config.precision == "float64" else torch.float32
        self.data = data.to(self.device, dtype)
        torch.manual_seed(config.seed)
        self.model: Operator = make_model(config.model, data.domain, task, **config.model_config)
        self.model.to(self.device, dtype)
        first = self.data.train[0]
        self.model.prepare(first.batch[: min(len(first), 1024)], first.domain)
        self.micro_batch = config.micro_batch or self.model.micro_batch
        own = self.model.config
        self.base_lr = config.lr or own.lr
        decay = own.weight_decay if config.weight_decay is None else config.weight_decay
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=self.base_lr, weight_decay=decay)
        self.objective = Objective(config.loss)
        self.progress = Progress()
        self.best_weights: dict[str, torch.Tensor] | None = None
        self.forward = self._compiled() if config.compile else self.model
        self.n_batches = sum(math.ceil(len(s) / config.batch_size) for s in self.data.train)
        if folder is not None and (folder / STATE).is_file():
            self._resume()
        elif folder is not None:  # killed before its first state was whole: what its logs say is trained again
            self._cut_log()
        self.group.broadcast([p.data for p in self.model.parameters()])

    def _compiled(self) -> Callable[..., torch.Tensor]:
        """torch.compile of the model, the constants of its domains made before, so that no SciPy is traced."""
        self.model.eval()  # running statistics are those of the steps alone
        with torch.no_grad():
            for samples in self.data.train:
                self.model(samples.batch[:1], samples.domain)
        return torch.compile(self.model.train())

    # ---- the loop ------------------------------------------------------------------------------------------------

    def fit(self) -> Operator:
        """Train until schedule, patience or ``should_stop`` ends it; returns the model with its best weights."""
        p, config = self.progress, self.config
        saved, shown, stopping = time.monotonic(), -math.inf, False
        while not p.finished and not stopping:
            order = list(batches(self.data.train, config.batch_size, config.seed, p.epoch))
            for group, rows in order[p.done_in_epoch :]:
                begun = self._clock()
                loss = self.train_step(group, rows)
                used, asked = self.group.agree(self._clock() - begun, self.should_stop())
                p.seconds += used
                p.step, p.done_in_epoch = p.step + 1, p.done_in_epoch + 1
                p.sums = [p.sums[0] + loss * len(rows), p.sums[1] + len(rows)]
                lay(p, config, self.n_batches)
                if not math.isfinite(loss):
                    self._diverged()
                at_end = p.is_at_end
                stopping = asked and not at_end
                lr = self.optimiser.param_groups[0]["lr"]
                self.step_log.add(loss, p.step, p.epoch, lr, p.total_steps, at_end or stopping)
                if time.monotonic() - shown > SHOW_SECONDS:
                    shown = time.monotonic()
                    self.show("training", p.share(config))
                if at_end:
                    break
                if time.monotonic() - saved > SAVE_SECONDS:
                    self.save()
                    saved = time.monotonic()
                if stopping and p.done_in_epoch < len(order):  # after the last batch the epoch ends first
                    self.save()
                    return self._with_best()
            self._end_epoch()
        return self._with_best()

    def end_here(self) -> None:
        """Count the run as finished with the best weights so far.  Raises InputError (no_epoch)."""
        if self.best_weights is None:
            raise InputError("No epoch has ended yet, so there are no best weights; train on.", "no_epoch")
        self.progress.finished = True
        self.save()

    def _clock(self) -> float:
        """Seconds of a time budget: on a CPU those that this process computed, divided by its threads."""
        if self.device.startswith("cpu"):
            return time.process_time() / torch.get_num_threads()
        return time.monotonic()

    def train_step(self, group: int, rows: torch.Tensor) -> float:
        """One optimiser step on a batch, micro-batches accumulated; returns the loss."""
        config, samples = self.config, self.data.train[group]
        self._set_lr()
        self.optimiser.zero_grad(set_to_none=True)
        mine = self.group.share(rows)
        size = self.micro_batch or max(len(mine), 1)
        total = 0.0
        for i in range(0, len(mine), size):
            part = mine[i : i + size].to(self.device)
            with torch.autocast(self.device.split(":")[0], torch.bfloat16, enabled=config.precision == "bfloat16"):
                prediction = self.forward(samples.batch[part], samples.domain)
            loss = self.objective(prediction, samples, part) * (len(part) / len(rows))
            loss.backward()
            total += float(loss.detach())
        noise = torch.Generator().manual_seed(config.seed * 1_000_003 + self.progress.step)
        extra = self.model.penalty(samples.domain, noise)
        if extra is not None:
            (extra / self.group.size).backward()
        self.group.sum_gradients(list(self.model.parameters()))
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip)
        if torch.isfinite(norm):
            self.optimiser.step()
            return self.group.sum(total)
        return math.nan

    def _set_lr(self) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = self.base_lr * factor(self.progress, self.config.schedule)

    def _end_epoch(self) -> None:
        p, config = self.progress, self.config
        channel = self.data.normaliser.channels["target"]
        begun = time.monotonic()
        error = validation_error(
            self.model, self.data.validation, self.micro_batch or config.batch_size, channel.mean, channel.scale
        )
        error, _ = self.group.agree(error)  # patience must end all processes together
        if not math.isfinite(error):
            self._diverged()
        seen = p.epoch * sum(len(samples) for samples in self.data.train) + p.sums[1]
        improved = error < p.best
        if improved:
            p.best, p.best_epoch = error, p.epoch
            self.best_weights = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        entry = {
            "epoch": p.epoch,
            "step": p.step,
            "total_steps": p.total_steps,
            "train_loss": p.sums[0] / max(p.sums[1], 1),
            "validation": error,
            "best": p.best,
            "lr": self.optimiser.param_groups[0]["lr"],
            "seconds": round(p.seconds, 3),
            "validation_seconds": round(time.monotonic() - begun, 3),
            "samples_per_s": round(seen / max(p.seconds, 1e-9), 2),
        }
        if self.device.startswith("cuda"):
            entry["gpu_memory_mb"] = round(torch.cuda.max_memory_allocated() / 2**20)
        p.epoch, p.done_in_epoch, p.sums = p.epoch + 1, 0, [0.0, 0.0]
        out_of_patience = bool(config.patience) and p.epoch - 1 - p.best_epoch >= config.patience
        p.finished = out_of_patience or p.is_at_end
        if self.folder is not None and self.group.is_first:
            self.folder.mkdir(parents=True, exist_ok=True)
            with naming(self.folder / LOG), (self.folder / LOG).open("a", encoding="utf-8") as log:
                log.write(json.dumps(entry) + "\n")
        self.save()
        self.report(entry)

    def _with_best(self) -> Operator:
        if self.best_weights is not None:
            self.model.load_state_dict(self.best_weights)
        self.model.eval()
        return self.model

    def _diverged(self) -> None:
        kept = "the best weights so far are kept" if self.best_weights is not None else "no epoch had finished before"
        lr = self.config.lr if self.config.lr is not None else self.model.config.lr
        raise SolverError(
            f"Training of {self.model.title} diverged in epoch {self.progress.epoch}, counted from 0 (the loss is not "
            f"finite); {kept}. Try a smaller learning rate than {lr:g}.",
            "diverged",
        )

    # ---- state ---------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write the whole state (weights, optimiser, progress) atomically."""
        if self.folder is not None and self.group.is_first:
            write_state(self.folder / STATE, self)

    def _resume(self) -> None:
        saved = read_state(self.folder / STATE, self)
        if saved != self.config.as_dict():
            differing = sorted(k for k in saved if saved[k] != self.config.as_dict().get(k))
            raise InputError(
                f"The run in {self.folder.name} was started with other settings ({', '.join(differing)}); "
                "resume it with those, or take a new folder.",
                "other_config",
            )
        self._cut_log()

    def _cut_log(self) -> None:
        """Drop log entries of epochs after the saved state."""
        log = self.folder / LOG
        self.step_log.cut(self.progress.step)
        if log.is_file() and self.group.is_first:
            lines = log.read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if line.endswith("}") and json.loads(line)["epoch"] < self.progress.epoch]
            log.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
