"""Whitespace-separated text as a numbered row of tokens, parsed in bulk by numpy.

Token i lies at bytes start[i]:end[i]; n numbers from token i on are parsed from one slice, without a list of strings.
A header's count is checked against the number of tokens left before anything is made of it.
"""

from __future__ import annotations

import numpy as np

from hsd.errors import InputError

MAX_EXACT = 2**53
CHUNK = 1 << 22


class Tokens:
    """Tokens of a text, with a position that reading moves on."""

    def __init__(self, data: bytes, what: str):
        self.data = data
        self.what = what
        starts, ends = [], []
        before = True
        for begin in range(0, len(data), CHUNK):
            code = np.frombuffer(data, np.uint8, min(CHUNK, len(data) - begin), begin)
            space = (code == 32) | ((code >= 9) & (code <= 13))
            shifted = np.concatenate([[before], space[:-1]])
            starts.append(np.flatnonzero(~space & shifted) + begin)
            ends.append(np.flatnonzero(space & ~shifted) + begin)
            before = bool(space[-1])
        if not before:
            ends.append(np.array([len(data)]))
        none = np.zeros(0, np.int64)
        self.start = np.concatenate(starts) if starts else none
        self.end = np.concatenate(ends) if ends else none
        self.at = 0

    def __len__(self) -> int:
        return len(self.start)

    @property
    def left(self) -> int:
        return len(self.start) - self.at

    def peek(self) -> bytes:
        """The next token, or nothing at the end."""
        return self.data[self.start[self.at] : self.end[self.at]] if self.left > 0 else b""

    def word(self) -> bytes:
        token = self.peek()
        if self.left <= 0:
            raise self.short(1, "a word")
        self.at += 1
        return token

    def count(self, what: str) -> int:
        """One non-negative whole number of a header."""
        token = self.word()
        return whole(token, what, self.what)

    def floats(self, n: int, what: str) -> np.ndarray:
        """The next n numbers, float64."""
        return self._numbers(n, what, np.float64)

    def ints(self, n: int, what: str) -> np.ndarray:
        """The next n whole numbers, int64."""
        return self._numbers(n, what, np.int64)

    def _numbers(self, n: int, what: str, dtype: type) -> np.ndarray:
        self.need(n, what)
        if n == 0:
            return np.zeros(0, dtype)
        text = self.data[self.start[self.at] : self.end[self.at + n - 1]]
        out = numbers(text, n, f"{what} of {self.what}", dtype)
        self.at += n
        return out

    def need(self, n: int, what: str) -> None:
        """Refuse when fewer than n tokens are left."""
        if n > self.left:
            raise self.short(n, what)

    def short(self, n: int, what: str) -> InputError:
        return short_file(self.what, n, self.left, what, len(self.data))


def short_file(name: str, need: int, have: int, what: str, size: int) -> InputError:
    """The error for a header that promises more than the file holds."""
    kind = "header_too_large" if need > size else "truncated"
    return InputError(
        f"{name} is cut or its header is wrong: {need} values are announced for {what}, but only "
        f"{max(have, 0)} are there.",
        kind,
    )


def whole(token: bytes, what: str, name: str) -> int:
    """A non-negative whole number from a header token."""
    if not token.isdigit() or len(token) > 18:
        raise InputError(f"{name}: the {what} should be a whole number, found {shown(token)}.", "bad_number")
    return int(token)


def numbers(text: bytes, n: int, what: str, dtype: type = np.float64) -> np.ndarray:
    """n numbers from text separated by white space; anything else is refused by name (kind bad_number)."""
    try:
        out = np.fromstring(text, dtype, sep=" ")
    except ValueError:
        out = None
    if out is None or len(out) != n:
        raise InputError(f"The {what} should be {n} numbers; found {first_bad(text, dtype)}.", "bad_number")
    return out


def widened(values: np.ndarray, to_float: bool) -> np.ndarray:
    """float64 or int64 copies; NaN bit patterns pass without a floating-point warning."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64 if to_float else np.int64)


def first_bad(text: bytes, dtype: type = np.float64) -> str:
    """The first token that is no number, for a message."""
    convert = float if dtype is np.float64 else int
    for token in text[:CHUNK].split():
        try:
            convert(token)
        except ValueError:
            return shown(token)
    return "a different number of them"


def shown(token: bytes) -> str:
    """A token in quotes, shortened, safe to print."""
    text = token[:30].decode("ascii", "backslashreplace")
    return repr(text if len(token) <= 30 else text + "…")


def without_comments(data: bytes, mark: bytes = b"#") -> bytes:
    """Text without everything from ``mark`` to the end of each line."""
    if mark not in data:
        return data
    return b"\n".join(line.split(mark, 1)[0] for line in data.replace(b"\r", b"\n").split(b"\n"))
