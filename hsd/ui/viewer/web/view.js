// A view: scene in, frames and events out.

import { build } from './bvh.js';
import { project } from './camera.js';
import { events } from './events.js';
import { framing } from './framing.js';
import { Interaction } from './interact.js';
import { Overlay } from './overlay.js';
import { Panel, commonScales } from './paint.js';
import { compose, download } from './shot.js';
import { Stage, loadVtk, probe } from './stage.js';
import { steering } from './steering.js';
import { hashesOf, peek, want } from './store.js';
import { CSS, applyTheme, themeOf } from './style.js';
import { Controls, button, element } from './ui.js';

const REST = 160; // ms without movement until the fine picture is drawn
const SOON = 30; // the same after a new scene, which nothing follows
const PROXY_ABOVE = 8000; // vertices of all panels together above which scrubbing shows proxies
const PROXY_TURN = 12000; // the same for turning, under software rendering only

/** Frames, main-thread ms of the last frame and the views on the page: for tests and measurements. */
const meter = (globalThis.__hsd ??= { frames: 0, js_ms: 0, views: {} });
const memories = (globalThis.__hsdViews ??= new Map());

function memoryOf(id) {
  if (!memories.has(id)) {
    memories.set(id, { cameras: [], pristine: true, linked: null, controls: {}, given: {}, sent: {}, seq: 0, token: '',
      dismissed: -1 });
  }
  return memories.get(id);
}

