// vtk.js: what one renderer (a panel) shows.  Nothing here knows about scenes or the DOM around.
//
// Traps: a changed scalar array is drawn only after polydata.modified(); the clipping range belongs to every renderer.

import { clippingRange, norm } from './camera.js';
import { rgb01 } from './fields.js';
import { layer } from './layer.js';
import { parts } from './parts.js';
import { withCounts } from './shapes.js';

export class Drawing {
  constructor(stage) {
    const { vtk } = stage;
    this.stage = stage;
    this.renderer = vtk.Rendering.Core.vtkRenderer.newInstance();
    this.renderer.setTwoSidedLighting(true);
    stage.window.addRenderer(this.renderer);
    this.full = layer(vtk, this.renderer);
    this.proxy = layer(vtk, this.renderer);
    this.proxy.actor.setVisibility(false);
    this.lut = vtk.Common.Core.vtkLookupTable.newInstance();
    this.parts = new Map(); // name → layer with .key
    this.markers = new Map(); // id → layer
    this.mesh = null;
  }

  delete() {
    this.stage.window.removeRenderer(this.renderer);
    this.renderer.delete();
  }

  array(values, components, name) {
    return this.stage.vtk.Common.Core.vtkDataArray.newInstance({ values, numberOfComponents: components, name });
  }

  viewport(x0, y0, x1, y1) {
    this.renderer.setViewport(x0, y0, x1, y1);
  }

  background(colour) {
    this.renderer.setBackground(...rgb01(colour), 1);
  }

  /** `aside`: how far the middle of the viewport is right of the line of sight, in halves of its width. */
  camera(c, aside = 0) {
    const camera = this.renderer.getActiveCamera();
    camera.setPosition(...c.position);
    camera.setFocalPoint(...c.focal);
    camera.setViewUp(...c.up);
    camera.setViewAngle(c.angle);
    camera.setWindowCenter(aside, 0);
    camera.setClippingRange(...clippingRange(c, this.radius ?? 1.1));
  }

  // ---- surface ---------------------------------------------------------------------------------------------------

  setMesh(mesh) {
    if (this.mesh === mesh) return;
    this.mesh = mesh;
    const n = mesh.points.length / 3;
    const normals = Float32Array.from(mesh.normals, (v) => v / 127);
    this.planar = n > 0 && mesh.normals.every((v, i) => Math.abs(v - mesh.normals[i % 3]) <= 1);
    this.radius = 1.05;
    for (let i = 0; i < n; i++) this.radius = Math.max(this.radius, norm(mesh.points.subarray(3 * i, 3 * i + 3)) + 0.05);
    this.full.data.getPoints().setData(mesh.points, 3);
    this.full.data.getPolys().setData(withCounts(mesh.triangles, 3));
    this.full.data.getLines().setData(withCounts(mesh.edges, 2));
    this.full.data.getVerts().setData(withCounts(mesh.dots, 1));
    this.full.data.getPointData().setNormals(this.array(normals, 3, 'Normals'));
    this.full.property.setLineWidth(2);
    this.full.property.setPointSize(6);
    this.full.data.modified();
    // the proxy has only the vertices it uses; `representatives` says which those are
    const used = new Map();
    const cells = Uint32Array.from(mesh.proxy, (v) => {
      if (!used.has(v)) used.set(v, used.size);
      return used.get(v);
    });
    this.representatives = cells.length ? Uint32Array.from(used.keys()) : null;
    if (cells.length) {
      const points = new Float32Array(3 * used.size), nrm = new Float32Array(3 * used.size);
      this.representatives.forEach((v, i) => {
        points.set(mesh.points.subarray(3 * v, 3 * v + 3), 3 * i);
        nrm.set(normals.subarray(3 * v, 3 * v + 3), 3 * i);
      });
      this.proxy.data.getPoints().setData(points, 3);
      this.proxy.data.getPolys().setData(withCounts(cells, 3));
      this.proxy.data.getPointData().setNormals(this.array(nrm, 3, 'Normals'));
    }
    this.useProxy(false);
    for (const each of [this.full, this.proxy]) {
      each.data.getPointData().setScalars(null);
      each.data.getCellData().setScalars(null);
      each.scalars = null;
      each.mapper.setResolveCoincidentTopologyToPolygonOffset();
      each.mapper.setRelativeCoincidentTopologyPolygonOffsetParameters?.(1, 1);
      each.data.modified();
    }
  }

