"""The gallery as a strip of pictures that can be clicked or walked through with the keyboard."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from hsd.mesh.primitives import GALLERY

JS = """
// pictures of the gallery
const script = document.querySelector('script[src*="static/js/"]');
const base = new URL('.', script ? script.src.slice(0, script.src.indexOf('static/js/')) : document.baseURI);
export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const strip = parentElement.querySelector('.strip');
  if (!strip.childElementCount) {
    for (const [name, sentence] of data.shapes) {
      const button = document.createElement('button');
      button.type = 'button'; button.title = sentence; button.dataset.name = name;
      const picture = document.createElement('img');
      picture.alt = sentence; picture.width = 80; picture.height = 60; picture.loading = 'lazy';
      picture.src = new URL('app/static/thumbnails/' + name + '.png', base).href;
      const label = document.createElement('span');
      label.textContent = name.replaceAll('_', ' ');
      button.append(picture, label);
      strip.append(button);
    }
  }
  for (const button of strip.children) {
    button.setAttribute('aria-pressed', button.dataset.name === data.chosen);
    button.onclick = () => setTriggerValue('choose', button.dataset.name);
  }
  if (strip.dataset.shown !== data.chosen) {
    strip.dataset.shown = data.chosen;
    const now = strip.querySelector('[aria-pressed="true"]');
    if (now) strip.scrollLeft = now.offsetLeft - strip.clientWidth / 2 + 50;
  }
}
"""
CSS = """
.strip { display: flex; gap: .35rem; overflow-x: auto; position: relative; padding: 2px 2px .5rem;
  scrollbar-width: thin; }
button { flex: 0 0 auto; width: 90px; padding: 2px; font: inherit; font-size: .7rem; line-height: 1.1;
  cursor: pointer; color: var(--st-text-color); background: var(--st-secondary-background-color);
  border: 2px solid transparent; border-radius: .4rem; display: flex; flex-direction: column; align-items: center; }
button:hover { border-color: #8888; }
button:focus-visible { outline: 2px solid var(--st-primary-color); }
button[aria-pressed="true"] { border-color: var(--st-primary-color); font-weight: 600; }
span { min-height: 2.2em; display: flex; align-items: center; text-align: center; }
"""
_strip = st.components.v2.component("hsd_gallery", html='<div class="strip"></div>', css=CSS, js=JS)


def gallery_strip(chosen: str, on_choose: Callable[[str], None]) -> None:
    """Show the strip; ``on_choose`` is called with a shape's name before the script runs again."""

    def choose() -> None:
        value = st.session_state.get("hsd-gallery")
        name = value.get("choose") if value is not None else None
        if name in GALLERY:
            on_choose(name)

    shapes = [[name, entry.sentence] for name, entry in GALLERY.items()]
    _strip(key="hsd-gallery", data={"shapes": shapes, "chosen": chosen}, on_choose_change=choose)
