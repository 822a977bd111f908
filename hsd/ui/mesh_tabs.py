"""The parts of the Mesh page below and beside the picture: facts, findings, repair, units, download, cost."""

from __future__ import annotations

import tempfile
from pathlib import Path

import streamlit as st

from hsd.cli_text import report_rows
from hsd.cli_text import show as text_of
from hsd.errors import HsdError, Notice
from hsd.hodge.report import report as report_now
from hsd.mesh.io import WRITERS, save_mesh
from hsd.mesh.mesh import Mesh
from hsd.mesh.repair import MAX_IDS
from hsd.ui import cached
from hsd.ui.admission import Admission, admission
from hsd.ui.bound import bound_multiselect, bound_number, bound_selectbox, bound_slider, bound_text
from hsd.ui.eigenwork import panel
from hsd.ui.estimate import basis_estimate
from hsd.ui.page import PageContext, provenance_record
from hsd.ui.state import get_state, update
from hsd.viz.defects import Marks, short

HARMLESS = {
    "welded", "alpha_complex", "clique_complex", "relabelled_vertices", "several_components", "unreferenced_vertices",
    "duplicate_points", "oriented", "collapsed", "split", "filled_holes", "holes_left", "largest_component",
    "higher_order_cells",
}  # fmt: skip
DEFECTS = {
    "consistently_oriented": "consistently oriented",
    "nonmanifold_edges": "non-manifold edges",
    "nonmanifold_vertices": "non-manifold vertices",
    "boundary_edges": "boundary edges",
    "zero_area_faces": "faces without area",
    "zero_volume_tets": "tetrahedra without volume",
}
STEP_WORDS = {
    "collapse": "collapse: remove faces without area",
    "split": "split: take non-manifold edges and vertices apart",
    "orient": "orient: turn faces so that all agree",
    "fill_holes": "fill holes",
    "largest": "largest component only",
}
"""Steps in the order that makes each possible, with their words."""


def caption(mesh: Mesh, marks: list[Marks]) -> str:
    """What the picture shows, in words."""
    text = f"{mesh.name}: {mesh.complex.n_vertices} vertices."
    if mesh.points is None:
        text += " It has no positions of its own; the drawing is a layout and its lengths are not those of the mesh."
    for mark in marks:
        found = ((mark.vertices, "vertex", "vertices"), (mark.faces, "face", "faces"), (mark.edges, "edge", "edges"))
        parts = [
            f"{'the first ' if len(ids) == MAX_IDS else ''}{len(ids)} {many if len(ids) != 1 else one}"
            for ids, one, many in found
            if len(ids)
        ]
        text += f" Marked as “{short(mark.kind)}”: {', '.join(parts)}."
    return text


def betti(report: dict) -> None:
    """Betti numbers, the one line to read first."""
    numbers = ", ".join(f"b{k}\u00a0=\u00a0{b}" for k, b in enumerate(report["betti_Q"]))
    words = (("component", "components"), ("independent loop", "independent loops"), ("cavity", "cavities"))
    said = ", ".join(f"{b} {words[k][b != 1]}" for k, b in enumerate(report["betti_Q"][:3]))
    said += f"; Euler characteristic χ = {report['chi']}".replace("-", "−")
    if report["genus"] is not None:
        said += f"; genus {report['genus']}"
    if report["boundary_loops"]:
        said += f"; {report['boundary_loops']} boundary piece{'' if report['boundary_loops'] == 1 else 's'}"
    st.markdown(f"**Betti numbers over Q: {numbers}**  \n{said}")
    if report["betti_GF2"] != report["betti_Q"]:
        numbers = ", ".join(f"b{k} = {b}" for k, b in enumerate(report["betti_GF2"]))
        st.markdown(f"Over GF(2): {numbers} (they differ: the mesh has torsion).")


def findings(mesh: Mesh, notices: tuple[Notice, ...]) -> None:
    """Notices as sentences, and what they close."""
    for notice in notices:
        (st.info if notice.kind in HARMLESS else st.warning)(f"{notice.message}  \n`{notice.kind}`")
    for sentence in admission_of(mesh).sentences:
        st.markdown(f":material/block: {sentence}")
    if not notices:
        st.success("No defects were found.")


@st.cache_resource(max_entries=32, show_spinner=False)
def _admission(key: str, _mesh: Mesh) -> Admission:
    return admission(_mesh)


def admission_of(mesh: Mesh) -> Admission:
    """Which stars and pages the mesh allows (cached)."""
    return _admission(mesh.content_hash, mesh)


def all_rows(report: dict) -> list[tuple[str, str]]:
    """Facts and counts of defects as text."""
    return report_rows(report) + [(label, text_of(report[key])) for key, label in DEFECTS.items() if key in report]


def facts_table(report: dict, unit: str) -> None:
    """All facts, with units where they have one."""
    units = {"area": unit and f" {unit}²", "volume": unit and f" {unit}³"}
    rows = [(label, value + units.get(label, "") if value != "–" else value) for label, value in all_rows(report)]
    with st.container(height=300, border=False):
        st.table({"Fact": [label for label, _ in rows], "Value": [value for _, value in rows]}, border="horizontal")


