"""The Mesh page: every gallery shape, every shared case uploaded, repair, units, downloads, limits; no browser."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import hsd
from hsd.mesh.io import WRITERS, load_mesh_bytes
from hsd.mesh.primitives import GALLERY
from tests.conftest import shared_folder
from tests.mesh.test_cases import expected_facts

ROOT = Path(__file__).resolve().parents[2]
SHARED = shared_folder()
FILES = SHARED / "cases" / "files" / "shareable" if SHARED else None
CASES = [
    (case, name)
    for case in (json.loads((FILES / "manifest.json").read_text())["cases"] if FILES else [])
    if case["group"] in "IN"
    for name in case["files"]
]
LABELS = {"V": "vertices", "E": "edges", "F": "triangles", "chi": "Euler characteristic χ", "components": "components"}
CUBE = b"OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"
OCTAHEDRON = (
    b"OFF\n6 8 0\n1 0 0\n-1 0 0\n0 1 0\n0 -1 0\n0 0 1\n0 0 -1\n"
    b"3 0 2 4\n3 2 1 4\n3 1 3 4\n3 3 0 4\n3 2 0 5\n3 1 2 5\n3 3 1 5\n3 0 3 5\n"
)


@pytest.fixture(autouse=True)
def _private_store(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HSD_STORE", str(tmp_path_factory.getbasetemp() / "store"))


def opened(**parameters) -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages" / "mesh.py"), default_timeout=60)
    for name, value in parameters.items():
        app.query_params[name] = value
    return app.run()


def shown_facts(app: AppTest) -> dict[str, str]:
    (table,) = [t.value for t in app.table if "Value" in t.value]
    return dict(zip(table["Fact"], table["Value"], strict=True))


def upload(app: AppTest, name: str, data: bytes) -> AppTest:
    return app.file_uploader[0].set_value((name, data, "application/octet-stream")).run()


def sentences(app: AppTest) -> str:
    return "\n".join(e.value for kind in (app.warning, app.info, app.error) for e in kind)


@pytest.mark.parametrize("name", GALLERY)
def test_gallery_shape_is_shown_with_its_betti_numbers(name):
    app = opened(mesh=name, n="300")
    assert not app.exception and not app.error
    numbers = ", ".join(f"b{k} = {b}" for k, b in enumerate(GALLERY[name].betti))
    assert any(numbers in m.value.replace("\u00a0", " ") for m in app.markdown)
    assert (ROOT / "static" / "thumbnails" / f"{name}.png").is_file()


@pytest.mark.skipif(FILES is None, reason="no folder of shared cases (set HSD_SHARED)")
def test_every_shared_case_ends_in_its_facts_warning_or_sentence_and_the_last_good_mesh_stays():
    app = opened(mesh="sphere", n="100")
    before = shown_facts(app)
    for case, name in CASES:
        expect, data = case["expect"], (FILES / name).read_bytes()
        upload(app, name, data)
        assert not app.exception, name
        if expect["status"] == "error":
            assert len(app.error) == 1 and "\n" not in app.error[0].value, name
            assert shown_facts(app) == before, name
            continue
        assert not app.error, (name, [e.value for e in app.error])
        before = shown_facts(app)
        if name == "N10_flow.csv":
            assert (before["vertices"], before["edges"]) == ("48", "112")
            continue
        listed = expected_facts(case, name)
        for key in LABELS.keys() & listed.keys():
            assert before[LABELS[key]] == str(listed[key]), (name, key)
        betti = case["facts"].get("betti_Q")
        if betti and case["id"] != "N18":
            shown = [int(b) for b in before["Betti numbers over Q"].split(", ")]
            assert shown == betti, name
        kind = expect.get("error_kind")
        if kind and kind != "k_capped":
            assert f"`{kind}`" in sentences(app), name


def test_choosing_a_shape_drops_repair_and_keeps_the_size():
    app = opened(mesh="sphere", n="300", repair="orient", scale="2.0")
    app.selectbox(key="state:mesh.name").set_value("annulus").run()
    assert not app.exception and dict(app.query_params) == {"mesh": "annulus", "n": "300"}


def test_same_name_with_other_content_gives_new_numbers():
    app = opened(mesh="sphere", n="100")
    assert shown_facts(upload(app, "mesh.off", CUBE))["vertices"] == "4"
    assert shown_facts(upload(app, "mesh.off", OCTAHEDRON))["vertices"] == "6"


def test_bad_file_then_good_one_works_without_reload():
    app = opened(mesh="sphere", n="100")
    upload(app, "mesh.off", CUBE)
    upload(app, "bad.off", b"OFF\n3 1 0\n0 0 0\n")
    assert len(app.error) == 1 and shown_facts(app)["vertices"] == "4"
    upload(app, "mesh.off", OCTAHEDRON)
    assert not app.error and shown_facts(app)["vertices"] == "6"


def test_uploaded_mesh_comes_back_from_the_link_alone():
    app = upload(opened(), "mesh.off", OCTAHEDRON)
    again = opened(**dict(app.query_params))
    assert shown_facts(again) == shown_facts(app)


def test_expired_upload_ends_in_one_sentence_and_the_gallery():
    app = opened(file="0" * 32)
    assert not app.exception and len(app.warning) == 1
    assert "upload it again" in app.warning[0].value and "torus" in app.warning[0].value
    assert "file" not in app.query_params


def test_unknown_shape_in_a_link_ends_in_one_sentence():
    app = opened(mesh="teapot")
    assert not app.exception and "teapot" in app.warning[0].value and shown_facts(app)["genus"] == "1"


def test_file_above_the_limit_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setenv("HSD_MAX_UPLOAD_MB", "1")
    app = opened(mesh="sphere", n="100")
    assert "1 MB" in app.file_uploader[0].label
    before = shown_facts(app)
    upload(app, "any.obj", b"v 0 0 0\n" * 250_000)
    assert len(app.error) == 1 and "up to 1 MB" in app.error[0].value and shown_facts(app) == before


def test_repair_shows_before_and_after_and_can_be_undone():
    flipped = OCTAHEDRON.replace(b"3 0 2 4", b"3 2 0 4")
    app = upload(opened(), "flipped.off", flipped)
    assert "`inconsistent_orientation`" in sentences(app)
    app.multiselect(key="state:mesh.repair").set_value(["orient"]).run()
    assert not app.exception and "`inconsistent_orientation`" not in sentences(app)
    assert any("turned" in i.value for i in app.info)
    (table,) = [t.value for t in app.table if "Before" in t.value]
    assert dict(zip(table["Fact"], zip(table["Before"], table["After"]))) == {"consistently oriented": ("no", "yes")}
    next(b for b in app.button if b.label == "Undo repair").click().run()
    assert "`inconsistent_orientation`" in sentences(app)


def test_scale_changes_area_by_its_square_and_no_topology():
    one, two = shown_facts(opened(mesh="sphere", n="300")), shown_facts(opened(mesh="sphere", n="300", scale="2.0"))
    assert float(two["area"]) == pytest.approx(4 * float(one["area"]), rel=1e-5)
    assert one["Betti numbers over Q"] == two["Betti numbers over Q"]
    assert shown_facts(opened(mesh="sphere", n="300", unit="mm"))["area"].endswith(" mm²")


@pytest.mark.parametrize("suffix", WRITERS)
def test_download_in_every_format_reads_back_as_the_same_mesh(suffix):
    from hsd.ui.mesh_tabs import file_bytes

    mesh = hsd.gallery("torus", 300)
    back = load_mesh_bytes(file_bytes(mesh, suffix), f"torus.{suffix}")
    assert back.complex.counts == mesh.complex.counts
    app = opened(mesh="torus", n="300")
    app.selectbox(key="mesh:format").set_value(suffix).run()
    assert not app.exception and any(suffix in b.label for b in app.get("download_button"))


def test_format_that_cannot_hold_the_mesh_says_so():
    app = opened(mesh="ball", n="300")
    app.selectbox(key="mesh:format").set_value("stl").run()
    assert any(".stl file holds no tetrahedra" in w.value for w in app.warning)


def test_mesh_without_area_closes_the_default_star_and_says_why():
    flat = b"OFF\n4 2 0\n0 0 0\n1 0 0\n2 0 0\n1 1 0\n3 0 1 2\n3 0 2 3\n"
    app = upload(opened(), "flat.off", flat)
    closed = [m.value for m in app.markdown if "are closed with the default star" in m.value]
    assert len(closed) == 1 and "“unit”" in closed[0]


def test_large_work_is_estimated_and_asked_first():
    app = opened(mesh="ball", n="6000", k="1", modes="64")
    assert not app.exception
    text = " ".join(m.value for m in app.markdown)
    assert "take about" in text and "of memory" in text
    assert any(b.label == "Compute" for b in app.button)


def test_opening_the_app_loads_no_torch_no_vtk_and_no_panel():
    code = (
        "import sys\nfrom streamlit.testing.v1 import AppTest\n"
        "app = AppTest.from_file('app.py', default_timeout=60).run()\n"
        "assert not app.exception\n"
        "print([n for n in ('torch', 'vtk', 'vtkmodules', 'pyvista', 'panel', 'stpyvista') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip().splitlines()[-1:] == ["[]"], done.stderr[-2000:]
