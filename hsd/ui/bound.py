"""Widgets bound to a field of the state by its dotted path: each shows the field's value and writes to it.

They survive page changes and reloads, because the value lives in the state and the URL, not in the widget.  All return
the field's value.  ``where`` is a container (default: the page), ``on_change`` is called after the state has changed.

Each widget has the value as its default too: of two runs that follow closely on each other the browser may draw the
second alone, and a widget first drawn without a value shows its default and sends that back as the visitor's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from time import monotonic

import streamlit as st

from hsd.ui.state import SETTLED, get_state, read, update

_DONE, _AGAIN, _OLD = "_bound/done", "_bound/again", "_bound/old"


def widget_key(path: str, name: str = "") -> str:
    """Key of the widget bound to a path, as ``AppTest`` finds it; ``name`` tells two widgets of one field apart."""
    return f"state:{path}:{name}" if name else f"state:{path}"


def begin_run() -> None:
    """At the start of a page's run: were all widgets of the last run drawn, or was it broken off by a click?

    The browser may not have been sent the values that the program gave to widgets in a run that was broken off; those
    of this run are then sent again, or the widgets would show, and soon send back, what they showed before.
    """
    st.session_state[_AGAIN] = not st.session_state.get(_DONE, True)
    st.session_state[_DONE] = False


def end_run() -> None:
    """At the end of a page's run."""
    st.session_state[_DONE] = True
    old = st.session_state.get(_OLD, {})
    for key, (values, when) in old.items():
        old[key] = (values, min(when, monotonic()))


def fill(key: str, value: object) -> None:
    """Put a value into a widget that is about to be drawn, where it shows another one or may never have had it."""
    if key in st.session_state and st.session_state[key] != value:
        _remember(key, st.session_state[key], value)
    if st.session_state.get(_AGAIN) or key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value


def _remember(key: str, *both: object) -> None:
    """The program gives a widget another value; the browser, which shows that of before still, or will soon be behind
    with this one, may send either with its next message."""
    old = st.session_state.setdefault(_OLD, {})
    values, when = old.get(key, ([], inf))
    old[key] = ([*([] if monotonic() - when > SETTLED else values), *both], inf)


def is_old(key: str) -> bool:
    """Whether what a widget says is what it showed before the program gave it another value, and not a visitor's wish.

    The browser sends all widgets with each event, with the values that it knows; a run that was broken off, or that
    ended less than SETTLED seconds ago, may have given them others since.
    """
    values, when = st.session_state.get(_OLD, {}).get(key, ([], 0.0))
    return st.session_state[key] in values and not monotonic() - when > SETTLED


def _changed(path: str, key: str, convert: Callable, on_change: Callable[[], None] | None) -> None:
    if is_old(key):
        return
    update(**{path: convert(st.session_state[key])})
    if on_change is not None:
        on_change()


def _bind(path: str, name: str, shown, convert: Callable, on_change: Callable[[], None] | None) -> dict:
    key = widget_key(path, name)
    fill(key, shown)
    return {"key": key, "on_change": _changed, "args": (path, key, convert, on_change)}


def _fitting(path: str, value) -> None:
    """Put what a widget can show into the state when the state held something else (e.g. k = 3 on a surface)."""
    if read(get_state(), path) != value:
        update(**{path: value})


def bound_slider(
    label: str, path: str, low, high, step=None, *, where=None, name: str = "", on_change=None, select=None, **more
):
    """A slider; whole numbers where the field is one.  A value outside low…high is moved inside."""
    kind = type(read(get_state(), path))
    value = min(max(read(get_state(), path), low), high)
    _fitting(path, value)
    bind = _bind(path, name, value, kind, on_change)
    if low == high:
        (where or st).caption(f"{label}: {value}")
        return value
    step = None if step is None else kind(step)
    (where or st).slider(label, kind(low), kind(high), kind(value), step, **bind, **more)
    return value


