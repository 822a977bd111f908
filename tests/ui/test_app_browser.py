"""The app in a browser that reaches this machine only: state over pages and reloads, tabs, uploads, themes, links."""

from __future__ import annotations

import io
import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from tests.ui.conftest import serve

PAGES = ("Mesh", "Harmonic Modes", "Hodge Decomposition", "Spectral Energy", "Tasks")
ALL = (*PAGES, "Training", "Model Comparison", "Level Sets", "Benchmarks", "Learn")
WHOLE = "mesh=annulus&n=300&k=1&bc=relative&modes=8&seed=5&unit=mm&scale=2.0"
OCTAHEDRON = (
    b"OFF\n6 8 0\n1 0 0\n-1 0 0\n0 1 0\n0 -1 0\n0 0 1\n0 0 -1\n"
    b"3 0 2 4\n3 2 1 4\n3 1 3 4\n3 3 0 4\n3 2 0 5\n3 1 2 5\n3 3 1 5\n3 0 3 5\n"
)


def still(page) -> None:
    """Wait until the script has run and the provenance line is there."""
    page.wait_for_timeout(150)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60_000)
    page.get_by_text("content ").last.wait_for(timeout=30_000)


def go(page, title: str) -> None:
    """To a page by the navigation in the sidebar."""
    path = "/" if title == "Mesh" else "/" + title.lower().replace(" ", "_")
    page.get_by_test_id("stSidebarNavLink").filter(has_text=title).click()
    page.wait_for_url(lambda url: urlsplit(url).path == path and "mesh=" in url, timeout=30_000)
    still(page)


def badge(page, mesh: str):
    """The header's words on the mesh."""
    return page.locator(".stMarkdownBadge", has_text=f"{mesh}: ")


def state(page) -> dict[str, list[str]]:
    """The state as the URL carries it; it is written on every run."""
    page.wait_for_timeout(150)
    return parse_qs(urlsplit(page.url).query)


def colours_in(png: bytes) -> int:
    """Number of clearly different colours (4 bits a channel) that each cover more than one pixel in a thousand."""
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")) >> 4
    flat = pixels.reshape(-1, 3).astype(int) @ [256, 16, 1]  # (n_pixels,)
    return int((np.bincount(flat) > len(flat) / 1000).sum())


def test_first_page_draws_the_torus(app):
    app.open()
    app.page.get_by_text("Betti numbers over Q: b0 = 1, b1 = 2, b2 = 1").wait_for(timeout=30_000)
    picture = app.page.screenshot(clip=app.stage())
    if folder := os.environ.get("HSD_SCREENSHOTS"):
        app.page.screenshot(path=str(Path(folder) / "mesh.png"))
    assert colours_in(picture) >= 8


def test_the_gate_sees_an_outside_request(app):
    app.page.goto(app.address)
    app.page.evaluate("fetch('https://example.com/x').catch(() => 0)")
    app.page.wait_for_timeout(200)
    assert app.outside == ["https://example.com/x"]
    app.outside.clear()


@pytest.mark.parametrize("third", [1, *(pytest.param(third, marks=pytest.mark.full) for third in (2, 3))])
def test_state_is_equal_after_a_tour_of_all_pages_and_a_reload(app, third):
    page = app.page
    page.goto(f"{app.address}/?{WHOLE}")
    still(page)
    before = state(page)
    assert before == parse_qs(WHOLE.replace("k=1&", ""))  # k = 1 is the default and is left out
    for title in (*PAGES[third::3], PAGES[0]):
        go(page, title)
        assert {key: state(page).get(key) for key in before} == before, title
    page.reload()
    still(page)
    assert {key: state(page).get(key) for key in before} == before
    page.get_by_text("Betti numbers over Q: b0 = 1, b1 = 1, b2 = 0").wait_for(timeout=10_000)


@pytest.mark.full
def test_widgets_show_the_state_after_a_tour(app):
    page = app.page
    page.goto(f"{app.address}/?mesh=sphere&n=200&modes=4")
    still(page)
    page.get_by_text("Show edges").click()
    still(page)
    assert state(page)["wire0"] == ["1"]
    go(page, "Spectral Energy")
    go(page, "Mesh")
    assert state(page)["wire0"] == ["1"]
    assert page.locator("label", has_text="Show edges").locator("input").is_checked()


@pytest.mark.full
def test_back_key_of_the_browser_goes_back_a_step(app):
    page = app.page
    page.goto(f"{app.address}/?mesh=sphere&n=300")
    still(page)
    page.wait_for_timeout(1200)
    page.locator("button[data-name=cube]").click()
    badge(page, "cube").wait_for(timeout=20_000)
    still(page)
    assert state(page)["mesh"] == ["cube"]
    page.wait_for_timeout(1200)
    page.go_back()
    badge(page, "sphere").wait_for(timeout=20_000)
    assert state(page)["mesh"] == ["sphere"]


