"""Processes that outlive the one that started them: told apart from others that got the same number later, and asked by
SIGTERM to keep what they have and end."""

from __future__ import annotations

import contextlib
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


STOP_CODE, INTERRUPT_CODE = 143, 130
"""Exit codes of a command that was asked to end before its work was whole: 128 + SIGTERM, 128 + SIGINT, as shells count
them."""


class StopWish:
    """Callable () → whether SIGTERM or Ctrl-C has come since its ``with`` block was entered (in the main thread).

    The first Ctrl-C says on the error stream (of one that ``speaks``) that the next one interrupts at once.  Where the
    program was started without Ctrl-C (in the background of a shell), it stays so.
    """

    def __init__(self, speaks: bool = True):
        self._signal, self._speaks = 0, speaks

    def __enter__(self) -> StopWish:
        self._before = {signal.SIGTERM: signal.signal(signal.SIGTERM, self._ask)}
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self) -> bool:
        return self._signal != 0

    @property
    def exit_code(self) -> int:
        """Of a command whose work is not whole: 128 and the number of the signal that came first."""
        return 128 + self._signal if self._signal else 0

    def _ask(self, number: int, _) -> None:
        if number == signal.SIGINT and self._signal:
            raise KeyboardInterrupt
        self._signal = self._signal or number
        if number == signal.SIGINT and self._speaks:
            with contextlib.suppress(OSError):  # not through the stream, which may be in the middle of a line
                os.write(2, b"\nEnding as soon as it can be resumed; Ctrl-C again ends at once.\n")


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
