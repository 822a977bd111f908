"""The list of models; the only file that imports them all (each at first use)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hsd.errors import UnknownNameError

if TYPE_CHECKING:
    from hsd.data.domain import Domain
    from hsd.models.base import Operator

MODELS = {
    "hsd": "HSD",
    "fno3d": "FNO3D",
    "geo_fno": "GeoFNO",
    "gno": "GNO",
    "meshgraphnet": "MeshGraphNet",
    "deeponet": "DeepONet",
    "gnot": "GNOT",
    "ono": "ONO",
    "hamlet": "HAMLET",
}
"""Name of the model (and of its module here) → its class."""
BASELINES = tuple(name for name in MODELS if name != "hsd")


def model_class(name: str) -> type[Operator]:
    """Raises UnknownNameError, naming the known ones."""
    if name not in MODELS:
        raise UnknownNameError("model", name, MODELS)
    return getattr(import_module(f"hsd.models.{name}"), MODELS[name])


def make_model(name: str, domain: Domain, task: str | None = None, **config: Any) -> Operator:
    """A model with fresh weights (from torch's global generator) for a domain; ``config`` as in ``make_config``."""
    cls = model_class(name)
    return cls(domain, cls.make_config(task, **config))
