"""The Benchmarks page in a browser: a click on a number opens the record behind it, its link too, tables download."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.ui.benchmark_records import table_of, write
from tests.ui.conftest import local_page, serve

TASK = "toroidal_transport"


@pytest.fixture(scope="module")
def results_server(tmp_path_factory):
    folder = write(tmp_path_factory.mktemp("results"), table_of(TASK))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HSD_RESULTS", str(folder))
        yield from serve("app.py", tmp_path_factory.mktemp("app"))


@pytest.fixture
def app(results_server, context):
    yield from local_page(context, results_server)


def query(app) -> dict[str, list[str]]:
    return parse_qs(urlsplit(app.page.url).query)


def test_a_click_on_a_number_opens_its_record_which_a_link_opens_too_and_the_tables_download(app):
    page, best = app.page, min(table_of(TASK), key=lambda record: record["test"]["relative_l2"])
    page.goto(f"{app.address}/benchmarks?bench={TASK}")
    grid = page.locator("[data-testid=stDataFrame]").first
    grid.wait_for(timeout=60_000)
    page.get_by_text("over the test samples").wait_for(timeout=60_000)
    grid.click(position={"x": 180, "y": 52})  # first row, MSE
    dialog = page.get_by_role("dialog")
    dialog.get_by_text(best["sha256"]).wait_for(timeout=30_000)
    assert query(app)["record"] == [best["entry"]]
    dialog.get_by_text(best["data"]["command"]).wait_for(timeout=10_000)
    link = page.url
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden", timeout=15_000)
    page.wait_for_function("!location.search.includes('record=')", timeout=15_000)
    page.goto(link)
    dialog.get_by_text(best["sha256"]).wait_for(timeout=60_000)
    page.goto(f"{app.address}/benchmarks?bench={TASK}&tab=Export")
    with page.expect_download(timeout=30_000) as event:
        page.get_by_role("button", name="JSON").click(timeout=60_000)
    whole = json.loads(event.value.path().read_text(encoding="utf-8"))
    assert {row["sha256"] for row in whole["rows"]} == {record["sha256"] for record in table_of(TASK)}
