// Methods of View on where the panels lie and how they are looked at.

import { dot, fit, norm, scale, sub } from './camera.js';

export const framing = {
  /** Boxes of the panels in CSS pixels (without their colour bars) and viewports. */
  layout() {
    const w = this.stageElement.clientWidth, h = this.stageElement.clientHeight, n = this.panels.length;
    if (!w || !h) return;
    this.laid = `${w} ${h}`;
    this.boxes = this.overlay.layout(w, h, n, this.scene);
    this.tools.style.right = `${8 + this.overlay.rightBar}px`;
  },

  /** The part of a panel's box that is drawn: all of it, or what lies left or right of the edge. */
  shown(index) {
    const b = this.boxes[index], { half } = this.panels[index].spec;
    if (!half) return b;
    const at = Math.round(b.width * Math.min(1, Math.max(0, this.memory.controls[half.control])));
    return half.right ? { ...b, x: b.x + at, width: b.width - at } : { ...b, width: at };
  },

  /** Viewports and cameras as they are now. */
  aim() {
    const w = this.stageElement.clientWidth, h = this.stageElement.clientHeight;
    this.panels.forEach(({ drawing }, i) => {
      const b = this.boxes[i], s = this.shown(i);
      drawing.renderer.setDraw(s.width > 0);
      if (!s.width) return;
      drawing.viewport(s.x / w, 1 - (s.y + s.height) / h, (s.x + s.width) / w, 1 - s.y / h);
      drawing.camera(this.camera(i), (2 * s.x + s.width - 2 * b.x - b.width) / s.width);
    });
  },

  restRatio() {
    return Math.max(devicePixelRatio || 1, this.gpu.software ? 2 : 1); // without multisampling: finer pixels at rest
  },

  /** Backing pixels per CSS pixel. */
  ratio(moving) {
    const dpr = devicePixelRatio || 1;
    return moving ? (this.gpu.software ? Math.min(dpr, 1) * 0.75 : dpr) : this.restRatio();
  },

  resize() {
    const { clientWidth, clientHeight } = this.stageElement;
    if (!this.stage || !this.scene || this.laid === `${clientWidth} ${clientHeight}`) return;
    this.layout();
    if (this.memory.pristine) this.fit(false);
    this.answer();
  },

  /** The panel whose camera a panel has: the first one in its cell. */
  owner(index) {
    const { cells } = this.scene.layout;
    return this.memory.linked ? 0 : cells.length ? cells.indexOf(cells[index]) : index;
  },

  camera(index) {
    const { cameras } = this.memory;
    return cameras[this.owner(index)] ?? cameras[0];
  },

  setCamera(index, camera) {
    this.memory.cameras[this.owner(index)] = camera;
    this.memory.pristine = false;
    this.schedule({ moving: true });
  },

  /** Look from the default direction (or the one commanded), everything in view. */
  fit(drawNow = true) {
    if (!this.boxes) return;
    const { memory } = this, flat = (p) => Math.abs(p.along([0, 0, 1])[1] - p.along([0, 0, 1])[0]) < 1e-6;
    const n = this.panels.find((p) => p.spec.clip)?.spec.clip.normal;
    const cameras = this.panels.map((p, i) => {
      const wish = memory.direction ?? (flat(p) ? { direction: [0, 0, -1], up: [0, 1, 0] } : { direction: [-0.62, 0.72, -0.5], up: [0, 0, 1] });
      const b = this.boxes[i];
      let { direction } = wish;
      if (n && dot(direction, n) > 0) direction = sub(direction, scale(n, 2 * dot(direction, n))); // face the cut
      return fit(p.mesh.points, direction, wish.up, b.width / b.height, 28, 0.06);
    });
    const distance = (c) => norm(sub(c.position, c.focal));
    const widest = cameras.reduce((a, b) => (distance(b) > distance(a) ? b : a));
    memory.cameras = memory.linked ? [widest] : cameras;
    memory.pristine = true;
    if (drawNow) this.draw(false);
  },

  toggleLink() {
    const { memory } = this;
    if (memory.linked) memory.cameras = this.panels.map(() => ({ ...memory.cameras[0] }));
    else memory.cameras = [memory.cameras[0]];
    memory.linked = !memory.linked;
    this.linkButton.setAttribute('aria-pressed', String(memory.linked));
    this.draw(false);
  },
};
