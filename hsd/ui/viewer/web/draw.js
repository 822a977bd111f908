// vtk.js: what one renderer (a panel) shows.  Nothing here knows about scenes or the DOM around.
//
// Traps: a changed scalar array is drawn only after polydata.modified(); the clipping range belongs to every renderer.

import { clippingRange, norm } from './camera.js';
import { rgb01 } from './fields.js';
import { arrowBuffers, colourArrows, placeArrows, sphere, tube, withCounts } from './shapes.js';

/** A polydata, its mapper and actor. */
function layer(vtk, renderer, { lit = true } = {}) {
  const data = vtk.Common.DataModel.vtkPolyData.newInstance();
  const mapper = vtk.Rendering.Core.vtkMapper.newInstance();
  const actor = vtk.Rendering.Core.vtkActor.newInstance();
  mapper.setInputData(data);
  mapper.setScalarVisibility(false);
  actor.setMapper(mapper);
  const property = actor.getProperty();
  property.setLighting(lit);
  property.setInterpolationToPhong();
  property.setAmbient(0.3);
  property.setDiffuse(0.76);
  property.setSpecular(0.06);
  property.setSpecularPower(24);
  renderer.addActor(actor);
  return { data, mapper, actor, property, delete: () => renderer.removeActor(actor) };
}

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

  camera(c) {
    const camera = this.renderer.getActiveCamera();
    camera.setPosition(...c.position);
    camera.setFocalPoint(...c.focal);
    camera.setViewUp(...c.up);
    camera.setViewAngle(c.angle);
    camera.setClippingRange(...clippingRange(c, this.radius ?? 1.1));
  }

  // ---- surface ---------------------------------------------------------------------------------------------------

  setMesh(mesh) {
    if (this.mesh === mesh) return;
    this.mesh = mesh;
    const n = mesh.points.length / 3;
    const normals = Float32Array.from(mesh.normals, (v) => v / 127);
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

  look({ plain, opacity, wireframe, edgeColour }) {
    for (const each of [this.full, this.proxy]) {
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
    const parts = ['arrows', 'iso', 'level'].map((name) => this.parts.get(name)).filter(Boolean);
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

  /** Loose segments (6 numbers each) of one colour; an empty array removes them. */
  segments(name, xyz, colour, width, opacity = 1) {
    if (!xyz.length) {
      this.dropParts(name);
      return;
    }
    const part = this.part(name, { lit: false });
    if (part.xyz !== xyz) {
      const n = xyz.length / 3;
      part.data.getPoints().setData(xyz, 3);
      part.data.getLines().setData(withCounts(Uint32Array.from({ length: n }, (_, i) => i), 2));
      part.data.modified();
      part.xyz = xyz;
    }
    part.property.setColor(...rgb01(colour));
    part.property.setLineWidth(width);
    part.property.setOpacity(opacity);
    if (this.plane && (name === 'iso' || name === 'level') && !part.mapper.getClippingPlanes().length) {
      part.mapper.addClippingPlane(this.plane);
    }
  }

  /** Many points of one colour. */
  dots(name, xyz, colour, size) {
    const part = this.part(name, { lit: false });
    if (part.xyz !== xyz) {
      part.data.getPoints().setData(xyz, 3);
      part.data.getVerts().setData(withCounts(Uint32Array.from({ length: xyz.length / 3 }, (_, i) => i), 1));
      part.data.modified();
      part.xyz = xyz;
    }
    part.property.setColor(...rgb01(colour));
    part.property.setPointSize(size);
  }

  /** A tube along a polyline. */
  tube(name, xyz, closed, radius, colour) {
    const part = this.part(name);
    if (part.xyz !== xyz) {
      const shape = tube(xyz, closed, radius);
      part.data.getPoints().setData(shape.points, 3);
      part.data.getPolys().setData(shape.polys);
      part.data.getPointData().setNormals(this.array(shape.normals, 3, 'Normals'));
      part.data.modified();
      part.xyz = xyz;
    }
    part.property.setColor(...rgb01(colour));
  }

  /** Arrows: glyph asset, vectors (3 n), length per magnitude, ink and paper as hex. */
  arrows(glyphs, vectors, length, ink, paper) {
    const part = this.part('arrows', { lit: false });
    const both = this.mesh && !this.mesh.closed;
    if (part.glyphs !== glyphs || part.both !== both) {
      part.glyphs = glyphs;
      part.both = both;
      part.buffers = arrowBuffers(glyphs.points.length / 3, { both, volume: glyphs.volume });
      part.data.getPoints().setData(part.buffers.points, 3);
      part.data.getPolys().setData(part.buffers.polys);
      part.scalars = this.array(part.buffers.colours, 3, 'ink');
      part.data.getPointData().setScalars(part.scalars);
      part.mapper.setScalarVisibility(true);
      part.mapper.setColorModeToDirectScalars();
      part.property.setBackfaceCulling(!glyphs.volume); // none may peek out beyond the horizon
      part.look = '';
      if (this.plane) part.mapper.addClippingPlane(this.plane);
    }
    if (part.look !== ink + paper) {
      part.look = ink + paper;
      colourArrows(part.buffers, rgb01(ink).map((v) => v * 255), rgb01(paper).map((v) => v * 255));
      part.scalars.modified();
    }
    placeArrows(part.buffers, glyphs.points, glyphs.normals, vectors, length);
    part.data.getPoints().modified();
    part.data.modified();
  }

  /** The filled cut of tets: corner positions (9 numbers a triangle) and one value a corner (or none). */
  cap(xyz, values, limits, plain) {
    if (!xyz.length) {
      this.dropParts('cap');
      return;
    }
    const part = this.part('cap');
    part.data.getPoints().setData(xyz, 3);
    part.data.getPolys().setData(withCounts(Uint32Array.from({ length: xyz.length / 3 }, (_, i) => i), 3));
    part.data.getPointData().setScalars(values ? this.array(values, 1, 'values') : null);
    part.mapper.setScalarVisibility(Boolean(values));
    part.mapper.setInterpolateScalarsBeforeMapping(true);
    part.mapper.setLookupTable(this.lut);
    if (values) part.mapper.setScalarRange(...limits);
    part.property.setColor(...rgb01(plain));
    part.property.setInterpolationToFlat();
    part.property.setAmbient(0.55);
    part.property.setDiffuse(0.45);
    part.data.modified();
  }

  /** Spheres: [{id, pos, colour, selected}], radius in ball units. */
  spheres(list, radius) {
    for (const [id, each] of this.markers) {
      if (!list.some((m) => m.id === id)) {
        each.delete();
        this.markers.delete(id);
      }
    }
    for (const m of list) {
      if (!this.markers.has(m.id)) {
        const made = layer(this.stage.vtk, this.renderer), shape = sphere();
        made.data.getPoints().setData(shape.points, 3);
        made.data.getPolys().setData(shape.polys);
        made.data.getPointData().setNormals(this.array(shape.normals, 3, 'Normals'));
        made.property.setSpecular(0.4);
        this.markers.set(m.id, made);
      }
      const { actor, property } = this.markers.get(m.id), r = m.selected ? radius * 1.35 : radius;
      actor.setPosition(...m.pos);
      actor.setScale(r, r, r);
      property.setColor(...rgb01(m.colour));
      property.setAmbient(m.selected ? 0.5 : 0.25);
    }
  }
}
