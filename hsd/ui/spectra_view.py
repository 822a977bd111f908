"""What Spectral Energy shows of models, without its layout: spectra of the sample in caches, scene, figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from hsd.cli_output import write_npz
from hsd.mesh.io import save_mesh
from hsd.ui import cached, held_out
from hsd.ui import comparison_view as shared
from hsd.ui.comparison_answers import Ready, model_key
from hsd.ui.comparison_code import lines_of, path_here
from hsd.ui.comparison_export import file_name, node_fields, point_data
from hsd.ui.comparison_models import Model
from hsd.ui.comparison_work import Outcome
from hsd.ui.export import mesh_files
from hsd.ui.held_out import Pass
from hsd.ui.spectra_work import Frame, Spectrum, band_of, spectrum_of
from hsd.ui.state import AppState
from hsd.viz.modes import FormPicture, picture_of
from hsd.viz.palettes import MODELS
from hsd.viz.scene import Scene
from hsd.viz.spectra_figures import Line, spectra_figure
from hsd.viz.spectra_scene import spectra_scene
from hsd.viz.style import Ink
from hsd.viz.task_scene import symbol_of

BANDS = 4
"""Fields with a band at most; more bands hide each other."""


@dataclass(frozen=True, eq=False)
class Spectra:
    """The sample's spectra in one basis."""

    frame: Frame
    truth: Spectrum
    found: Mapping[Model, Spectrum]


def spectra_of(ready: Ready, answers: Mapping[Model, Outcome]) -> Spectra:
    """Spectra of the truth and of every answer."""
    truth = shared.truth_of(ready)
    found = {model: _spectrum(model_key(ready, model), ready.key, ready, a.nodes) for model, a in answers.items()}
    return Spectra(frame_of(ready), _spectrum(("truth",), ready.key, ready, truth), found)


def frame_of(ready: Ready) -> Frame:
    return _frame(ready.task.name, ready.mesh.content_hash, ready)


@st.cache_resource(max_entries=4, show_spinner=False)
def _frame(task: str, mesh: str, _ready: Ready) -> Frame:
    return Frame.of(held_out.bench_of(_ready))


@st.cache_resource(max_entries=128, show_spinner=False)
def _spectrum(who: tuple, key: tuple, _ready: Ready, _nodes: np.ndarray) -> Spectrum:
    return spectrum_of(held_out.bench_of(_ready), _nodes, shared.truth_of(_ready))


