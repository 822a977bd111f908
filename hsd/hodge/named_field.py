"""Fields by name: a preset, a composition file, or values in a file or in the mesh itself, as a k-cochain of a mesh.

preset:mixture:3     a composition (hsd.hodge.presets) or a preset cochain (hsd.dec.preset_fields), seed 3
composition.json     a composition that the app exported
anything else        what :func:`hsd.dec.read_field.read_field` reads
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from hsd.dec.flat import flat, flat_flux
from hsd.dec.preset_fields import PRESETS as COCHAINS
from hsd.dec.preset_fields import preset_field
from hsd.dec.read_field import read_field
from hsd.dec.whitney import reads_as_vector, sharp
from hsd.errors import InputError, check_choice
from hsd.hodge.compose import Composer, Composition
from hsd.hodge.presets import PRESETS as COMPOSITIONS
from hsd.hodge.presets import preset
from hsd.hodge.solver import HodgeSolver, require_degree
from hsd.mesh.mesh import Mesh

PRESET = "preset:"
NAMES = tuple(dict.fromkeys((*COMPOSITIONS, *COCHAINS)))
"""Names of presets of both kinds ("random" is one of each)."""


def named_field(
    solver: HodgeSolver, text: str, k: int, via_vectors: bool = False, composed: bool = True
) -> tuple[np.ndarray, str, Composition | None]:
    """The k-cochain (N_k,), a sentence on what it is, and its composition where it is one.

    via_vectors : ♭ of the field's vectors at vertices instead of the field: what node data of it would give
    composed    : whether a name of both kinds of presets means the composition
    Raises UnknownNameError, InputError (degree, bad_number, not_a_composition, no_vectors …), as read_field does too.
    """
    mesh = solver.mesh
    require_degree(mesh, k)
    omega, sentence, composition = _field(solver, text, k, composed)
    if via_vectors:
        omega = through_vectors(mesh, omega, k)
        sentence += " Entered as node vectors through ♭."
    return omega, sentence, composition


def _field(solver: HodgeSolver, text: str, k: int, composed: bool) -> tuple[np.ndarray, str, Composition | None]:
    if text.startswith(PRESET):
        name, seed = _name_and_seed(text)
        if name not in COMPOSITIONS or (name in COCHAINS and not composed):
            return preset_field(solver.mesh, k, name, seed), f"Field: {name}, seed {seed}.", None
        found = preset(name, solver.mesh, k, solver.betti[k], seed)
        sentence = f"Composed field “{name}”, seed {seed}."
    elif Path(text).suffix.lower() == ".json":
        found, sentence = read_composition(Path(text)), f"Composed field of {Path(text).name}."
    else:
        return (*read_field(solver.mesh, text, k), None)
    composer = Composer(solver)
    found = composer.located(found)
    found = found if found.k == k else replace(found, k=k, circulations=())
    return composer.form(found), sentence, found


def _name_and_seed(text: str) -> tuple[str, int]:
    name, _, seed = text.removeprefix(PRESET).partition(":")
    if seed and not seed.isdecimal():
        raise InputError(f"After preset:{name}: a seed is expected, got {seed!r}.", "bad_number")
    return check_choice("preset", name, NAMES), int(seed or 0)


def read_composition(path: Path) -> Composition:
    """A composition as the app exports it.  Raises InputError (no_file, not_a_composition)."""
    try:
        record = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", "no_file") from error
    except ValueError:
        raise InputError(f"{path.name} is no composed field: it is not JSON.", "not_a_composition") from None
    return Composition.from_record(record)


def through_vectors(mesh: Mesh, omega: np.ndarray, k: int) -> np.ndarray:
    """♭ of the vectors at vertices that ω shows, (N_k,) → (N_k,).  Raises InputError (no_vectors)."""
    if mesh.points is None or not reads_as_vector(mesh, k):
        raise InputError(f"{k}-forms of {mesh.name} are not vectors at vertices.", "no_vectors")
    return (flat if k == 1 else flat_flux)(mesh, sharp(mesh, omega, k, at="vertices"), "vertices")