def show_tabs(p: PageContext, code: str) -> None:
    """Repair, units, download, cost and Python, in tabs."""
    repair_tab, units_tab, download_tab, cost_tab, code_tab = st.tabs(
        ["Repair", "Units", "Download", "Time and memory", "In Python"]
    )
    with repair_tab:
        repair_panel(p.mesh)
    with units_tab:
        units_panel(p.mesh)
    with download_tab:
        download_panel(p.mesh)
    with cost_tab:
        cost_panel(p.mesh)
    with code_tab:
        st.code(code + "\nprint(hsd.report(mesh))", language="python")


# ---- repair ------------------------------------------------------------------------------------------------------


def repair_panel(mesh: Mesh) -> None:
    """Steps to take, what each did, and the facts before and after."""
    bound_multiselect(
        "Steps, done in this order", "mesh.repair", list(STEP_WORDS), STEP_WORDS.get, placeholder="no repair"
    )
    choice = get_state().mesh
    if "fill_holes" in choice.repair:
        bound_slider("Largest hole to fill, edges", "mesh.max_hole", 3, 100)
    if not choice.repair:
        st.caption("The mesh is used as it was loaded. Steps change topology only as their names say.")
        return
    st.button("Undo repair", on_click=lambda: update(**{"mesh.repair": ()}))
    result = cached.loaded(choice)
    for notice in result.record:
        st.info(notice.message)
    if not result.record:
        st.info("These steps found nothing to change.")
    before, after = cached.report_of(result.before), cached.report_of(mesh)
    old = dict(all_rows(before))
    rows = [(label, old.get(label, "–"), value) for label, value in all_rows(after)]
    changed = [row for row in rows if row[1] != row[2]]
    st.markdown("**Before and after**" if changed else "Before and after: all facts are equal.")
    if changed:
        st.table({"Fact": [r[0] for r in changed], "Before": [r[1] for r in changed], "After": [r[2] for r in changed]})


# ---- units -------------------------------------------------------------------------------------------------------


def units_panel(mesh: Mesh) -> None:
    """Name of the unit, and a factor for all lengths."""
    left, right = st.columns(2)
    bound_text("Unit of length, for captions", "mesh.unit", where=left, placeholder="m", max_chars=12)
    bound_number("Multiply all lengths by", "mesh.scale", 1e-9, 1e9, where=right, format="%g")
    unit = get_state().mesh.unit or "unit"
    if mesh.has_metric and mesh.points is not None:
        size = mesh.points.max(axis=0) - mesh.points.min(axis=0)
        st.caption(f"Box: {' × '.join(f'{s:.4g}' for s in size)} {unit}. Eigenvalues are in {unit}⁻².")
    else:
        st.caption(f"Eigenvalues are in {unit}⁻².")


# ---- download ----------------------------------------------------------------------------------------------------


def download_panel(mesh: Mesh) -> None:
    """The mesh in force in any format that can hold it, or the report."""
    left, right = st.columns(2, vertical_alignment="bottom")
    kind = left.selectbox("Format", list(WRITERS), format_func=lambda s: f".{s}", key="mesh:format")
    try:
        data = file_bytes(mesh, kind)
    except HsdError as error:
        st.warning(error.message)
    else:
        right.download_button(f"Download {mesh.name}.{kind}", data, f"{mesh.name}.{kind}", key="mesh:download")
    with_provenance = {**report_now_cached(mesh), "provenance": provenance_record(mesh, get_state())}
    import json

    st.download_button(
        "Download the report (JSON)",
        json.dumps(with_provenance, indent=1),
        f"{mesh.name}-report.json",
        "application/json",
        key="mesh:report",
    )


def report_now_cached(mesh: Mesh) -> dict:
    """The report of :func:`hsd.report`."""
    return cached.report_of(mesh) or report_now(mesh)


def file_bytes(mesh: Mesh, suffix: str) -> bytes:
    """Content of a mesh file.  Raises InputError where the format cannot hold the mesh."""
    return _file_bytes((mesh.content_hash, mesh.name), suffix, mesh)


@st.cache_data(max_entries=4, show_spinner=False)
def _file_bytes(key: tuple, suffix: str, _mesh: Mesh) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"mesh.{suffix}"
        save_mesh(_mesh, path)
        return path.read_bytes()


# ---- cost --------------------------------------------------------------------------------------------------------


def cost_panel(mesh: Mesh) -> None:
    """What the modes of the other pages will cost here; long work can be started from here."""
    left, middle, right = st.columns(3)
    bound_selectbox("Degree k", "k", range(mesh.dim + 1), where=left)
    bound_selectbox("Boundary condition", "bc", ("absolute", "relative"), where=middle)
    bound_slider("Number of modes", "n_modes", 4, 256, where=right)
    state = get_state()
    estimate = basis_estimate(mesh, state.k, state.n_modes)
    if estimate.is_long:
        panel(mesh, state.k, state.bc, state.star, state.n_modes)
    else:
        st.write(f"The modes take {estimate.words()}; the pages compute them without asking.")
