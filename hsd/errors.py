"""Exceptions and notices: every one has a ``kind`` (a stable word), one sentence, and the ids concerned.

The sentence says what was expected, what was found and what to do.  The command line prints it, the app shows it,
``report --json`` carries ``kind`` and ``message``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path


class HsdError(Exception):
    """Base of all errors raised on purpose by this library."""

    default_kind = "error"

    def __init__(self, message: str, kind: str | None = None, ids: Iterable[int] = ()):
        super().__init__(message)
        self.message = message
        self.kind = kind or self.default_kind
        self.ids = tuple(int(i) for i in ids)


class InputError(HsdError):
    """A file or an array from outside is not what it should be (kinds: empty, not_this_format, …)."""

    default_kind = "bad_input"


class TopologyError(HsdError):
    """The complex does not have the topology that the operation needs (kinds: non_orientable, …)."""

    default_kind = "topology"


class MetricError(HsdError):
    """Lengths, areas or stars are degenerate (kinds: zero_measure, star_not_positive, no_metric, …)."""

    default_kind = "metric"


class SolverError(HsdError):
    """A solve or an eigenvalue computation did not deliver what it must (kinds: incomplete_spectrum, …)."""

    default_kind = "solver"


class UnknownNameError(HsdError):
    """A name is not in a registry; the message lists the known ones, and the nearest of them where one is near."""

    default_kind = "unknown_name"

    def __init__(self, what: str, name: object, known: Iterable[object]):
        names = [str(k) for k in known]
        plain = {_plain(k): k for k in names}
        near = get_close_matches(_plain(str(name)), plain, 1, 0.7)
        hint = f" Did you mean {plain[near[0]]}?" if near else ""
        super().__init__(f"Unknown {what} {name!r}; known: {', '.join(names)}.{hint}")


def _plain(name: str) -> str:
    """A name without case, hyphens, underscores and blanks."""
    return re.sub(r"[-_\s]", "", name.casefold())


@dataclass(frozen=True)
class Notice:
    """Something a user should know about a mesh or a result, short of an error.

    kind : stable word, e.g. ``"duplicate_faces"``; message : one sentence; ids : the elements concerned.
    """

    kind: str
    message: str
    ids: tuple[int, ...] = ()


def check_choice(what: str, value: str, known: Iterable[str]) -> str:
    """Return ``value`` when it is one of ``known``, else raise :class:`UnknownNameError`."""
    known = tuple(known)
    if value not in known:
        raise UnknownNameError(what, value, known)
    return value


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the path into any OSError: one raised within a write, or on a temporary file, names none or that one."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def require_whole(what: str, value: object) -> None:
    """Raise InputError (not_whole) unless value is a whole number."""
    if not is_whole(value):
        raise InputError(f"The {what} must be a whole number; got {value!r}.", "not_whole")


def is_whole(value: object) -> bool:
    """Whether a value is a whole number; true and false are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """Whether a value is a finite number; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max  # also of whole numbers that no float holds; not of nan
