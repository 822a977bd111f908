"""Small things that only the browser can do: copying the link, choosing the theme, steps by keys."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping

import streamlit as st

MOST = 1000
"""Steps that one run may be asked for."""
COPY_JS = """
// copy the address of the page
export default function (component) {
  const root = component.parentElement;
  const button = root.querySelector('button');
  const note = root.querySelector('input');
  if (button.dataset.ready) return;
  button.dataset.ready = '1';
  button.onclick = async () => {
    const link = window.location.href;
    try {
      await navigator.clipboard.writeText(link);
    } catch {
      note.value = link; note.hidden = false; note.select(); document.execCommand('copy'); note.hidden = true;
    }
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy link'; }, 1500);
  };
}
"""
COPY_HTML = (
    '<button type="button" title="Copy a link to exactly this view (mesh, settings and seed)">Copy link</button>'
    '<input hidden aria-hidden="true">'
)
COPY_CSS = """
button { font: inherit; font-size: .85rem; padding: .15rem .6rem; border-radius: .4rem; cursor: pointer; width: 6.2rem;
  color: var(--st-text-color); background: var(--st-secondary-background-color); border: 1px solid #8886; }
button:hover, button:focus-visible { border-color: var(--st-primary-color); color: var(--st-primary-color); }
"""
THEME_JS = """
// remember the wanted theme as the app's own menu does, and load the page again where it differs
export default function (component) {
  const wanted = (component.data && component.data.theme) || '';
  const key = 'stActiveTheme-' + window.location.pathname + '-v2';
  if (!wanted) {
    if (localStorage.getItem('hsd-theme') && localStorage.getItem(key)) {
      localStorage.removeItem('hsd-theme'); localStorage.removeItem(key);
      setTimeout(() => window.location.reload(), 150);
    }
    return;
  }
  const host = component.parentElement.host || component.parentElement;
  const back = getComputedStyle(host).getPropertyValue('--st-background-color').trim();
  const dark = /^#[0-4]/.test(back);
  if (!back || dark === (wanted === 'dark')) { sessionStorage.removeItem('hsd-theme-tried'); return; }
  if (sessionStorage.getItem('hsd-theme-tried') === wanted) return;
  sessionStorage.setItem('hsd-theme-tried', wanted);
  const name = wanted === 'dark' ? 'Dark' : 'Light';
  localStorage.setItem(key, JSON.stringify(name));
  localStorage.setItem('hsd-theme', name);
  setTimeout(() => window.location.reload(), 150);
}
"""
SLIDES_JS = """
// every step begins at the top of the page
export default function (component) {
  const { step } = component.data, host = component.parentElement.host || component.parentElement;
  const main = document.querySelector('[data-testid=stMain]');
  if (host.dataset.step !== undefined && host.dataset.step !== step) main?.scrollTo(0, 0);
  host.dataset.step = step;
}
"""
KEYS_JS = """
// presses of keys that step are counted here, so that none is lost while the server answers; they do not scroll too
const counts = (globalThis.__hsdKeys ??= {});
const TAKES = ['text', 'number', 'search', 'range', 'email', 'password', 'url'];
export default function (component) {
  const { keys, session } = component.data;
  counts[session] ??= 0;
  const press = (e) => {
    const by = keys[e.key], at = e.composedPath()[0];
    if (!by || e.ctrlKey || e.metaKey || e.altKey || at.isContentEditable) return;
    if (['TEXTAREA', 'SELECT'].includes(at.tagName) || (at.tagName === 'INPUT' && TAKES.includes(at.type))) return;
    e.preventDefault();
    if (e.repeat) return;
    counts[session] += by;
    component.setStateValue('steps', counts[session]);
  };
  window.addEventListener('keydown', press, true);
  return () => window.removeEventListener('keydown', press, true);
}
"""

_copy = st.components.v2.component("hsd_copy_link", html=COPY_HTML, css=COPY_CSS, js=COPY_JS)
_theme = st.components.v2.component("hsd_theme", html="<i></i>", js=THEME_JS)
_slides = st.components.v2.component("hsd_slides", html="<i></i>", js=SLIDES_JS)
_keys = st.components.v2.component("hsd_keys", html="<i></i>", js=KEYS_JS)


def copy_link() -> None:
    """A button that copies the page's address; the state is in it."""
    _copy(key="hsd-copy-link", width="content", height="content")


def set_theme(name: str) -> None:
    """Switch to the theme "light" or "dark"; "" leaves the choice to the browser."""
    with st.container(key="hsd-theme-holder", height=1, border=False, gap=None):
        _theme(key="hsd-theme", data={"theme": name}, height=1)


def slides(step: str, keys: Mapping[str, int], on_steps: Callable[[int], None]) -> None:
    """The page is a series of steps, gone through by keys: when ``step`` changes its top is shown."""
    with st.container(key="hsd-slides-holder", height=1, border=False, gap=None):
        _slides(key="hsd-slides", data={"step": step}, height=1)
        key_steps("slides", keys, on_steps)


def key_steps(name: str, keys: Mapping[str, int], on_steps: Callable[[int], None]) -> None:
    """Keys that step, except in fields; ``on_steps`` is called with the sum of all presses since the last run.

    name : of the page's steps;  keys : what KeyboardEvent calls them → steps of one press
    A press of a button's own shortcut is lost where it comes while the script runs; these are not.
    """
    memory = st.session_state.setdefault(f"_keys/{name}", {"session": secrets.token_hex(8), "seen": 0})

    def changed() -> None:
        value = st.session_state.get(f"hsd-keys-{name}") or {}
        steps = value.get("steps")
        if isinstance(steps, int | float) and abs(steps - memory["seen"]) <= MOST:
            by, memory["seen"] = round(steps) - memory["seen"], round(steps)
            if by:
                on_steps(by)

    with st.container(key=f"hsd-keys-holder-{name}", height=1, border=False, gap=None):
        data = {"keys": dict(keys), "session": memory["session"]}
        _keys(key=f"hsd-keys-{name}", data=data, height=1, on_steps_change=changed)


def previous_and_next(name: str, on_steps: Callable[[int], None]) -> None:
    """Buttons ``NAME:previous`` and ``NAME:next``, which the keys J and K press too."""
    left, right = st.columns(2)
    left.button("Prev :gray[J]", key=f"{name}:previous", on_click=on_steps, args=(-1,), width="stretch")
    right.button("Next :gray[K]", key=f"{name}:next", on_click=on_steps, args=(1,), width="stretch")
    key_steps(name, {"j": -1, "k": 1}, on_steps)
