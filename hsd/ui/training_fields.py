"""Fields of the page Training whose values the server checks: what cannot be stays on the screen, with a sentence.

A number field with limits in the browser keeps what lies outside them to itself, and the page goes on with the value of
before.  These fields have none: every number comes to the server.  One that cannot be is not put into the state (and so
not into the link); the field goes on showing it, marked, until it is mended or a preset fills the form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from hsd.errors import InputError
from hsd.ui.bound import fill, is_old, widget_key
from hsd.ui.state import get_state, leaves, read, update

_FIELDS, _WRONG, _SEEN = "training:fields", "training:wrong", "training:seen-values"


@dataclass(frozen=True)
class Limits:
    """What a field may hold.

    name : of the field, and where it is;  low, high : of numbers, ends included
    kind : "whole", "number", "optional" (or empty), "sizes" (whole numbers with commas between, in a field for text)
    above : ``low`` itself is left out
    """

    name: str
    low: float
    high: float
    kind: str = "whole"
    above: bool = False

    def read(self, raw: Any) -> Any:
        """The value that stands in the field.  Raises InputError (bad_number) with the sentence for the visitor."""
        if self.kind == "sizes":
            parts = [part.strip() for part in raw.split(",") if part.strip()]
            if parts and all(part.isdecimal() and self.low <= int(part) <= self.high for part in parts):
                return [int(part) for part in parts]
        elif raw is None:
            if self.kind == "optional":
                return None
        elif self._holds(raw) and (self.kind != "whole" or raw == int(raw)):
            return int(raw) if self.kind == "whole" else float(raw)
        raise InputError(f"{self.name}: {said(raw)} cannot be; allowed is {self.allowed()}.", "bad_number")

    def _holds(self, number: float) -> bool:
        return self.low <= number <= self.high and not (self.above and number == self.low)

    def allowed(self) -> str:
        """In words."""
        what = {
            "whole": "a whole number",
            "number": "a number",
            "optional": "a number",
            "sizes": "a list of whole numbers with commas between, each",
        }[self.kind]
        if self.above:
            return f"{what} above {self.low:.15g}, up to {self.high:.15g}"
        return f"{what} from {self.low:.15g} to {self.high:.15g}"


def said(raw: Any) -> str:
    """What stands in a field, in a sentence."""
    if raw is None or raw == "":
        return "an empty field"
    return f"“{raw}”" if isinstance(raw, str) else f"{raw:.15g}".replace("-", "−", 1)


@dataclass(frozen=True)
class _Field:
    limits: Limits
    take: Callable[[Any], None]


def number_at(label: str, path: str, step: float, **more) -> None:
    """A number field of a field of the state that has a range; ``more`` as of :func:`checked_field`."""
    leaf = leaves()[path]
    limits = Limits(label, leaf.low, leaf.high)
    checked_field(
        label, widget_key(path), read(get_state(), path), limits, lambda new: update(**{path: new}), step, **more
    )


def checked_field(
    label: str, key: str, value: Any, limits: Limits, take: Callable[[Any], None], step: float | None = None,
    *, where=None, **more,
) -> None:  # fmt: skip
    """A field with a value of the state; ``take`` is given what the visitor enters, where that can be."""
    wrong = _memory(_WRONG).get(key)
    number = limits.kind != "sizes"
    shown = wrong[0] if wrong else float(value) if number and value is not None else value
    fill(key, shown)
    _memory(_FIELDS)[key], _memory(_SEEN)[key] = _Field(limits, take), shown
    bind = {"key": key, "on_change": partial(read_field, key), "icon": ":material/error:" if wrong else None, **more}
    if number:  # without a step a whole number is one to the browser too, which then cuts off "1e6" behind the 1
        (where or st).number_input(label, value=shown, step=step, format="%g", **bind)
    else:
        (where or st).text_input(label, shown, **bind)


def read_field(key: str) -> None:
    """Take what stands in a field, or note why it cannot be; once, whoever asks first."""
    if key not in st.session_state or st.session_state[key] == _memory(_SEEN).get(key) or is_old(key):
        return
    raw, field = st.session_state[key], _memory(_FIELDS)[key]
    _memory(_SEEN)[key] = raw
    try:
        value = field.limits.read(raw)
    except InputError as error:
        _memory(_WRONG)[key] = (raw, error.message)
        return
    _memory(_WRONG).pop(key, None)
    field.take(value)


def read_fields() -> None:
    """The same for all fields: a click on a button comes with what was typed just before, in any order."""
    for key in list(_memory(_FIELDS)):
        read_field(key)


def forget_wrong() -> None:
    """The form is filled anew: what could not be gives way."""
    read_fields()
    _memory(_WRONG).clear()


def complaints(stands: Callable[[str], bool]) -> list[str]:
    """A sentence for each field that holds what cannot be, of those whose key ``stands`` in the form."""
    return [sentence for key, (_, sentence) in _memory(_WRONG).items() if stands(key)]


def _memory(name: str) -> dict:
    return st.session_state.setdefault(name, {})
