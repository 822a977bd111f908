// Geometry of arrows, tubes and spheres, pure.  Coordinates are those of the unit ball.

import { add, cross, dot, norm, scale, sub, unit } from './camera.js';

/** Length of strong arrows that fits glyphs at this distance from each other: the target of arrowScale. */
export const arrowTarget = (spacing) => Math.min(0.14, Math.max(0.03, 1.5 * spacing));
const LIFT = 0.009;

// An arrow in its plane: (along, across) in units of its length, pointing along +x, centred.
const SHAPE = [[-0.5, 0.055], [-0.5, -0.055], [0.1, -0.055], [0.1, 0.055], [0.1, 0.18], [0.1, -0.18], [0.5, 0]];
const FACES = [0, 1, 2, 0, 2, 3, 4, 5, 6]; // counter-clockwise seen from the side that the normal points to
const HALO = 0.045; // wider by this share of the length

/** Buffers for n arrows: an inner arrow and a halo behind it; for `both` sides of open surfaces twice.  Those that
 * `stand` are lifted so far along their normal that none dips below its base, and have the halo between two arrows. */
export function arrowBuffers(n, { both = false, volume = false, stand = false } = {}) {
  const copies = stand ? 3 : volume ? 2 : both ? 4 : 2, corners = SHAPE.length;
  const points = new Float32Array(3 * n * copies * corners);
  const polys = new Uint32Array(n * copies * 4 * 3);
  const colours = new Uint8Array(3 * n * copies * corners);
  for (let i = 0, o = 0; i < n * copies; i++) {
    for (let f = 0; f < FACES.length; f += 3) {
      polys[o++] = 3;
      const back = !volume && i % copies >= 2; // copies for the other side of an open surface face the other way
      for (let c = 0; c < 3; c++) polys[o++] = i * corners + FACES[f + (back ? 2 - c : c)];
    }
  }
  return { n, copies, both, volume, stand, points, polys, colours };
}

/** Fill the colours: ink for arrows, paper for halos (each [r, g, b] 0…255). */
export function colourArrows(buffers, ink, paper) {
  const { n, copies, volume, colours } = buffers, corners = SHAPE.length;
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < copies; k++) {
      const c = volume || k % 2 === 0 ? ink : paper;
      for (let j = 0; j < corners; j++) colours.set(c, 3 * ((i * copies + k) * corners + j));
    }
  }
}

/** Place the arrows: vectors (3 n) times `length`.  Zero and NaN vectors give nothing to see. */
export function placeArrows(buffers, base, normals, vectors, length) {
  const { n, copies, volume, stand, points } = buffers, corners = SHAPE.length;
  for (let i = 0; i < n; i++) {
    const p = [base[3 * i], base[3 * i + 1], base[3 * i + 2]];
    const v = [vectors[3 * i], vectors[3 * i + 1], vectors[3 * i + 2]];
    const size = norm(v), l = size * length;
    const hidden = !(l > 1e-6);
    const d = hidden ? [0, 0, 0] : scale(v, 1 / size);
    let nrm = [normals[3 * i] / 127, normals[3 * i + 1] / 127, normals[3 * i + 2] / 127];
    if (volume) {
      const seed = Math.abs(d[2]) < 0.8 ? [0, 0, 1] : [1, 0, 0];
      nrm = unit(cross(d, seed));
    }
    const rise = stand ? (0.5 + 1.6 * HALO) * l * Math.abs(dot(nrm, d)) + LIFT : 0;
    const side = unit(cross(nrm, d)), up = volume || stand ? cross(d, side) : nrm;
    for (let k = 0; k < copies; k++) {
      const halo = !volume && k % 2 === 1, sign = k >= 2 ? -1 : 1;
      const across = volume && k === 1 ? up : side;
      const lift = volume ? 0 : stand ? rise : sign * (halo ? LIFT * 0.8 : LIFT);
      const before = stand ? (1 - k) * 0.2 * LIFT : 0;
      const thick = halo ? HALO * l * Math.min(1, Math.max(0, (l - 0.012) / 0.04)) : 0; // tiny arrows have none
      for (let j = 0, o = 3 * (i * copies + k) * corners; j < corners; j++, o += 3) {
        const [a, b] = SHAPE[j];
        const along = hidden ? 0 : a * l + Math.sign(a - 0.099) * thick * (j === 6 ? 1.6 : 0.6);
        const aside = hidden ? 0 : b * l + Math.sign(b) * thick;
        for (let c = 0; c < 3; c++) points[o + c] = p[c] + d[c] * along + across[c] * aside + nrm[c] * lift + up[c] * before;
      }
    }
  }
}

