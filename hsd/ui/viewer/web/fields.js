// Fields, pure: weighted sums of quantised columns, ranges, histograms, colour tables, level lines, cuts of tets.

export const NAN_LEVEL = -32768;

/** Weights of the columns for given control values: the same formula as Mix.weights_at in Python. */
export function weights(mix, k, controls) {
  const w = new Float64Array(k);
  for (let j = 0; j < k; j++) w[j] = mix.coef ? mix.coef[j] : 1;
  if (mix.mode != null) {
    const m = Math.min(k - 1, Math.max(0, Math.round(controls[mix.mode])));
    for (let j = 0; j < k; j++) if (j !== m) w[j] = 0;
  }
  if (mix.cut != null) for (let j = Math.max(0, Math.round(controls[mix.cut])) + (mix.always ?? 0); j < k; j++) w[j] = 0;
  mix.weights.forEach((control, group) => {
    if (control == null) return;
    for (let j = 0; j < k; j++) if (mix.groups[j] === group) w[j] *= controls[control];
  });
  return w;
}

/** Σ_j w_j column_j into out (n or 3 n); only at the elements listed in `at` when it is given. NaN stays NaN. */
export function combine(asset, w, out, at = null) {
  const [k, n, comp = 1] = asset.q.shape;
  const q = asset.q, size = n * comp;
  out.fill(0);
  for (let j = 0; j < k; j++) {
    if (!w[j]) continue;
    const s = w[j] * asset.scale[j], base = j * size;
    if (at) {
      for (let e = 0; e < at.length; e++) {
        for (let c = 0, i = at[e] * comp, o = e * comp; c < comp; c++, i++, o++) {
          const level = q[base + i];
          out[o] += level === NAN_LEVEL ? NaN : s * level;
        }
      }
    } else {
      for (let i = 0; i < size; i++) {
        const level = q[base + i];
        out[i] += level === NAN_LEVEL ? NaN : s * level;
      }
    }
  }
  return out;
}

/** Lengths of vectors (3 n) → out (n). */
export function lengths(vectors, out) {
  for (let i = 0, j = 0; i < out.length; i++, j += 3) out[i] = Math.hypot(vectors[j], vectors[j + 1], vectors[j + 2]);
  return out;
}

/** Smallest and largest finite value, [0, 0] without any. */
export function extent(values) {
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return high >= low ? [low, high] : [0, 0];
}

/** Limits that a kind of value asks for: signed ±max, unsigned and error 0…max. */
export function limitsFor(kind, [low, high], nCategories = 0) {
  if (kind === 'category') return [-0.5, nCategories - 0.5];
  if (kind === 'signed') {
    const top = Math.max(Math.abs(low), Math.abs(high)) || 1;
    return [-top, top];
  }
  return [0, high > 0 ? high : 1];
}

/** Counts in n equal bins of [low, high]; outside values fall into the end bins. */
export function histogram(values, [low, high], n = 48) {
  const bins = new Float64Array(n), s = n / (high - low || 1);
  for (let i = 0; i < values.length; i++) {
    const b = Math.floor((values[i] - low) * s);
    if (b === b) bins[Math.min(n - 1, Math.max(0, b))]++;
  }
  return bins;
}

const hex = (c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16));
export const rgb01 = (c) => hex(c).map((v) => v / 255);

/** RGBA table of n colours from evenly spaced stops; `stripes`: fractions 0…1 at which a dark line is drawn. */
export function colourTable(stops, n = 512, stripes = []) {
  const table = new Uint8Array(4 * n), anchors = stops.map(hex), last = anchors.length - 1;
  for (let i = 0; i < n; i++) {
    const t = (i / (n - 1)) * last, k = Math.min(last - 1, Math.floor(t)), f = last ? t - k : 0;
    for (let c = 0; c < 3; c++) {
      table[4 * i + c] = last ? Math.round(anchors[k][c] * (1 - f) + anchors[k + 1][c] * f) : anchors[0][c];
    }
    table[4 * i + 3] = 255;
  }
  for (const at of stripes) {
    const middle = Math.round(at * (n - 1)), half = Math.max(1, Math.round(n / 340));
    for (let i = Math.max(0, middle - half); i <= Math.min(n - 1, middle + half); i++) {
      for (let c = 0; c < 3; c++) table[4 * i + c] = Math.round(table[4 * i + c] * 0.25);
    }
  }
  return table;
}

/** One table entry per category. */
export function categoryTable(colours) {
  const table = new Uint8Array(4 * colours.length);
  colours.forEach((c, i) => table.set([...hex(c), 255], 4 * i));
  return table;
}

/** Level lines of vertex values on triangles (marching triangles): Float32Array of segments, 6 numbers each. Values
 * equal to a level count as above it, so that every line is closed or ends at the boundary. */
export function levelLines(points, triangles, values, levels, lift = null) {
  const out = [];
  const sorted = Float64Array.from(levels).sort();
  const cut = (a, b, level) => {
    const t = (level - values[a]) / (values[b] - values[a]);
    for (let c = 0; c < 3; c++) {
      let v = points[3 * a + c] * (1 - t) + points[3 * b + c] * t;
      if (lift) v += lift[3 * a + c] * (1 - t) + lift[3 * b + c] * t;
      out.push(v);
    }
  };
  for (let f = 0; f < triangles.length; f += 3) {
    const a = triangles[f], b = triangles[f + 1], c = triangles[f + 2];
    const low = Math.min(values[a], values[b], values[c]), high = Math.max(values[a], values[b], values[c]);
    if (!(high > low)) continue;
    for (let i = 0; i < sorted.length; i++) {
      const level = sorted[i];
      if (level <= low) continue;
      if (level > high) break;
      const ua = values[a] >= level, ub = values[b] >= level, uc = values[c] >= level;
      if (ua !== ub) cut(a, b, level);
      if (ub !== uc) cut(b, c, level);
      if (uc !== ua) cut(c, a, level);
    }
  }
  return new Float32Array(out);
}

