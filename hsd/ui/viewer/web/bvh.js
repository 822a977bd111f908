// A tree of boxes over triangles, pure: which triangle does a ray hit first, and with what barycentric weights.
// Triangles are put in the order of their centroids along a Z-curve (Morton 1966; Lauterbach et al. 2009), by counting
// sort, and the tree halves that order: linear time, so that the first click on 100 000 triangles does not stall.

const LEAF = 8, BITS = 10, CELLS = 1 << BITS;

/** The bits of a 10-bit number, two places between each. */
function spread(v) {
  v = (v | (v << 16)) & 0x030000ff;
  v = (v | (v << 8)) & 0x0300f00f;
  v = (v | (v << 4)) & 0x030c30c3;
  return (v | (v << 2)) & 0x09249249;
}

/** Numbers of the codes in increasing order, by three passes of counting sort. */
function sorted(codes) {
  const m = codes.length;
  let from = Uint32Array.from(codes, (_, i) => i), to = new Uint32Array(m);
  for (let shift = 0; shift < 3 * BITS; shift += BITS) {
    const at = new Uint32Array(CELLS + 1);
    for (let i = 0; i < m; i++) at[((codes[i] >>> shift) & (CELLS - 1)) + 1]++;
    for (let k = 0; k < CELLS; k++) at[k + 1] += at[k];
    for (let i = 0; i < m; i++) to[at[(codes[from[i]] >>> shift) & (CELLS - 1)]++] = from[i];
    [from, to] = [to, from];
  }
  return from;
}

/** Corners of a box (low xyz, high xyz) of points (xyz). */
function bounds(points) {
  const box = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 3) {
    for (let c = 0; c < 3; c++) {
      const x = points[i + c];
      if (x < box[c]) box[c] = x;
      if (x > box[3 + c]) box[3 + c] = x;
    }
  }
  return box;
}

/** Build over points (xyz) and triangles. */
export function build(points, triangles) {
  const m = triangles.length / 3, all = bounds(points);
  const factor = CELLS / Math.max(all[3] - all[0], all[4] - all[1], all[5] - all[2], 1e-300) / 3;
  const codes = new Uint32Array(m);
  for (let f = 0, i = 0; f < m; f++, i += 3) {
    const a = 3 * triangles[i], b = 3 * triangles[i + 1], c = 3 * triangles[i + 2];
    const x = (points[a] + points[b] + points[c] - 3 * all[0]) * factor;
    const y = (points[a + 1] + points[b + 1] + points[c + 1] - 3 * all[1]) * factor;
    const z = (points[a + 2] + points[b + 2] + points[c + 2] - 3 * all[2]) * factor;
    const top = CELLS - 1;
    codes[f] = (spread(Math.min(top, x | 0)) | (spread(Math.min(top, y | 0)) << 1) | (spread(Math.min(top, z | 0)) << 2)) >>> 0;
  }
  const order = sorted(codes);
  const size = 1 << Math.ceil(Math.log2(Math.max(2, m / LEAF) * 2)); // halves have LEAF / 2 triangles at least
  const boxes = new Float32Array(6 * 2 * size), children = new Int32Array(2 * 2 * size); // [left, right], leaf: [−start − 1, end]
  let used = 0;
  const node = (start, end) => {
    const id = used++, at = 6 * id;
    if (end - start <= LEAF) {
      const box = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
      for (let i = start; i < end; i++) {
        for (let j = 3 * order[i], e = j + 3; j < e; j++) {
          for (let c = 0, p = 3 * triangles[j]; c < 3; c++) {
            const x = points[p + c];
            if (x < box[c]) box[c] = x;
            if (x > box[3 + c]) box[3 + c] = x;
          }
        }
      }
      boxes.set(box, at);
      children[2 * id] = -start - 1;
      children[2 * id + 1] = end;
      return id;
    }
    const middle = (start + end) >> 1, left = node(start, middle), right = node(middle, end);
    for (let c = 0; c < 3; c++) {
      boxes[at + c] = Math.min(boxes[6 * left + c], boxes[6 * right + c]);
      boxes[at + 3 + c] = Math.max(boxes[6 * left + 3 + c], boxes[6 * right + 3 + c]);
    }
    children[2 * id] = left;
    children[2 * id + 1] = right;
    return id;
  };
  if (m) node(0, m);
  return { points, triangles, order, boxes: boxes.subarray(0, 6 * used), children: children.subarray(0, 2 * used) };
}

function entry(boxes, id, o, inverse, best) {
  let near = 0, far = best;
  for (let c = 0; c < 3; c++) {
    let a = (boxes[6 * id + c] - o[c]) * inverse[c], b = (boxes[6 * id + 3 + c] - o[c]) * inverse[c];
    if (a > b) [a, b] = [b, a];
    if (a > near) near = a;
    if (b < far) far = b;
  }
  return near <= far * (1 + 1e-6) + 1e-9 ? near : Infinity;
}

/** First hit of a ray: {face, bary: [w0, w1, w2], t, point} or null.  `accept(point)` may refuse hits (clip planes). */
export function cast(tree, { origin: o, direction: d }, accept = null) {
  const { points: p, triangles: tri, order, boxes, children } = tree;
  if (!children.length) return null;
  const inverse = d.map((v) => 1 / (v || 1e-30));
  let best = Infinity, hit = null;
  const stack = [0];
  while (stack.length) {
    const id = stack.pop();
    if (entry(boxes, id, o, inverse, best) === Infinity) continue;
    if (children[2 * id] >= 0) {
      stack.push(children[2 * id], children[2 * id + 1]);
      continue;
    }
    for (let i = -children[2 * id] - 1; i < children[2 * id + 1]; i++) {
      const f = order[i], a = 3 * tri[3 * f], b = 3 * tri[3 * f + 1], c = 3 * tri[3 * f + 2];
      // Möller and Trumbore 1997, both sides
      const e1 = [p[b] - p[a], p[b + 1] - p[a + 1], p[b + 2] - p[a + 2]];
      const e2 = [p[c] - p[a], p[c + 1] - p[a + 1], p[c + 2] - p[a + 2]];
      const h = [d[1] * e2[2] - d[2] * e2[1], d[2] * e2[0] - d[0] * e2[2], d[0] * e2[1] - d[1] * e2[0]];
      const det = e1[0] * h[0] + e1[1] * h[1] + e1[2] * h[2];
      if (Math.abs(det) < 1e-20) continue;
      const s = [o[0] - p[a], o[1] - p[a + 1], o[2] - p[a + 2]];
      const u = (s[0] * h[0] + s[1] * h[1] + s[2] * h[2]) / det;
      if (u < -1e-7 || u > 1 + 1e-7) continue;
      const q = [s[1] * e1[2] - s[2] * e1[1], s[2] * e1[0] - s[0] * e1[2], s[0] * e1[1] - s[1] * e1[0]];
      const v = (d[0] * q[0] + d[1] * q[1] + d[2] * q[2]) / det;
      if (v < -1e-7 || u + v > 1 + 2e-7) continue;
      const t = (e2[0] * q[0] + e2[1] * q[1] + e2[2] * q[2]) / det;
      if (t <= 1e-9 || t >= best) continue;
      const point = [o[0] + t * d[0], o[1] + t * d[1], o[2] + t * d[2]];
      if (accept && !accept(point)) continue;
      best = t;
      const w1 = Math.min(1, Math.max(0, u)), w2 = Math.min(1 - w1, Math.max(0, v));
      hit = { face: f, bary: [1 - w1 - w2, w1, w2], t, point };
    }
  }
  return hit;
}
