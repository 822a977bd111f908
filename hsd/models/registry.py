"""The list of models; the only file that imports them all (each at first use)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hsd.errors import UnknownNameError, check_choice
from hsd.models.presets import PRESETS

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

NAMED = {f"hsd-{name}": entries for name, entries in PRESETS.items()}
"""Names under which HSD with certain entries of its config is trained and shipped beside the models."""


def model_named(name: str) -> tuple[str, dict[str, Any]]:
    """The model, and the entries of its config, that a name stands for.  Raises UnknownNameError."""
    check_choice("model", name, (*MODELS, *NAMED))
    return ("hsd", dict(NAMED[name])) if name in NAMED else (name, {})


def model_class(name: str) -> type[Operator]:
    """Raises UnknownNameError, naming the known ones."""
    if name not in MODELS:
        raise UnknownNameError("model", name, MODELS)
    return getattr(import_module(f"hsd.models.{name}"), MODELS[name])


def make_model(name: str, domain: Domain, task: str | None = None, **config: Any) -> Operator:
    """A model with fresh weights (from torch's global generator) for a domain; ``config`` as in ``make_config``."""
    cls = model_class(name)
    return cls(domain, cls.make_config(task, **config))
