"""One sentence where a device has too little memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from hsd.errors import SolverError

CPU_WORDS = ("can't allocate memory", "not enough memory")
"""What the CPU's allocator says; it has no error class of its own."""


@contextmanager
def enough_memory(what: str, advice: str) -> Iterator[None]:
    """Make a SolverError (out_of_memory) of the device's own error: "WHAT needs more memory …; ADVICE."."""
    try:
        yield
    except RuntimeError as error:
        is_gpu = isinstance(error, torch.OutOfMemoryError)
        if not is_gpu and not any(words in str(error) for words in CPU_WORDS):
            raise
        where = "the GPU" if is_gpu else "this machine"
        raise SolverError(f"{what} needs more memory than {where} has free; {advice}.", "out_of_memory") from error
    except MemoryError as error:
        raise SolverError(f"{what} needs more memory than this machine has free; {advice}.", "out_of_memory") from error
