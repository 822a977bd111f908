"""A switch that does nothing is known to do nothing, is refused when somebody names it, and suites name none."""

from __future__ import annotations

import pytest
import torch

from hsd.data.tasks import TASKS, task
from hsd.errors import InputError
from hsd.experiments.suites import SUITES
from hsd.models.hsd import HSD, HSDConfig
from hsd.models.presets import PRESETS
from hsd.models.registry import make_model
from hsd.training.suits import check_entries
from tests.models.domains import batch_of, domain_of

OTHER = {  # another value of each entry than the default's
    "products": 1, "flow": 4, "lift": 1, "fiber_lifts": 1, "penalty": 1.0, "tied": False, "product_channels": 2,
    "moments": 1, "moment_products": True, "fiber_width": 4, "fiber_depth": 1, "fiber_modes": 2, "masked": False,
    "project": False, "base_hidden": 8,
}  # fmt: skip
CASES = {
    "magnetostatics": ("magnetostatics", {}),
    "magnetostatics without path": ("magnetostatics", {"global_path": False, "fiber": "none"}),
    "helmholtz": ("torus_helmholtz", {"poles": 0}),
    "helmholtz without fiber": ("torus_helmholtz", {"fiber": "none", "global_path": False}),
    "vorticity": ("vorticity_dynamics", {}),
}


def of(name: str) -> tuple[int, int, bool]:
    return task(name).inputs[0].degree, task(name).dim, True


def answer(name: str, entries: dict) -> tuple[int, torch.Tensor, bool]:
    domain, batch = domain_of(name), batch_of(name)
    torch.manual_seed(0)
    model = make_model("hsd", domain, name, **entries)
    model.prepare(batch, domain)
    with torch.no_grad():
        for weights in model.parameters():
            weights += 0.1 * torch.randn(weights.shape, generator=torch.Generator().manual_seed(1))
        forms = model.eval()(batch, domain).forms
    more = any(model.penalty(domain, torch.Generator().manual_seed(i)) is not None for i in range(20))
    return model.n_parameters, forms, more


@pytest.mark.parametrize("case", CASES)
def test_what_is_said_to_do_nothing_does_nothing(case):
    name, entries = CASES[case]
    plain = answer(name, entries)
    idle = HSD.idle_on(HSD.make_config(name, **entries), *of(name))
    assert idle.keys() <= OTHER.keys()
    for entry in idle:
        changed = answer(name, {**entries, entry: OTHER[entry]})
        assert changed[0] == plain[0] and torch.equal(changed[1], plain[1]) and changed[2] == plain[2], entry


@pytest.mark.parametrize(
    "name, entries, words",
    [
        ("torus_helmholtz", {**PRESETS["paper"], "poles": 1}, "model.poles=1 would do nothing: the variant paper"),
        ("vorticity_dynamics", {"variant": "paper", "flow": 1}, "model.flow=1 would do nothing: the variant paper"),
        ("magnetostatics", {"products": 1}, "model.products=1 would do nothing: product layers take gradients"),
        ("magnetostatics", {"flow": 4}, "model.flow=4 would do nothing: the flow moves scalars"),
        ("ellipsoid_aerodynamics", {"penalty": 0.5}, "there are no coefficient layers"),
        ("toroidal_transport", {"fiber_lifts": 2}, "there is no resolvent fiber"),
        (None, {"base_hidden": 8}, "model.base_hidden=8 would do nothing: the variant spectral"),
    ],
)
def test_a_switch_that_does_nothing_is_refused_when_named(name, entries, words):
    with pytest.raises(InputError) as said:
        check_entries("hsd", name, entries, *of(name or "torus_helmholtz"))
    assert said.value.kind == "idle_entry" and words in said.value.message


def test_on_a_surface_without_orientation_there_is_no_flow():
    with pytest.raises(InputError, match="oriented surfaces"):
        check_entries("hsd", None, {"flow": 4}, 0, 2, False)
    check_entries("hsd", None, {"flow": 4}, 0, 2, True)


@pytest.mark.parametrize("name", TASKS)
def test_defaults_of_a_task_and_what_is_off_anyway_are_left(name):
    """A task's own switches stand in the config of its published form too; nobody has named them."""
    check_entries("hsd", name, PRESETS["paper"], *of(name))
    check_entries(
        "hsd", name, {"products": 0, "flow": 0, "penalty": 0.0, "base_hidden": HSDConfig.base_hidden}, *of(name)
    )


def test_no_row_of_a_suite_names_a_switch_that_does_nothing():
    for entry in {(e.task, e.model, repr(e.config)): e for rows in SUITES.values() for e in rows}.values():
        check_entries(entry.model, entry.task, entry.config, *of(entry.task))
