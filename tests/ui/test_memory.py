"""What imports made is taken out of the collector's way once, not at every run of a page."""

from __future__ import annotations

import sys
import types

from hsd.ui import memory


def test_objects_are_frozen_again_only_after_further_imports(monkeypatch):
    calls = []
    monkeypatch.setattr(memory.gc, "freeze", lambda: calls.append("freeze"))
    monkeypatch.setattr(memory.gc, "collect", lambda: calls.append("collect"))
    memory._freeze.cache_clear()
    memory.freeze_imports()
    memory.freeze_imports()
    assert calls == ["collect", "freeze"]
    monkeypatch.setitem(sys.modules, "a_module_more", types.ModuleType("a_module_more"))
    memory.freeze_imports()
    assert calls == ["collect", "freeze"] * 2
