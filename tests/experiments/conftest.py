"""Training within the test's own process, for tests that are not about the process."""

from __future__ import annotations

import pytest

from hsd.errors import HsdError
from hsd.experiments import queue
from hsd.training.run import run, use_threads


@pytest.fixture
def in_process(monkeypatch):
    def train(folder, progress, should_stop, workers, threads=None):
        use_threads(threads)
        try:
            run(folder, progress, should_stop=should_stop)
        except HsdError as error:
            return 1, 100, f"error [{error.kind}]: {error.message}"
        return 0, 100, "done"

    monkeypatch.setattr(queue, "train_process", train)