def bound_number(label: str, path: str, low=None, high=None, step=None, *, where=None, name="", on_change=None, **more):
    """A number field."""
    value = read(get_state(), path)
    kind = type(value)
    value = value if low is None else max(value, kind(low))
    value = value if high is None else min(value, kind(high))
    _fitting(path, value)
    bind = _bind(path, name, value, kind, on_change)
    limits = {
        "min_value": None if low is None else kind(low),
        "max_value": None if high is None else kind(high),
        "step": None if step is None else kind(step),
    }
    (where or st).number_input(label, value=value, **limits, **bind, **more)
    return value


def _choice(widget: str, label, path, options, format_func, where, name, on_change, more):
    options = list(options)
    if not options:
        return read(get_state(), path)
    value = read(get_state(), path)
    if value not in options:
        value = options[0]
        _fitting(path, value)
    bind = _bind(path, name, value, _same, on_change)
    getattr(where or st, widget)(label, options, options.index(value), format_func, **bind, **more)
    return value


def _same(value):
    return value


def bound_selectbox(
    label: str, path: str, options: Sequence, format_func=str, *, where=None, name="", on_change=None, **more
):
    """A list to choose one from.  A value that is no option becomes the first one."""
    return _choice("selectbox", label, path, options, format_func, where, name, on_change, more)


def bound_radio(
    label: str, path: str, options: Sequence, format_func=str, *, where=None, name="", on_change=None, **more
):
    """Radio buttons."""
    return _choice("radio", label, path, options, format_func, where, name, on_change, more)


def bound_segments(
    label: str, path: str, options: Sequence, format_func=str, *, where=None, name="", on_change=None, **more
):
    """A row of buttons of which one is chosen; choosing none keeps the value."""
    options = list(options)
    value = read(get_state(), path)
    if value not in options:
        value = options[0]
        _fitting(path, value)

    def keep(new):
        return read(get_state(), path) if new is None else new

    bind = _bind(path, name, value, keep, on_change)
    (where or st).segmented_control(label, options, format_func=format_func, default=value, **bind, **more)
    return value


def bound_toggle(label: str, path: str, *, where=None, name="", on_change=None, **more) -> bool:
    """A switch."""
    value = read(get_state(), path)
    (where or st).toggle(label, value, **_bind(path, name, value, bool, on_change), **more)
    return value


def bound_checkbox(label: str, path: str, *, where=None, name="", on_change=None, **more) -> bool:
    """A box to tick."""
    value = read(get_state(), path)
    (where or st).checkbox(label, value, **_bind(path, name, value, bool, on_change), **more)
    return value


def bound_multiselect(
    label: str, path: str, options: Sequence[str], format_func=str, *, where=None, name="", on_change=None, **more
) -> tuple[str, ...]:
    """A list to choose several from; the field is a tuple in the order of choosing."""
    value = tuple(v for v in read(get_state(), path) if v in options)
    _fitting(path, value)
    bind = _bind(path, name, list(value), partial(_known, {format_func(v): v for v in options}), on_change)
    (where or st).multiselect(label, list(options), list(value), format_func=format_func, **bind, **more)
    return value


def _known(by_text: Mapping[str, str], chosen: Sequence[str]) -> tuple[str, ...]:
    """The options chosen.  The browser sends their texts; Streamlit gives one that has changed since as it came, which
    is an option only where it is the text of one."""
    options = set(by_text.values())
    return tuple(dict.fromkeys(by_text.get(v, v) for v in chosen if v in by_text or v in options))


def bound_tabs(path: str, titles: Sequence[str]) -> list:
    """Tabs of which the state knows the open one, so that a link opens it; returns them, each with ``open``."""
    value = read(get_state(), path)
    if value not in titles:
        value = titles[0]
        _fitting(path, value)
    key = widget_key(path)
    fill(key, value)
    return st.tabs(list(titles), default=value, key=key, on_change=partial(_changed, path, key, _same, None))


def bound_text(label: str, path: str, *, where=None, name="", on_change=None, **more) -> str:
    """A line of text."""
    value = read(get_state(), path)
    (where or st).text_input(label, value, **_bind(path, name, value, str, on_change), **more)
    return value
