// One panel: from a panel of the scene, its assets and the control values to what its Drawing shows.

import { cutting } from './cutting.js';
import {
  arrowScale, categoryTable, colourTable, combine, evenLevels, extent, histogram, lengths, levelLines, limitsFor, weights,
} from './fields.js';
import { arrowTarget } from './shapes.js';
import { peek } from './store.js';
import { blend, covered, levelAt, rim } from './superlevel.js';

const MARKER_RADIUS = 0.026;
const DOT = 0.0024; // radius in ball units of a dot of one pixel
const tables = new Map();

function cachedTable(kind, stops, stripes) {
  const key = JSON.stringify([kind, stops, stripes]);
  if (!tables.has(key)) {
    if (tables.size > 200) tables.clear();
    tables.set(key, kind === 'category' ? categoryTable(stops) : colourTable(stops, 1024, stripes));
  }
  return tables.get(key);
}

/** Weights of the fixed reference of a sum: every weight 1, nothing cut; and of each group alone. */
function references(mix, k) {
  const ones = {};
  for (const name of mix.weights) if (name != null) ones[name] = 1;
  const whole = { ...mix, cut: null };
  const out = [weights(whole, k, ones)];
  for (const name of mix.weights) {
    if (name == null) continue;
    const alone = Object.fromEntries(Object.keys(ones).map((other) => [other, other === name ? 1 : 0]));
    out.push(weights(whole, k, alone));
  }
  return out;
}

export class Panel {
  constructor(drawing) {
    this.drawing = drawing;
    this.buffers = new Map();
    this.selected = null;
    this.dragged = null; // {id, pos} while a marker is dragged
  }

  buffer(name, n) {
    if (this.buffers.get(name)?.length !== n) this.buffers.set(name, new Float32Array(n));
    return this.buffers.get(name);
  }

  /** Take over a panel of the scene (its assets are here). */
  update(spec, theme) {
    this.spec = spec;
    this.theme = theme;
    this.mesh = peek(spec.mesh);
    const d = this.drawing;
    d.setMesh(this.mesh);
    d.background(theme.paper);
    this.columns = spec.colour ? peek(spec.colour.mix.cols) : null;
    this.glyphs = spec.arrows ? peek(spec.arrows.glyphs) : null;
    this.arrowColumns = spec.arrows ? peek(spec.arrows.mix.cols) : null;
    if (!spec.arrows) d.dropParts('arrows');
    if (!spec.super) d.dropParts('super');
    const keep = new Set();
    spec.tubes.forEach((t, i) => {
      keep.add(`tube${i}`);
      d.tube(`tube${i}`, peek(t.points).points, t.closed, t.radius * theme.thick, t.colour);
    });
    d.dropParts('tube', keep);
    keep.clear();
    spec.segments.forEach((s, i) => {
      keep.add(`segments${i}`);
      d.segments(`segments${i}`, peek(s.points).points, s.colour, s.width * theme.thick * theme.pixel);
    });
    d.dropParts('segments', keep);
    keep.clear();
    spec.dots.forEach((s, i) => {
      keep.add(`dots${i}`);
      d.dots(`dots${i}`, peek(s.points).points, s.colour, s.size * theme.thick * theme.pixel, s.size * theme.thick * DOT);
    });
    d.dropParts('dots', keep);
    this.range = null;
    this.box = null;
  }

  get canProxy() {
    return this.drawing.representatives !== null && !(this.spec.clip && this.mesh.tets.length);
  }

  markers() {
    const list = this.spec.markers.map((m) => ({ ...m, selected: m.id === this.selected }));
    for (const m of list) if (this.dragged && m.id === this.dragged.id) m.pos = this.dragged.pos;
    return this.accept ? list.filter((m) => this.accept(m.pos)) : list; // none floats where the shape is cut away
  }

  showMarkers() {
    this.drawing.spheres(this.markers(), MARKER_RADIUS * this.theme.thick);
  }

  // ---- values ----------------------------------------------------------------------------------------------------

  /** Compute values and arrow vectors for the controls; with `proxy` only where the proxy needs them. */
  evaluate(controls, proxy) {
    this.proxied = proxy && this.canProxy && this.spec.colour?.where !== 'face';
    this.values = null;
    if (this.columns) {
      const [k, n, comp = 1] = this.columns.q.shape;
      const at = this.proxied ? this.drawing.representatives : null, m = at ? at.length : n;
      this.weights = weights(this.spec.colour.mix, k, controls);
      const raw = combine(this.columns, this.weights, this.buffer(`raw${m}`, m * comp), at);
      this.raw = comp === 3 && !at ? raw : null;
      this.values = comp === 3 ? lengths(raw, this.buffer(`len${m}`, m)) : raw;
    }
    if (this.glyphs) {
      const [k, n] = this.arrowColumns.q.shape;
      const w = weights(this.spec.arrows.mix, k, controls);
      this.vectors = combine(this.arrowColumns, w, this.buffer('vectors', 3 * n));
      this.magnitudes = lengths(this.vectors, this.buffer('magnitudes', n));
    }
  }

