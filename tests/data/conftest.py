"""The toy task of tests of data machinery."""

from __future__ import annotations

import pytest

from tests.data import toy as toy_module


@pytest.fixture
def toy():
    """The module of the toy task, registered for the time of a test."""
    with toy_module.registered():
        yield toy_module
