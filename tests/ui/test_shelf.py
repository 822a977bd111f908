"""What is made once for all visitors: no thing twice, none too many, none of a making that failed."""

from __future__ import annotations

import threading
import time

import pytest

from hsd.ui.shelf import Shelf


def test_many_threads_make_one_thing_and_other_keys_do_not_wait():
    shelf: Shelf[str] = Shelf(4)
    made, begun, go_on = [], threading.Event(), threading.Event()

    def make(key: str) -> str:
        made.append(key)
        if key == "slow":
            begun.set()
            assert go_on.wait(10)
        return key.upper()

    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(shelf.get("slow", lambda: make("slow")))) for _ in range(6)]
    for thread in threads:
        thread.start()
    assert begun.wait(10)
    assert shelf.get("quick", lambda: make("quick")) == "QUICK"  # while the other is being made
    time.sleep(0.05)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert found == ["SLOW"] * 6 and sorted(made) == ["quick", "slow"]


def test_the_things_asked_for_last_are_kept():
    shelf: Shelf[int] = Shelf(2)
    for key in (1, 2, 1, 3):
        shelf.get(key, lambda key=key: key)
    assert 1 in shelf and 3 in shelf and 2 not in shelf


def test_nothing_is_kept_of_a_making_that_raises():
    shelf: Shelf[int] = Shelf(2)

    def fails() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        shelf.get(1, fails)
    assert 1 not in shelf and shelf.get(1, lambda: 7) == 7
