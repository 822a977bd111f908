// Gestures on the stage: turn, pan, zoom, click, drag of markers, keys.  No vtk.js interactor is used, so nothing
// listens outside the stage.  The page scrolls by the wheel unless the stage has the focus or Ctrl is held.

import { cast } from './bvh.js';
import { orbit, pan, project, ray, roll, zoom } from './camera.js';

const CLICK = 4; // pixels that a click may wander
const NEAR = 12; // pixels from a marker's centre that still take it

export class Interaction {
  /** `view` gives: stage element, panelAt(x, y), cameras, setCamera, tree(panel), and takes the events. */
  constructor(view) {
    this.view = view;
    this.pointers = new Map();
    const s = view.stageElement, on = (name, f, options) => s.addEventListener(name, f.bind(this), options);
    on('pointerdown', this.down);
    on('pointermove', this.move);
    on('pointerup', this.up);
    on('pointercancel', this.cancel);
    on('wheel', this.wheel, { passive: false });
    on('keydown', this.key);
    on('contextmenu', (e) => e.preventDefault());
    on('dblclick', (e) => { if (!e.target.closest('button') && view.scene?.tool.mode !== 'place') view.fit(); });
  }

  local(e) {
    const box = this.view.stageElement.getBoundingClientRect();
    return [e.clientX - box.left - this.view.stageElement.clientLeft, e.clientY - box.top - this.view.stageElement.clientTop];
  }

  /** Marker under a stage point that may be dragged and is not hidden: {panel, marker}. */
  markerAt(x, y) {
    const at = this.view.panelAt(x, y);
    if (!at) return null;
    const { panel, index, box } = at, camera = this.view.camera(index);
    let best = null;
    for (const marker of panel.markers()) {
      const [mx, my, depth] = project(camera, marker.pos, box.width, box.height);
      const distance = Math.hypot(mx + box.x - x, my + box.y - y);
      if (depth > 0 && distance < NEAR * panel.theme.thick && (!best || depth < best.depth)) best = { index, panel, marker, depth };
    }
    if (!best) return null;
    const hit = this.hit(x, y);
    return hit && hit.t < best.depth - 0.12 ? null : best; // hidden behind the surface
  }

  /** Surface under a stage point: {index, panel, face, bary, point, t} or null. */
  hit(x, y, only = null) {
    const at = this.view.panelAt(x, y, only);
    if (!at) return null;
    const { panel, index, box } = at;
    const r = ray(this.view.camera(index), x - box.x, y - box.y, box.width, box.height);
    const found = cast(this.view.tree(panel), r, panel.accept);
    return found && { ...found, index, panel };
  }

  down(e) {
    if (e.target.closest('button')) return;
    const { view } = this, [x, y] = this.local(e);
    view.stageElement.focus({ preventScroll: true });
    view.stageElement.setPointerCapture(e.pointerId);
    this.pointers.set(e.pointerId, [x, y]);
    if (this.pointers.size === 2) {
      this.gesture = { kind: 'pinch', span: this.span(), index: view.panelAt(x, y)?.index ?? 0 };
      return;
    }
    const at = view.panelAt(x, y);
    if (!at) return;
    const held = e.button === 0 && !e.shiftKey && !e.ctrlKey ? this.markerAt(x, y) : null;
    const kind = held?.marker.drag ? 'marker' : e.button === 0 && !e.shiftKey ? 'turn' : 'pan';
    this.gesture = { kind, held, index: at.index, box: at.box, start: [x, y], last: [x, y], moved: false, button: e.button };
  }

  move(e) {
    const [x, y] = this.local(e), { view, gesture: g } = this;
    if (!g || !this.pointers.has(e.pointerId)) {
      this.hover(x, y);
      return;
    }
    this.pointers.set(e.pointerId, [x, y]);
    if (g.kind === 'pinch') {
      const span = this.span();
      view.setCamera(g.index, zoom(view.camera(g.index), g.span / span));
      g.span = span;
      return;
    }
    if (!g.moved && Math.hypot(x - g.start[0], y - g.start[1]) < CLICK) return;
    g.moved = true;
    const dx = x - g.last[0], dy = y - g.last[1];
    g.last = [x, y];
    if (g.kind === 'marker') {
      const hit = this.hit(x, y, g.index);
      if (hit) {
        g.hit = hit;
        view.dragMarker(g.held, hit.point);
      }
      return;
    }
    const camera = view.camera(g.index), size = Math.min(g.box.width, g.box.height);
    view.stageElement.classList.add('turning');
    if (g.kind === 'pan') view.setCamera(g.index, pan(camera, dx, dy, g.box.height));
    else if (e.altKey) view.setCamera(g.index, roll(camera, dx / size * 2));
    else view.setCamera(g.index, orbit(camera, dx / size, dy / size));
  }

  up(e) {
    const { view, gesture: g } = this, [x, y] = this.local(e);
    this.pointers.delete(e.pointerId);
    view.stageElement.classList.remove('turning');
    if (!g) return;
    this.gesture = null;
    if (g.kind === 'marker') {
      if (g.moved) view.dropMarker(g.held, g.hit);
      else view.select(g.held.marker.id);
      return;
    }
    if (g.moved || g.kind === 'pinch') {
      view.rest();
      return;
    }
    if (g.button !== 0) return;
    const marker = this.markerAt(x, y);
    if (marker) view.select(marker.marker.id);
    else view.click(this.hit(x, y));
  }

  cancel(e) {
    this.pointers.delete(e.pointerId);
    if (this.gesture?.kind === 'marker') this.view.dropMarker(this.gesture.held, null);
    this.gesture = null;
    this.view.stageElement.classList.remove('turning');
    this.view.rest();
  }

  span() {
    const [a, b] = [...this.pointers.values()];
    return Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
  }

  hover(x, y) {
    const { view } = this, over = view.hasMarkers() && this.markerAt(x, y);
    view.stageElement.style.cursor = over ? 'pointer' : '';
  }

  wheel(e) {
    const { view } = this, focused = view.focused();
    if (!focused && !e.ctrlKey) {
      view.hint('Click the view first, or hold Ctrl, to zoom with the wheel');
      return;
    }
    e.preventDefault();
    const [x, y] = this.local(e), at = view.panelAt(x, y);
    if (!at) return;
    const pixels = e.deltaMode === 1 ? e.deltaY * 30 : e.deltaMode === 2 ? e.deltaY * 300 : e.deltaY;
    view.setCamera(at.index, zoom(view.camera(at.index), Math.exp(Math.max(-80, Math.min(80, pixels)) * 0.0022)));
    view.restSoon();
  }

  key(e) {
    if (e.target !== this.view.stageElement || e.ctrlKey || e.metaKey || e.altKey) return;
    if (this.view.key(e.key, e.shiftKey)) {
      e.preventDefault();
      e.stopPropagation();
    }
  }
}
