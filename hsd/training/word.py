"""Word that a run of the command line leaves in its folder, so that :mod:`hsd.training.jobs` tells of it too."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from hsd.errors import HsdError
from hsd.hodge.cache import write_atomically
from hsd.processes import birth
from hsd.training.jobs import LOG, WISH
from hsd.training.run import PROCESS, process_lives


class Word:
    """``with`` it the run goes on, after it it has ended; its last line says how, in the form of a background run's.

    Nothing is left by one that does not speak, nor where the folder's process is another one that lives, nor by a run
    in the background, whose starter has said so and whose output is the folder's log.
    """

    def __init__(self, folder: Path, speaks: bool = True):
        self.folder, self.is_left, self._speaks = folder, False, speaks

    def __enter__(self) -> Word:
        log = self.folder / LOG
        is_background = log.is_file() and os.path.samestat(os.fstat(1), log.stat())
        self.is_left = self._speaks and not is_background and not process_lives(self.folder)
        if self.is_left:
            self.say("starting")
            self._process(birth(os.getpid()))
            (self.folder / WISH).unlink(missing_ok=True)
        return self

    def __exit__(self, _, error: BaseException | None, __) -> None:
        if isinstance(error, HsdError):
            self.say(f"error [{error.kind}]: {error.message}")
        elif isinstance(error, OSError):
            self.say(f"error [file]: {error.filename or 'A file'}: {error.strerror or error}.")
        if self.is_left and self.folder.is_dir():
            self._process("ended")  # the number of a process that may live on is no run's any more

    def say(self, line: str) -> None:
        if self.is_left and self.folder.is_dir():
            with contextlib.suppress(OSError), (self.folder / LOG).open("a", encoding="utf-8") as log:
                log.write(line + "\n")

    def _process(self, born: str) -> None:
        with contextlib.suppress(OSError):
            write_atomically(self.folder / PROCESS, json.dumps({"pid": os.getpid(), "born": born}).encode())
