// The exported PNG: the canvas with titles, colour bars, arrow keys, labels and caption drawn beside it.

import { titleWidth } from './overlay.js';
import { barLayout, drawBar, titleSize } from './ui.js';

/** Canvas element of the whole figure.  `parts`: {canvas, width, height, cells, bars, caption, controls, theme}; sizes
 * in CSS pixels. */
export function compose(parts, ratio = 2) {
  const { canvas, width, height, cells, bars, labels, legend: common, edges, lines, theme } = parts;
  const font = (weight, size) => `${weight} ${size}px ${theme.font}`;
  const pad = 12, lineHeight = Math.round(theme.size * 1.45);
  const measure = document.createElement('canvas').getContext('2d');
  measure.font = font(400, theme.size);
  const wrapped = lines.filter(Boolean).flatMap((text) => wrap(measure, text, width - 2 * pad));
  const rows = legendRows(measure, common, width - 2 * pad);
  const foot = wrapped.length + rows.length ? (wrapped.length + rows.length) * lineHeight + 14 : 0;
  const out = document.createElement('canvas');
  out.width = Math.round(width * ratio);
  out.height = Math.round((height + foot) * ratio);
  const c = out.getContext('2d');
  c.scale(ratio, ratio);
  c.fillStyle = theme.paper;
  c.fillRect(0, 0, width, height + foot);
  c.drawImage(canvas, 0, 0, width, height);
  c.textBaseline = 'middle';
  c.fillStyle = theme.ink;
  for (const { x, y, height: tall } of edges) c.fillRect(x - 1, y, 2, tall);
  for (const { box, title, half, note, key, legend } of cells) {
    c.fillStyle = theme.ink;
    const room = titleWidth(box, half);
    c.font = font(600, titleSize(title, room, theme));
    c.textAlign = half?.right ? 'right' : 'left';
    c.fillText(title, half?.right ? box.x + box.width - pad : box.x + pad, box.y + 9 + theme.size * 0.7, room);
    c.textAlign = 'left';
    c.font = font(400, theme.size * 0.9);
    if (key) {
      const y = box.y + box.height - 9 - theme.size * 0.6, x = box.x + pad, head = Math.min(0.38 * key.pixels, 12);
      c.beginPath();
      [[0, -1.2], [key.pixels - head, -1.2], [key.pixels - head, -4.5], [key.pixels, 0], [key.pixels - head, 4.5],
        [key.pixels - head, 1.2], [0, 1.2]].forEach(([a, b], i) => c[i ? 'lineTo' : 'moveTo'](x + a, y + b));
      c.fill();
      c.fillText(key.text, x + key.pixels + 7, y);
    }
    legend.forEach(({ colour, text }, i) => {
      const y = box.y + box.height - 34 - theme.size * 0.7 - (legend.length - 1 - i) * lineHeight;
      c.fillStyle = colour;
      c.fillRect(box.x + pad, y - 5, 10, 10);
      c.fillStyle = theme.ink;
      c.fillText(text, box.x + pad + 16, y);
    });
    if (note) {
      c.fillStyle = theme.muted;
      c.fillText(note, box.x + pad, box.y + 12 + theme.size * 1.9);
    }
  }
  c.textAlign = 'left';
  for (const { x, y, left, text } of labels) {
    c.font = font(600, theme.size * 0.9);
    c.textAlign = left ? 'right' : 'left';
    const at = left ? x - 12 : x + 12;
    c.strokeStyle = theme.paper;
    c.lineWidth = 3;
    c.strokeText(text, at, y);
    c.fillStyle = theme.ink;
    c.fillText(text, at, y);
  }
  c.textAlign = 'left';
  for (const { colour, limits, box, bins } of bars) {
    c.save();
    c.translate(box.x, box.y);
    c.fillStyle = theme.ink;
    c.font = font(400, theme.size * 0.92);
    c.fillText(colour.name, 0, 9 + theme.size * 0.55, box.width - 4);
    if (colour.kind === 'category') {
      colour.categories.forEach((text, i) => {
        const y = 44 * theme.size / 13 + (i + 0.5) * lineHeight;
        c.fillStyle = colour.stops[i];
        c.fillRect(0, y - 5, 10, 10);
        c.fillStyle = theme.ink;
        c.fillText(text, 16, y, box.width - 20);
      });
    } else {
      const layout = barLayout(colour, limits, box, theme);
      c.fillStyle = theme.muted;
      c.fillText(layout.unit, 0, 9 + theme.size * 1.65, box.width - 4);
      drawBar(c, layout, colour, bins, theme);
      c.fillStyle = theme.ink;
      c.strokeStyle = theme.ink;
      c.font = font(400, theme.size * 0.88);
      for (const t of layout.ticks) {
        c.fillText(t.text, t.x, t.y);
        c.fillRect(t.x - 7, t.y - 0.5, 4, 1);
      }
    }
    c.restore();
  }
  c.font = font(400, theme.size);
  rows.forEach((row, i) => row.forEach(({ x, text, colour }) => {
    const y = height + 8 + (i + 0.5) * lineHeight;
    c.fillStyle = colour;
    c.fillRect(pad + x, y - 5, 10, 10);
    c.fillStyle = theme.ink;
    c.fillText(text, pad + x + 16, y);
  }));
  c.fillStyle = theme.ink;
  wrapped.forEach((text, i) => c.fillText(text, pad, height + 8 + (rows.length + i + 0.5) * lineHeight));
  return out;
}

/** Lines of a legend as rows that fit a width: [[{x, text, colour}]]. */
function legendRows(context, lines, width) {
  const rows = [];
  let x = Infinity;
  for (const line of lines) {
    const need = 16 + context.measureText(line.text).width;
    if (x + need > width) {
      rows.push([]);
      x = 0;
    }
    rows[rows.length - 1].push({ x, ...line });
    x += need + 18;
  }
  return rows;
}

function wrap(context, text, width) {
  const out = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line ? `${line} ${word}` : word;
    if (line && context.measureText(longer).width > width) {
      out.push(line);
      line = word;
    } else line = longer;
  }
  return [...out, line];
}

/** Save a canvas as a file of the given name. */
export function download(canvas, name) {
  canvas.toBlob((blob) => {
    const a = document.createElement('a');
    a.href = URL.createObjectURL(blob);
    a.download = name;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  }, 'image/png');
}
