"""The tables of the page on Hodge decompositions: plain columns from the library's results."""

from __future__ import annotations

import numpy as np

from hsd.hodge.checks import Checks
from hsd.hodge.compose import Composition, length_of
from hsd.hodge.decomposition import PARTS, Decomposition, circulations
from hsd.hodge.heat import HeatFlow
from hsd.hodge.singularities import Singularities
from hsd.hodge.solver import HodgeSolver
from hsd.viz.decomposition_scene import SYMBOLS
from hsd.viz.palettes import PARTS as LOOKS


def whole(parts: Decomposition) -> np.ndarray:
    """ω as the sum of its parts (boundary values that a relative condition drops are gone)."""
    return parts.exact + parts.coexact + parts.harmonic


def heat_rows(flow: HeatFlow, times: np.ndarray) -> dict[str, list]:
    """‖part(t)‖² at the times of the slider."""
    energies = flow.energies(times)
    length2 = length_of(flow.solver) ** 2
    return {"t / L²": (times / length2).tolist(), **{LOOKS[p].name: energies[p].tolist() for p in PARTS}}


def zero_sums(found: dict[str, Singularities]) -> dict[str, list]:
    """One row a field: Σ index, turns at the boundary, their sum and χ."""
    names = ["ω" if name == "ω" else LOOKS[name].name for name in found]
    rows = list(found.values())
    return {
        "field": names,
        "zeros": [sum(word != "field vanishes" for word in z.word) for z in rows],
        "Σ index": [z.total for z in rows],
        "boundary": [z.boundary for z in rows],
        "sum": [z.total + z.boundary for z in rows],
        "χ": [z.chi for z in rows],
    }


def zero_rows(found: dict[str, Singularities]) -> dict[str, list]:
    """One row a zero."""
    rows: dict[str, list] = {"field": [], "triangle": [], "index": [], "looks like": []}
    for name, z in found.items():
        rows["field"] += ["ω" if name == "ω" else LOOKS[name].name] * len(z.face)
        rows["triangle"] += z.face.tolist()
        rows["index"] += z.index.tolist()
        rows["looks like"] += z.word
    return rows


def period_rows(parts: Decomposition) -> dict[str, list]:
    """Circulation of γ around each generator: the same for every loop of a class."""
    return {"generator": list(range(1, len(parts.periods) + 1)), "∮ γ": parts.periods.tolist()}


def period_words(parts: Decomposition) -> str:
    """The same as text; what is below 1e-12 of the largest (or of 1) is rounding and stands as 0."""
    periods = np.where(np.abs(parts.periods) < 1e-12 * max(1.0, np.abs(parts.periods).max()), 0.0, parts.periods)
    return f"∮ γ = ({', '.join(f'{x:.10g}' for x in periods)})"


def loop_rows(solver: HodgeSolver, parts: Decomposition) -> dict[str, list]:
    """Circulations of ω, dα and δβ around the loops drawn."""
    fields = {"∮ ω": whole(parts), "∮ dα": parts.exact, "∮ δβ": parts.coexact}
    columns = {name: circulations(solver, parts.k, x).tolist() for name, x in fields.items()}
    return {"generator": list(range(1, len(parts.periods) + 1)), **columns}


def energy_rows(parts: Decomposition) -> dict[str, list]:
    """Energies and shares."""
    total = parts.energies["total"] or 1.0
    names = (*PARTS, "total")
    return {
        "part": [LOOKS[p].name if p in LOOKS else "ω" for p in names],
        "‖·‖²": [parts.energies[p] for p in names],
        "share": [parts.energies[p] / total for p in names],
    }


def point_rows(composition: Composition) -> dict[str, list]:
    """One row a placed point."""
    points = composition.points
    return {
        "point": [p.id for p in points],
        "kind": [p.kind for p in points],
        "strength": [p.strength for p in points],
        "width σ / L": [p.width for p in points],
        "simplex": [p.cell for p in points],
        "barycentric": [", ".join(f"{b:.4f}" for b in p.bary) for p in points],
    }


def inner_rows(checks: Checks) -> dict[str, list]:
    """⟨part, part⟩ / ‖ω‖²."""
    names = [SYMBOLS[p] for p in PARTS]
    return {"⟨·,·⟩ / ‖ω‖²": names, **{name: checks.inner[:, j].tolist() for j, name in enumerate(names)}}
