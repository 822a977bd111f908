"""A sample's record and a task's card in words and plain tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hsd.data.tasks.base import Record
from hsd.viz.task_sample import Sample

SOURCES = {
    "external_aerodynamics": "Stream functions and harmonic fields on surfaces: de Rham 1931, Hodge 1941; the coupling "
    "of moments is ours. Domain of the DrivAer kind, made by our own code.",
    "magnetostatics": "Jackson, Classical Electrodynamics, 3rd ed., section 5.9; Arnold, Falk, Winther, Acta Numerica "
    "2006, section 7.",
    "toroidal_transport": "Advection–diffusion task of the HSD paper, section 4.2; harmonic forms of the torus by "
    "separation.",
    "ellipsoid_aerodynamics": "As external aerodynamics, on genus 0: no harmonic part, close opposite pairs.",
    "torus_helmholtz": "Courant and Hilbert, Methods of Mathematical Physics I, chapter V; the coupling is ours.",
    "vorticity_dynamics": "Two-dimensional vorticity equation: Majda, Bertozzi, Vorticity and Incompressible Flow, "
    "2002, chapter 2; ours as a task.",
}
PREDICTORS = {
    "zero": "zero",
    "mean": "mean of training",
    "identity": "input itself",
    "ridge": "linear ridge",
}


def count(n: int, what: str) -> str:
    """ "1 blob", "3 blobs", "2 vortices"."""
    plural = {"vortex": "vortices"}.get(what, what + "s")
    return f"{n} {what if n == 1 else plural}"


def span(values: np.ndarray) -> str:
    """ "0.07 to 0.12", or one number where all are equal."""
    low, high = f"{np.min(values):.3g}", f"{np.max(values):.3g}"
    return low if low == high else f"{low} to {high}"


def vector(values: np.ndarray) -> str:
    """ "(0.12, −0.3)"."""
    return "(" + ", ".join(f"{v:.3g}".replace("-", "−") for v in np.ravel(values)) + ")"


def record_words(name: str, sample: Sample) -> list[str]:
    """What a sample is made of: one sentence each."""
    record = sample.record
    if not record:
        return [f"{key}: coefficients {vector(values)}." for key, values in sample.coefficients.items()]
    what = {"magnetostatics": "blob", "toroidal_transport": "Gaussian", "torus_helmholtz": "blob"}.get(name, "vortex")
    out = [_sources(record, what)]
    if name == "torus_helmholtz" or name == "ellipsoid_aerodynamics":
        n = _pairs(record)
        out.append(f"{count(n, 'close opposite pair')} among them.")
    if "circulations" in record:
        out.append(f"Circulations Γ = {vector(record['circulations'])}, known to models as reference coefficients.")
    if "offset" in record:
        out.append(f"Constant added: {vector(record['offset'])[1:-1]}.")
    if "velocity" in record:
        out.append(f"Velocity coefficients a = {vector(record['velocity'])}, known to models.")
    if "wave_vectors" in record:
        lengths = np.linalg.norm(record["wave_vectors"], axis=1)
        weights = vector(record["wave_weights"])
        out.append(f"{count(len(lengths), 'plane wave')}, |k| {span(lengths)}, weights {weights}.")
        out.append(
            f"Round the cavity: monopole {vector(record['monopole'])[1:-1]}, dipole {vector(record['dipole'])}, "
            f"quadrupole of strength {np.abs(np.linalg.eigvalsh(record['quadrupole'])).max():.3g}, thickness "
            f"{float(record['shell_width']):.3g}."
        )
    if "circulations" not in record and "velocity" not in record:
        out += [f"Harmonic coefficient {vector(v)}, known from the input." for v in sample.coefficients.values()]
    return out


def _sources(record: Record, what: str) -> str:
    strengths = record["strengths"]
    signs = f" ({(strengths > 0).sum()} positive, {(strengths < 0).sum()} negative)" if (strengths < 0).any() else ""
    return (
        f"{count(len(strengths), what)}{signs}, widths {span(record['widths'])}, strengths {span(np.abs(strengths))}."
    )


def _pairs(record: Record) -> int:
    """Sources whose opposite partner of equal width and strength is listed too."""
    s, w = record["strengths"], record["widths"]
    return int(sum(np.any((s == -a) & (w == b)) for a, b in zip(s, w) if a > 0))


# ---- cards -------------------------------------------------------------------------------------------------------


def card_origin(card: Mapping[str, Any]) -> str:
    """What the numbers were made from."""
    versions = card.get("versions", {})
    nodes = card.get("n_nodes", card["mesh"]["counts"][0])
    return (
        f"{card['n_samples']} samples of seed {card['seed']}, {nodes} nodes asked ({card['mesh']['counts'][0]} "
        f"vertices), hsd {versions.get('hsd', 'of unknown version')}"
    )


def dimension_rows(card: Mapping[str, Any]) -> dict[str, list]:
    """⋆-principal components of inputs and target: how many hold 99 % of the variance, and (Σλ)²/Σλ²."""
    entries = [*card["inputs"], card["target"]]
    return {
        "field": [e["name"] for e in entries],
        "99 %": [e["effective_dimension"] for e in entries],
        "(Σλ)²/Σλ²": [round(e["participation"], 1) for e in entries],
    }


def predictor_rows(card: Mapping[str, Any]) -> dict[str, list]:
    """Relative L2 of predictors that understand nothing, on test samples."""
    known = {name: error for name, error in card["predictors"].items() if error is not None}
    return {"predictor": [PREDICTORS.get(n, n) for n in known], "relative L2": list(known.values())}


def floor_rows(card: Mapping[str, Any]) -> dict[str, list]:
    """What a projection on so many modes leaves."""
    floors = card["floor"]
    return {
        "modes": [f["asked"] for f in floors],
        "used": [" + ".join(f"{n} {part}" for part, n in f["modes"].items() if n) for f in floors],
        "in ⋆": [f["star_error"] for f in floors],
        "node values": [f["node_error"] for f in floors],
    }


def share_rows(card: Mapping[str, Any]) -> dict[str, list]:
    """Energy of the target by Hodge part and by making."""
    rows = [("Hodge", part, share) for part, share in card["shares"].items()]
    rows += [("making", part, share) for part, share in card["parts"].items()]
    if card["parts"]:
        rows += [("making", "cross term", card["cross"]), ("making", "mean |cross term|", card["cross_absolute"])]
    return {"by": [r[0] for r in rows], "part": [r[1] for r in rows], "share": [r[2] for r in rows]}
