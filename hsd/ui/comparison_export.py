"""The comparison as files: fields of truth and models, the table, a figure sheet; and the lines that make them."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from hsd.cli_output import write_npz
from hsd.data.dataset import mesh_arrays
from hsd.errors import HsdError
from hsd.mesh.io import save_mesh
from hsd.ui.comparison_answers import Ready
from hsd.ui.comparison_code import lines_of, path_here
from hsd.ui.comparison_models import Model
from hsd.ui.comparison_view import checkpoint_hashes, provenance, truth_of
from hsd.ui.comparison_work import Outcome
from hsd.ui.export import mesh_files
from hsd.ui.state import AppState
from hsd.viz.scene import Scene

SHEET_SECONDS = 90.0
SHEET_WIDTH = 2400


class SheetError(HsdError):
    """The figure sheet was not drawn (kind: no_sheet)."""

    default_kind = "no_sheet"


def record_of(state: AppState, ready: Ready, answers: Mapping[Model, Outcome]) -> dict[str, str]:
    """Provenance with the checksum of every model's weights."""
    out = provenance(state, ready)
    return out | {f"weights {title}": sha for title, sha in checkpoint_hashes(answers).items()}


def fields_npz(state: AppState, ready: Ready, answers: Mapping[Model, Outcome], path: Path) -> None:
    """Input, truth and predictions as cochains (where there are any) and node values, errors, mesh, provenance."""
    sample, arrays = ready.sample, {}
    truth = truth_of(ready)
    for shown in sample.inputs:
        arrays[f"input_{shown.name}"] = shown.values[0]
    arrays |= {"truth": sample.target.values[0], "truth_nodes": truth}
    for model, answer in answers.items():
        name = file_name(model)
        arrays[f"prediction_{name}_nodes"] = answer.nodes
        arrays[f"error_{name}"] = np.linalg.norm(answer.nodes - truth, axis=1)
        if answer.form is not None:
            arrays[f"prediction_{name}"] = answer.form
    arrays |= {f"coefficient_{name}": values for name, values in sample.coefficients.items()}
    arrays |= {f"record_{name}": values for name, values in sample.record.items()}
    arrays |= {key.removeprefix("mesh/"): value for key, value in mesh_arrays(ready.mesh, "mesh").items()}
    scores = {model.title: dict(answer.scores) for model, answer in answers.items()}
    about = {"scores": json.dumps(scores), "provenance": json.dumps(record_of(state, ready, answers))}
    write_npz(path, **arrays, **{key: np.array(text) for key, text in about.items()})


def fields_mesh(state: AppState, ready: Ready, answers: Mapping[Model, Outcome], path: Path) -> None:
    """Node values of truth, predictions and errors on the mesh."""
    data, record = node_fields(ready, answers), record_of(state, ready, answers)
    save_mesh(ready.mesh, path, point_data=data, cell_data={}, provenance=record)


def node_fields(ready: Ready, answers: Mapping[Model, Outcome]) -> dict[str, np.ndarray]:
    """Node values of input, truth, predictions and the sizes of errors as point data of a mesh file."""
    truth, data = truth_of(ready), {}
    for shown in ready.sample.inputs:
        nodes = ready.ground.node_values(shown.degree, shown.reading, shown.values)[0]
        data[f"input_{shown.name}"] = point_data(nodes)
    data["truth"] = point_data(truth)
    for model, answer in answers.items():
        name = file_name(model)
        data[f"prediction_{name}"] = point_data(answer.nodes)
        data[f"error_{name}"] = np.linalg.norm(answer.nodes - truth, axis=1)
    return data


def point_data(nodes: np.ndarray) -> np.ndarray:
    """Node values (n_vertices, C) as a mesh file has them: numbers (n_vertices,) where C is 1."""
    return nodes[:, 0] if nodes.shape[1] == 1 else nodes


def file_name(model: Model) -> str:
    """The model's key with letters, digits, _ and - alone."""
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in model.key)


