"""A sample as files, and the lines of Python that make it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hsd.cli_output import write_npz
from hsd.data.dataset import mesh_arrays
from hsd.mesh.io import save_mesh
from hsd.ui.export import mesh_files
from hsd.ui.state import AppState
from hsd.ui.task_view import Loaded, provenance_record
from hsd.viz.task_sample import Shown, node_values


def fields_of(ready: Loaded, parts: tuple[Shown, ...]) -> dict[str, Shown]:
    """All fields of the sample by the name that files give them."""
    sample = ready.sample
    out = {f"input_{s.name}": s for s in sample.inputs} | {"target": sample.target}
    out |= {f"part_{s.name}": s for s in parts}
    return out if sample.states is None else out | {"trajectory": sample.states}


def sample_npz(state: AppState, ready: Loaded, parts: tuple[Shown, ...], path: Path) -> None:
    """Cochains and node values, times, record, mesh and provenance."""
    sample, arrays = ready.sample, {}
    for name, shown in fields_of(ready, parts).items():
        values, nodes = shown.values, node_values(sample, shown)
        arrays[name], arrays[f"{name}_nodes"] = (v[0] if len(v) == 1 else v for v in (values, nodes))
    if sample.times is not None:
        arrays["times"] = sample.times
    arrays |= {f"coefficient_{name}": values for name, values in sample.coefficients.items()}
    arrays |= {f"record_{name}": values for name, values in sample.record.items()}
    arrays |= {key.removeprefix("mesh/"): value for key, value in mesh_arrays(ready.mesh, "mesh").items()}
    arrays["schema"] = np.array(
        json.dumps({n: {"degree": s.degree, "reading": s.reading} for n, s in fields_of(ready, parts).items()})
    )
    write_npz(path, **arrays, **{f"provenance_{k}": np.array(v) for k, v in provenance_record(state, ready).items()})


def sample_mesh_file(state: AppState, ready: Loaded, parts: tuple[Shown, ...], path: Path) -> None:
    """Node values of all fields on the mesh, a trajectory as one field a time."""
    data = {}
    for name, shown in fields_of(ready, parts).items():
        nodes = node_values(ready.sample, shown)
        for t, values in enumerate(nodes):
            label = name if len(nodes) == 1 else f"{name}_{t:02d}"
            data[label] = values[:, 0] if values.shape[1] == 1 else np.pad(values, ((0, 0), (0, 3 - values.shape[1])))
    save_mesh(ready.mesh, path, point_data=data, cell_data={}, provenance=provenance_record(state, ready))


def files_of(state: AppState, ready: Loaded, parts: tuple[Shown, ...]) -> dict[str, tuple[str, Callable, str]]:
    """Files as hsd.ui.export.download_row takes them."""

    def write(suffix: str, path: Path) -> None:
        (sample_npz if suffix == ".npz" else sample_mesh_file)(state, ready, parts, path)

    return mesh_files(ready.mesh.dim, write)


def file_stem(ready: Loaded) -> str:
    """Name of the files: task or file, seed, sample, beginning of the mesh's hash."""
    if ready.task is not None:
        name, _, seed, i = ready.key
        return f"{name}_seed{seed}_sample{i}_{ready.mesh.content_hash[:8]}"
    return f"{ready.data.path.stem}_sample{ready.key[-1]}_{ready.mesh.content_hash[:8]}"


def code(state: AppState, ready: Loaded, split: str) -> str:
    """The lines that make what is shown."""
    sample, target = ready.sample, ready.sample.target
    i = ready.key[-1]
    if ready.task is not None:
        nodes = state.tasks.nodes or ""
        lines = [
            "from hsd.data.ground import Ground",
            "from hsd.data.tasks import task",
            "from hsd.viz.task_sample import hodge_parts, history, node_values, task_sample",
            "",
            f'problem = task("{ready.task.name}")',
            f"ground = Ground(problem.mesh({nodes}))",
            f"record = problem.sample({state.seed}, {i})  # mesh-free",
            "made = problem.realise([record], ground)  # .inputs, .target, .parts, .coefficients, .trajectory",
            f"sample = task_sample(problem, ground, {state.seed}, {i})  # the same as named fields",
        ]
    else:
        lines = [
            "from hsd.data.dataset import Dataset",
            "from hsd.data.ground import Ground",
            "from hsd.viz.task_sample import file_sample, hodge_parts, history, node_values",
            "",
            f"data = Dataset({ready.data.path.name!r})",
            f"mesh = data.meshes[data.mesh_of_sample[{i}]]",
            f'ground = Ground(mesh, "{ready.star}", "{ready.bc}")',
            f"sample = file_sample(data, ground, {i})",
        ]
    lines.append(f"nodes = node_values(sample, sample.target)  # reads as {target.reading!r}: what is coloured")
    if split == "hodge":
        shown = "sample.target" if sample.states is None else "sample.states"
        lines.append(f"parts = hodge_parts(sample, {shown})")
    if sample.states is not None:
        lines.append("curves = history(sample)  # against sample.times")
    return "\n".join(lines)


def commands(state: AppState, ready: Loaded) -> str:
    """What the command line does with the same task or file."""
    if ready.task is None:
        return f"python -m hsd data check {ready.data.path.name}"
    nodes = state.tasks.nodes or ready.task.config.n_nodes
    name, seed = ready.task.name, state.seed
    return (
        f"python -m hsd data generate {name} --nodes {nodes} --seed {seed} --workers 2 --out {name}.npz\n"
        f"python -m hsd data card {name} --nodes {nodes} --seed {seed}"
    )
