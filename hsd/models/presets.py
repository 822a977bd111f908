"""Named sets of config entries of HSD: the published form, and a tiny one."""

from __future__ import annotations

from typing import Any

PAPER: dict[str, Any] = {
    "variant": "paper", "lr": 1e-3, "weight_decay": 1e-4, "n_modes": 64,
    "fiber": "grid", "fiber_width": 9, "base_hidden": 24, "commutator": True,
}  # fmt: skip
TINY: dict[str, Any] = {"channels": 4, "hidden": 16}
PRESETS = {"paper": PAPER, "tiny": TINY}
TINIER_ALREADY = ("vorticity_dynamics", "external_aerodynamics")
"""Tasks on which HSD's default is ``tiny``, or has fewer parameters still (one channel, no network)."""
