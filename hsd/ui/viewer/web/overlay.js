// What lies over the canvas and moves with it: titles, bars, arrow keys, labels, the read-out of a picked point.

import { cast } from './bvh.js';
import { norm, scale, sub } from './camera.js';
import { format } from './ticks.js';
import { Bar, barWidth, element, keyOf, keySvg, titleSize } from './ui.js';

const PAD = 12; // of titles, at both sides
const LONG_LEGEND = 4; // more lines, or several panels: the legend stands below the stage

function legendLine({ text, colour }) {
  const line = element('div', '', text), swatch = element('i');
  swatch.style.background = colour;
  line.prepend(swatch);
  return line;
}

/** Pixels that the title of a cell has. */
export function titleWidth(box, half) {
  return (half ? box.width / 2 : box.width - PAD) - PAD;
}

export class Overlay {
  constructor(view) {
    this.view = view;
    this.root = element('div', 'overlay');
    this.cells = [];
    this.bars = [];
    this.labels = new Map();
    this.ring = [];
    this.picked = null; // {panel, mesh, face, bary, pos, seq, controls, texts}
  }

  // ---- layout ----------------------------------------------------------------------------------------------------

  /** Boxes of the panels inside a stage of w × h pixels; colour bars take their width from them. */
  layout(w, h, n, scene) {
    const { theme } = this.view;
    const coloured = scene.panels.map((p) => p.colour).filter(Boolean);
    // a strip at the right with one bar a scale, where all panels share one scale, or many panels two or three
    const scales = [...new Set(coloured.map((c) => c.scale ?? null))];
    this.common = n > 1 && !scales.includes(null) && (scales.length === 1 ? coloured.length > 1 : scales.length <= 3 && coloured.length > scales.length + 1);
    const places = scene.layout.cells ?? [], at = (i) => places[i] ?? i, last = Math.max(...scene.panels.map((_, i) => at(i)));
    const cols = Math.min(last + 1, scene.layout.cols ?? this.columns(w, h, scene)), rows = Math.ceil((last + 1) / cols);
    const strip = this.common ? Math.max(...coloured.map((c) => barWidth(c, theme, w / cols))) : 0;
    const cw = (w - strip) / cols, ch = h / rows;
    const cells = [];
    this.barBoxes = [];
    for (let i = 0; i < n; i++) {
      const x = (at(i) % cols) * cw, y = Math.floor(at(i) / cols) * ch, colour = scene.panels[i].colour;
      const bar = this.common || !colour ? 0 : barWidth(colour, theme, cw);
      cells.push({ x, y, width: cw - bar, height: ch });
      if (bar) this.barBoxes.push({ panel: i, box: { x: x + cw - bar, y, width: bar, height: ch } });
    }
    if (this.common) {
      const part = h / scales.length;
      this.barBoxes = scales.map((scale, j) => ({
        panel: scene.panels.findIndex((p) => p.colour && (p.colour.scale ?? null) === scale),
        box: { x: w - strip, y: j * part, width: strip, height: part },
      }));
    }
    this.rightBar = Math.max(0, ...this.barBoxes.filter(({ box }) => box.x + box.width > w - 1).map(({ box }) => box.width));
    this.build(scene, cells);
    if (n === 1) return cells;
    // small panels: nothing is drawn where titles and arrow keys stand
    const top = scene.panels.some((p) => p.title) ? Math.round(9 + 1.45 * theme.size) : 0;
    const bottom = scene.panels.some((p) => p.arrows) ? Math.round(9 + 1.2 * theme.size) : 0;
    return cells.map((b) => ({ ...b, y: b.y + top, height: Math.max(40, b.height - top - bottom) }));
  }