def cut_of(state: AppState, frame: Frame) -> int:
    """Modes kept: the state's, or half of them."""
    n = len(frame.columns)
    return min(state.spectrum.kept or n // 2, n)


# ---- pictures ----------------------------------------------------------------------------------------------------


def modes_of(ready: Ready) -> FormPicture:
    """All modes by eigenvalue for colouring, sent to the page once."""
    return _modes(ready.task.name, ready.mesh.content_hash, ready)


@st.cache_resource(max_entries=3, show_spinner="Preparing the modes")
def _modes(task: str, mesh: str, _ready: Ready) -> FormPicture:
    bench, target = held_out.bench_of(_ready), _ready.sample.target
    modes = bench.basis.modes[:, Frame.of(bench).columns]
    return picture_of(_ready.mesh, bench.basis.k, modes, None, symbol=symbol_of(target))


def scene_of(state: AppState, ready: Ready, spectra: Spectra) -> Scene:
    """Truth and models cut to the lowest modes."""
    frame, n = spectra.frame, len(spectra.frame.columns)
    left = np.append(np.cumsum(spectra.truth.energies[::-1])[::-1], 0.0)
    rest = max(spectra.truth.total - float(spectra.truth.energies.sum()), 0.0)
    errors = np.sqrt((left + rest) / (spectra.truth.total or 1.0))
    labels = [
        f"λ ≤ {frame.eigenvalues[m - 1]:.4g}; of the truth {100 * errors[m]:.3g} % is left out" for m in range(1, n + 1)
    ]
    return spectra_scene(
        modes_of(ready),
        cached.surface_of(ready.mesh),
        spectra.truth.coefficients,
        {m.title: (s.coefficients, s.errors) for m, s in spectra.found.items()},
        labels,
        cut_of(state, frame),
        clip=state.spectrum.clip if ready.mesh.dim == 3 else None,
        theme=state.theme,
        caption=f"{shared.sample_words(state, ready)} Sums of the modes kept, those with the smallest eigenvalues.",
    )


def sample_figure(state: AppState, spectra: Spectra, ink: Ink) -> go.Figure:
    """The sample's |c|² against λ, and the errors'."""
    frame, sums = spectra.frame, state.spectrum.sums

    def of(energies: np.ndarray) -> np.ndarray:
        return frame.summed(energies) if sums else energies

    lines = [Line("truth", MODELS["truth"], of(spectra.truth.energies))]
    lines += [Line(m.title, m.look, of(s.energies), of(s.error_energies)) for m, s in spectra.found.items()]
    values = (frame.block_eigenvalues, frame.block_part) if sums else (frame.eigenvalues, frame.part)
    cut = float(frame.eigenvalues[cut_of(state, frame) - 1])
    return spectra_figure(*values, lines, ink, cut=cut, log=state.spectrum.log)


def paper_figure(state: AppState, frame: Frame, found: Pass, ink: Ink) -> go.Figure:
    """Median and quartiles over the test samples of the energy in every block."""
    lines = []
    for look, title, digest in [
        (MODELS["truth"], "truth", found.truth),
        *((m.look, m.title, d) for m, d in found.found.items()),
    ]:
        true = look is MODELS["truth"]
        band = band_of(frame, digest)
        wrong = None if true else band_of(frame, digest, errors=True)
        wide = state.spectrum.band and len(lines) < BANDS
        lines.append(
            Line(
                title, look, band.middle, None if true else wrong.middle,
                (band.low, band.high) if wide else None, (wrong.low, wrong.high) if wide and wrong else None,
            )
        )  # fmt: skip
    return spectra_figure(frame.block_eigenvalues, frame.block_part, lines, ink, log=state.spectrum.log)


def paper_rows(frame: Frame, found: Pass) -> dict[str, list]:
    """The data of the figure over the test set: one row a block."""
    rows: dict[str, list] = {
        "eigenvalue": frame.block_eigenvalues.tolist(),
        "part": [str(p) for p in frame.block_part],
        "modes": [len(b) for b in frame.blocks],
    }
    for title, digest in {"truth": found.truth, **{m.title: d for m, d in found.found.items()}}.items():
        band = band_of(frame, digest)
        rows |= {f"{title} median": band.middle.tolist(), f"{title} 25 %": band.low.tolist()}
        rows[f"{title} 75 %"] = band.high.tolist()
        if title != "truth":
            rows[f"{title} error median"] = band_of(frame, digest, errors=True).middle.tolist()
    return rows


# ---- words and files ---------------------------------------------------------------------------------------------


def map_words(ready: Ready) -> str:
    """What the coefficients are of."""
    if not ready.sample.target.is_vector:
        return "c = ⟨φ, u⟩ in the lumped ⋆₀ of node values; the modes are coexact and, at λ = 0, constant."
    return (
        "c = ⟨φ, ω⟩ in ⋆, ω the form that one flat map makes of node values, for truth and models alike; it damps the "
        "highest modes of all."
    )


def kept_fields(state: AppState, ready: Ready, spectra: Spectra) -> dict[str, np.ndarray]:
    """Node values of the sums of the modes kept: ``kept_truth``, and of each model ``kept_…`` and ``kept_error_…``."""
    cut, target = cut_of(state, spectra.frame), ready.sample.target
    modes = held_out.bench_of(ready).basis.modes[:, spectra.frame.columns[:cut]]
    sums = {"truth": spectra.truth.coefficients}
    for model, one in spectra.found.items():
        name = file_name(model)
        sums |= {f"prediction_{name}": one.coefficients, f"error_{name}": one.errors}
    return {
        f"kept_{name}": point_data(ready.ground.node_values(target.degree, target.reading, (modes @ c[:cut])[None])[0])
        for name, c in sums.items()
    }


def spectra_files(
    state: AppState, ready: Ready, spectra: Spectra, answers: Mapping[Model, Outcome], provenance: Mapping[str, str]
) -> dict:
    """As ``download_row`` takes them: coefficients as NPZ; fields, whole and cut, on the mesh as VTP or VTU."""

    def write(suffix: str, path: Path) -> None:
        if suffix == ".npz":
            spectra_npz(spectra, provenance, path)
            return
        data = node_fields(ready, answers) | kept_fields(state, ready, spectra)
        cut = {"modes_kept": str(cut_of(state, spectra.frame))}
        save_mesh(ready.mesh, path, point_data=data, cell_data={}, provenance=provenance | cut)

    return mesh_files(ready.mesh.dim, write)


def spectra_npz(spectra: Spectra, provenance: Mapping[str, str], path: Path) -> None:
    """Eigenvalues, parts and coefficients of the truth, the models and their errors."""
    arrays = {"eigenvalues": spectra.frame.eigenvalues, "part": spectra.frame.part.astype(str)}
    arrays |= {"truth": spectra.truth.coefficients, "provenance": np.array(json.dumps(provenance))}
    for model, one in spectra.found.items():
        name = file_name(model)
        arrays |= {f"coefficients_{name}": one.coefficients, f"errors_{name}": one.errors}
    write_npz(path, **arrays)


def code(state: AppState, ready: Ready, spectra: Spectra) -> str:
    """The lines of Python that make the spectra."""
    use, name = lines_of(state, ready), ready.task.name
    path = next((path_here(str(m.path)) for m in spectra.found), f"assets/checkpoints/{name}/hsd.safetensors")
    imports = "\n".join(use.imports)
    return f"""# in the folder of the program
from hsd.data.ground import Ground
from hsd.experiments.over_samples import Bench
from hsd.metrics import Pair
{imports}

path = "{path}"
{use.problem}
mesh = {use.mesh}
predictor = {use.predictor}
bench = Bench.of(problem, Ground(mesh, problem.star, problem.bc))
made = problem.realise([{use.record}], bench.ground)
prediction = predictor(predictor.domain, made.inputs["{ready.task.inputs[0].name}"], made.coefficients)
truth = Pair.of_forms(bench.yardstick, made.target, made.target).nodes_g
pair = Pair.of_nodes(bench.yardstick, prediction.nodes, truth)
c = bench.coefficients(pair.forms_p.numpy())[0]  # beside bench.basis.eigenvalues and bench.basis.part
error = bench.coefficients(pair.form_error.numpy())[0]
print((c**2)[:8], (error**2)[:8])"""
