"""Entries of a config dataclass as a form needs them: kind, bounds, choices and help, read off fields and docstring.

Settings are texts "key=value" as the command line takes them (``--set``): those entries that differ from the defaults.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from hsd.errors import InputError

KINDS = {
    "bool": "switch",
    "int": "whole",
    "float": "number",
    "float | None": "optional",
    "str": "choice",
    "tuple[int, ...]": "sizes",
}
"""Annotation → widget; entries of other types are not offered."""
HIGHS = {
    "epochs": 100_000,
    "minutes": 10_000,
    "n_train": 1_000_000,
    "seed": 2**31 - 1,
    "n_modes": 1024,
    "layers": 64,
    "moments": 2,
    "fiber_lifts": 3,
    "lr": 1.0,
    "weight_decay": 10.0,
}
"""Largest values that a form takes; AdamW moves every weight by about lr a step, so beyond 1 nothing is learned."""
HIGH = 8192
ABOVE_ZERO = ("lr", "clip", "radius")
ZERO = re.compile(r"(?<![\d.])0(?![\d.])")


@dataclass(frozen=True)
class Entry:
    """One entry of a config.

    kind : one of KINDS' values;  choices : of a "choice";  low, high : of numbers;  above : low itself is left out
    """

    name: str
    kind: str
    default: Any
    help: str = ""
    choices: tuple[str, ...] = ()
    low: float = 0
    high: float = HIGH
    above: bool = False

    def check(self, value: Any) -> None:
        """Raises InputError (bad_config) for what a field of this kind cannot show, and numbers it does not take."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        can_be_shown = {
            "switch": isinstance(value, bool),
            "whole": is_number,
            "number": is_number,
            "optional": is_number or value is None,
            "choice": value in self.choices,
            "sizes": isinstance(value, list | tuple),
        }
        if not can_be_shown[self.kind]:
            raise InputError(f"{self.name} cannot be {value!r}.", "bad_config")
        if is_number and not self.low <= value <= self.high:
            raise InputError(
                f"{self.name} must lie between {self.low:g} and {self.high:g}; got {value:g}.", "bad_config"
            )


def helps_of(cls: type) -> dict[str, str]:
    """Field → what the docstrings of a dataclass and its bases say of it, in "name, name : text;  name: text" form."""
    known, out = [f.name for f in fields(cls)], {}
    for base in reversed(cls.__mro__[:-1]):
        text = inspect.cleandoc(base.__doc__ or "")
        names = r"(?:^|;\s+)((?:%s)(?:, (?:%s))*)\s*:\s" % (("|".join(map(re.escape, known)),) * 2)
        found = list(re.finditer(names, text, re.MULTILINE))
        for match, after in zip(found, [*found[1:], None]):
            said = text[match.end() : after.start() if after else len(text)].partition("\n\n")[0]
            for name in match[1].split(", "):
                out[name] = " ".join(said.split()).rstrip(";")
    return out


def entries_of(config: Any, leave_out: Sequence[str] = ()) -> tuple[Entry, ...]:
    """What a form offers of a config; the values of ``config`` are the defaults."""
    helps, out = helps_of(type(config)), []
    for f in fields(config):
        kind = KINDS.get(str(f.type))
        if kind is None or f.name in leave_out:
            continue
        said, default = helps.get(f.name, ""), getattr(config, f.name)
        choices = tuple(dict.fromkeys(re.findall(r'"([\w-]+)"', said))) if kind == "choice" else ()
        if kind == "choice" and default not in choices:
            continue
        may_be_zero = default == 0 or bool(ZERO.search(said)) or kind in ("number", "optional")
        low, high = 0 if may_be_zero else 1, HIGHS.get(f.name, HIGH)
        out.append(Entry(f.name, kind, default, said, choices, low, high, f.name in ABOVE_ZERO))
    return tuple(out)


def as_text(value: Any) -> str:
    """A value as ``hsd.training.config.read_value`` reads it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(str(int(v)) for v in value) + "]"
    return repr(value) if isinstance(value, float) else str(value)


def values_of(settings: Sequence[str]) -> dict[str, Any]:
    """Key → value of settings, whether or not there can be a config with them."""
    from hsd.training.config import read_value

    pairs = (text.partition("=") for text in settings)
    return {key: read_value(text) for key, _, text in pairs}


def with_setting(settings: Sequence[str], key: str, value: Any, default: Any) -> tuple[str, ...]:
    """Settings with another value of one entry; an entry at its default is left out."""
    rest = [text for text in settings if text.partition("=")[0] != key]
    same = list(value) == list(default or ()) if isinstance(value, list | tuple) else value == default
    return tuple(rest) if same else (*rest, f"{key}={as_text(value)}")


def without_model(settings: Sequence[str]) -> tuple[str, ...]:
    """Settings that do not belong to a model's own config."""
    return tuple(text for text in settings if not text.startswith("model."))