  /** Panels side by side that a scene without a wish gets: two as a row or a column, whichever draws them larger. */
  columns(w, h, scene) {
    const n = scene.panels.length, { theme } = this.view;
    if (n === 2) {
      const bars = scene.panels.map((p) => barWidth(p.colour, theme, w / 2)), bar = Math.max(...bars);
      const row = Math.min((w - (this.common ? bar : 2 * bar)) / 2 / 1.35, h);
      return row >= Math.min((w - bar) / 1.35, h / 2) ? 2 : 1;
    }
    return n === 3 ? (w / n >= 230 ? n : 1) : Math.ceil(n / (w / h > 2.4 ? 1 : 2));
  }

  build(scene, boxes) {
    const { theme } = this.view;
    const named = (p) => [...p.tubes, ...p.segments, ...p.dots].filter((t) => t.label);
    const names = new Set(scene.panels.flatMap((p) => named(p).map((t) => t.label)));
    const below = scene.panels.length > 1 || names.size > LONG_LEGEND;
    this.cells = scene.panels.map((panel, i) => {
      const cell = element('div', panel.half ? `cell half${panel.half.right ? ' right' : ''}` : 'cell'), b = boxes[i];
      Object.assign(cell.style, { left: `${b.x}px`, top: `${b.y}px`, width: `${b.width}px`, height: `${b.height}px` });
      const title = element('div', 'title', panel.title), key = element('div', 'key'), legend = element('div', 'legend');
      const once = [...new Map(named(panel).map((t) => [t.label, t.colour])).entries()].map(([text, colour]) => ({ text, colour }));
      if (!below) legend.append(...once.map(legendLine));
      if (!panel.arrows) legend.style.bottom = '9px';
      const [shown, all] = panel.shown;
      const note = shown < all ? `showing ${shown.toLocaleString('en')} of ${all.toLocaleString('en')} faces` : '';
      cell.append(title, legend, key, element('div', 'note', note));
      this.fit(title, panel.title, b, panel.half);
      return { cell, key, title, data: { box: b, title: panel.title, half: panel.half, note, key: null, legend: once } };
    });
    const all = new Map(below ? this.cells.flatMap((c) => c.data.legend.map((line) => [line.text, line])) : []);
    if (below) for (const c of this.cells) c.data.legend = [];
    this.legend = [...all.values()];
    this.view.legendElement.replaceChildren(...this.legend.map(legendLine));
    this.bars = this.barBoxes.map(({ panel, box }) => ({ panel, box, bar: this.bars.find((old) => old.panel === panel)?.bar ?? new Bar() }));
    this.edges = scene.panels.flatMap((panel, i) => (panel.half?.right ? [{ panel: i, line: this.edge(panel.half.control, i) }] : []));
    this.root.replaceChildren(...this.cells.map((c) => c.cell), ...this.bars.map((b) => b.bar.root), ...this.edges.map((e) => e.line));
    this.labels.clear();
    this.ring = [];
    this.card = null;
    this.thickness = theme.thick;
  }

  /** A title too long for its cell is set smaller. */
  fit(title, text, box, half) {
    title.style.fontSize = `${titleSize(text, titleWidth(box, half), this.view.theme)}px`;
  }

  /** The line between two halves, which the pointer moves. */
  edge(control, index) {
    const line = element('div', 'edge'), { view } = this;
    line.addEventListener('pointerdown', (e) => {
      e.stopPropagation();
      line.setPointerCapture(e.pointerId);
    });
    line.addEventListener('pointermove', (e) => {
      if (!line.hasPointerCapture(e.pointerId)) return;
      const b = view.boxes[index], left = view.stageElement.getBoundingClientRect().left + view.stageElement.clientLeft;
      const spec = view.scene.controls.find((c) => c.id === control), at = (e.clientX - left - b.x) / b.width;
      view.setControl(control, Math.min(spec.max, Math.max(spec.min, Math.round(at / spec.step) * spec.step)));
    });
    line.addEventListener('pointerup', () => view.release(control));
    return line;
  }

  // ---- every frame -----------------------------------------------------------------------------------------------

