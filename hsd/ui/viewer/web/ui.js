// DOM around the canvas: panel titles, colour bars with histogram, arrow keys, sliders, tool buttons, read-outs.

import { colourTable } from './fields.js';
import { commonPower, format, niceBelow, powerText, ticks } from './ticks.js';

export function element(tag, className = '', text = '') {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text) e.textContent = text;
  return e;
}

const TITLE = 1.06; // size of a panel's title over the theme's
const SMALLEST = 0.68; // of that size; a longer title ends in dots
const ruler = document.createElement('canvas').getContext('2d');

/** Font size in pixels at which a panel's title fits a width, not below SMALLEST. */
export function titleSize(text, width, theme) {
  const size = TITLE * theme.size;
  ruler.font = `600 ${size}px ${theme.font}`;
  return size * Math.min(1, Math.max(SMALLEST, (0.99 * width) / ruler.measureText(text).width));
}

const ICONS = {
  fit: 'M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4',
  link: 'M6.5 9.5l3-3M7 4.5l1.2-1.2a2.8 2.8 0 0 1 4 4L11 8.500M9 11.5l-1.200 1.200a2.800 2.800 0 0 1-4-4L5 7.500',
  shot: 'M2 5h3l1-2h4l1 2h3v8H2zM8 11a2.300 2.300 0 1 0 0-4.600 2.300 2.300 0 0 0 0 4.600z',
  play: 'M4 3l9 5-9 5z',
  pause: 'M5 3v10M11 3v10',
};

export function button(icon, label, action) {
  const b = element('button', 'tool');
  b.type = 'button';
  b.title = label;
  b.setAttribute('aria-label', label);
  b.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${ICONS[icon]}"/></svg>`;
  b.addEventListener('click', (e) => { e.stopPropagation(); action(); });
  b.icon = (name) => b.querySelector('path').setAttribute('d', ICONS[name]);
  return b;
}

/** Sliders.  `onInput(id, value)` while moving, `onRelease(id)` at the end. */
export class Controls {
  constructor(root, { onInput, onRelease }) {
    Object.assign(this, { root, onInput, onRelease, rows: new Map(), playing: null });
  }

  update(specs, values) {
    const key = JSON.stringify(specs.map(({ value, ...rest }) => rest));
    if (key !== this.key) {
      this.stop();
      this.key = key;
      this.rows.clear();
      this.root.replaceChildren(...specs.map((s) => this.row(s)));
    }
    for (const s of specs) this.show(s.id, values[s.id]);
  }

  row(spec) {
    const row = element('div', 'row'), label = element('label', '', spec.label), middle = element('div', 'middle');
    const input = element('input'), output = element('output');
    Object.assign(input, { type: 'range', min: spec.min, max: spec.max, step: spec.step });
    input.setAttribute('aria-label', spec.label);
    label.append(element('span'));
    input.addEventListener('input', () => { this.stop(); this.onInput(spec.id, Number(input.value)); });
    input.addEventListener('change', () => this.onRelease(spec.id));
    const entry = { spec, input, output };
    if (spec.play) {
      entry.button = button('play', `Play ${spec.label}`, () => (this.playing?.id === spec.id ? this.stop() : this.play(spec.id)));
      middle.append(entry.button);
    }
    middle.append(input);
    row.append(label, middle, output);
    this.rows.set(spec.id, entry);
    return row;
  }

  show(id, value) {
    const { spec, input, output } = this.rows.get(id);
    if (Number(input.value) !== value) input.value = value;
    const i = Math.round(value - spec.min), text = spec.labels[i];
    output.textContent = text === undefined ? format(value, 4) : `${format(value)}: ${text}`;
    input.setAttribute('aria-valuetext', output.textContent);
  }

  /** One step, stopping at the ends (or going round). */
  step(id, n, round = false) {
    const { spec, input } = this.rows.get(id), old = Number(input.value);
    let value = old + n * spec.step;
    if (round && value > spec.max + 1e-9) value = spec.min;
    value = Math.min(spec.max, Math.max(spec.min, value));
    if (value === old) return false;
    this.onInput(id, value);
    return true;
  }

  /** The control that arrow keys step, if any. */
  keyed() {
    for (const [id, { spec }] of this.rows) if (spec.keys) return id;
    return null;
  }

  play(id) {
    this.stop();
    const { spec, button: b } = this.rows.get(id), whole = spec.step >= 1;
    b.icon('pause');
    b.setAttribute('aria-pressed', 'true');
    const pause = whole ? 450 : 60;
    const n = whole ? 1 : Math.max(1, Math.round((spec.max - spec.min) / 160 / spec.step));
    this.playing = { id, timer: setInterval(() => this.step(id, n, true), pause) };
  }

  stop() {
    if (!this.playing) return;
    clearInterval(this.playing.timer);
    const { button: b, spec } = this.rows.get(this.playing.id) ?? {};
    b?.icon('play');
    b?.setAttribute('aria-pressed', 'false');
    this.playing = null;
    if (spec) this.onRelease(spec.id);
  }
}

/** Width in pixels that a colour bar takes at the right of its panel. */
export function barWidth(colour, theme, panelWidth) {
  if (!colour) return 0;
  const s = theme.size / 13;
  return Math.round((colour.kind === 'category' ? 120 : panelWidth < 330 ? 76 : 104) * s);
}