/** The cut of tets by the plane x·normal = offset: corners as pairs of vertices and weights, three corners a triangle.
 * Returns {a, b, t}: corner i is at (1 − t) point[a] + t point[b]; triangles are corners 3f, 3f+1, 3f+2. */
export function cutTets(points, tets, normal, offset) {
  const n = points.length / 3, side = new Float32Array(n);
  for (let i = 0; i < n; i++) {
    side[i] = points[3 * i] * normal[0] + points[3 * i + 1] * normal[1] + points[3 * i + 2] * normal[2] - offset;
  }
  const a = [], b = [], t = [];
  const corner = (p, q) => { a.push(p); b.push(q); t.push(side[p] / (side[p] - side[q])); };
  const above = [], below = [];
  for (let e = 0; e < tets.length; e += 4) {
    above.length = below.length = 0;
    for (let i = 0; i < 4; i++) (side[tets[e + i]] >= 0 ? above : below).push(tets[e + i]);
    if (above.length === 1 || below.length === 1) {
      const [lone, others] = above.length === 1 ? [above[0], below] : [below[0], above];
      for (const other of others) corner(lone, other);
    } else if (above.length === 2) {
      const [p, q] = above, [r, s] = below;
      corner(p, r); corner(p, s); corner(q, s);
      corner(p, r); corner(q, s); corner(q, r);
    }
  }
  return { a: Uint32Array.from(a), b: Uint32Array.from(b), t: Float32Array.from(t) };
}

/** Points of a lattice of step `h` in the plane of a cut, those inside its triangles (9 numbers each): {points, owner,
 * bary}.  The lattice stays where it is while the plane moves along its normal. */
export function cutLattice(xyz, normal, h) {
  const seed = Math.abs(normal[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], d = seed[0] * normal[0] + seed[1] * normal[1] + seed[2] * normal[2];
  const v = seed.map((x, i) => x - d * normal[i]), size = Math.hypot(...v);
  for (let i = 0; i < 3; i++) v[i] /= size;
  const u = [v[1] * normal[2] - v[2] * normal[1], v[2] * normal[0] - v[0] * normal[2], v[0] * normal[1] - v[1] * normal[0]];
  const points = [], owner = [], bary = [], row = h * Math.sqrt(3) / 2, taken = new Set();
  for (let f = 0; f < xyz.length; f += 9) {
    const p = [0, 3, 6].map((o) => [0, 1].map((k) => {
      const axis = k ? v : u;
      return xyz[f + o] * axis[0] + xyz[f + o + 1] * axis[1] + xyz[f + o + 2] * axis[2];
    }));
    const area = (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[2][0] - p[0][0]) * (p[1][1] - p[0][1]);
    if (Math.abs(area) < 1e-14) continue;
    const [low, high] = [Math.min(p[0][1], p[1][1], p[2][1]), Math.max(p[0][1], p[1][1], p[2][1])];
    const [left, right] = [Math.min(p[0][0], p[1][0], p[2][0]), Math.max(p[0][0], p[1][0], p[2][0])];
    for (let j = Math.ceil(low / row); j * row <= high; j++) {
      const shift = j % 2 ? h / 2 : 0, y = j * row;
      for (let i = Math.ceil((left - shift) / h); i * h + shift <= right; i++) {
        const x = i * h + shift;
        const b1 = ((x - p[0][0]) * (p[2][1] - p[0][1]) - (p[2][0] - p[0][0]) * (y - p[0][1])) / area;
        const b2 = ((p[1][0] - p[0][0]) * (y - p[0][1]) - (x - p[0][0]) * (p[1][1] - p[0][1])) / area;
        const b = [1 - b1 - b2, b1, b2], name = `${i},${j}`;
        if (Math.min(...b) < -1e-9 || taken.has(name)) continue; // on the border of two triangles: once
        taken.add(name);
        for (let c = 0; c < 3; c++) points.push(b[0] * xyz[f + c] + b[1] * xyz[f + 3 + c] + b[2] * xyz[f + 6 + c]);
        owner.push(f / 9);
        bary.push(...b);
      }
    }
  }
  return { points: Float32Array.from(points), owner: Uint32Array.from(owner), bary: Float32Array.from(bary) };
}

/** n values evenly inside the limits (ends left out). */
export function evenLevels([low, high], n) {
  return Array.from({ length: n }, (_, i) => low + ((i + 1) / (n + 1)) * (high - low));
}

/** Length of drawn arrows per unit of magnitude: the 95th percentile becomes `target`, none longer than 2.5 target. */
export function arrowScale(magnitudes, target) {
  const m = Float32Array.from(magnitudes.filter((v) => v === v)).sort();
  if (!m.length || !(m[m.length - 1] > 0)) return 0;
  const high = m[Math.floor(0.95 * (m.length - 1))];
  return target / Math.max(high, m[m.length - 1] / 2.5);
}