  update() {
    for (const { panel, line } of this.edges) {
      const b = this.view.shown(panel);
      Object.assign(line.style, { left: `${b.x}px`, top: `${b.y}px`, height: `${b.height}px` });
    }
    const { view } = this, ratio = Math.max(devicePixelRatio || 1, 1);
    for (const { panel, box, bar } of this.bars) {
      const p = view.panels[panel];
      bar.update(p.spec.colour, p.limits, box, p.histogram(), view.theme, ratio);
    }
    this.cells.forEach((cell, i) => {
      const p = view.panels[i];
      const live = p.liveText(view.memory.controls), named = [p.spec.title, live].filter(Boolean).join(' · ');
      if (cell.data.title !== named) {
        cell.title.textContent = cell.data.title = named;
        this.fit(cell.title, named, cell.data.box, cell.data.half);
      }
      cell.data.key = p.spec.arrows && !p.spec.half?.right ? keyOf(p.spec.arrows, p.arrowLength, this.pixelsPerUnit(i)) : null;
      const text = cell.data.key ? `${cell.data.key.pixels.toFixed(1)}${cell.data.key.text}` : '';
      if (cell.text === text) return;
      cell.text = text;
      cell.key.innerHTML = cell.data.key ? keySvg(cell.data.key.pixels, p.spec.arrows.colour ?? view.theme.ink) : '';
      if (cell.data.key) cell.key.append(element('span', '', cell.data.key.text));
    });
    this.updateLabels();
    this.updateReadout();
  }

  /** CSS pixels per ball unit in the focal plane. */
  pixelsPerUnit(i) {
    const c = this.view.camera(i), distance = norm(sub(c.position, c.focal));
    return this.view.boxes[i].height / (2 * distance * Math.tan((c.angle * Math.PI) / 360));
  }

  updateLabels() {
    const wanted = new Set();
    this.view.panels.forEach((p, i) => {
      for (const m of p.markers()) {
        if (!m.label) continue;
        const name = `${i}/${m.id}`;
        wanted.add(name);
        if (!this.labels.has(name)) {
          const e = element('div', 'label');
          this.root.append(e);
          this.labels.set(name, e);
        }
        const e = this.labels.get(name), [x, y, depth] = this.view.project(i, m.pos);
        if (e.textContent !== m.label) {
          e.textContent = m.label;
          e.wide = undefined;
        }
        const box = this.view.boxes[i];
        e.classList.toggle('left', x + 12 + (e.wide ??= e.offsetWidth) > box.x + box.width);
        Object.assign(e.style, { left: `${x}px`, top: `${y}px`, display: depth > 0 ? '' : 'none',
          opacity: this.hidden(i, m.pos) ? 0.35 : 1 });
      }
    });
    for (const [name, e] of this.labels) {
      if (!wanted.has(name)) {
        e.remove();
        this.labels.delete(name);
      }
    }
  }

  /** Is a point behind the surface?  Looked up at rest only. */
  hidden(i, pos) {
    if (this.view.moving) return false;
    const camera = this.view.camera(i), d = sub(pos, camera.position), t = norm(d);
    const hit = cast(this.view.tree(this.view.panels[i]), { origin: camera.position, direction: scale(d, 1 / t) }, this.view.panels[i].accept);
    return Boolean(hit && hit.t < t - 0.06);
  }

  // ---- read-out --------------------------------------------------------------------------------------------------

  pick(picked) {
    this.picked = { ...picked, texts: null };
    this.updateReadout();
  }

  /** The server's exact texts for a pick, or null. */
  readout(exact) {
    const { memory, scene } = this.view;
    if (exact && exact.seq > memory.dismissed && (!this.picked || this.picked.seq === exact.seq)) {
      this.picked ??= { panel: exact.panel, mesh: exact.mesh, face: exact.drawn_face, bary: exact.drawn_bary, seq: exact.seq,
        controls: exact.controls, pos: exact.pos };
      this.picked.texts = exact.texts;
      this.picked.label = exact.label;
    } else if (this.picked && !exact) {
      this.picked.texts = null;
    }
    if (this.picked && !scene.panels.some((p) => p.mesh === this.picked.mesh)) this.picked = null;
  }

