"""A bounded store for what is made once and shared by all visitors, whose making may draw on the page.

``st.cache_resource`` cannot hold such things: what it wraps may not write to elements made outside of it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Shelf(Generic[Thing]):
    """The ``size`` things asked for last; one that is being made is waited for, not made twice."""

    def __init__(self, size: int):
        self.size = size
        self._things: OrderedDict[Hashable, Thing] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        """What lies under the key, made where it is missing; nothing is kept of a making that raises."""
        with self._lock:
            if key in self._things:
                self._things.move_to_end(key)
                return self._things[key]
            turn = self._making.setdefault(key, threading.Lock())
        with turn:
            with self._lock:
                if key in self._things:
                    return self._things[key]
            thing = make()
            with self._lock:
                self._things[key] = thing
                self._making.pop(key, None)
                while len(self._things) > self.size:
                    self._things.popitem(last=False)
            return thing

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._things
