"""Data-parallel training: every process takes its share of a batch, gradients are summed over processes."""

from __future__ import annotations

import os
from collections.abc import Iterable

import torch
import torch.distributed as dist


class Group:
    """The processes of a ``torchrun`` (one, where there is none): gloo on CPUs, nccl on GPUs."""

    def __init__(self, device: str):
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        if self.size > 1 and not dist.is_initialized():
            dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @staticmethod
    def local_device(device: str) -> str:
        """The device of this process: with several GPUs one each."""
        if device == "cuda" and "LOCAL_RANK" in os.environ:
            return f"cuda:{os.environ['LOCAL_RANK']}"
        return device

    def share(self, rows: torch.Tensor) -> torch.Tensor:
        """This process's part of a batch's rows."""
        return rows[self.rank :: self.size]

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Sum of the gradients over all processes, in place."""
        if self.size == 1:
            return
        grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
        flat = torch.cat([g.flatten() for g in grads])
        dist.all_reduce(flat)
        for p, g in zip(parameters, torch.split(flat, [g.numel() for g in grads])):
            p.grad = g.view_as(p).clone()

    def sum(self, value: float) -> float:
        if self.size == 1:
            return value
        tensor = torch.tensor([value], dtype=torch.float64)
        if dist.get_backend() == "nccl":
            tensor = tensor.cuda()
        dist.all_reduce(tensor)
        return float(tensor[0])

    def broadcast(self, tensors: Iterable[torch.Tensor]) -> None:
        """Give all processes the first one's values."""
        if self.size > 1:
            for tensor in tensors:
                dist.broadcast(tensor, 0)

    def close(self) -> None:
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()