  /** Extent of the values that the limits are made of: of what is shown for modes, of a fixed reference for sums. */
  extentForLimits() {
    const { mix } = this.spec.colour;
    if (mix.mode == null && (mix.cut != null || mix.weights.length)) {
      this.range ??= this.referenceExtent(this.columns, mix);
      return this.range;
    }
    if (mix.mode != null && !(this.columns.q.shape.length === 3)) {
      // one quantised column: its largest value is known without looking
      const j = this.weights.findIndex((w) => w !== 0), top = Math.abs(this.weights[j] * this.columns.scale[j]) * 32767;
      return [-top, top];
    }
    return extent(this.values);
  }

  referenceExtent(columns, mix) {
    const [k, n, comp = 1] = columns.q.shape, raw = new Float32Array(n * comp), size = new Float32Array(n);
    let low = Infinity, high = -Infinity;
    for (const w of references(mix, k)) {
      combine(columns, w, raw);
      const [a, b] = extent(comp === 3 ? lengths(raw, size) : raw);
      low = Math.min(low, a);
      high = Math.max(high, b);
    }
    return [low, high];
  }

  /** Magnitudes that the length of arrows is scaled by. */
  referenceMagnitudes() {
    const { mix } = this.spec.arrows;
    if (mix.mode != null) return this.magnitudes;
    const [k, n] = this.arrowColumns.q.shape, raw = new Float32Array(3 * n), out = [];
    for (const w of references(mix, k)) out.push(...lengths(combine(this.arrowColumns, w, raw), new Float32Array(n)));
    return out;
  }

  // ---- drawing ---------------------------------------------------------------------------------------------------

  /** Draw with common limits and arrow scale; `moving`: cheap level lines, no lines to build. */
  paint({ limits, arrowLength, controls, moving }) {
    const { spec, drawing: d, theme, mesh } = this, colour = spec.colour;
    this.limits = limits;
    d.useProxy(this.proxied);
    this.applyClip(controls);
    d.look({ plain: spec.plain, opacity: spec.opacity, wireframe: spec.wireframe, edgeColour: theme.muted, dark: colour?.kind === 'error' });
    const levels = this.levels(controls);
    const vertex = colour && colour.where === 'vertex' && colour.kind !== 'category';
    if (colour) {
      const fraction = (v) => (v - limits[0]) / (limits[1] - limits[0]);
      const stripes = moving && vertex ? [...levels.thin, ...levels.thick].map(fraction) : [];
      d.table(cachedTable(colour.kind, colour.stops, stripes.filter((f) => f >= 0 && f <= 1)), theme.nan);
      d.colour(this.values, { where: colour.where, limits, proxy: this.proxied });
      if (colour.kind === 'category') d.full.mapper.setInterpolateScalarsBeforeMapping(false);
    } else {
      d.colour(null, {});
      d.full.data.modified();
    }
    if (vertex && !moving && !this.proxied) {
      const lift = this.lift();
      const lines = (values) => levelLines(mesh.points, mesh.triangles, this.values, values, lift);
      d.segments('iso', levels.thin.length ? lines(levels.thin) : [], theme.ink, 1.2 * theme.thick * theme.pixel, 0.6);
      d.segments('level', levels.thick.length ? lines(levels.thick) : [], theme.ink, 3.2 * theme.thick * theme.pixel);
    } else {
      d.dropParts('iso');
      d.dropParts('level');
    }
    if (spec.super) this.paintSuper(controls);
    if (this.glyphs) {
      this.arrowLength = arrowLength;
      const cut = this.cutGlyphs();
      if (cut && !cut.owner.length) d.dropParts('arrows');
      else d.arrows(cut ?? this.glyphs, cut ? this.cutVectors(cut) : this.vectors, arrowLength, spec.arrows.colour ?? theme.ink, theme.halo);
    }
    this.showMarkers();
  }