@pytest.mark.full
def test_a_second_tab_with_another_mesh_changes_neither(app):
    first = app.page
    first.goto(f"{app.address}/?mesh=sphere&n=100&k=0&modes=4")
    still(first)
    second = first.context.new_page()
    second.goto(f"{app.address}/?mesh=double_torus&n=300&k=2&modes=4")
    still(second)
    for page, mesh in ((first, "sphere"), (second, "double_torus"), (first, "sphere")):
        go(page, "Mesh" if page is first and "harmonic" in page.url else "Harmonic Modes")
        assert state(page)["mesh"] == [mesh]
        badge(page, mesh).wait_for(timeout=20_000)
    assert state(first)["k"] == ["0"] and state(second)["k"] == ["2"]
    second.close()


def test_upload_in_the_browser_stays_after_a_bad_one_and_after_a_reload(app):
    page = app.page
    page.goto(f"{app.address}/?mesh=sphere&n=300")
    still(page)

    def upload(name: str, data: bytes) -> None:
        page.locator("input[type=file]").set_input_files(
            {"name": name, "mimeType": "application/octet-stream", "buffer": data}
        )

    upload("octa.off", OCTAHEDRON)
    badge(page, "octa").wait_for(timeout=20_000)
    upload("page.obj", b"<html>not a mesh</html>")
    page.get_by_text("it looks like an HTML page").wait_for(timeout=20_000)
    assert badge(page, "octa").count() == 1
    assert page.locator("[data-testid=stException]").count() == 0
    page.reload()
    still(page)
    assert badge(page, "octa").count() == 1


@pytest.mark.full
def test_link_to_a_page_of_a_fresh_session_has_its_navigation(app):
    app.page.goto(f"{app.address}/harmonic_modes?mesh=sphere&n=300")
    still(app.page)
    links = app.page.get_by_test_id("stSidebarNavLink")
    links.get_by_text(ALL[-1], exact=True).wait_for(timeout=60_000)  # a first run imports for a while
    assert [links.nth(i).inner_text().split("\n")[-1].strip() for i in range(links.count())] == list(ALL)


@pytest.mark.parametrize(
    "theme, dark",
    [("dark", True), *(pytest.param(theme, False, marks=pytest.mark.full) for theme in ("light", "projector"))],
)
def test_theme_of_the_link(app, theme, dark):
    app.page.goto(f"{app.address}/?mesh=sphere&n=100&theme={theme}")
    still(app.page)
    # the page loads again when the browser had the other theme; the wait outlives that
    app.page.wait_for_function(
        """dark => { const app = document.querySelector('.stApp');
                     if (!app) return false;
                     const rgb = getComputedStyle(app).backgroundColor.match(/[0-9]+/g).slice(0, 3).map(Number);
                     return (rgb[0] + rgb[1] + rgb[2] < 200) === dark; }""",
        arg=dark,
        timeout=20_000,
    )


def test_presenter_mode_has_no_sidebar_and_bigger_type(app):
    sizes = []
    for present in ("0", "1"):
        app.page.goto(f"{app.address}/?mesh=sphere&n=100&present={present}")
        still(app.page)
        if present == "1":
            app.page.get_by_test_id("stSidebar").wait_for(state="hidden", timeout=10_000)
        sizes.append(app.page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)"))
        assert app.page.get_by_test_id("stSidebar").is_visible() == (present == "0")
    assert sizes[1] >= 1.2 * sizes[0]


def test_long_work_is_asked_for_runs_beside_the_page_survives_a_reload_and_is_cancelled(app):
    page = app.page
    page.goto(f"{app.address}/?mesh=ball&n=6000&k=1&modes=64")
    still(page)
    page.get_by_role("tab", name="Time and memory").click()
    page.get_by_role("button", name="Compute").click()
    page.get_by_text(" s of about ").wait_for(timeout=15_000)
    page.reload()
    still(page)
    page.get_by_role("tab", name="Time and memory").click()
    page.get_by_text(" s of about ").wait_for(timeout=15_000)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("The computation was cancelled.").wait_for(timeout=15_000)
    assert page.get_by_role("button", name="Compute").is_visible()
    assert page.locator("[data-testid=stException]").count() == 0


def test_a_fresh_server_shows_no_names_of_files_before_the_navigation(tmp_path, context):
    for address in serve("app.py", tmp_path):  # the first page of a server is where Streamlit lists the folder pages
        page = context.new_page()
        page.add_init_script(
            """globalThis.__seen = new Set();
            const note = () => document.querySelectorAll('[data-testid=stSidebarNavLink]')
              .forEach(link => __seen.add(link.textContent.trim()));
            new MutationObserver(note).observe(document, {childList: true, subtree: true, characterData: true});"""
        )
        page.goto(f"{address}/harmonic_modes?mesh=sphere&n=100&modes=4", timeout=120_000)
        page.get_by_test_id("stSidebarNavLink").get_by_text("Learn", exact=True).wait_for(timeout=120_000)
        still(page)
        seen = page.evaluate("[...__seen]")  # the text of an icon is its name
        page.close()
        assert any(name.endswith("Harmonic Modes") for name in seen)
        assert not [name for name in seen if name.endswith("harmonic modes") or name == "app"]
