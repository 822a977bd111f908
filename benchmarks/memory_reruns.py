"""Resident memory of the server over many reruns of all pages: ``python benchmarks/memory_reruns.py [--reruns 200]``.

A client speaks Streamlit's own protocol with a real server (no browser): it walks through the pages, and every fourth
round a new session with another degree or boundary condition begins.  After every 10 reruns the server collects garbage
and hands free memory back to the system; then its resident memory is read.

Must: growth from the tenth rerun on below 50 MB, and below 0.1 MB a rerun over the last 100.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_TOTAL_MB, LIMIT_PER_RERUN_MB = 50.0, 0.1


def serve(port: int) -> None:
    """The app's server, which collects garbage when it gets SIGUSR1."""

    def collect(*_) -> None:
        gc.collect()
        try:
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        except OSError:
            return

    signal.signal(signal.SIGUSR1, collect)
    from streamlit.web import cli

    sys.argv = ["streamlit", "run", "app.py", "--server.port", str(port)]
    cli.main()


def resident_mb(pid: int) -> float:
    """Resident memory of a process, MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmRSS")


class Client:
    """One session: reruns with a page and a query string, as the browser sends them."""

    def __init__(self, address: str):
        from websockets.sync.client import connect

        self._open = contextlib.ExitStack()
        self.socket = self._open.enter_context(
            connect(address, subprotocols=["streamlit"], max_size=None, open_timeout=30)
        )
        self.pages: dict[str, str] = {}
        self.bytes = 0

    def rerun(self, query: str, page: str = "") -> list[str]:
        """Run the script and wait for its end; the texts of exceptions."""
        from streamlit.proto.BackMsg_pb2 import BackMsg
        from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

        message = BackMsg()
        message.rerun_script.query_string = query
        message.rerun_script.page_script_hash = self.pages.get(page, "")
        self.socket.send(message.SerializeToString())
        errors = []
        while True:
            data = self.socket.recv(timeout=120)
            self.bytes += len(data)
            answer = ForwardMsg()
            answer.ParseFromString(data)
            kind = answer.WhichOneof("type")
            if kind == "navigation":
                self.pages = {p.page_name: p.page_script_hash for p in answer.navigation.app_pages}
            if kind == "delta" and answer.delta.new_element.WhichOneof("type") == "exception":
                errors.append(answer.delta.new_element.exception.message)
            if kind == "script_finished" and answer.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                return errors

    def close(self) -> None:
        self._open.close()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--reruns", type=int, default=200)
    parser.add_argument("--vertices", type=int, default=1000)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return 0
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HSD_CACHE": folder, "PYTHONPATH": str(ROOT)}
        with (Path(folder) / "log.txt").open("wb") as log:
            server = subprocess.Popen(
                [sys.executable, __file__, "--serve", str(port)], cwd=ROOT, env=environment, stdout=log, stderr=log
            )
        try:
            result = measure(server.pid, port, options.reruns, options.vertices)
        finally:
            server.terminate()
            server.wait(20)
    print(json.dumps(result, indent=1))
    return 0 if result["ok"] else 1


def measure(pid: int, port: int, reruns: int, vertices: int) -> dict:
    """Memory readings every 10 reruns, and the two growths."""
    client = None
    for _ in range(120):
        try:
            client = Client(f"ws://localhost:{port}/_stcore/stream")
            break
        except OSError:
            time.sleep(0.25)
    if client is None:
        raise RuntimeError("the server did not start")
    query = f"mesh=annulus&n={vertices}&modes=12"
    client.rerun(query)
    names = list(client.pages)
    readings, errors, start = [], [], time.monotonic()
    steps = itertools.cycle(names)
    for number in range(1, reruns + 1):
        # a new session with other settings once per round, else a rerun of the next page
        if number % (4 * len(names)) == 0:
            client.close()
            client = Client(f"ws://localhost:{port}/_stcore/stream")
            bc, k = ("absolute", "relative")[number // 16 % 2], number // 16 % 3
            query = f"mesh=annulus&n={vertices}&modes=12&bc={bc}&k={k}"
            client.rerun(query)
        errors += client.rerun(query, next(steps))
        if number % 10 == 0:
            os.kill(pid, signal.SIGUSR1)
            time.sleep(0.3)
            readings.append(round(resident_mb(pid), 1))
    seconds = (time.monotonic() - start) / reruns
    client.close()
    last = readings[-11:]
    per_rerun = (last[-1] - last[0]) / (10 * max(len(last) - 1, 1))
    total = readings[-1] - readings[0]
    return {
        "reruns": reruns,
        "pages": names,
        "vertices": vertices,
        "seconds_a_rerun": round(seconds, 3),
        "exceptions": errors[:5],
        "resident_mb_every_10": readings,
        "growth_mb": round(total, 1),
        "growth_mb_a_rerun_over_the_last_100": round(per_rerun, 3),
        "ok": not errors and total < LIMIT_TOTAL_MB and per_rerun < LIMIT_PER_RERUN_MB,
    }


if __name__ == "__main__":
    raise SystemExit(main())
