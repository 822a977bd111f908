// Superlevel sets {u ≥ t} of linear interpolants, pure: components by a merge tree, and the triangles that they cover.

/** The level of a step of the slider. */
export const levelAt = (spec, step) => spec.low + (step / spec.steps) * (spec.high - spec.low);

/** The eldest peak of the component of each peak at a level (peaks not in the set: anything). */
export function roots(tree, level) {
  const root = Uint32Array.from(tree.parent, (p, j) => (tree.death[j] >= level ? p : j));
  for (let changed = true; changed;) {
    changed = false;
    for (let j = 0; j < root.length; j++) {
      const further = root[root[j]];
      if (further !== root[j]) {
        root[j] = further;
        changed = true;
      }
    }
  }
  return root;
}

/** The part of the triangles where the interpolant is ≥ level: {a, b, t, colour}: corner i is at (1 − t) a + t b, three
 * corners a triangle, and the number of its colour. */
export function covered(triangles, tree, level) {
  const { values, basin, colour } = tree, root = roots(tree, level);
  const a = [], b = [], t = [], paint = [];
  const at = (p) => { a.push(p); b.push(p); t.push(0); };
  const edge = (p, q) => { a.push(p); b.push(q); t.push((values[p] - level) / (values[p] - values[q])); };
  for (let f = 0; f < triangles.length; f += 3) {
    let [p, q, r] = [triangles[f], triangles[f + 1], triangles[f + 2]];
    const inside = (values[p] >= level) + (values[q] >= level) + (values[r] >= level);
    if (!inside) continue;
    // turn the triangle so that p is the one vertex that differs from the two others
    while (inside < 3 && (values[p] >= level) !== (inside === 1)) [p, q, r] = [q, r, p];
    const c = colour[root[basin[inside === 2 ? q : p]]];
    if (inside === 3) { at(p); at(q); at(r); }
    if (inside === 1) { at(p); edge(p, q); edge(p, r); }
    if (inside === 2) {
      edge(q, p); at(q); at(r);
      edge(q, p); at(r); edge(r, p);
      paint.push(c);
    }
    paint.push(c);
  }
  return { a: Uint32Array.from(a), b: Uint32Array.from(b), t: Float32Array.from(t), colour: Uint8Array.from(paint) };
}

/** Blend of rows of an array of 3 a vertex at the corners of `covered`. */
export function blend({ a, b, t }, rows, scale = 1) {
  const out = new Float32Array(3 * a.length);
  for (let i = 0; i < a.length; i++) {
    for (let c = 0; c < 3; c++) out[3 * i + c] = scale * (rows[3 * a[i] + c] * (1 - t[i]) + rows[3 * b[i] + c] * t[i]);
  }
  return out;
}

/** Segments (6 numbers each) of the boundary: the edges of `covered` whose two corners both lie inside an edge. */
export function rim({ a, b }, xyz) {
  const out = [], cut = (i) => a[i] !== b[i];
  for (let f = 0; f < a.length; f += 3) {
    for (const [i, j] of [[f, f + 1], [f + 1, f + 2], [f + 2, f]]) {
      // both on the level, and on two different edges of the mesh
      if (cut(i) && cut(j)) out.push(...xyz.subarray(3 * i, 3 * i + 3), ...xyz.subarray(3 * j, 3 * j + 3));
    }
  }
  return Float32Array.from(out);
}