  dismiss() {
    if (this.picked) this.view.memory.dismissed = this.picked.seq;
    this.picked = null;
    this.updateReadout();
  }

  updateReadout() {
    const { view, picked } = this;
    const reads = picked && view.scene.tool.mode !== 'place'; // while points are placed no card lies over them
    const shown = reads ? view.panels.map((p, i) => i).filter((i) => view.panels[i].spec.mesh === picked.mesh) : [];
    while (this.ring.length > shown.length) {
      const { ring, card } = this.ring.pop();
      ring.remove();
      card.remove();
    }
    while (this.ring.length < shown.length) {
      const entry = { ring: element('div', 'ring'), card: element('div', 'card') };
      this.root.append(entry.ring, entry.card);
      this.ring.push(entry);
    }
    shown.forEach((i, k) => {
      const { ring, card } = this.ring[k], box = view.boxes[i], [x, y] = view.project(i, picked.pos), s = view.shown(i);
      const inside = x >= s.x && x < s.x + s.width && y > s.y && y < s.y + s.height;
      Object.assign(ring.style, { left: `${x}px`, top: `${y}px`, display: inside ? '' : 'none' });
      ring.classList.toggle('behind', this.hidden(i, picked.pos));
      const text = this.textFor(i), where = `triangle ${picked.label ?? picked.face}`;
      card.style.display = inside && text ? '' : 'none';
      if (!text) return;
      if (card.dataset.text !== text + where) {
        card.dataset.text = text + where;
        card.replaceChildren(element('b', '', text), element('small', '', where));
      }
      const width = card.offsetWidth, height = card.offsetHeight;
      const left = x + 14 + width > box.x + box.width ? x - 14 - width : x + 14;
      Object.assign(card.style, { left: `${Math.max(box.x + 2, left)}px`,
        top: `${Math.min(box.y + box.height - height - 4, Math.max(box.y + 4, y - height - 6))}px` });
    });
  }

  /** "≈ 0.123" from the page's own data, or the server's text when it belongs to what is shown now. */
  textFor(i) {
    const { view, picked } = this, { colour } = view.panels[i].spec, now = view.memory.controls;
    if (!colour) return '';
    const same = Object.keys(picked.controls).every((id) => picked.controls[id] === now[id]);
    if (picked.texts?.[i] && same) return picked.texts[i];
    const v = view.panels[i].valueAt(picked.face, picked.bary, now);
    if (v === null) return '';
    if (colour.kind === 'category') return colour.categories[Math.round(v)] ?? 'none';
    return `≈ ${format(v, 4)}${colour.unit && colour.unit !== '1' ? ` ${colour.unit}` : ''}`;
  }

  // ---- export ----------------------------------------------------------------------------------------------------

  parts() {
    const { view } = this;
    return {
      width: view.stageElement.clientWidth,
      height: view.stageElement.clientHeight,
      cells: this.cells.map((c) => c.data),
      bars: this.bars.map(({ panel, box }) => {
        const p = view.panels[panel];
        return { colour: p.spec.colour, limits: p.limits, box, bins: p.histogram() };
      }),
      labels: [...this.labels.values()].filter((e) => e.style.display !== 'none').map((e) => ({ x: parseFloat(e.style.left), y: parseFloat(e.style.top), left: e.classList.contains('left'), text: e.textContent })),
      legend: this.legend,
      edges: this.edges.map(({ panel }) => view.shown(panel)),
      lines: [view.scene.controls.filter((c) => c.labels.length || c.max > c.min)
        .map((c) => `${c.label} ${format(view.memory.controls[c.id])}${c.labels.length ? ` (${c.labels[Math.round(view.memory.controls[c.id] - c.min)] ?? ''})` : ''}`).join(' · '), view.scene.caption],
    };
  }
}
