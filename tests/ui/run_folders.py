"""Run folders as processes leave them, made in this process."""

from __future__ import annotations

import json
from pathlib import Path

from hsd.training import jobs
from hsd.training.run import RunSpec, make_folder, run


def gone_run(folder: Path, spec: RunSpec) -> Path:
    """A run that was started, and whose process is gone."""
    make_folder(folder, spec)
    (folder / jobs.PROCESS).write_text(json.dumps({"pid": 2**22 - 3, "born": "1"}))
    return folder


def paused_run(folder: Path, spec: RunSpec, steps: int) -> Path:
    """A run that was paused after some steps."""
    gone_run(folder, spec)
    assert run(folder, steps=steps) is None
    (folder / jobs.WISH).write_text(json.dumps({"wish": "paused"}))
    assert jobs.status(folder).state == "paused"
    return folder
