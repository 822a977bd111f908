// Methods of Panel on the clip plane: what is cut away, the filled cut of tets and the arrows that stand on it.

import { cutLattice, cutTets } from './fields.js';

/** The cut of a mesh by a plane with the positions of its corners. */
function cutOf(mesh, normal, offset) {
  const { a, b, t } = cutTets(mesh.points, mesh.tets, normal, offset), xyz = new Float32Array(3 * a.length);
  for (let i = 0; i < a.length; i++) {
    for (let c = 0; c < 3; c++) xyz[3 * i + c] = mesh.points[3 * a[i] + c] * (1 - t[i]) + mesh.points[3 * b[i] + c] * t[i];
  }
  return { a, b, t, xyz };
}

export const cutting = {
  /** Extent of the mesh along a direction. */
  along(normal) {
    const p = this.mesh.points;
    let low = Infinity, high = -Infinity;
    for (let i = 0; i < p.length; i += 3) {
      const x = p[i] * normal[0] + p[i + 1] * normal[1] + p[i + 2] * normal[2];
      low = Math.min(low, x);
      high = Math.max(high, x);
    }
    return [low, high];
  },

  applyClip(controls) {
    const { clip, colour } = this.spec, d = this.drawing, mesh = this.mesh;
    if (!clip) {
      d.clip(null);
      d.dropParts('cap');
      this.accept = this.cut = null;
      return;
    }
    this.box ??= this.along(clip.normal);
    const at = typeof clip.position === 'string' ? controls[clip.position] : clip.position;
    const offset = this.box[0] + (this.box[1] - this.box[0]) * at, n = clip.normal;
    d.clip(n, offset);
    this.accept = (p) => p[0] * n[0] + p[1] * n[1] + p[2] * n[2] <= offset + 1e-6;
    if (!mesh.tets.length) {
      this.cut = null;
      return;
    }
    if (this.cut?.mesh !== mesh || this.cut.offset !== offset) this.cut = { mesh, offset, normal: n, ...cutOf(mesh, n, offset) };
    const { a, b, t, xyz } = this.cut;
    let values = null;
    if (colour?.where === 'vertex') {
      values = new Float32Array(a.length);
      for (let i = 0; i < a.length; i++) values[i] = this.values[a[i]] * (1 - t[i]) + this.values[b[i]] * t[i];
    }
    d.cap(xyz, values, this.limits ?? [0, 1], this.spec.plain);
  },

  /** Where arrows stand on the filled cut of tets, instead of inside where none would be seen; null: no such cut. */
  cutGlyphs() {
    const { cut } = this;
    if (!cut || !this.glyphs.volume || !this.raw) return null;
    if (!cut.glyphs) {
      const h = Math.min(0.13, Math.max(0.06, 0.75 * this.glyphs.spacing)), at = cutLattice(cut.xyz, cut.normal, h);
      const normals = Float32Array.from({ length: at.points.length }, (_, i) => 127 * cut.normal[i % 3]);
      cut.glyphs = { ...at, normals, volume: false, onCut: true, spacing: h };
    }
    return cut.glyphs;
  },

  /** The field there, interpolated along the edges that are cut and then within the triangles of the cut. */
  cutVectors({ owner, bary }) {
    const { a, b, t } = this.cut, { raw } = this, out = new Float32Array(3 * owner.length);
    for (let g = 0; g < owner.length; g++) {
      for (let k = 0; k < 3; k++) {
        const i = 3 * owner[g] + k, w = bary[3 * g + k];
        for (let c = 0; c < 3; c++) out[3 * g + c] += w * (raw[3 * a[i] + c] * (1 - t[i]) + raw[3 * b[i] + c] * t[i]);
      }
    }
    return out;
  },
};
