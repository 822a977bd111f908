"""Where and how a mesh lies: what an operator sees of it beside its eigenvalues, and what is said of another mesh."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hsd.data.scales import SAME_SHAPE
from hsd.dec.operators import DEC
from hsd.errors import InputError, MetricError
from hsd.hodge.cache import cache_key, cached
from hsd.hodge.homology import betti_numbers
from hsd.mesh.mesh import Mesh

FORMAT = "hsd-placement-1"
OTHER_SHAPE = 0.05
"""Difference of second moments, as shares of their trace, from which on a mesh has another shape or is turned; meshes
of 150 to 7000 vertices of all tasks differ by at most 0.015."""
SHIFTED = 0.05
"""Distance of the centres, over the root of the trace; those meshes differ by at most 0.02."""
KEPT = 64
"""Shapes at most whose placements a manifest tells."""
MEASURES = {1: "length", 2: "area", 3: "volume"}


@dataclass(frozen=True)
class Placement:
    """What is kept of a mesh of training; meshes without a metric or without positions have less.

    betti   : (b_0, …, b_n), absolute, over Q
    measure : length, area or volume (lumped ⋆_0, Galerkin), None without a metric
    centre  : (D,) Σ w x / Σ w with the weights w of the vertices in the measure, None without positions
    moments : (D, D) Σ w (x − centre)(x − centre)ᵀ / Σ w, None without positions

    Moments tell neither turns about an axis of symmetry nor reflections, nor any turn of a ball or a cube.
    """

    betti: tuple[int, ...]
    measure: float | None = None
    centre: tuple[float, ...] | None = None
    moments: tuple[tuple[float, ...], ...] | None = None

    @classmethod
    def of(cls, mesh: Mesh) -> Placement:
        """From the disk cache, where it is there."""

        def compute() -> dict[str, np.ndarray]:
            out = {"betti": np.array(betti_numbers(mesh.complex))}
            try:
                weights = np.asarray(DEC(mesh).star(0).diagonal()) if mesh.has_metric else None
            except MetricError:  # simplices of no size
                weights = None
            if weights is None or not weights.sum() > 0:
                return out
            out["measure"] = weights.sum()
            if mesh.points is not None:
                out["centre"] = weights @ mesh.points / weights.sum()
                away = mesh.points - out["centre"]
                out["moments"] = (away.T * weights) @ away / weights.sum()
            return out

        key = cache_key("placement", FORMAT, mesh.content_hash)
        return cls._of_arrays(cached(key, lambda entry: "betti" in entry, compute))

    @classmethod
    def from_dict(cls, told: Any, name: str = "the manifest") -> Placement:
        """From :meth:`as_dict`, also through JSON.  name: of its file.  Raises InputError (bad_manifest)."""
        try:
            found = cls._of_arrays(told)
        except (TypeError, ValueError, KeyError, OverflowError):
            found = None
        if found is None or set(told) - set(cls.__dataclass_fields__) or not found._is_sound:
            raise InputError(
                f"A placement in {name} must tell betti and, where the mesh has them, measure, centre and moments "
                f"(D × D); got {told!r}: copy the checkpoint again.",
                "bad_manifest",
            )
        return found

    @classmethod
    def _of_arrays(cls, told: Mapping[str, Any]) -> Placement:
        def numbers(name: str) -> Any:
            return np.asarray(told[name], float).tolist() if name in told else None

        centre, moments = numbers("centre"), numbers("moments")
        return cls(
            tuple(int(b) for b in told["betti"]),
            numbers("measure"),
            None if centre is None else tuple(centre),
            None if moments is None else tuple(tuple(row) for row in moments),
        )

    @property
    def _is_sound(self) -> bool:
        good = 1 <= len(self.betti) <= 4 and min(self.betti) >= 0 and (self.centre is None) == (self.moments is None)
        if self.measure is not None:
            good = good and isinstance(self.measure, float) and 0 < self.measure < np.inf
        if good and self.centre is not None:
            c, m = np.array(self.centre), np.array(self.moments)
            good = self.measure is not None and c.ndim == 1 and m.shape == (len(c), len(c))
            good = good and bool(np.isfinite(c).all() and np.isfinite(m).all() and np.trace(m) > 0)
        return good

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; what the mesh has not is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def _radius(self) -> float:
        return float(np.sqrt(np.trace(self.moments)))

    def notices_on(self, here: Placement, coordinates: bool = True, place: bool = True) -> tuple[str, ...]:
        """Sentences on what a model that was trained on this mesh may get wrong on another one, () where nothing.

        coordinates : whether the model (or what it is given) depends on how the mesh is turned
        place       : whether it depends on where the mesh is
        """
        out = []
        if self.betti != here.betti:
            out.append(
                f"The mesh has Betti numbers {here.betti}, the mesh of training {self.betti}: it is of another "
                "topology, which the model has not learned."
            )
        if None not in (self.measure, here.measure) and abs(here.measure - self.measure) > SAME_SHAPE * self.measure:
            out.append(other_measure(here.measure / self.measure, len(here.betti) - 1))
        if self.moments is None or here.moments is None or len(self.moments) != len(here.moments):
            return tuple(out)
        old, new = (np.array(p.moments) / p._radius**2 for p in (self, here))
        shares = [np.linalg.eigvalsh(m) for m in (old, new)]
        if np.abs(shares[1] - shares[0]).max() > OTHER_SHAPE:
            there, own = (", ".join(f"{x:.2f}" for x in of) for of in shares)
            out.append(
                f"The mesh has another shape than the mesh of training (shares of its second moments {own}, there "
                f"{there}), which the model has not learned."
            )
        elif coordinates and np.abs(new - old).max() > OTHER_SHAPE:
            out.append(
                "The mesh is turned against the mesh of training, and what the model reads depends on coordinates: "
                "turn it as that one lies."
            )
        away = np.linalg.norm(np.array(here.centre) / here._radius - np.array(self.centre) / self._radius)
        if place and away > SHIFTED:
            out.append(
                f"The mesh lies {away:.2g} of its radii away from the place of the mesh of training, and what the "
                "model reads depends on it: move it there."
            )
        return tuple(out)


def other_measure(ratio: float, dim: int) -> str:
    """The sentence on a mesh whose measure is so many times that of the mesh of training."""
    return (
        f"The mesh's {MEASURES.get(dim, 'size')} is {ratio:.3g} times that of the mesh of training: the model takes "
        "lengths in units of each mesh, which is right only where the equation has no length of its own; put the "
        "coordinates into the units of the mesh of training."
    )


def placements_of(meshes: Iterable[Mesh]) -> list[dict[str, Any]] | None:
    """What a manifest tells of the meshes of training: one of all that are resolutions of one shape; None, so that
    nothing is said of other meshes, where there are more than KEPT shapes."""
    kept: list[Placement] = []
    for mesh in meshes:
        placed = Placement.of(mesh)
        if all(other.notices_on(placed) for other in kept):
            kept.append(placed)
        if len(kept) > KEPT:
            return None
    return [placed.as_dict() for placed in kept]


def from_manifest(about: Mapping[str, Any], name: str = "the manifest") -> tuple[Placement, ...]:
    """From "domain" of a checkpoint's manifest; () where it tells none, as those written before placements were
    recorded.  Raises InputError (bad_manifest)."""
    told = about.get("placements")
    if told is None:
        return ()
    if not isinstance(told, list) or not told:
        raise InputError(
            f"The placements in {name} must be a list of one or more; got {told!r}: copy the checkpoint again.",
            "bad_manifest",
        )
    return tuple(Placement.from_dict(one, name) for one in told)


def notices_on(
    mesh: Mesh, trained: Sequence[Placement], coordinates: bool = True, place: bool = True
) -> tuple[str, ...]:
    """:meth:`Placement.notices_on` of that mesh of training of which the least is to be said."""
    if not trained:
        return ()
    here = Placement.of(mesh)
    return min((one.notices_on(here, coordinates, place) for one in trained), key=len)
