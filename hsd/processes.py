"""Processes that outlive the one that started them: told apart from others that got the same number later, and asked by
SIGTERM to keep what they have and end."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def birth(pid: int) -> str:
    """Start time of a process as the system counts it, so that a reused number is no process of ours; "" unknown."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def state(pid: int) -> str:
    """One letter of the system, "Z" for a process that has ended but was not collected; "" where unknown."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def is_alive(pid: int, born: str) -> bool:
    """Whether the process that was born then still runs."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return state(pid) != "Z" and birth(pid) == born


def busy_seconds() -> float:
    """CPU seconds that all processes of this machine have used since it started; 0 where the system does not tell."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return 0.0
    user, nice, system, _, _, irq, softirq = map(int, fields[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """CPU seconds of this process and of those of its children that have ended."""
    return sum(os.times()[:4])


class OtherWork:
    """How much the processes beside this one and its children use of the machine, from now on.

    Children count as its own once they have ended and were waited for.
    """

    def __init__(self) -> None:
        self._begun = (time.monotonic(), busy_seconds(), own_seconds())

    def cores(self) -> float:
        """Mean number of cores that the others kept busy since then; 0 where the system does not tell."""
        now, busy, own = (time.monotonic(), busy_seconds(), own_seconds())
        seconds = now - self._begun[0]
        return max(0.0, (busy - self._begun[1] - (own - self._begun[2])) / seconds) if seconds > 0 and busy else 0.0


STOP_CODE = 143
"""Exit code of a command that was asked to end before its work was whole: 128 + SIGTERM, as shells count it."""


class StopWish:
    """Callable () → whether SIGTERM has come since its ``with`` block was entered (in the main thread)."""

    def __init__(self):
        self._asked = False

    def __enter__(self) -> StopWish:
        self._before = signal.signal(signal.SIGTERM, self._ask)
        return self

    def __exit__(self, *_) -> None:
        signal.signal(signal.SIGTERM, self._before)

    def __call__(self) -> bool:
        return self._asked

    @property
    def exit_code(self) -> int:
        """Of a command whose work is not whole."""
        return STOP_CODE if self._asked else 0

    def _ask(self, *_) -> None:
        self._asked = True


def last_line(path: Path, tail: int = 2000) -> str:
    """The last line with text of a log, carriage returns counting as line ends; "" where there is none."""
    try:
        with path.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - tail))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip()]
    return lines[-1] if lines else ""
