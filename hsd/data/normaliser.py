"""Scaling of a dataset's arrays by statistics of its training samples: affine, invertible, the same for all samples.

A scalar 0-form u becomes (u − mean)/std with ⋆_0-weighted mean and std.  Any other form ω becomes ω/scale with
scale² = mean of ‖ω‖²_⋆ / measure, one number a channel, so that d, δ, harmonic parts and zeros stay what they are.
Coefficients in reference fields share the target's scale; other coefficients get their root mean square.  Where the
target is a later state of an input, both share the input's numbers, so that copying and rolling out need no change.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from hsd.data.dataset import Dataset, Part
from hsd.data.schema import VECTORS
from hsd.data.tasks.base import FieldSpec
from hsd.dec.stars import hodge_star
from hsd.errors import InputError, check_choice
from hsd.mesh.metric import measures


@dataclass(frozen=True)
class Channel:
    """x ↦ (x − mean)/scale."""

    mean: float
    scale: float


@dataclass(frozen=True)
class Normaliser:
    """Channels by the names of :attr:`hsd.data.dataset.Dataset.keys` (a trajectory uses "target")."""

    channels: Mapping[str, Channel]

    @classmethod
    def fit(cls, dataset: Dataset, n_train: int = 0) -> Normaliser:
        """From the training samples, the first ``n_train`` of them (:meth:`hsd.data.dataset.Part.first`; 0: all);
        nothing else is read.  Raises InputError (no_split, empty_part)."""
        part = dataset.part("train")
        part = part.first(n_train) if n_train else part
        channels = {f"input/{spec.name}": _form_channel(part, f"input/{spec.name}", spec) for spec in dataset.inputs}
        state = dataset.schema.state
        if state is not None:
            channels["target"] = channels[f"input/{state}"]
        else:
            channels["target"] = _form_channel(part, "target", dataset.target_spec)
        for name, spec in dataset.schema.fields.items():
            key = f"coefficient/{name}"
            if spec.reference:
                channels[key] = Channel(0.0, channels["target"].scale)
            else:
                total = sum(float((block**2).sum()) for block in _all_blocks(part, key))
                channels[key] = Channel(0.0, _positive(math.sqrt(total / max(len(part), 1))))
        return cls(channels)

    def apply(self, key: str, x: np.ndarray) -> np.ndarray:
        """(x − mean)/scale of an array (…,) of one channel.  Raises UnknownNameError."""
        channel = self._channel(key)
        return (x - channel.mean) / channel.scale

    def invert(self, key: str, x: np.ndarray) -> np.ndarray:
        """The array whose :meth:`apply` is x.  Raises UnknownNameError."""
        channel = self._channel(key)
        return x * channel.scale + channel.mean

    def _channel(self, key: str) -> Channel:
        return self.channels[check_choice("channel", "target" if key == "trajectory" else key, self.channels)]

    def to_json(self) -> str:
        return json.dumps({name: asdict(c) for name, c in self.channels.items()}, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Normaliser:
        """Raises InputError (bad_normaliser) unless the text is one of :meth:`to_json`."""
        try:
            given = json.loads(text)
            channels = {str(k): Channel(float(v["mean"]), float(v["scale"])) for k, v in given.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                "A normaliser is a JSON object of channels with mean and scale; this text is none.", "bad_normaliser"
            ) from error
        for name, c in channels.items():
            if not (math.isfinite(c.mean) and math.isfinite(c.scale) and c.scale > 0):
                raise InputError(
                    f"The channel {name!r} needs a finite mean and a finite scale above 0; got {c.mean} and {c.scale}.",
                    "bad_normaliser",
                )
        return cls(channels)


def _all_blocks(part: Part, key: str) -> Iterator[np.ndarray]:
    for mesh in range(len(part.dataset.meshes)):
        yield from part.blocks(key, mesh)


def _positive(scale: float) -> float:
    """A scale to divide by: 1 for a channel that is constant (zero) in the training samples."""
    return scale if scale > 0 else 1.0


def _form_channel(part: Part, key: str, spec: FieldSpec) -> Channel:
    if spec.reading == "scalar":
        return _scalar_channel(part, key)
    total = weight = 0.0
    for number, mesh in enumerate(part.dataset.meshes):
        star = hodge_star(mesh, spec.degree, part.dataset.schema.star)
        size = float(measures(mesh, mesh.dim).sum())
        for block in part.blocks(key, number):
            if spec.reading == VECTORS:  # (rows, n_vertices, D), vertices weighted by their measure
                total += float(((block**2).sum(axis=2) @ star.diagonal()).sum()) / size
            else:  # (rows, N_k)
                total += float(np.einsum("bi,bi->", block, (star @ block.T).T)) / size
            weight += len(block)
    return Channel(0.0, _positive(math.sqrt(total / weight)))


def _scalar_channel(part: Part, key: str) -> Channel:
    """Mean, then variance about it: two passes, so that a large mean costs no digits."""
    weights = [hodge_star(m, 0, part.dataset.schema.star).diagonal() for m in part.dataset.meshes]
    weights = [w / w.sum() for w in weights]
    mean = square = 0.0
    for number, w in enumerate(weights):
        mean += sum(float((block @ w).sum()) for block in part.blocks(key, number)) / len(part)
    for number, w in enumerate(weights):
        square += sum(float((((block - mean) ** 2) @ w).sum()) for block in part.blocks(key, number)) / len(part)
    spread = math.sqrt(square)
    return Channel(mean, spread if spread > 1e-12 * abs(mean) else 1.0)