/** Tube along a polyline (xyz): {points, normals, polys}; frames carried along without twist (double reflection would be
 * finer; projecting the last frame is enough for drawing). */
export function tube(line, closed, radius, sides = 10) {
  const p = [];
  for (let i = 0; i < line.length; i += 3) {
    const q = [line[i], line[i + 1], line[i + 2]];
    if (!p.length || norm(sub(q, p[p.length - 1])) > 1e-9) p.push(q);
  }
  if (closed && p.length > 2 && norm(sub(p[0], p[p.length - 1])) < 1e-9) p.pop();
  const n = p.length;
  if (n < 2) return { points: new Float32Array(), normals: new Float32Array(), polys: new Uint32Array() };
  const points = [], normals = [], polys = [];
  const tangent = (i) => {
    const a = closed ? p[(i + n - 1) % n] : p[Math.max(i - 1, 0)], b = closed ? p[(i + 1) % n] : p[Math.min(i + 1, n - 1)];
    return unit(sub(b, a));
  };
  let side = unit(cross(tangent(0), Math.abs(tangent(0)[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0]));
  for (let i = 0; i < n; i++) {
    const t = tangent(i), rest = sub(side, scale(t, dot(side, t)));
    if (norm(rest) > 1e-9) side = unit(rest);
    const other = cross(t, side);
    for (let s = 0; s < sides; s++) {
      const angle = (2 * Math.PI * s) / sides;
      const normal = add(scale(side, Math.cos(angle)), scale(other, Math.sin(angle)));
      normals.push(...normal);
      points.push(...add(p[i], scale(normal, radius)));
    }
  }
  // the last ring of a loop joins the first one where it fits best (the frame may come back turned)
  let shift = 0;
  if (closed) {
    const last = 3 * (n - 1) * sides;
    let best = Infinity;
    for (let s = 0; s < sides; s++) {
      const gap = norm(sub(normals.slice(last, last + 3), normals.slice(3 * s, 3 * s + 3)));
      if (gap < best) { best = gap; shift = s; }
    }
  }
  const rings = closed ? n : n - 1;
  for (let i = 0; i < rings; i++) {
    const j = (i + 1) % n, turn = j === 0 ? shift : 0;
    for (let s = 0; s < sides; s++) {
      const a = i * sides + s, b = i * sides + ((s + 1) % sides);
      const c = j * sides + ((s + turn) % sides), d = j * sides + ((s + 1 + turn) % sides);
      polys.push(3, a, b, d, 3, a, d, c);
    }
  }
  return { points: Float32Array.from(points), normals: Float32Array.from(normals), polys: Uint32Array.from(polys) };
}

/** Unit sphere: {points, normals, polys}. */
export function sphere(rings = 12, sectors = 20) {
  const points = [], polys = [];
  for (let i = 0; i <= rings; i++) {
    const polar = (Math.PI * i) / rings;
    for (let j = 0; j < sectors; j++) {
      const angle = (2 * Math.PI * j) / sectors;
      points.push(Math.sin(polar) * Math.cos(angle), Math.sin(polar) * Math.sin(angle), Math.cos(polar));
    }
  }
  for (let i = 0; i < rings; i++) {
    for (let j = 0; j < sectors; j++) {
      const a = i * sectors + j, b = i * sectors + ((j + 1) % sectors), c = a + sectors, d = b + sectors;
      if (i > 0) polys.push(3, a, c, b);
      if (i < rings - 1) polys.push(3, b, c, d);
    }
  }
  const xyz = Float32Array.from(points);
  return { points: xyz, normals: xyz.slice(), polys: Uint32Array.from(polys) };
}

/** Balls of one radius at many places (xyz): {points, normals, polys}. */
export function spheres(centres, radius) {
  const one = sphere(8, 12), n = centres.length / 3, size = one.points.length, corners = size / 3;
  const points = new Float32Array(n * size), normals = new Float32Array(n * size), polys = new Uint32Array(n * one.polys.length);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < size; j++) points[i * size + j] = centres[3 * i + (j % 3)] + radius * one.points[j];
    normals.set(one.normals, i * size);
    for (let j = 0, o = i * one.polys.length; j < one.polys.length; j++) polys[o + j] = j % 4 ? one.polys[j] + i * corners : 3;
  }
  return { points, normals, polys };
}

/** Triangles (3 m) with the leading 3 that vtk.js wants. */
export function withCounts(cells, width) {
  const m = cells.length / width, out = new Uint32Array(m * (width + 1));
  for (let i = 0; i < m; i++) {
    out[i * (width + 1)] = width;
    for (let c = 0; c < width; c++) out[i * (width + 1) + 1 + c] = cells[i * width + c];
  }
  return out;
}
