"""Colours: one map per kind of value, and fixed colours, patterns and line styles for Hodge parts and models.

No rainbow.  All lists are told apart under the common colour-vision deficiencies, and no meaning hangs on colour
alone: everything that has a colour has a pattern, a dash or a symbol too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hsd.errors import check_choice

N_STOPS = 33

# Anchors, mixed in OKLab: perceived steps are even.
DIVERGING = ("#08306b", "#2166ac", "#6aaed6", "#c9dfec", "#f7f5f2", "#f6cdb7", "#e58368", "#b2182b", "#67001f")
SEQUENTIAL = ("#27306b", "#2b5690", "#317fa3", "#44a39f", "#74c58d", "#b4df80", "#f5f1a1")
ERROR = ("#000000", "#8b0000", "#e01f0a", "#ff8c00", "#ffe600", "#ffffff")
CATEGORICAL = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#7f7f7f")
"""Okabe and Ito (2008), grey last."""
MUTED = ("#d3d7dc", "#a9b0b9", "#7a828d")
COMPONENTS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8A7500", "#5B23B6", "#B8DE29", "#8C510A",
    "#FF8FB0", "#00A6A6",
)  # fmt: skip
"""Components of level sets; more than these repeat."""
FILTERED = "#5d6670"
"""Components that a persistence filter leaves out."""


@dataclass(frozen=True)
class Look:
    """How one thing looks everywhere: hex colour, plotly's bar pattern, dash and marker symbol, name in text."""

    colour: str
    pattern: str
    dash: str
    symbol: str
    name: str


PARTS = {
    "exact": Look("#0072B2", "/", "solid", "circle", "exact dα"),
    "coexact": Look("#D55E00", "\\", "dash", "square", "coexact δβ"),
    "harmonic": Look("#009E73", "x", "dot", "diamond", "harmonic γ"),
}

MODELS = {
    "truth": Look("#222222", "", "solid", "circle", "ground truth"),
    "ridge": Look("#ACACAC", "-", "dash", "x", "linear ridge"),
    "hsd": Look("#D00000", "x", "solid", "star", "HSD"),
    "fno3d": Look("#0072B2", "/", "dash", "square", "FNO-3D"),
    "geo_fno": Look("#56B4E9", "\\", "dot", "diamond", "Geo-FNO"),
    "gno": Look("#008060", "|", "dashdot", "cross", "GNO"),
    "meshgraphnet": Look("#9A8A13", "+", "longdash", "triangle-up", "MeshGraphNet"),
    "deeponet": Look("#E69F00", ".", "longdashdot", "triangle-down", "DeepONet"),
    "gnot": Look("#CC79A7", "/", "dot", "pentagon", "GNOT"),
    "ono": Look("#5B23B6", "\\", "dash", "hexagon", "ONO"),
    "hamlet": Look("#523500", "|", "solid", "hourglass", "HAMLET"),
    "hsd-paper": Look("#882255", "-", "longdash", "star-square", "HSD (paper)"),
    "hsd-tiny": Look("#FFB39E", ".", "longdashdot", "star-triangle-up", "HSD (tiny)"),
}
"""By name of the model in the registry, or label of a shipped checkpoint."""

MODEL_COLOURS = {name: look.colour for name, look in MODELS.items()}
"""Name → hex colour of each model, on every page, on light paper."""
ON_DARK = {"#222222": "#ffffff", "#523500": "#b98a45", "#5B23B6": "#9d7bea", "#882255": "#d070a0", "#0072B2": "#3f9fdc"}
"""Colours of models that are too dark for dark paper → the same hue, lighter; the truth becomes white."""

OWN = ("bowtie", "octagon", "hexagram", "diamond-tall", "triangle-left")
"""Marker symbols of runs of one's own, which have the colour of their model."""


def _linear(rgb: np.ndarray) -> np.ndarray:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _gamma(linear: np.ndarray) -> np.ndarray:
    linear = np.clip(linear, 0.0, 1.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def oklab(hexes: Sequence[str]) -> np.ndarray:
    """(n, 3) OKLab coordinates (Ottosson 2020) of hex colours; the first is perceived lightness 0…1."""
    rgb = np.array([[int(h[i : i + 2], 16) for i in (1, 3, 5)] for h in hexes]) / 255.0
    return np.cbrt(_linear(rgb) @ _TO_LMS.T) @ _TO_LAB.T


def to_hex(lab: np.ndarray) -> list[str]:
    """Hex colours of (n, 3) OKLab coordinates."""
    linear = np.linalg.solve(_TO_LMS, (np.linalg.solve(_TO_LAB, np.asarray(lab).T)) ** 3).T
    return ["#" + "".join(f"{v:02x}" for v in row) for row in np.rint(_gamma(linear) * 255).astype(int)]


def ramp(anchors: Sequence[str], n: int = N_STOPS) -> list[str]:
    """n colours evenly along the anchors, mixed in OKLab; the anchors themselves are hit."""
    lab = oklab(anchors)
    at = np.linspace(0, len(anchors) - 1, n)
    return to_hex(np.column_stack([np.interp(at, np.arange(len(anchors)), lab[:, i]) for i in range(3)]))


_RAMPS = {"signed": DIVERGING, "unsigned": SEQUENTIAL, "error": ERROR, "muted": MUTED}


def colour_stops(kind: str, n_categories: int = 0, colours: Sequence[str] = ()) -> list[str]:
    """Evenly spaced colour stops of the map for a kind of value; for categories one colour each."""
    check_choice("kind of values", kind, (*_RAMPS, "category"))
    if kind != "category":
        return ramp(_RAMPS[kind])
    base = tuple(colours) or CATEGORICAL
    return [base[i % len(base)] for i in range(max(n_categories, 1))]


def model_look(label: str, model: str = "", number: int = 0) -> Look:
    """How a model looks: by its label, or for one's own runs as its ``model`` with another dash and symbol.

    number : which of one's own runs of that model it is, from 0
    """
    if label in MODELS:
        return MODELS[label]
    base = MODELS.get(model, MODELS["ridge"])
    dashes = ("dot", "dash", "longdash", "dashdot", "longdashdot")
    return replace(base, dash=dashes[number % 5], symbol=OWN[number % len(OWN)], name=label)


def plotly_scale(kind: str) -> list[list]:
    """The same map as a plotly colour scale."""
    stops = colour_stops(kind)
    return [[i / (len(stops) - 1), c] for i, c in enumerate(stops)]
