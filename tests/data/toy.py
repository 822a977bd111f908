"""A small task for tests of the machinery; as a program it is ``python -m hsd`` with that task registered."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from hsd.data.tasks import TASKS  # noqa: E402
from hsd.data.tasks.base import FieldSpec, NamedFields, Realisation, Task, TaskConfig  # noqa: E402
from hsd.errors import InputError  # noqa: E402
from hsd.mesh.primitives import gallery  # noqa: E402

FAULTS = ("", "error", "nan", "rows", "crash", "killed", "slow")
PROGRAM = (sys.executable, __file__)


@dataclass(frozen=True)
class ToyConfig(TaskConfig):
    n_nodes: int = 60
    n_samples: int = 20
    decay: float = 0.5
    fault: str = ""
    faulty: int = -1
    widths: tuple[float, float] = (0.3, 0.6)
    weights: Mapping[str, float] | None = None


class Toy(Task):
    """u(0) = a·x + c → u(T) = decay u(0), carried by coefficients that nothing reads."""

    name = "toy"
    title = "Toy"
    equation = "u(T) = decay u(0)"
    Config = ToyConfig
    inputs = (FieldSpec("u", 0, "scalar", "Start"), FieldSpec("w", 1, "circulation", "Wind"))
    target = FieldSpec("u", 0, "scalar", "End")
    time_dependent = True

    def mesh(self, n_nodes=None):
        return gallery("torus", n_nodes or self.config.n_nodes)

    def named_fields(self, ground):
        return {"wind": NamedFields(1, "circulation", ground.dec.d(0) @ ground.mesh.points[:, :2])}

    def draw(self, rng):
        return {"a": rng.normal(size=3), "c": rng.uniform(*self.config.widths, 1), "b": rng.normal(size=2)}

    def realise(self, records, ground):
        c = self.config
        a, offset, b = (np.stack([r[key] for r in records]) for key in ("a", "c", "b"))
        start = a @ ground.mesh.points.T + offset
        wind = self.named_fields(ground)["wind"].values
        end = c.decay * start
        bad = (
            [i for i, r in enumerate(records) if (r["a"] == self.sample(0, c.faulty)["a"]).all()]
            if c.faulty >= 0
            else []
        )
        if bad:
            if c.fault == "error":
                raise InputError("The toy does not like this sample.", "toy")
            if c.fault == "nan":
                end[bad[0], 3] = np.nan
            if c.fault == "rows":
                end = end[1:]
            if c.fault == "crash":
                raise ZeroDivisionError("a fault of the programmer")
            if c.fault == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
        if c.fault == "slow":
            time.sleep(0.25)
        return Realisation(
            {"u": start, "w": b @ wind.T},
            end,
            {"wind": b},
            np.stack([start, 0.7 * start, end], axis=1) if len(end) == len(start) else None,
        )


@contextmanager
def registered() -> Iterator[None]:
    """The toy in the registry of this process."""
    module = ModuleType("hsd.data.tasks.toy")
    module.Toy = Toy
    sys.modules[module.__name__] = module
    TASKS["toy"] = "Toy"
    try:
        yield
    finally:
        TASKS.pop("toy", None)
        sys.modules.pop(module.__name__, None)


if __name__ == "__main__":
    from hsd.cli import main

    with registered():
        raise SystemExit(main())
