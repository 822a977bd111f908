"""The disk cache: damaged, half-written and foreign entries are rebuilt; two processes share one computation."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial

import numpy as np
import pytest

from hsd.hodge.cache import (
    SUFFIX,
    cache_folder,
    cache_key,
    cache_size,
    cached,
    clear_cache,
    lock_of,
    made_once,
    read_entry,
    write_atomically,
    write_entry,
)
from hsd.hodge.spectrum import HodgeBasis
from tests.conftest import ROOT
from tests.meshes import MEDIUM, mesh_of

ARRAYS = {"values": np.arange(5.0), "vectors": np.arange(15.0).reshape(5, 3)}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_is_written_is_read_back():
    assert read_entry("a") is None
    assert write_entry("a", ARRAYS)
    back = read_entry("a")
    assert set(back) == set(ARRAYS) and all(np.array_equal(back[k], ARRAYS[k]) for k in ARRAYS)
    count, size = cache_size()
    assert count == 1 and size > 120
    assert clear_cache() == (1, size) and cache_size() == (0, 0)


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "garbage", "wrong header"])
def test_damaged_entries_are_detected_and_rebuilt(folder, damage):
    write_entry("a", ARRAYS)
    path = folder / f"a{SUFFIX}"
    data = bytearray(path.read_bytes())
    if damage == "truncate":
        data = data[: len(data) // 2]
    elif damage == "flip":
        data[-40] ^= 1
    elif damage == "empty":
        data = bytearray()
    elif damage == "garbage":
        data = bytearray(os.urandom(500))
    else:
        data = data.replace(b"hsd-cache", b"hsd-other", 1)
    path.write_bytes(data)
    calls = []

    def compute():
        calls.append(1)
        return ARRAYS

    assert np.array_equal(cached("a", lambda e: True, compute)["vectors"], ARRAYS["vectors"])
    assert calls == [1]
    assert np.array_equal(cached("a", lambda e: True, compute)["vectors"], ARRAYS["vectors"])
    assert calls == [1]


def test_an_entry_that_is_too_small_is_replaced():
    write_entry("a", {"values": np.arange(2.0)})
    out = cached("a", lambda e: len(e["values"]) >= 5, lambda: ARRAYS)
    assert len(out["values"]) == 5 and len(read_entry("a")["values"]) == 5


def test_a_folder_that_cannot_be_made_does_not_stop_the_computation(monkeypatch, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("x")
    monkeypatch.setenv("HSD_CACHE", str(blocker / "cache"))
    assert not write_entry("a", ARRAYS)
    assert len(cached("a", lambda e: True, lambda: ARRAYS)["values"]) == 5


def test_least_recently_used_entries_go_first(monkeypatch):
    for i, key in enumerate("abc"):
        write_entry(key, {"x": np.zeros(1000)})
        os.utime(cache_folder() / f"{key}{SUFFIX}", (i, i))
    monkeypatch.setenv("HSD_CACHE_LIMIT", "20000")
    write_entry("d", {"x": np.zeros(1000)})
    assert read_entry("a") is None and read_entry("b") is None
    assert read_entry("d") is not None


def test_keys_depend_on_every_part():
    assert len({cache_key("x", 1), cache_key("x", 2), cache_key("y", 1), cache_key("x", "1")}) == 4


def test_basis_from_cache_equals_computed_basis():
    mesh = mesh_of("annulus", MEDIUM)
    for bc in ("absolute", "relative"):
        first = HodgeBasis(mesh, 1, 8, 8, bc)
        second = HodgeBasis(mesh, 1, 8, 8, bc)
        assert np.array_equal(first.modes, second.modes) and np.array_equal(first.eigenvalues, second.eigenvalues)
    assert cache_size()[0] == 4  # two degrees of coexact modes, two conditions


def test_two_processes_share_one_computation(folder, tmp_path):
    script = textwrap.dedent(
        """
        import sys, time
        import numpy as np
        from hsd.hodge.cache import cached
        def compute():
            with open(sys.argv[1], "a") as log:
                log.write("computed\\n")
            time.sleep(1.0)
            return {"values": np.arange(3.0)}
        out = cached("shared", lambda e: True, compute)
        assert np.array_equal(out["values"], [0, 1, 2])
        """
    )
    log = tmp_path / "log"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    runs = [subprocess.Popen([sys.executable, "-c", script, str(log)], env=env) for _ in range(2)]
    assert [r.wait(timeout=60) for r in runs] == [0, 0]
    assert log.read_text() == "computed\n"


@pytest.mark.parametrize("mask, mode", [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_what_is_written_may_be_read_by_whom_the_mask_allows(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "file", b"1")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_a_file_is_made_by_one_while_the_others_wait_and_by_another_where_the_first_fails(tmp_path):
    file, made, waited, first_is_in = tmp_path / "new" / "a.npz", [], threading.Event(), threading.Event()

    def fails():
        first_is_in.set()
        assert waited.wait(20)
        made.append("failed")
        raise OSError("disk full")

    def makes(name):
        made.append(name)
        time.sleep(0.3)
        file.write_bytes(b"whole")

    def first():
        with pytest.raises(OSError, match="disk full"):
            made_once(file, fails, lambda: None)

    threads = [threading.Thread(target=first)]
    threads[0].start()
    assert first_is_in.wait(20)
    for name in "bc":
        threads.append(threading.Thread(target=made_once, args=(file, partial(makes, name), waited.set)))
        threads[-1].start()
    for thread in threads:
        thread.join(20)
    assert made[0] == "failed" and len(made) == 2 and file.read_bytes() == b"whole"
    made_once(file, lambda: made.append("again"), waited.set)
    assert len(made) == 2


def test_a_wait_for_a_file_ends_by_what_waiting_raises(tmp_path):
    lock = lock_of(tmp_path / "a.npz.making")

    def stop():
        raise InterruptedError

    with lock, pytest.raises(InterruptedError):
        made_once(tmp_path / "a.npz", lambda: pytest.fail("made beside the other"), stop)
    lock.release()


def test_a_killed_writer_leaves_no_entry_that_looks_whole(folder):
    script = textwrap.dedent(
        """
        import os, signal
        import numpy as np
        import hsd.hodge.cache as cache
        os.replace = lambda *a: os.kill(os.getpid(), signal.SIGKILL)
        cache.write_entry("a", {"x": np.zeros(1000)})
        """
    )
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert list(folder.glob("*.tmp")) and read_entry("a") is None
    clear_cache()
    assert not list(folder.iterdir())
