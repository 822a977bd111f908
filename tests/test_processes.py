"""Other processes' share of the machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from hsd import processes
from hsd.processes import INTERRUPT_CODE, STOP_CODE, OtherWork, StopWish, busy_seconds, own_seconds


def test_work_of_others_is_all_work_less_our_own(monkeypatch):
    clocks = {"wall": 10.0, "busy": 100.0, "own": 5.0}
    monkeypatch.setattr(processes.time, "monotonic", lambda: clocks["wall"])
    monkeypatch.setattr(processes, "busy_seconds", lambda: clocks["busy"])
    monkeypatch.setattr(processes, "own_seconds", lambda: clocks["own"])
    work = OtherWork()
    assert work.cores() == 0
    clocks.update(wall=14.0, busy=107.0, own=6.0)
    assert work.cores() == pytest.approx((7 - 1) / 4)
    clocks.update(own=13.0)  # a child that began before has ended
    assert work.cores() == 0


@pytest.mark.skipif(busy_seconds() == 0, reason="this system does not tell the work of all its processes")
def test_a_process_counts_as_other_work_until_it_is_waited_for():
    busy, own = busy_seconds(), own_seconds()
    spin = "import time\nwhile time.process_time() < 0.5: pass\nprint('spun', flush=True)\ninput()"
    child = subprocess.Popen([sys.executable, "-c", spin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "spun\n"
    assert busy_seconds() - busy >= 0.4 > own_seconds() - own  # the system counts in hundredths
    child.communicate("\n")
    assert own_seconds() - own >= 0.4


def test_a_wish_to_stop_is_kept_within_its_block_and_told_by_the_exit_code():
    before = signal.getsignal(signal.SIGTERM)
    with StopWish() as stopping:
        assert not stopping() and stopping.exit_code == 0
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopping() and stopping.exit_code == STOP_CODE == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_first_ctrl_c_is_a_wish_and_the_second_interrupts(capfd):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background run without
    with pytest.raises(KeyboardInterrupt), StopWish() as stopping:
        os.kill(os.getpid(), signal.SIGINT)
        assert stopping() and stopping.exit_code == INTERRUPT_CODE == 128 + signal.SIGINT
        assert "Ctrl-C again ends at once" in capfd.readouterr().err
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def test_a_program_without_ctrl_c_stays_without():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with StopWish() as stopping:
            os.kill(os.getpid(), signal.SIGINT)
            assert not stopping()
    finally:
        signal.signal(signal.SIGINT, before)
