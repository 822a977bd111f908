"""Processes that outlive the one that started them: told apart from others that got the same number later."""

from __future__ import annotations

import os
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
