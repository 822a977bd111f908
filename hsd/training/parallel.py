"""Data-parallel training: every process takes its share of a batch, gradients are summed over processes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import timedelta

import torch
import torch.distributed as dist

from hsd.errors import InputError

PATIENCE = timedelta(hours=2)
"""How long processes wait for each other; the others wait while the first one makes the data."""


def is_first() -> bool:
    """Whether this process is the one of a ``torchrun`` that writes and speaks."""
    return os.environ.get("RANK", "0") == "0"


def is_alone() -> bool:
    """Whether no other process trains with this one."""
    return os.environ.get("WORLD_SIZE", "1") == "1"


class Group:
    """The processes of a ``torchrun`` (one, where there is none): gloo on CPUs, nccl on GPUs, a GPU for each.

    device : "cpu" or "cuda";  local_device: the device of this process
    Raises InputError (few_gpus) where a machine runs more processes than it has GPUs.
    """

    def __init__(self, device: str):
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        self.local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        on_gpu = device.startswith("cuda")
        self.local_device = f"cuda:{self.local_rank}" if device == "cuda" and "LOCAL_RANK" in os.environ else device
        if on_gpu and "LOCAL_RANK" in os.environ:
            there = torch.cuda.device_count()
            if self.local_rank >= there:
                raise InputError(
                    f"Process {self.local_rank + 1} of this machine has no GPU of its own (it has {there}); start at "
                    "most one process a GPU (torchrun --nproc-per-node).",
                    "few_gpus",
                )
            torch.cuda.set_device(self.local_rank)  # what says only "cuda" is on it too
        if self.size > 1 and not dist.is_initialized():
            dist.init_process_group("nccl" if on_gpu else "gloo", timeout=PATIENCE)

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def share(self, rows: torch.Tensor) -> torch.Tensor:
        """This process's part of a batch's rows."""
        return rows[self.rank :: self.size]

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Sum of the gradients over all processes, in place."""
        if self.size == 1:
            return
        parameters = list(parameters)
        grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
        flat = torch.cat([g.flatten() for g in grads])
        dist.all_reduce(flat)
        for p, g in zip(parameters, torch.split(flat, [g.numel() for g in grads])):
            p.grad = g.view_as(p).clone()

    def sum(self, value: float) -> float:
        """The sum over all processes."""
        return self._reduced([value], dist.ReduceOp.SUM)[0]

    def agree(self, value: float, wish: bool = False) -> tuple[float, bool]:
        """The first process's value, and whether any process has the wish: the same for all of them."""
        lowest = -float("inf")
        value, wished = self._reduced([value if self.is_first else lowest, float(wish)], dist.ReduceOp.MAX)
        return value, bool(wished)

    def _reduced(self, values: list[float], how: dist.ReduceOp) -> list[float]:
        if self.size == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64, device=self.local_device)
        dist.all_reduce(tensor, op=how)
        return tensor.tolist()

    def broadcast(self, tensors: Iterable[torch.Tensor]) -> None:
        """Give all processes the first one's values."""
        if self.size > 1:
            for tensor in tensors:
                dist.broadcast(tensor, 0)

    def close(self) -> None:
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()