def field_files(state: AppState, ready: Ready, answers: Mapping[Model, Outcome]) -> dict:
    """NPZ and VTP or VTU as ``download_row`` takes them."""

    def write(suffix: str, path: Path) -> None:
        (fields_npz if suffix == ".npz" else fields_mesh)(state, ready, answers, path)

    return mesh_files(ready.mesh.dim, write)


def stem(state: AppState, ready: Ready) -> str:
    """Name of the files."""
    choice = state.comparison
    which = f"composed_{choice.composed[:8]}" if choice.composed else f"seed{state.seed}_sample{choice.sample}"
    which = which if ready.file is None else f"sample{ready.key[-1]}"
    return f"comparison_{ready.task.name}_{which}_{ready.mesh.content_hash[:8]}"


# ---- figure sheet ------------------------------------------------------------------------------------------------


def sheet(scene: Scene, about: Mapping[str, str]) -> bytes:
    """PNG of all panels for a paper, drawn by a process of its own, so that VTK never runs in the server.

    about : provenance; task and mesh stand in the caption, all of it in the file as text

    The scene goes to that process through a pipe.  Raises SheetError (no_sheet).
    """
    what = about["task"].replace("_", " ").capitalize()
    scene = replace(scene, caption=f"{what}, {about['mesh']}. {scene.caption}")
    columns = scene.columns_of_panels or len(scene.panels)
    rows = 1 + max(scene.cell_of(i) for i in range(len(scene.panels))) // columns
    size = (SHEET_WIDTH, min(round(SHEET_WIDTH / columns * 0.86 * rows) + 160, 4800))
    child = [sys.executable, "-m", "hsd.ui.comparison_sheet", str(size[0]), str(size[1])]
    try:
        done = subprocess.run(
            child, input=pickle.dumps((scene, dict(about))), capture_output=True, timeout=SHEET_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SheetError(
            f"The figure sheet could not be drawn: {error}; save the view by its camera button."
        ) from error
    if done.returncode or not done.stdout.startswith(b"\x89PNG"):
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why = said[-1] if said else "no picture came back"
        raise SheetError(f"The figure sheet could not be drawn: {why}; save the view by its camera button instead.")
    return done.stdout


# ---- code --------------------------------------------------------------------------------------------------------


def code(state: AppState, ready: Ready, answers: Mapping[Model, Outcome]) -> str:
    """The lines that give the same numbers."""
    use = lines_of(state, ready)
    record = (
        f'with np.load("{stem(state, ready)}.npz") as file:  # the exported fields\n'
        '    record = {key[7:]: file[key] for key in file if key.startswith("record_")}'
        if state.comparison.composed and ready.file is None
        else f"record = {use.record}"
    )
    paths = [str(model.path) for model in answers] or ["model.safetensors"]
    imports = ("from hsd.data.ground import Ground", "from hsd.metrics.scoring import score",
               "from hsd.training.evaluate import yardstick_of")  # fmt: skip
    lines = [
        "# in the folder of the program",
        "import numpy as np",
        "",
        *sorted((*imports, *use.imports)),
        "",
        use.problem,
        f"mesh = {use.mesh}",
        record,
        "made = problem.realise([record], Ground(mesh, problem.star, problem.bc))",
        f"source = made.inputs[{ready.sample.inputs[0].name!r}]",
        f"for path in {[path_here(path) for path in paths]!r}:",
        f"    predictor = {use.predictor}",
        "    fields = predictor(predictor.domain, source, made.coefficients)",
        '    unit = predictor.normaliser.channels["target"].scale',
        f'    yardstick = yardstick_of(predictor.domain, "{use.family}")',
        '    truth = {"truth_form": made.target, "prediction_form": fields.forms}',
        "    print(path, score(yardstick, fields.nodes, unit=unit, **truth).mean)",
    ]
    return "\n".join(lines)