/** What a colour bar shows, as plain numbers: used by the DOM and by the exported picture. */
export function barLayout(colour, limits, box, theme) {
  const s = theme.size / 13, narrow = box.width < 90 * s;
  const top = Math.round(44 * s), bottom = Math.round(18 * s), height = Math.max(40, box.height - top - bottom);
  const hist = narrow ? 0 : Math.round(24 * s), width = Math.round(13 * s), left = Math.round(6 * s);
  const power = colour.kind === 'category' ? 0 : commonPower(limits), unit = 10 ** power;
  const marks = ticks(limits.map((v) => v / unit), Math.max(2, Math.min(6, height / (46 * s))));
  return {
    hist: { x: left, y: top, width: hist, height },
    bar: { x: left + hist, y: top, width, height },
    ticks: marks.map(({ value, text }) => ({
      text, x: left + hist + width + 8, y: top + height * (1 - (value * unit - limits[0]) / (limits[1] - limits[0])),
    })),
    name: colour.name,
    unit: [powerText(power), colour.unit === '1' ? '' : colour.unit].filter(Boolean).join(' '),
  };
}

/** Draw bar and histogram on a canvas context whose origin is the bar box's corner. */
export function drawBar(context, layout, colour, bins, theme) {
  const { bar, hist } = layout, table = colourTable(colour.stops, 256);
  for (let y = 0; y < bar.height; y++) {
    const i = Math.round((1 - y / (bar.height - 1)) * 255);
    context.fillStyle = `rgb(${table[4 * i]},${table[4 * i + 1]},${table[4 * i + 2]})`;
    context.fillRect(bar.x, bar.y + y, bar.width, 1.5);
  }
  context.strokeStyle = theme.line;
  context.lineWidth = 1;
  context.strokeRect(bar.x + 0.5, bar.y + 0.5, bar.width - 1, bar.height - 1);
  if (!bins || !hist.width) return;
  const most = Math.max(...bins) || 1, step = hist.height / bins.length;
  context.fillStyle = theme.muted;
  bins.forEach((count, i) => {
    const w = Math.sqrt(count / most) * (hist.width - 3);
    context.globalAlpha = 0.55;
    context.fillRect(hist.x + hist.width - 1 - w, hist.y + hist.height - (i + 1) * step, w, Math.max(step - 0.4, 0.6));
  });
  context.globalAlpha = 1;
}

/** The DOM colour bar. */
export class Bar {
  constructor() {
    this.root = element('div', 'bar');
  }

  update(colour, limits, box, bins, theme, ratio) {
    Object.assign(this.root.style, { left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` });
    const key = JSON.stringify([colour, limits, box, theme, ratio]);
    if (key !== this.key) {
      this.key = key;
      this.build(colour, limits, box, theme, ratio);
    }
    if (this.canvas) {
      const context = this.canvas.getContext('2d');
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, box.width, box.height);
      drawBar(context, this.layout, colour, bins, theme);
    }
  }

  build(colour, limits, box, theme, ratio) {
    const name = element('div', 'name', colour.name);
    if (colour.kind === 'category') {
      const list = element('div');
      list.style.marginTop = `${44 * theme.size / 13}px`;
      colour.categories.forEach((text, i) => {
        const line = element('div', 'cat', text), swatch = element('i');
        swatch.style.background = colour.stops[i];
        line.prepend(swatch);
        list.append(line);
      });
      this.canvas = null;
      this.root.replaceChildren(name, list);
      return;
    }
    this.layout = barLayout(colour, limits, box, theme);
    if (this.layout.unit) {
      name.append(element('br'), element('small', '', this.layout.unit));
    }
    this.canvas = element('canvas');
    Object.assign(this.canvas, { width: box.width * ratio, height: box.height * ratio });
    Object.assign(this.canvas.style, { left: 0, top: 0, width: `${box.width}px`, height: `${box.height}px`, border: 0 });
    const marks = this.layout.ticks.map((t) => {
      const e = element('div', 'tick', t.text);
      Object.assign(e.style, { left: `${t.x}px`, top: `${t.y}px` });
      return e;
    });
    this.root.replaceChildren(this.canvas, name, ...marks);
  }
}

/** Arrow scale key: a nice magnitude and its length in pixels; null when there is nothing to show. */
export function keyOf(arrows, arrowLength, pixelsPerUnit) {
  if (!(arrowLength > 0)) return null;
  const value = niceBelow(64 / (arrowLength * pixelsPerUnit));
  const pixels = value * arrowLength * pixelsPerUnit;
  const unit = arrows.unit && arrows.unit !== '1' ? ` ${arrows.unit}` : '';
  return { pixels, text: `${arrows.name ? `${arrows.name} = ` : ''}${format(value, 3)}${unit}` };
}

export function keySvg(pixels, colour) {
  const h = 10, head = Math.min(0.38 * pixels, 12);
  return `<svg width="${pixels.toFixed(1)}" height="${h}" style="display:block"><path fill="${colour}" d="M0 3.800H${(pixels - head).toFixed(1)}V0.500L${pixels.toFixed(1)} 5 ${(pixels - head).toFixed(1)} 9.500V6.200H0Z"/></svg>`;
}
