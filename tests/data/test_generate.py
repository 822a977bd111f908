"""The generator: same bytes for any number of workers and after any interruption; no file that looks whole."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from hsd import cli
from hsd.data import generate as module
from hsd.data.archive import Archive
from hsd.data.check import check_dataset
from hsd.data.dataset import Dataset
from hsd.data.generate import chunk_file, generate
from hsd.data.ground import Ground
from hsd.data.plan import CHUNK, Plan, parse_setting
from hsd.data.splits import split_codes
from hsd.errors import HsdError, InputError
from tests.data.toy import PROGRAM, ROOT, registered

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def make(out: Path, **changes) -> bytes:
    options = {"n_samples": 23, "seed": 5, "chunk": 4, "program": PROGRAM, **changes}
    return generate("toy", out, **options).read_bytes()


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> bytes:
    """The file as one worker makes it."""
    with registered():
        return make(tmp_path_factory.mktemp("reference") / "a.npz")


@pytest.fixture(scope="module")
def slow_reference(tmp_path_factory) -> bytes:
    out = tmp_path_factory.mktemp("slow") / "a.npz"
    with registered():
        return make(out, n_samples=400, chunk=CHUNK, config={"fault": "slow"})


# ---- what is made ------------------------------------------------------------------------------------------------


def test_the_file_holds_what_the_task_realises(toy, tmp_path):
    make(tmp_path / "a.npz")
    assert check_dataset(tmp_path / "a.npz") == []
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]
    data, task = Dataset(tmp_path / "a.npz"), toy.Toy()
    ground = Ground(task.mesh())
    result = task.realise(task.samples(5, 0, 23), ground)
    assert data.meshes[0].content_hash == ground.mesh.content_hash
    close = {"rtol": 1e-6, "atol": 1e-6}
    assert np.allclose(data.target, result.target, **close)
    assert np.allclose(data.trajectory, result.trajectory, **close)
    assert all(np.allclose(data.input(name), values, **close) for name, values in result.inputs.items())
    assert np.allclose(data.coefficients("wind"), result.coefficients["wind"], **close)
    assert np.array_equal(data.named_fields()["wind"].values, task.named_fields(ground)["wind"].values)
    assert np.array_equal(data.split, split_codes(23, 5))
    assert data.schema.task == "toy" and data.schema.state == "u"


def test_provenance_says_how_to_make_the_file_again(toy, tmp_path, monkeypatch):
    first = make(tmp_path / "a.npz", config={"decay": 0.25, "widths": [0.1, 0.2]}, chunk=CHUNK)
    given = Dataset(tmp_path / "a.npz").schema.provenance
    assert given["seed"] == 5 and given["n_samples"] == 23 and given["config"]["decay"] == 0.25
    assert given["versions"]["numpy"] == np.__version__ and given["split"]["seed"] == 5
    words = shlex.split(given["command"])
    assert words[:3] == ["python", "-m", "hsd"]
    monkeypatch.setitem(generate.__kwdefaults__, "program", PROGRAM)
    assert cli.main([*words[3:], "--out", str(tmp_path / "b.npz")]) == 0
    assert (tmp_path / "b.npz").read_bytes() == first


@pytest.mark.parametrize("workers", [2, pytest.param(9, marks=pytest.mark.full)])
def test_data_are_bit_identical_for_any_number_of_workers(toy, reference, tmp_path, workers):
    assert make(tmp_path / "a.npz", workers=workers) == reference


def test_other_seeds_and_configs_give_other_data(toy, reference, tmp_path):
    files = {make(tmp_path / "a.npz", seed=6), make(tmp_path / "b.npz", config={"decay": 0.4}), reference}
    assert len(files) == 3


def test_sample_i_does_not_depend_on_how_many_there_are(toy, tmp_path):
    make(tmp_path / "few.npz", n_samples=5)
    make(tmp_path / "many.npz", n_samples=23)
    few, many = Dataset(tmp_path / "few.npz"), Dataset(tmp_path / "many.npz")
    assert np.allclose(few.target, many.target[:5], rtol=1e-6)


# ---- interruptions -----------------------------------------------------------------------------------------------


class Stop(Exception):
    pass


def stop_after(chunks: int):
    def progress(stage, fraction=None):
        if fraction is not None and fraction >= chunks / 6:
            raise Stop

    return progress


@pytest.mark.parametrize("chunks", [1, 4, *(pytest.param(n, marks=pytest.mark.full) for n in (2, 3, 5))])
def test_an_interrupted_run_leaves_no_file_and_resumes_to_the_same_bytes(toy, reference, tmp_path, chunks):
    out = tmp_path / "a.npz"
    with pytest.raises(Stop):
        make(out, progress=stop_after(chunks))
    kept = sorted(p.name for p in (tmp_path / "a.npz.parts").glob("chunk-*.npz"))
    assert not out.exists() and len(kept) >= chunks
    stamps = {name: (tmp_path / "a.npz.parts" / name).stat().st_mtime_ns for name in kept}
    seen = []

    def progress(stage, fraction=None):
        if fraction is not None and fraction == 1:
            seen.append({name: (tmp_path / "a.npz.parts" / name).stat().st_mtime_ns for name in kept} == stamps)

    assert make(out, workers=2, progress=progress) == reference
    assert seen and all(seen)  # the chunks that were there were not made again
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]


@pytest.mark.parametrize("word", ["SIGKILL", "SIGINT", pytest.param("SIGTERM", marks=pytest.mark.full)])
def test_a_killed_run_leaves_nothing_that_looks_whole_and_resumes(toy, slow_reference, tmp_path, word):
    out = tmp_path / "a.npz"
    settings = ["--samples", "400", "--seed", "5", "--out", str(out), "--workers", "2", "--set", "fault=slow"]
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.data import toy\nfrom hsd.data import generate as g\nfrom hsd.cli import main\n"
        "g.generate.__kwdefaults__['program'] = toy.PROGRAM\n"
        "with toy.registered(): raise SystemExit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "data", "generate", "toy"]
    process = subprocess.Popen(
        [*command, *settings], env=ENVIRONMENT, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # runs in the background ignore Ctrl-C
    )  # fmt: skip
    parts = tmp_path / "a.npz.parts"
    deadline = time.monotonic() + 30
    while not list(parts.glob("chunk-*.npz")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(getattr(signal, word))
    error = process.communicate()[1].decode()
    assert process.returncode != 0 and "Traceback" not in error
    if word == "SIGINT":
        assert process.returncode == 130 and "interrupted" in error
    assert not out.exists()
    for path in parts.glob("*.npz"):  # what is there is whole
        assert Archive(path).damaged() == []
    done = len(list(parts.glob("chunk-*.npz")))
    assert 1 <= done < 4
    again = subprocess.run([*command, *settings], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert out.read_bytes() == slow_reference


def test_a_damaged_chunk_is_made_again(toy, reference, tmp_path):
    out = tmp_path / "a.npz"
    with pytest.raises(Stop):
        make(out, progress=stop_after(4))
    parts = tmp_path / "a.npz.parts"
    data = bytearray(chunk_file(parts, 1).read_bytes())
    data[Archive(chunk_file(parts, 1))["target"].offset + 50] ^= 1
    chunk_file(parts, 1).write_bytes(data)
    chunk_file(parts, 2).write_bytes(chunk_file(parts, 2).read_bytes()[:-40])
    (parts / "chunk-00005.npz.123.growing").write_bytes(b"PK half")
    assert make(out) == reference


def test_parts_of_another_run_are_not_mixed_in(toy, reference, tmp_path):
    out = tmp_path / "a.npz"
    with pytest.raises(Stop):
        make(out, seed=99, progress=stop_after(3))
    with pytest.raises(InputError) as caught:
        make(out)
    assert caught.value.kind == "other_run" and "--overwrite" in caught.value.message
    assert make(out, overwrite=True) == reference


def test_a_file_that_exists_is_kept_unless_told_otherwise(toy, reference, tmp_path):
    out = tmp_path / "a.npz"
    out.write_text("precious")
    with pytest.raises(InputError) as caught:
        make(out)
    assert caught.value.kind == "exists" and out.read_text() == "precious"
    with pytest.raises(Stop):
        make(out, overwrite=True, progress=stop_after(2))
    assert out.read_text() == "precious"  # until the new one is whole
    assert make(out, overwrite=True) == reference


def test_two_runs_do_not_share_a_folder(toy, tmp_path):
    with pytest.raises(InputError) as caught:
        make(tmp_path / "a.npz", progress=lambda *_: make(tmp_path / "a.npz"))
    assert caught.value.kind == "running"


# ---- failures ----------------------------------------------------------------------------------------------------

FAULTS = {  # fault → kind, words
    "error": ("toy", ("does not like",)),
    "nan": ("non_finite", ("target of sample 9", "toy")),
    "rows": ("shape", ("target", "4 samples")),
    "crash": ("worker_died", ("samples 8 to 12", "ZeroDivisionError", "again")),
    "killed": ("worker_died", ("signal 9", "memory")),
}


@pytest.mark.parametrize("workers", [1, pytest.param(3, marks=pytest.mark.full)])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_failing_worker_ends_the_run_with_its_reason(toy, tmp_path, fault, workers):
    kind, words = FAULTS[fault]
    with pytest.raises(HsdError) as caught:
        make(tmp_path / "a.npz", seed=0, workers=workers, config={"fault": fault, "faulty": 9})
    assert caught.value.kind == kind and all(w in caught.value.message for w in words), caught.value.message
    assert not (tmp_path / "a.npz").exists()


def test_a_disk_that_is_too_small_is_noticed_after_the_first_chunk(toy, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage(10**6, 10**6 - 1000, 1000))
    with pytest.raises(HsdError) as caught:
        make(tmp_path / "a.npz")
    assert caught.value.kind == "disk_full" and "are needed" in caught.value.message
    assert not (tmp_path / "a.npz").exists()


def test_a_program_that_does_not_start_is_said(toy, tmp_path):
    with pytest.raises(HsdError) as caught:
        make(tmp_path / "a.npz", program=(sys.executable, "-c", "raise SystemExit('no such thing')"))
    assert caught.value.kind == "worker_died" and "no such thing" in caught.value.message


BAD = {
    "unknown task": (("generate", "nonsense", "--out", "F.npz"), "unknown_name", "torus_helmholtz"),
    "no samples": (("generate", "toy", "--samples", "0", "--out", "F.npz"), "bad_number", "samples"),
    "a thousand million samples": (
        ("generate", "toy", "--samples", "1000000000", "--out", "F.npz"),
        "bad_number",
        "10000000 at most",
    ),
    "three nodes": (("generate", "toy", "--nodes", "3", "--out", "F.npz"), "bad_number", "nodes"),
    "no workers": (("generate", "toy", "--workers", "0", "--out", "F.npz"), "bad_number", "workers"),
    "unknown entry": (("generate", "toy", "--set", "colour=red", "--out", "F.npz"), "unknown_name", "decay"),
    "text for a number": (("generate", "toy", "--set", "decay=fast", "--out", "F.npz"), "bad_config", "a number"),
    "truth for a number": (("generate", "toy", "--set", "decay=true", "--out", "F.npz"), "bad_config", "a number"),
    "infinite number": (("generate", "toy", "--set", "decay=Infinity", "--out", "F.npz"), "bad_config", "a number"),
    "number for a list": (("generate", "toy", "--set", "widths=3", "--out", "F.npz"), "bad_config", "a list"),
    "fraction for a count": (("generate", "toy", "--set", "n_samples=2.5", "--out", "F.npz"), "bad_config", "whole"),
    "no value": (("generate", "toy", "--set", "decay", "--out", "F.npz"), "bad_setting", "key=value"),
    "another suffix": (("generate", "toy", "--out", "F.csv"), "unknown_format", ".npz"),
    "no folder": (("generate", "toy", "--out", "nowhere/F.npz"), "no_folder", "make it first"),
    "a folder": (("generate", "toy", "--out", "folder.npz"), "exists", "folder"),
    "worker without parts": (("worker", "nowhere"), "no_file", "parts"),
    "card of too few": (("card", "toy", "--samples", "9"), "n_samples", "10 samples"),
    "card of nothing": (("card", "nonsense"), "unknown_name", "torus_helmholtz"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_requests_are_one_sentence(toy, tmp_path, monkeypatch, capsys, case):
    words, kind, contained = BAD[case]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.npz").mkdir()
    assert cli.main(["data", *words]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"error [{kind}]: ") and contained in err and err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["folder.npz"]


@pytest.mark.parametrize(
    ("bad", "kind"), [({"n_samples": 2.0}, "not_whole"), ({"seed": -1}, "bad_seed"), ({"chunk": 0}, "bad_number")]
)
def test_bad_numbers_in_python_are_refused(toy, tmp_path, bad, kind):
    with pytest.raises(InputError) as caught:
        make(tmp_path / "a.npz", **bad)
    assert caught.value.kind == kind and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [("generate", "toy"), ("generate",), ("check",), (), ("generate", "toy", "--samples", "x", "--out", "F.npz")],
)
def test_usage_errors_exit_with_2(capsys, words):
    with pytest.raises(SystemExit) as stop:
        cli.main(["data", *words])
    assert stop.value.code == 2 and "usage:" in capsys.readouterr().err


def test_card_as_json_carries_the_error(toy, capsys):
    assert cli.main(["data", "card", "nonsense", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "unknown_name"


SETTINGS = {
    "a=1": ("a", 1),
    "a=1.5": ("a", 1.5),
    "a=[1,2]": ("a", [1, 2]),
    "a=text": ("a", "text"),
    "a=b=c": ("a", "b=c"),
    "a=": ("a", ""),
    " a =true": ("a", True),
}


@pytest.mark.parametrize("text", SETTINGS)
def test_settings_are_json_or_text(text):
    assert parse_setting(text) == SETTINGS[text]


def test_chunks_cover_the_samples_once(toy):
    for n in (1, 3, 4, 5, 23, 100):
        plan = Plan.of("toy", n, chunk=4)
        ranges = [plan.range_of(c) for c in range(plan.n_chunks)]
        assert [i for start, stop in ranges for i in range(start, stop)] == list(range(n))


def test_progress_is_reported_and_ends_with_all_samples(toy, tmp_path):
    seen = []
    make(tmp_path / "a.npz", progress=lambda stage, fraction=None: seen.append((stage, fraction)))
    counts = [f for s, f in seen if "samples" in s]
    assert counts == sorted(counts) and counts[0] == 0 and counts[-1] == 1
    assert seen[0][0] == "making the mesh" and seen[-1][0] == "writing the file"
