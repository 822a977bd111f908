"""What Model Comparison does and shows while it computes, in a browser."""

from __future__ import annotations

import re

import pytest

from tests.ui.checkpoints import make_checkpoints
from tests.ui.conftest import MODEL_TASK, local_page, serve

WAITING = "[class*=st-key-waiting]"
LABELS = ("fno3d", "deeponet")


@pytest.fixture(scope="module")
def slow_server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slow")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HSD_CHECKPOINTS", str(make_checkpoints(folder / "ckpt", MODEL_TASK, LABELS)))
        patch.setenv("GATE", str(folder / "open"))
        yield from ((folder / "open", address) for address in serve("tests/ui/comparison_slow_app.py", folder))


@pytest.fixture
def gate(slow_server):
    return slow_server[0]


@pytest.fixture
def page(slow_server, context):
    yield from local_page(context, slow_server[1])


def begun_and_seconds(page) -> tuple[str, int, int]:
    """Model, how often it was begun, and for how long it has been at work, by the panel."""
    read = "() => (document.querySelector('[class*=st-key-waiting]')?.innerText ?? '').match(/begun.*\\(/s)?.input"
    words = page.page.wait_for_function(read, timeout=150_000).json_value()
    model, times, seconds = re.search(r"(\S+), model .*begun (\d+) times.*\((\d+) s\)", words).groups()
    return model, int(times), int(seconds)


def test_a_click_lets_the_computation_go_on_and_what_is_of_another_mesh_is_hidden(page, gate):
    view = page.page
    view.goto(f"{page.address}/?problem={MODEL_TASK}&models={'~'.join(LABELS)}&remesh=400")
    assert begun_and_seconds(page)[1] == 1
    title, panel = view.locator("h1").bounding_box(), view.locator(WAITING).bounding_box()
    assert panel["y"] >= title["y"] + title["height"]  # nothing is drawn over the title
    gate.touch()
    view.locator(".hsd-viewer[data-state=rest]").wait_for(timeout=150_000)
    page.ready()
    old = view.locator("[data-testid=stCaptionContainer]", has_text="The mesh has no boundary").first
    old.wait_for(timeout=10_000)
    assert view.locator(WAITING).count() == 0 and view.locator(".hsd-viewer").is_visible()
    badge = view.locator(".st-key-head-mesh").inner_text()

    gate.unlink()
    view.get_by_text("as trained", exact=True).click()
    view.locator(WAITING).wait_for(timeout=30_000)
    for element in (old, view.locator(".hsd-viewer"), view.get_by_role("tab", name="Test set")):
        assert not element.is_visible()
    assert view.locator(".st-key-head-mesh").inner_text() != badge
    before = begun_and_seconds(page)
    view.get_by_role("button", name="View").click()
    view.get_by_text("Presenter mode: big type").click()  # changes nothing that is computed
    view.locator("[data-testid=stSidebar]").wait_for(state="hidden", timeout=20_000)
    after = begun_and_seconds(page)
    assert after[:2] == before[:2] and after[2] >= before[2]
    assert not old.is_visible()
    gate.touch()
    view.locator(WAITING).wait_for(state="detached", timeout=150_000)
    page.ready()
    assert old.is_visible() and view.locator(WAITING).count() == 0
    assert view.locator(".hsd-viewer canvas").first.bounding_box()["height"] > 100
