"""Composing a field: what the state's field is on the mesh in force, and every edit of it, each kept in the store.

Edits are callbacks: they run before the script, write the new composition to the store and its key to the state, so
that the URL carries the field.  An HsdError in a callback becomes a sentence that the next run shows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import streamlit as st

from hsd.dec.read_field import SUFFIXES, cochain_of, read_field
from hsd.dec.whitney import reads_as_vector
from hsd.errors import HsdError, InputError
from hsd.hodge.compose import Composer, Composition, Point, kinds_of
from hsd.hodge.named_field import through_vectors
from hsd.hodge.presets import preset
from hsd.mesh.mesh import Mesh
from hsd.ui import cached, store
from hsd.ui.estimate import decomposition_estimate
from hsd.ui.state import AppState, get_state, update
from hsd.ui.viewer import Place

UNDO, NOTES = "_compose/undo", "_compose/notes"
DIAL = "compose/dial"


@dataclass(frozen=True, eq=False)
class Field:
    """The field in force: its cochain (N_k,), a sentence, its composition (None: uploaded), and a key for caches.

    omega  : None where the mesh is large and the field is composed: the job that decomposes it makes it too
    origin : what it is, for files: "field" as the command line takes it, and "seed"
    """

    omega: np.ndarray | None
    sentence: str
    composition: Composition | None
    key: tuple
    origin: dict = field(default_factory=dict)

    @property
    def via_vectors(self) -> bool:
        return self.key[5] == "vectors"


def composer_of(mesh: Mesh, star: str, bc: str) -> Composer:
    """Turns compositions into cochains; keeps its factorisations."""
    return _composer(mesh.content_hash, star, bc, mesh)


@st.cache_resource(max_entries=4, show_spinner=False)
def _composer(key: str, star: str, bc: str, _mesh: Mesh) -> Composer:
    return Composer(cached.solver_of(_mesh, star, bc))


def composition_of(state: AppState, mesh: Mesh) -> Composition | None:
    """The composition in force, on this mesh and of this degree; None where the field was uploaded.

    Points that mean nothing for the degree are kept but do not count; circulations belong to their own degree.
    Raises StoreError (expired), InputError (not_a_composition, other_mesh).
    """
    composer = composer_of(mesh, state.star, state.bc)
    if not state.field:
        return preset(state.decomposition.preset, mesh, state.k, composer.solver.betti[state.k], state.seed)
    if not store.get(state.field).name.endswith(".json"):
        return None
    found = composer.located(Composition.from_record(store.get_json(state.field)))
    return found if found.k == state.k else replace(found, k=state.k, circulations=())


def field_of(state: AppState, mesh: Mesh) -> Field:
    """The field in force.  Raises HsdError where it cannot be had on this mesh and degree."""
    entry = state.decomposition.entry if enters_as_vectors(mesh, state.k) else "form"
    key = (mesh.content_hash, state.k, state.bc, state.star, state.field, entry)
    origin = {"field": store.get(state.field).name if state.field else "", "seed": state.seed}
    if not state.field:
        key += (state.decomposition.preset, state.seed)
        origin["field"] = f"preset:{state.decomposition.preset}:{state.seed}"
    later = decomposition_estimate(mesh, state.k).is_long
    omega, sentence, composition = _field((*key, later), state, mesh, entry, later)
    return Field(omega, sentence, composition, key, origin)


@st.cache_resource(max_entries=32, show_spinner="Making the field")
def _field(
    key: tuple, _state: AppState, _mesh: Mesh, _entry: str, _later: bool
) -> tuple[np.ndarray | None, str, Composition | None]:
    with cached.HEAVY:
        composition = composition_of(_state, _mesh)
        if composition is None:
            omega, sentence = read_upload(_mesh, _state.field, _state.k)
            return _locked(omega), sentence, None
        omega = None if _later else composer_of(_mesh, _state.star, _state.bc).form(composition)
    used = [p for p in composition.points if p.kind in kinds_of(_mesh.dim, _state.k)]
    sentence = f"Composed of {len(used)} point{'s' if len(used) != 1 else ''} and circulations."
    if len(used) < len(composition.points):
        sentence += f" {len(composition.points) - len(used)} vortices mean nothing for {_state.k}-forms here."
    if _entry == "vectors":
        omega = None if omega is None else through_vectors(_mesh, omega, _state.k)
        sentence += " Entered as node vectors through ♭."
    return None if omega is None else _locked(omega), sentence, composition


def _locked(omega: np.ndarray) -> np.ndarray:
    omega.flags.writeable = False
    return omega


def enters_as_vectors(mesh: Mesh, k: int) -> bool:
    """Whether k-forms of this mesh can be entered as vectors at its vertices."""
    try:
        return reads_as_vector(mesh, k)
    except HsdError:
        return False


def read_upload(mesh: Mesh, key: str, k: int) -> tuple[np.ndarray, str]:
    """The k-cochain of an uploaded file (.npy, .npz, .csv) and how it was read."""
    item = store.get(key)
    if Path(item.name).suffix.lower() not in SUFFIXES:
        raise InputError(f"{item.name} is no field; upload {', '.join(SUFFIXES)}.", "unknown_format")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / item.name
        path.write_bytes(item.data)
        return read_field(mesh, str(path), k)


# ---- edits -------------------------------------------------------------------------------------------------------


@contextmanager
def said() -> Iterator[None]:
    """HsdErrors of a callback become sentences for the next run."""
    try:
        yield
    except HsdError as error:
        st.session_state.setdefault(NOTES, []).append(error.message)


def take_notes() -> list[str]:
    """Sentences of callbacks, given once."""
    return st.session_state.pop(NOTES, [])


def current() -> tuple[AppState, Mesh, Composition]:
    """State, mesh and composition that an edit starts from; an uploaded field starts an empty one."""
    state = get_state()
    mesh = cached.mesh_of(state.mesh)
    state = replace(state, k=min(state.k, mesh.dim))
    return state, mesh, composition_of(state, mesh) or Composition(state.k, mesh.content_hash)


def keep(composition: Composition, **changes) -> None:
    """Make a composition the field in force."""
    remember()
    update(field=store.put_json(composition.to_record()), **changes)


def remember() -> None:
    """The present field can be had back by :func:`undo`."""
    state = get_state()
    past = st.session_state.setdefault(UNDO, [])
    past.append((state.field, state.decomposition.preset, state.seed))
    del past[:-50]


def undo() -> None:
    """The field before the last edit."""
    past = st.session_state.get(UNDO, [])
    if past:
        field, name, seed = past.pop()
        update(field=field, seed=seed, **{"decomposition.preset": name, "decomposition.selected": ""})


def choose_preset(name: str, seed: int | None = None) -> None:
    remember()
    state = get_state()
    update(
        field="",
        seed=state.seed if seed is None else seed,
        **{"decomposition.preset": name, "decomposition.selected": ""},
    )


def placed(event: Place) -> None:
    """A click, a drag or a deletion in the viewer."""
    with said():
        state, mesh, composition = current()
        options = state.decomposition
        if event.op == "delete":
            keep(composition.without(event.id), **{"decomposition.selected": ""})
            return
        position = ()
        if mesh.points is not None:
            position = tuple(np.asarray(event.bary) @ mesh.points[mesh.complex.simplices(2)[event.face]])
        old = composition.point(event.id) if event.op == "move" else None
        if old is not None:
            point = replace(old, cell=event.face, bary=event.bary, position=position)
        else:
            depth = options.depth if mesh.dim == 3 else 0.0
            strength = options.strength or 1.0
            point = Point(
                _new_id(composition), event.kind, event.face, event.bary, strength, options.width, depth, position
            )
        keep(composition.with_point(point))


def _new_id(composition: Composition) -> str:
    used = {p.id for p in composition.points}
    return next(f"p{i}" for i in range(1, len(used) + 2) if f"p{i}" not in used)


def select() -> None:
    """The sliders show the point that was chosen."""
    with said():
        state, _, composition = current()
        point = composition.point(state.decomposition.selected)
        if point is not None:
            names = ("strength", "width", "depth")
            update(**{f"decomposition.{name}": getattr(point, name) for name in names})


def adjust() -> None:
    """The sliders were moved: the chosen point follows."""
    with said():
        state, _, composition = current()
        options = state.decomposition
        point = composition.point(options.selected)
        if point is not None:
            keep(
                composition.with_point(
                    replace(point, strength=options.strength, width=options.width, depth=options.depth)
                )
            )


def delete_selected() -> None:
    with said():
        state, _, composition = current()
        keep(composition.without(state.decomposition.selected), **{"decomposition.selected": ""})


def dial(i: int, n: int) -> None:
    """Dial i was turned."""
    with said():
        _, _, composition = current()
        keep(composition.with_circulation(i, float(st.session_state[f"{DIAL}{i}"]), n))


def upload(data: bytes, name: str) -> None:
    """An uploaded field becomes the one in force when it fits the mesh and the degree."""
    with said():
        state, mesh, _ = current()
        key = store.put(data, name)
        read_upload(mesh, key, state.k)
        remember()
        update(field=key, **{"decomposition.selected": ""})


def take_file_field(name: str) -> None:
    """A field of the mesh file becomes the one in force."""
    with said():
        state, mesh, _ = current()
        values = mesh.point_fields[name] if name in mesh.point_fields else mesh.cell_fields[name]
        omega, _ = cochain_of(mesh, values, state.k, name)
        remember()
        update(field=store.put_arrays({"omega": omega}, f"{name}.npz"), **{"decomposition.selected": ""})
