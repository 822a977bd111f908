"""The process of a job: ``python -m hsd.ui.job_worker FOLDER -- WORDS`` runs ``python -m hsd WORDS``.

It writes ``end.json`` into the folder when it ends by itself: the exit code, and the entries of the disk cache that the
result lies in.  A process that was killed writes nothing, and that is how a killed job is told from a finished one.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from hsd.hodge.cache import SUFFIX, cache_folder, write_atomically


def entries_since(start: float) -> list[str]:
    """Names of the cache's entries written or read since a time."""
    folder = cache_folder()
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.glob(f"*{SUFFIX}") if path.stat().st_mtime >= start - 2.0)


def main(words: list[str]) -> int:
    """Run the command and leave its end; returns the exit code."""
    from hsd.cli import main as run

    folder, start = Path(words[0]), time.time()
    try:
        code = run(words[words.index("--") + 1 :])
    except SystemExit as stop:  # a usage error
        code = stop.code if isinstance(stop.code, int) else 1
    entries = entries_since(start) if code == 0 else []
    write_atomically(folder / "end.json", json.dumps({"code": code, "entries": entries}).encode())
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
