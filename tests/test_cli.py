"""Every command with good and bad input: what it prints, what it writes, its exit code; never a traceback."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hsd import cli, load_mesh
from hsd.cli_progress import Progress, duration
from hsd.cli_text import table
from tests.meshes import NAMES

ROOT = Path(__file__).resolve().parent.parent
REPORT_KEYS = {
    "V", "E", "F", "T", "chi", "components", "boundary_loops", "closed", "orientable", "edge_manifold",
    "vertex_manifold", "genus", "betti_Q", "betti_relative_Q", "betti_GF2", "area", "volume", "quality", "warnings",
}  # fmt: skip
KNOWN = {  # gallery name → betti over Q, over GF(2), genus, closed, orientable (topology of the shapes)
    "sphere": ([1, 0, 1], [1, 0, 1], 0, True, True),
    "torus": ([1, 2, 1], [1, 2, 1], 1, True, True),
    "klein": ([1, 1, 0], [1, 2, 1], None, True, False),
    "moebius": ([1, 1, 0], [1, 1, 0], None, False, False),
    "two_components": (None, None, None, None, None),
    "ball_with_cavity": ([1, 0, 1, 0], [1, 0, 1, 0], None, False, True),
    "solid_torus": ([1, 1, 0, 0], [1, 1, 0, 0], None, False, True),
}


# ---- report ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KNOWN)
def test_report_as_json_has_the_keys_and_the_right_topology(run, name):
    code, out, err = run("report", f"gallery:{name}:500", "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "") and out.count("\n") == 1
    assert set(facts) >= REPORT_KEYS
    assert all(set(w) == {"kind", "message"} for w in facts["warnings"])
    betti, betti2, genus, closed, orientable = KNOWN[name]
    assert facts["chi"] == facts["V"] - facts["E"] + facts["F"] - facts["T"]
    assert facts["chi"] == sum((-1) ** k * b for k, b in enumerate(facts["betti_Q"]))
    if betti is not None:
        assert (facts["betti_Q"], facts["betti_GF2"]) == (betti, betti2)
        assert (facts["closed"], facts["orientable"]) == (closed, orientable)
        if facts["T"] == 0:
            assert facts["genus"] == genus


def test_report_as_text_names_every_fact(run):
    code, out, _ = run("report", "gallery:torus:500")
    assert code == 0
    for label, value in (("genus", "1"), ("Betti numbers over Q", "1, 2, 1"), ("closed", "yes")):
        assert any(line.startswith(label) and line.split("  ")[-1].strip() == value for line in out.splitlines())


def test_report_of_a_file_equals_that_of_its_mesh(run, tmp_path):
    for suffix in ("obj", "ply", "stl", "off", "vtk", "vtu", "vtp", "npz"):
        path = tmp_path / f"torus.{suffix}"
        assert run("gallery", "torus", "--n", 500, "--out", path)[0] == 0
        from_file = json.loads(run("report", path, "--json")[1])
        built = json.loads(run("report", "gallery:torus:500", "--json")[1])
        for key in REPORT_KEYS - {"area", "volume", "quality", "warnings"}:
            assert from_file[key] == built[key], (suffix, key)
        assert from_file["area"] == pytest.approx(built["area"], rel=1e-5)


BAD = {  # {tmp} is a folder with the files of bad_files
    "missing": "report {tmp}/gone.obj",
    "folder": "report {tmp}",
    "empty": "report {tmp}/empty.obj",
    "html": "report {tmp}/page.stl",
    "suffix": "report {tmp}/noise.unknown",
    "gallery name": "report gallery:no_such_shape",
    "gallery size": "report gallery:torus:many",
    "gallery size 0": "report gallery:torus:0",
    "modes, no file": "modes {tmp}/gone.obj",
    "modes, degree": "modes gallery:torus:500 --degree 3",
    "modes, none": "modes gallery:torus:500 --n 0",
    "modes, format": "modes gallery:torus:500 --out {tmp}/modes.txt",
    "modes, folder": "modes gallery:torus:500 --out {tmp}/no/modes.npz",
    "modes, tetrahedra": "modes gallery:ball:500 --out {tmp}/modes.vtp",
    "modes, no positions": "modes gallery:flat_torus:500 --out {tmp}/modes.vtu",
    "modes, one-sided": "modes gallery:moebius:500 --degree 2 --out {tmp}/modes.vtu",
    "modes, star": "modes gallery:klein:500 --star diagonal",
    "decompose, field": "decompose gallery:torus:500 --field no_such_field",
    "decompose, no file": "decompose gallery:torus:500 --field {tmp}/gone.npy",
    "decompose, degree": "decompose gallery:torus:500 --field x --degree 3",
    "gallery, name": "gallery no_such_shape --out {tmp}/x.obj",
    "gallery, suffix": "gallery torus --n 500 --out {tmp}/x.unknown",
    "gallery, folder": "gallery torus --n 500 --out {tmp}/no/x.obj",
}


KINDS = {  # one word for one fault, whichever command meets it
    "no_file": [
        "report {tmp}/gone.obj",
        "decompose gallery:torus:100 --field {tmp}/gone.npy",
        "decompose gallery:torus:100 --field {tmp}/gone.csv",
        "figure {tmp}/gone.obj --out {tmp}/x.png",
    ],
    "no_folder": [
        "modes gallery:torus:100 --out {tmp}/no/modes.npz",
        "gallery torus --n 100 --out {tmp}/no/x.obj",
        "figure gallery:torus:100 --out {tmp}/no/x.png",
    ],
    "unknown_format": [
        "report {tmp}/noise.unknown",
        "modes gallery:torus:100 --out {tmp}/modes.txt",
        "gallery torus --n 100 --out {tmp}/x.unknown",
        "figure gallery:torus:100 --out {tmp}/x.unknown",
    ],
}


@pytest.mark.parametrize("kind, command", [(kind, command) for kind in KINDS for command in KINDS[kind]])
def test_one_fault_has_one_kind(run, bad_files, kind, command):
    assert run(*command.format(tmp=bad_files).split())[2].startswith(f"error [{kind}]: ")


def test_a_path_that_is_no_file_is_said_as_what_it_is(run):
    assert "no regular file" in run("report", "/dev/null")[2] and "path is empty" in run("report", "")[2]


@pytest.mark.parametrize("option", ["--n", "--n-exact", "--n-coexact"])
@pytest.mark.parametrize("value", ["3.5", "few", "-3", ""])
def test_a_wrong_number_is_told_without_internal_names(run, option, value):
    err = run("modes", "gallery:torus:100", f"{option}={value}")[2]
    assert f"{option}: expected a whole number, 0 or more, got {value!r}" in err


def test_options_that_do_not_apply_are_said(run, tmp_path):
    run("gallery", "torus", "--n", 100, "--out", tmp_path / "torus.obj")
    for file in (tmp_path / "torus.obj", "gallery:torus:100"):
        for words in (["--radius", "1"], ["--fill-triangles"]):
            facts = json.loads(run("report", file, *words, "--json")[1])
            assert [w["kind"] for w in facts["warnings"]].count("ignored_option") == 1, (file, words)
            assert "[ignored_option]" in run("modes", file, "--n", 2, *words)[1]
        assert "[ignored_option]" not in run("modes", file, "--n", 2)[1]
    assert run("report", tmp_path / "torus.obj", "--radius=-1")[2].startswith("error [radius]: ")


def test_a_shape_has_the_name_that_was_asked_for(run, tmp_path):
    assert [cli._gallery(name, 30).name for name in NAMES] == list(NAMES)
    assert run("report", "gallery:flat_torus:100")[1].splitlines()[0] == "flat_torus"
    assert "flat_torus has no positions" in run("gallery", "flat_torus", "--out", tmp_path / "x.obj")[2]


@pytest.fixture
def bad_files(tmp_path):
    (tmp_path / "empty.obj").write_bytes(b"")
    (tmp_path / "page.stl").write_bytes(b"<!DOCTYPE html><html><body>not found</body></html>")
    (tmp_path / "noise.unknown").write_bytes(bytes(range(256)))
    return tmp_path


@pytest.mark.parametrize("name", BAD)
def test_an_error_is_one_sentence_and_exit_code_1(run, bad_files, name):
    words = BAD[name].format(tmp=bad_files).split()
    code, out, err = run(*words)
    assert (code, out) == (1, "")
    assert err.startswith("error [") and err.endswith(".\n") and err.count("\n") == 1
    if words[0] == "report":
        code, out, err = run(*words, "--json")
        assert (code, err) == (1, "")
        error = json.loads(out)["error"]
        assert set(error) == {"kind", "message"} and error["kind"] and error["message"]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["repot", "x.obj"],
        ["report"],
        ["modes", "x.obj", "--degree", "4"],
        ["modes", "x.obj", "--n", "-3"],
        ["modes", "x.obj", "--n", "few"],
        ["modes", "x.obj", "--n", "8", "--n-exact", "3"],
        ["modes", "x.obj", "--bc", "periodic"],
        ["modes", "x.obj", "--star", "north"],
        ["decompose", "x.obj"],
        ["gallery", "torus"],
        ["cache"],
        ["cache", "shrink"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_code_2(run, words):
    code, out, err = run(*words)
    assert (code, out) == (2, "") and "usage:" in err


# ---- modes and decompose -----------------------------------------------------------------------------------------


def test_modes_are_written_with_their_parts(run, tmp_path):
    path = tmp_path / "modes.npz"
    code, out, err = run("modes", "gallery:torus:500", "--degree", 1, "--n", 10, "--out", path)
    assert (code, err) == (0, "")
    assert len([line for line in out.splitlines() if line.split()[:1] and line.split()[0].isdigit()]) == 11
    with np.load(path) as data:
        assert data["modes"].shape[1] == len(data["eigenvalues"]) == len(data["part"]) == 10
        assert (data["part"] == "harmonic").sum() == 2 and (data["eigenvalues"][:2] == 0).all()
        assert (int(data["degree"]), str(data["star"])) == (1, "galerkin")
        assert str(data["boundary_condition"]) == "absolute"


def test_the_order_of_the_table_of_modes_is_said_and_true(run):
    out = run("modes", "gallery:torus:500", "--degree", 1, "--n", 20)[1]
    assert "part by part (harmonic, exact, coexact), each part by increasing eigenvalue" in out
    assert "place by eigenvalue over all parts, as `figure --mode` and the app count" in out
    rows = [line.split() for line in out.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
    order = ["harmonic", "exact", "coexact"]
    keys = [(order.index(part), float(value)) for _, _, part, value in rows]
    assert len(keys) == 20 and keys == sorted(keys)
    assert [int(row[0]) for row in rows] == list(range(20))
    by_mode = sorted(rows, key=lambda row: int(row[1]))
    assert [int(row[1]) for row in by_mode] == list(range(20))
    values = [float(row[3]) for row in by_mode]
    assert values == sorted(values)


def test_numbers_of_exact_and_coexact_modes_are_kept(run, tmp_path):
    path = tmp_path / "modes.npz"
    code, _, _ = run(
        "modes", "gallery:annulus:500", "--n-exact", 3, "--n-coexact", 4, "--bc", "relative", "--star", "unit",
        "--out", path,
    )  # fmt: skip
    assert code == 0
    with np.load(path) as data:
        parts = data["part"].tolist()
    assert parts.count("harmonic") == 1 and 0 < parts.count("exact") <= 3 and 0 < parts.count("coexact") <= 4


@pytest.mark.parametrize("suffix", ["vtp", "vtu", "vtk"])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_modes_for_a_viewer_come_back_as_fields(run, tmp_path, suffix, k):
    path = tmp_path / f"modes.{suffix}"
    code, _, err = run("modes", "gallery:torus:500", "--degree", k, "--n", 4, "--out", path)
    assert (code, err) == (0, "")
    mesh = load_mesh(path)
    fields = {**mesh.point_fields, **mesh.cell_fields}
    assert [name for name in fields if name.startswith("mode_0")]
    assert all(np.isfinite(np.asarray(v, float)).all() for v in fields.values())


def test_parts_of_a_field_sum_back_and_are_written(run, tmp_path):
    modes, parts = tmp_path / "modes.npz", tmp_path / "parts.npz"
    run("modes", "gallery:torus:500", "--n", 8, "--out", modes)
    field = tmp_path / "field.npy"
    with np.load(modes) as data:
        wanted = {part: data["modes"][:, data["part"] == part].sum(axis=1) for part in ("harmonic", "exact", "coexact")}
    np.save(field, sum(wanted.values()))
    code, out, err = run("decompose", "gallery:torus:500", "--field", field, "--out", parts)
    assert (code, err) == (0, "")
    assert "stored order" in out and "residual" in out
    with np.load(parts) as data:
        for part, values in wanted.items():
            assert np.abs(data[part] - values).max() < 1e-8 * np.abs(values).max(), part


@pytest.mark.parametrize("suffix", ["vtp", "vtu", "vtk"])
def test_parts_for_a_viewer_come_back_as_fields(run, tmp_path, suffix):
    field, out = tmp_path / "vectors.csv", tmp_path / f"parts.{suffix}"
    mesh_file = tmp_path / "torus.ply"
    run("gallery", "torus", "--n", 500, "--out", mesh_file)
    points = load_mesh(mesh_file).points
    np.savetxt(field, np.column_stack([-points[:, 1], points[:, 0], 0 * points[:, 0]]), delimiter=",")
    code, text, err = run("decompose", mesh_file, "--field", field, "--out", out)
    assert (code, err) == (0, "") and "node vectors" in text
    rows = [line.split() for line in text.splitlines()]
    share = {row[0]: float(row[2]) for row in rows if row[:1] in (["exact"], ["coexact"], ["harmonic"])}
    # ρ² dφ against the harmonic dφ: (∫dA)² / (∫ρ² dA ∫ρ⁻² dA) = √(1−r²) / (1 + 3r²/2) for R = 1, r = 0.4
    assert share["harmonic"] == pytest.approx(100 * np.sqrt(1 - 0.16) / (1 + 1.5 * 0.16), abs=1.0)
    assert share["exact"] < 0.1
    mesh = load_mesh(out)
    assert {"exact", "coexact", "harmonic"} <= {*mesh.point_fields, *mesh.cell_fields}


# ---- gallery, cache, process -------------------------------------------------------------------------------------


def test_cache_counts_and_clears_its_entries(run):
    run("cache", "clear")
    assert run("cache", "size")[1].startswith("0 entries")
    run("modes", "gallery:torus:500", "--n", 6)
    assert not run("cache", "size")[1].startswith("0 entries")
    assert run("cache", "clear")[0] == 0
    assert run("cache", "size")[1].startswith("0 entries")


def test_an_interrupt_is_exit_code_130(run, monkeypatch):
    def interrupted(args):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "load", interrupted)
    code, _, err = run("report", "gallery:torus:500")
    assert code == 130 and "interrupted" in err


def test_a_full_disk_is_a_sentence(run, monkeypatch):
    def full(args):
        raise OSError(28, "No space left on device", "modes.npz")

    monkeypatch.setattr(cli, "load", full)
    code, _, err = run("report", "gallery:torus:500")
    assert code == 1 and "No space left" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "words", ["report gallery:torus:100", "report gallery:torus:100 --json", "report x.obj --json"]
)
def test_an_output_that_is_full_is_a_sentence(words):
    command = f"{sys.executable} -m hsd {words} > /dev/full"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("error [") and done.stderr.count("\n") == 1


def test_a_reader_that_goes_away_is_no_error():
    command = f"{sys.executable} -m hsd --help | true; {sys.executable} -m hsd report gallery:torus:500 | true"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == ""


def test_module_runs_as_a_program():
    done = subprocess.run([sys.executable, "-m", "hsd", "--version"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("hsd 0.")


# ---- progress and tables -----------------------------------------------------------------------------------------


def test_progress_estimates_the_time_left():
    now, out = [0.0], io.StringIO()
    with Progress(out, live=True, clock=lambda: now[0]) as progress:
        progress("solving", 0.0)
        now[0] = 30.0
        progress("solving", 0.25)
    assert "solving  25 %, 30 s, about 1 min 30 s left" in out.getvalue()
    assert out.getvalue().endswith("\r")


def test_time_left_of_a_stage_that_begins_with_a_part_done_is_at_its_own_pace():
    now, out = [0.0], io.StringIO()
    with Progress(out, live=True, clock=lambda: now[0]) as progress:
        progress("training", 0.5, "epoch 3")
        now[0] = 20.0
        progress("training", 0.6, "epoch 4")
    assert "training  60 %, epoch 4, 20 s, about 1 min 20 s left" in out.getvalue()


def test_progress_off_a_terminal_is_a_line_a_note_and_a_half_minute():
    now, out = [0.0], io.StringIO()
    with Progress(out, live=False, clock=lambda: now[0]) as progress:
        for second in range(100):
            now[0] = float(second)
            progress("training", 0.01 + second / 1e4, "epoch 1" if second < 50 else "epoch 2")
    said = out.getvalue().splitlines()
    assert [line.split(", ")[1:3] for line in said] == [
        ["epoch 1"], ["epoch 1", "30 s"], ["epoch 2", "50 s"], ["epoch 2", "1 min 20 s"]
    ]  # fmt: skip


def test_progress_off_a_terminal_is_a_line_a_tenth(run):
    out = io.StringIO()
    with Progress(out, live=False) as progress:
        for i in range(101):
            progress("solving", i / 100)
    assert len(out.getvalue().splitlines()) == 11
    code, _, err = run("modes", "gallery:torus:500", "--n", 4, "--progress")
    assert code == 0 and err


@pytest.mark.parametrize("seconds, words", [(0.4, "0 s"), (59.4, "59 s"), (125, "2 min 05 s"), (4200, "1 h 10 min")])
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words


def test_tables_align_numbers_right_and_words_left():
    lines = table([(1, "a", 2.5), (10, "bcd", -1e-9)], ("n", "word", "value")).splitlines()
    assert lines == [" n  word   value", "--  ----  ------", " 1  a        2.5", "10  bcd   -1e-09"]