  useProxy(on) {
    const use = on && this.representatives !== null;
    this.full.actor.setVisibility(!use);
    this.proxy.actor.setVisibility(use);
    return use;
  }

  look({ plain, opacity, wireframe, edgeColour, dark }) {
    for (const each of [this.full, this.proxy]) {
      each.property.setSpecular(this.planar ? 0 : dark ? 0.22 : 0.06); // a sheen, so that black shapes keep a form
      each.property.setSpecularPower(dark ? 8 : 24);
      each.property.setColor(...rgb01(plain));
      each.property.setOpacity(opacity);
      each.property.setEdgeVisibility(wireframe);
      each.property.setEdgeColor(...rgb01(edgeColour));
      each.property.setBackfaceCulling(Boolean(this.mesh?.closed) && opacity >= 1 && !this.plane);
    }
  }

  /** Colour the surface (or its proxy) by values, or not at all (values null); arrays are handed over, not copied. */
  colour(values, { where, limits, proxy = false }) {
    const each = proxy ? this.proxy : this.full;
    if (!values) {
      each.mapper.setScalarVisibility(false);
      return;
    }
    const face = where === 'face', others = this.mesh.dots.length + this.mesh.edges.length / 2;
    if (face && others) {
      // vtk.js counts vertices and lines before triangles; they have no value of their own
      const padded = new Float32Array(others + values.length).fill(NaN);
      padded.set(values, others);
      values = padded;
    }
    if (each.scalars && each.face === face && each.scalars.getNumberOfValues() === values.length) {
      each.scalars.setData(values, 1);
    } else {
      each.scalars = this.array(values, 1, 'values');
      each.face = face;
      each.data.getPointData().setScalars(face ? null : each.scalars);
      each.data.getCellData().setScalars(face ? each.scalars : null);
      each.mapper.setScalarMode(face ? 2 : 1);
      each.mapper.setInterpolateScalarsBeforeMapping(!face);
      each.mapper.setLookupTable(this.lut);
    }
    each.mapper.setScalarRange(...limits);
    each.mapper.setScalarVisibility(true);
    each.data.modified();
  }

  /** Set the colour table (RGBA bytes) unless it is the one in use. */
  table(rgba, nanColour) {
    if (this.rgba === rgba) return;
    this.rgba = rgba;
    this.lut.setTable(this.array(rgba, 4, 'table'));
    this.lut.setNanColor([...rgb01(nanColour), 1]);
    this.lut.modified();
    for (const each of [this.full, this.proxy, this.parts.get('cap')]) each?.mapper.modified();
  }

  /** Keep x·normal ≤ offset; null: keep all. */
  clip(normal, offset) {
    const { vtk } = this.stage;
    if (!normal) {
      if (this.plane) for (const each of this.clipped()) each.mapper.removeAllClippingPlanes();
      this.plane = null;
      return;
    }
    this.plane ??= vtk.Common.DataModel.vtkPlane.newInstance();
    this.plane.setNormal(-normal[0], -normal[1], -normal[2]);
    this.plane.setOrigin(normal[0] * offset, normal[1] * offset, normal[2] * offset);
    for (const each of this.clipped()) {
      if (!each.mapper.getClippingPlanes().includes(this.plane)) each.mapper.addClippingPlane(this.plane);
    }
  }

  clipped() {
    const parts = ['arrows', 'iso', 'level'].map((name) => this.parts.get(name)).filter((p) => p && !p.glyphs?.onCut);
    return [this.full, this.proxy, ...parts];
  }

  // ---- parts -----------------------------------------------------------------------------------------------------

  /** The layer of a name, made when needed; its `key` tells callers what it holds. */
  part(name, options) {
    if (!this.parts.has(name)) this.parts.set(name, layer(this.stage.vtk, this.renderer, options));
    return this.parts.get(name);
  }

  dropParts(prefix, keep = new Set()) {
    for (const [name, each] of this.parts) {
      if (name.startsWith(prefix) && !keep.has(name)) {
        each.delete();
        this.parts.delete(name);
      }
    }
  }
}

Object.assign(Drawing.prototype, parts);
