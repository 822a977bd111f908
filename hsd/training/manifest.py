"""What the manifest of a checkpoint must tell: keys, kinds of values, ranges; one sentence for what is not so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hsd.data import placement
from hsd.data.scales import Scales
from hsd.errors import HsdError, InputError, is_real, is_whole
from hsd.models.base import Signature
from hsd.models.registry import model_class

LARGEST = 1_000_000
"""Of whole numbers in a model's config; what is larger is no size of a model."""


@dataclass(frozen=True)
class Kind:
    """words : what is asked for, in a sentence;  holds: whether a value is it."""

    words: str
    holds: Callable[[Any], bool]


def whole(low: int, high: int) -> Kind:
    return Kind(f"a whole number from {low} to {high}", lambda value: is_whole(value) and low <= value <= high)


OBJECT = Kind("an object", lambda value: isinstance(value, dict))
TEXT = Kind("a text", lambda value: isinstance(value, str) and bool(value))
CHANNEL = Kind(
    "a finite mean and a finite scale above 0",
    lambda value: (
        isinstance(value, dict)
        and set(value) == {"mean", "scale"}
        and all(map(is_real, value.values()))
        and value["scale"] > 0
    ),
)
KEYS = {
    "model": TEXT,
    "model_config": OBJECT,
    "signature": OBJECT,
    "normaliser": OBJECT,
    "domain": OBJECT,
    "task": Kind("the name of a task or null", lambda value: value is None or TEXT.holds(value)),
    "task_config": OBJECT,
    "training": OBJECT,
    "data": OBJECT,
    "sha256": TEXT,
    "tensors": OBJECT,
}
"""Required keys of a manifest, beside format and version."""
DOMAIN_KEYS = {
    "mesh_hash": TEXT,
    "mesh_name": Kind("a text", lambda value: isinstance(value, str)),
    "n_vertices": whole(1, 10**9),
    "n_nodes": whole(1, 10**7),
    "n_modes": whole(1, 10**5),
    "grid_size": whole(4, 256),
}
SIGNATURE_KEYS = {name: whole(0, 10**6) for name in ("node_inputs", "node_outputs", "n_harmonic", "dim")}


def check_manifest(told: dict[str, Any], name: str) -> None:
    """Raise InputError (bad_manifest) unless a manifest of this format and version has all that reading a checkpoint
    takes; ``name`` is that of its file.  The model must be a known one."""
    missing = [key for key in ("version", *KEYS) if key not in told]
    if missing:
        raise InputError(f"{name} lacks {', '.join(missing)}; copy the checkpoint again.", "bad_manifest")
    _check(told, KEYS, name, "")
    _check(told["domain"], DOMAIN_KEYS, name, "domain.")
    most = 10 * told["domain"]["n_vertices"]
    if told["domain"]["n_nodes"] > most:  # vertices aimed at, which no mesh misses by so much
        raise _bad(name, "domain.n_nodes", f"at most {most}, ten times n_vertices", told["domain"]["n_nodes"])
    _check(told["signature"], SIGNATURE_KEYS, name, "signature.")
    signature = _signature(told["signature"], name)
    Scales.of_manifest(told["domain"], signature.dim, name)
    placement.from_manifest(told["domain"], name)
    _check_normaliser(told["normaliser"], signature, name)


def check_model(told: dict[str, Any], name: str) -> None:
    """Raise InputError (bad_manifest) unless the config in a manifest is one of its model."""
    for key, value in told["model_config"].items():
        for number in value if isinstance(value, list) else (value,):
            if is_whole(number) and abs(number) > LARGEST:
                raise _bad(name, f"model_config.{key}", f"at most {LARGEST}", value)
    try:
        model_class(told["model"]).make_config(None, **told["model_config"])
    except HsdError as error:
        raise InputError(
            f"The model_config in {name} is none of the model {told['model']}: {error.message}", "bad_manifest"
        ) from error


def _check(told: dict[str, Any], kinds: dict[str, Kind], name: str, where: str) -> None:
    for key, kind in kinds.items():
        if key not in told:
            raise InputError(f"{name} lacks {where}{key}; copy the checkpoint again.", "bad_manifest")
        if not kind.holds(told[key]):
            raise _bad(name, where + key, kind.words, told[key])


def _bad(name: str, key: str, words: str, value: Any) -> InputError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}…"
    return InputError(f"{key} in {name} must be {words}; got {shown}: copy the checkpoint again.", "bad_manifest")


def _signature(told: dict[str, Any], name: str) -> Signature:
    try:
        found = Signature.from_dict(told)
        pairs = all(is_whole(degree) and isinstance(reading, str) for degree, reading in (found.source, found.target))
        good = pairs and all(isinstance(field, str) for field, _ in found.fields)
        why = "source and target are pairs of a degree and a reading, fields of a name and a number"
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        good, why = False, str(error)
    if not good:
        raise InputError(f"The signature in {name} cannot be read ({why}); copy the checkpoint again.", "bad_manifest")
    return found


def _check_normaliser(told: dict[str, Any], signature: Signature, name: str) -> None:
    needed = ["target", *(f"coefficient/{field}" for field, _ in signature.fields)]
    lacking = [key for key in needed if key not in told]
    if not any(key.startswith("input/") for key in told):
        lacking.append("input/… (the source's)")
    if lacking:
        raise InputError(
            f"The normaliser in {name} lacks the channel {', '.join(lacking)}; copy the checkpoint again.",
            "bad_manifest",
        )
    _check(told, dict.fromkeys(told, CHANNEL), name, "normaliser.")
