"""The toy task of tests of data machinery."""

from __future__ import annotations

import sys

import pytest

from hsd.data.tasks import TASKS
from tests.data import toy as toy_module


@pytest.fixture
def toy():
    """The module of the toy task, registered for the time of a test."""
    toy_module.install()
    yield toy_module
    del TASKS["toy"], sys.modules["hsd.data.tasks.toy"]
