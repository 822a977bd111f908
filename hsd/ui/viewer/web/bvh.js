// A tree of boxes over triangles, pure: which triangle does a ray hit first, and with what barycentric weights.

const LEAF = 8;

/** Build over points (xyz) and triangles; boxes split at the median of the widest axis of the centroids. */
export function build(points, triangles) {
  const m = triangles.length / 3;
  const order = Uint32Array.from({ length: m }, (_, i) => i);
  const centre = new Float32Array(3 * m), low = new Float32Array(3 * m), high = new Float32Array(3 * m);
  for (let f = 0; f < m; f++) {
    for (let c = 0; c < 3; c++) {
      const x = points[3 * triangles[3 * f] + c], y = points[3 * triangles[3 * f + 1] + c],
        z = points[3 * triangles[3 * f + 2] + c];
      low[3 * f + c] = Math.min(x, y, z);
      high[3 * f + c] = Math.max(x, y, z);
      centre[3 * f + c] = (x + y + z) / 3;
    }
  }
  const boxes = [], children = []; // children: [left, right] or [−start − 1, end] for leaves
  const node = (start, end) => {
    const box = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
    const span = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
    for (let i = start; i < end; i++) {
      for (let c = 0, f = 3 * order[i]; c < 3; c++) {
        box[c] = Math.min(box[c], low[f + c]); box[3 + c] = Math.max(box[3 + c], high[f + c]);
        span[c] = Math.min(span[c], centre[f + c]); span[3 + c] = Math.max(span[3 + c], centre[f + c]);
      }
    }
    const id = children.length / 2;
    boxes.push(...box);
    children.push(-start - 1, end);
    if (end - start <= LEAF) return id;
    const size = [0, 1, 2].map((c) => span[3 + c] - span[c]), axis = size.indexOf(Math.max(...size));
    if (!(size[axis] > 0)) return id;
    const part = order.subarray(start, end).sort((p, q) => centre[3 * p + axis] - centre[3 * q + axis]);
    const middle = start + (part.length >> 1);
    const left = node(start, middle), right = node(middle, end);
    children[2 * id] = left;
    children[2 * id + 1] = right;
    return id;
  };
  if (m) node(0, m);
  return { points, triangles, order, boxes: Float32Array.from(boxes), children: Int32Array.from(children) };
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
