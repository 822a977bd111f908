"""Colours: monotone or symmetric lightness, hit anchors, distinct under colour-vision deficiency."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hsd.errors import UnknownNameError
from hsd.viz import palettes
from hsd.viz.style import DARK, LIGHT, colour_on

# Machado, Oliveira, Fernandes 2009, severity 1.0, on linear RGB
DEFICIENCY = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def _seen(hexes, matrix):
    rgb = np.array([[int(h[i : i + 2], 16) for i in (1, 3, 5)] for h in hexes]) / 255
    seen = palettes._gamma(palettes._linear(rgb) @ np.array(matrix).T)
    return palettes.oklab(["#" + "".join(f"{v:02x}" for v in row) for row in np.rint(seen * 255).astype(int)])


@pytest.mark.parametrize("kind", ["unsigned", "error"])
def test_unsigned_maps_grow_in_lightness(kind):
    light = palettes.oklab(palettes.colour_stops(kind))[:, 0]
    assert (np.diff(light) > 0).all()
    assert light[-1] - light[0] > 0.5


def test_the_signed_map_is_lightest_in_the_middle_and_balanced():
    light = palettes.oklab(palettes.colour_stops("signed"))[:, 0]
    middle = len(light) // 2
    assert (np.diff(light[: middle + 1]) > 0).all() and (np.diff(light[middle:]) < 0).all()
    assert np.abs(light - light[::-1]).max() < 0.1


def test_error_map_runs_from_black_through_red_and_yellow_to_white():
    stops = palettes.colour_stops("error")
    assert stops[0] == "#000000" and stops[-1] == "#ffffff"
    third = stops[len(stops) * 2 // 5]
    assert int(third[1:3], 16) > 150 and int(third[5:7], 16) < 60


def test_ramps_hit_their_anchors():
    for anchors in (palettes.DIVERGING, palettes.SEQUENTIAL):
        n = 4 * (len(anchors) - 1) + 1
        found = palettes.oklab(palettes.ramp(anchors, n))[::4]
        assert np.abs(found - palettes.oklab(anchors)).max() < 0.01


def test_signed_ends_stay_apart_under_colour_vision_deficiency():
    stops = palettes.colour_stops("signed")
    for matrix in DEFICIENCY.values():
        lab = _seen(stops, matrix)
        for i in range(len(stops) // 4):
            assert np.linalg.norm(lab[i] - lab[-1 - i]) > 0.12


@pytest.mark.parametrize("looks", [palettes.PARTS, palettes.MODELS], ids=["parts", "models"])
def test_things_with_a_fixed_colour_differ_in_colour_and_in_a_second_way(looks):
    values = list(looks.values())
    lab = palettes.oklab([v.colour for v in values])
    for i, j in combinations(range(len(values)), 2):
        assert np.linalg.norm(lab[i] - lab[j]) > 0.06
        second = [(v.pattern, v.dash, v.symbol) for v in (values[i], values[j])]
        assert second[0] != second[1]


def test_parts_differ_under_colour_vision_deficiency():
    for matrix in DEFICIENCY.values():
        lab = _seen([v.colour for v in palettes.PARTS.values()], matrix)
        assert min(np.linalg.norm(lab[i] - lab[j]) for i, j in combinations(range(3), 2)) > 0.08


def test_models_differ_under_colour_vision_deficiency():
    for matrix in DEFICIENCY.values():
        lab = _seen(list(palettes.MODEL_COLOURS.values()), matrix)
        assert min(np.linalg.norm(a - b) for a, b in combinations(lab, 2)) > 0.05


def test_all_symbols_are_filled_so_that_a_marker_without_an_outline_is_seen():
    from plotly.validator_cache import ValidatorCache

    known = ValidatorCache.get_validator("scatter.marker", "symbol").values
    looks = [*palettes.MODELS.values(), *palettes.PARTS.values()]
    for symbol in [*(look.symbol for look in looks), *palettes.OWN]:
        assert symbol in known
        assert not symbol.endswith("-thin") and symbol.split("-")[0] not in ("asterisk", "hash", "y", "line"), symbol
    assert not set(palettes.OWN) & {look.symbol for look in looks}


def test_own_runs_have_their_models_colour_and_another_symbol():
    own = [palettes.model_look("my run", "fno3d", i) for i in range(2)]
    assert {o.colour for o in own} == {palettes.MODEL_COLOURS["fno3d"]}
    assert len({own[0].symbol, own[1].symbol, palettes.MODELS["fno3d"].symbol}) == 3
    assert palettes.model_look("hsd") is palettes.MODELS["hsd"]


def test_the_truth_and_all_models_are_seen_on_light_and_on_dark_paper():
    def lightness(name: str, ink) -> float:
        return palettes.oklab([colour_on(palettes.MODELS[name], ink)])[0, 0]

    assert lightness("truth", LIGHT) < 0.3 and lightness("truth", DARK) > 0.95
    paper = palettes.oklab([DARK.paper])[0, 0]
    assert all(lightness(name, DARK) > paper + 0.3 for name in palettes.MODELS)


def test_an_unknown_kind_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match="signed"):
        palettes.colour_stops("jet")
