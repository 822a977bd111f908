"""What tests ask of a page without a browser (AppTest)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]
WORDS = ("caption", "info", "markdown", "warning")


def page_of(name: str, timeout: float, **parameters) -> AppTest:
    """The page ``pages/NAME.py`` by a link with these parameters, not run yet."""
    app = AppTest.from_file(str(ROOT / "pages" / f"{name}.py"), default_timeout=timeout)
    for key, value in parameters.items():
        app.query_params[key] = str(value)
    return app


def good(app: AppTest) -> AppTest:
    assert not app.exception and not app.error, [e.value for e in (*app.exception, *app.error)]
    return app


def walk(block) -> Iterator:
    """All elements below a block."""
    for child in block.children.values():
        yield child
        if hasattr(child, "children"):
            yield from walk(child)


def scene(app: AppTest) -> str:
    """The messages of the viewers as text."""
    found = [str(e.proto) for e in walk(app.main) if "hsd_viewer" in str(getattr(e, "proto", ""))]
    assert found, "no viewer on the page"
    return "".join(found)


def said(app: AppTest, kinds: tuple[str, ...] = WORDS) -> str:
    """What the page says in words."""
    return "\n".join(e.value for kind in kinds for e in getattr(app, kind))


def widget(app: AppTest, key: str):
    kinds = (app.button, app.number_input, app.selectbox, app.slider, app.toggle, app.text_input, app.multiselect)
    kinds += (app.button_group,)
    return next(w for kind in kinds for w in kind if w.key == key)


def press(app: AppTest, key: str) -> AppTest:
    """Press a button; what the page then shows is not looked at."""
    widget(app, key).click()
    return app.run()


def link_of(app: AppTest) -> dict[str, str]:
    """The parameters of the page's link."""
    return {k: v[0] if isinstance(v, list) else v for k, v in app.query_params.items()}
