"""Which switches of HSD have no effect beside others of a config, or on a kind of domain, and why."""

from __future__ import annotations

from typing import Any

SPECTRAL_ONLY = frozenset(
    {
        "channels", "layers", "tied", "products", "poles", "hats", "flow", "product_channels", "lift", "global_path",
        "moments", "moment_products", "fiber_lifts", "penalty",
    }
)  # fmt: skip
"""Entries that the variant "paper" does not read."""
OF_GRID = ("fiber_width", "fiber_depth", "fiber_modes", "masked")


def idle_switches(config: Any, degree: int, dim: int, oriented: bool) -> dict[str, str]:
    """Entry of an HSDConfig → why its value changes nothing.

    degree, dim, oriented : of the form that is read, of the mesh, and whether the mesh has an orientation
    """
    if config.variant == "paper":
        return dict.fromkeys(SPECTRAL_ONLY, "the variant paper does not read it")
    out = {"base_hidden": "the variant spectral does not read it"}
    if not config.layers:
        out["penalty"] = "there are no coefficient layers (model.layers=0)"
    if config.layers <= 1:
        out["tied"] = "there is at most one coefficient layer"
    if degree != 0:
        out["products"] = f"product layers take gradients of scalars, and the source is a {degree}-form"
    if degree != 0 or not config.products:
        out["product_channels"] = out.get("products", "there are no product layers (model.products=0)")
    if degree != 0 or dim != 2 or not oriented:
        out["flow"] = (
            f"the flow moves scalars on oriented surfaces, and the source is a {degree}-form in dimension {dim}"
        )
    if degree not in (0, dim):
        out["lift"] = f"pointwise functions take numbers, and the source is a {degree}-form in dimension {dim}"
    if config.fiber not in ("resolvent", "both"):
        out["fiber_lifts"] = f"there is no resolvent fiber (model.fiber={config.fiber})"
    elif "lift" in out:
        out["fiber_lifts"] = out["lift"]
    if not config.global_path:
        out |= dict.fromkeys(("moments", "moment_products"), "there is no global path (model.global_path=false)")
    if config.fiber not in ("grid", "both"):
        out |= dict.fromkeys(OF_GRID, f"there is no grid fiber (model.fiber={config.fiber})")
    if config.fiber == "none" and not config.commutator:
        out["project"] = "there is no fiber (model.fiber=none)"
    return out