export class View {
  constructor(host, vtkUrl, id) {
    Object.assign(this, { host, vtkUrl, id, memory: memoryOf(id), panels: [], made: [], trees: new Map(), call: 0, moving: false });
    meter.views[id] = this;
    const figure = element('figure');
    this.style = element('style');
    this.style.textContent = CSS;
    this.stageElement = element('div', 'stage');
    this.stageElement.tabIndex = 0;
    this.canvasElement = element('div', 'canvas');
    this.canvasElement.setAttribute('role', 'img');
    this.overlay = new Overlay(this);
    this.tools = element('div', 'tools');
    this.hintElement = element('div', 'hint');
    this.stageElement.append(this.canvasElement, this.overlay.root, this.hintElement, this.tools);
    this.legendElement = element('div', 'legend');
    this.controlsElement = element('div', 'controls');
    this.caption = element('figcaption');
    figure.append(this.stageElement, this.legendElement, this.controlsElement, this.caption);
    host.replaceChildren(this.style, figure);
    this.controls = new Controls(this.controlsElement, {
      onInput: (name, value) => this.setControl(name, value),
      onRelease: (name) => this.release(name),
    });
    this.linkButton = button('link', 'Link the cameras', () => this.toggleLink());
    this.tools.append(
      this.linkButton,
      button('fit', 'Show all (double click)', () => this.fit()),
      button('shot', 'Save as PNG', () => this.shot()),
    );
    this.stageElement.addEventListener('focusout', () => this.restSoon());
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.stageElement);
  }

  // ---- scene in --------------------------------------------------------------------------------------------------

  async receive(scene) {
    const call = ++this.call;
    this.stageElement.style.height = `${scene.height ?? 520}px`;
    this.theme = { ...themeOf(scene.theme, this.host), pixel: 1 };
    applyTheme(this.host, this.theme);
    this.host.classList.toggle('framed', scene.theme !== 'auto');
    this.gpu ??= probe();
    if (!this.gpu) {
      this.withoutWebGL(scene);
      return;
    }
    const [vtk] = await Promise.all([loadVtk(this.vtkUrl), ...hashesOf(scene).map(want)]);
    if (call !== this.call || this.dead) return; // overtaken by a newer scene
    if (!this.stage) {
      this.stage = new Stage(this.canvasElement, vtk, this.gpu);
      this.stage.canvas.addEventListener('webglcontextlost', (e) => this.restart(e), { once: true });
    }
    this.apply(scene);
  }

  /** The browser took the context away: draw with a new one. */
  restart(event) {
    event.preventDefault();
    if (this.dead) return;
    const { scene } = this;
    this.stage.delete();
    this.canvasElement.replaceChildren();
    Object.assign(this, { stage: null, panels: [], made: [], scene: null, proxied: undefined });
    if (scene) this.receive(scene);
  }

  apply(scene) {
    const first = !this.scene, { memory } = this;
    this.scene = scene;
    const n = scene.panels.length;
    this.stage.count(n);
    while (this.made.length < n) this.made.push(new Panel(this.stage.drawings[this.made.length]));
    this.panels = this.made.slice(0, n);
    this.theme.pixel = this.restRatio();
    this.panels.forEach((p, i) => p.update(scene.panels[i], this.theme));
    if (memory.linked === null) memory.linked = scene.layout.link;
    this.takeControls(scene.controls);
    this.controls.update(scene.controls, memory.controls);
    this.controlsElement.style.display = scene.controls.length ? '' : 'none';
    this.caption.textContent = scene.caption;
    this.canvasElement.setAttribute('aria-label', scene.panels.map((p) => p.alt).join(' '));
    this.stageElement.classList.toggle('placing', scene.tool.mode === 'place');
    this.linkButton.style.display = scene.panels.length > 1 ? '' : 'none';
    this.linkButton.setAttribute('aria-pressed', String(memory.linked));
    const selected = this.panels.find((p) => p.selected !== null)?.selected;
    if (selected && !scene.panels.some((p) => p.markers.some((m) => m.id === selected))) this.select(null);
    this.layout();
    if (scene.camera && scene.camera.token !== memory.token) {
      memory.token = scene.camera.token;
      memory.direction = scene.camera;
      memory.pristine = true;
    }
    if (memory.pristine || !memory.cameras[0]) this.fit(false);
    this.overlay.readout(scene.readout);
    this.answer();
    if (first) meter.first = performance.now();
    meter.rev = scene.rev;
  }

  withoutWebGL(scene) {
    const p = element('div', 'nogl', 'This browser draws no WebGL, so the 3-D view cannot be shown. A still picture '
      + 'follows below where the server can make one; enabling hardware acceleration in the browser usually helps.');
    this.stageElement.style.height = 'auto';
    this.stageElement.replaceChildren(p);
    this.caption.textContent = scene.caption;
    if (!this.saidSo) this.component.setStateValue('nogl', true);
    this.saidSo = true;
  }

  // ---- frames ----------------------------------------------------------------------------------------------------

  /** Ask for a frame; `values`: fields must be computed anew. */
  schedule({ values = false, moving = false }) {
    this.wanted = { values: values || this.wanted?.values, moving };
    if (moving) this.restSoon();
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      const { wanted } = this;
      this.wanted = null;
      if (!this.dead && this.scene) this.draw(wanted.moving, wanted.values);
    });
  }

  /** Draw what is new: under software rendering coarse at once, and the fine picture after it. */
  answer() {
    const quick = this.gpu.software;
    this.draw(quick);
    if (quick) this.restSoon(SOON);
  }

  restSoon(after = REST) {
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => this.rest(), after);
  }

  rest() {
    clearTimeout(this.restTimer);
    if (this.interaction?.gesture?.moved) this.restSoon();
    else if (this.moving) this.draw(false);
  }

  /** Draw now.  Moving: coarser pixels and, above a few thousand vertices, proxies. */
  draw(moving, values = true) {
    if (!this.boxes || this.dead) return;
    const start = performance.now(), w = this.stageElement.clientWidth, h = this.stageElement.clientHeight;
    const { memory, panels } = this;
    const size = panels.reduce((sum, p) => sum + p.mesh.points.length / 3, 0);
    const proxy = moving && size > (values ? PROXY_ABOVE : this.gpu.software ? PROXY_TURN : Infinity);
    if (values || proxy !== this.proxied || moving !== this.moving) {
      for (const p of panels) p.evaluate(memory.controls, proxy);
      const common = commonScales(panels);
      panels.forEach((p, i) => p.paint({ ...common[i], controls: memory.controls, moving: moving && (values || proxy) }));
    }
    this.proxied = proxy;
    this.moving = moving;
    this.aim();
    const ratio = this.ratio(moving);
    this.stage.size(w * ratio, h * ratio);
    this.stage.render();
    this.overlay.update();
    meter.frames += 1;
    meter.js_ms = performance.now() - start;
    this.interaction ??= new Interaction(this);
    this.host.dataset.frames = meter.frames;
    this.host.dataset.state = moving ? 'moving' : 'rest';
  }

  // ---- services for gestures and overlay -------------------------------------------------------------------------

  panelAt(x, y, only = null) {
    const within = (b) => x >= b.x && x < b.x + b.width && y >= b.y && y < b.y + b.height;
    const index = this.boxes?.findIndex((_, i) => (only === null || i === only) && within(this.shown(i))) ?? -1;
    return index < 0 ? null : { index, panel: this.panels[index], box: this.boxes[index] };
  }

  tree(panel) {
    const hash = panel.spec.mesh;
    if (!this.trees.has(hash)) {
      if (this.trees.size > 6) this.trees.clear();
      const mesh = peek(hash);
      this.trees.set(hash, build(mesh.points, mesh.triangles));
    }
    return this.trees.get(hash);
  }

  hasMarkers() {
    return this.panels.some((p) => p.spec.markers.length);
  }

  focused() {
    const root = this.stageElement.getRootNode();
    return root.activeElement === this.stageElement;
  }

  /** Stage pixel of a point of a panel's mesh (ball units). */
  project(index, point) {
    const b = this.boxes[index], [x, y, depth] = project(this.camera(index), point, b.width, b.height);
    return [b.x + x, b.y + y, depth];
  }

  hint(text) {
    this.hintElement.textContent = text;
    this.hintElement.classList.add('on');
    clearTimeout(this.hintTimer);
    this.hintTimer = setTimeout(() => this.hintElement.classList.remove('on'), 1800);
  }

  /** Canvas of the whole figure. */
  picture(ratio = 2) {
    this.draw(false);
    this.stage.render(); // the same task: the drawing buffer is still there to be copied
    return compose({ ...this.overlay.parts(), canvas: this.stage.canvas, theme: this.theme }, ratio);
  }

  shot() {
    download(this.picture(), `${this.id.replace(/[^\w-]+/g, '-')}.png`);
  }

  /** Free everything once the element is gone.  May be called early or twice: it looks first. */
  destroy() {
    if (this.dead) return;
    this.dead = true;
    this.observer.disconnect();
    this.controls.stop();
    clearTimeout(this.restTimer);
    clearTimeout(this.keyTimer);
    cancelAnimationFrame(this.frame);
    if (meter.views[this.id] === this) delete meter.views[this.id];
    this.stage?.delete();
    this.host.__view = null;
  }
}

Object.assign(View.prototype, events, framing, steering);