  /** The components at the slider's level; the full mesh also while it moves. */
  paintSuper(controls) {
    const { mesh, drawing: d, theme } = this, spec = this.spec.super, tree = peek(spec.tree), step = controls[spec.control];
    d.useProxy(false);
    const key = `${spec.tree} ${step} ${spec.low} ${spec.high} ${spec.colours}`;
    if (this.superKey !== key || this.superMesh !== mesh) {
      this.superKey = key;
      this.superMesh = mesh;
      const part = covered(mesh.triangles, tree, levelAt(spec, step)), xyz = blend(part, mesh.points);
      const lift = this.lift(), lifted = lift ? blend(part, lift).map((v, i) => v + xyz[i]) : xyz;
      d.patches('super', { xyz, normals: blend(part, mesh.normals, 1 / 127), colour: part.colour, colours: spec.colours });
      this.superRim = rim(part, lifted);
    }
    d.segments('super rim', this.superRim, theme.ink, 1.6 * theme.thick * theme.pixel);
  }

  /** What stands beside the title now. */
  liveText(controls) {
    const spec = this.spec.super;
    return spec?.texts[Math.round(controls[spec.control])] ?? '';
  }

  lift() {
    if (this.liftOf !== this.mesh) {
      this.liftOf = this.mesh;
      this.lifted = Float32Array.from(this.mesh.normals, (v) => (v / 127) * 0.003);
    }
    return this.mesh.closed ? this.lifted : null;
  }

  levels(controls) {
    const { iso } = this.spec;
    if (!iso || !this.limits) return { thin: [], thick: [] };
    const thin = iso.levels.length ? iso.levels : iso.n ? evenLevels(this.limits, iso.n) : [];
    return { thin, thick: iso.level == null ? [] : [controls[iso.level]] };
  }

  // ---- reading ---------------------------------------------------------------------------------------------------

  /** Value at a drawn triangle and weights from the 16-bit data (null: none); label index for categories. */
  valueAt(face, bary, controls) {
    if (!this.columns) return null;
    const { colour } = this.spec, [k, , comp = 1] = this.columns.q.shape;
    const w = weights(colour.mix, k, controls);
    const at = (element) => {
      const v = combine(this.columns, w, new Float64Array(comp), [element]);
      return comp === 3 ? Math.hypot(...v) : v[0];
    };
    if (colour.where === 'face') return at(face);
    const corners = [0, 1, 2].map((i) => at(this.mesh.triangles[3 * face + i]));
    if (colour.kind === 'category') return corners[bary.indexOf(Math.max(...bary))];
    return corners.reduce((sum, v, i) => sum + v * bary[i], 0);
  }

  histogram() {
    return this.values && this.spec.colour.kind !== 'category' ? histogram(this.values, this.limits) : null;
  }
}

Object.assign(Panel.prototype, cutting);

/** Common limits of all panels (one list entry a panel, null without colour) and arrow lengths per scale name. */
export function commonScales(panels) {
  const groups = new Map(), arrows = new Map();
  panels.forEach((p, i) => {
    const c = p.spec.colour;
    if (!c) return;
    const name = c.scale ?? `panel ${i}`, [low, high] = p.extentForLimits();
    const g = groups.get(name) ?? { low, high, fixed: null };
    g.low = Math.min(g.low, low);
    g.high = Math.max(g.high, high);
    g.fixed ??= c.limits;
    groups.set(name, g);
  });
  for (const p of panels) {
    if (!p.spec.arrows) continue;
    const { scale } = p.spec.arrows;
    if (!arrows.has(scale)) arrows.set(scale, []);
    arrows.get(scale).push(p);
  }
  const lengthsOf = new Map();
  for (const [name, members] of arrows) {
    const key = members.map((p) => p.spec.arrows.mix.cols).join();
    const fixed = members.every((p) => p.spec.arrows.mix.mode == null);
    if (fixed && members[0].arrowReference?.key === key) {
      lengthsOf.set(name, members[0].arrowReference.length);
      continue;
    }
    const all = [];
    for (const p of members) for (const v of p.referenceMagnitudes()) all.push(v);
    const length = arrowScale(all, Math.min(...members.map((p) => arrowTarget(p.glyphs.spacing))));
    members[0].arrowReference = { key, length };
    lengthsOf.set(name, length);
  }
  return panels.map((p, i) => {
    const c = p.spec.colour, g = c && groups.get(c.scale ?? `panel ${i}`);
    return {
      limits: g ? g.fixed ?? limitsFor(c.kind, [g.low, g.high], c.categories.length) : null,
      arrowLength: p.spec.arrows ? lengthsOf.get(p.spec.arrows.scale) : 0,
    };
  });
}
