// Methods of Drawing for what lies on, in and around the surface: lines, dots, tubes, arrows, cuts, spheres.

import { layer } from './layer.js';
import { rgb01 } from './fields.js';
import { arrowBuffers, colourArrows, placeArrows, sphere, spheres, tube, withCounts } from './shapes.js';

const FEW_DOTS = 200; // so many are drawn as balls, more as squares of a fixed size in pixels

export const parts = {
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
  },

  /** Triangles of their own corners over the surface (9 numbers each), a colour each; none removes them. */
  patches(name, { xyz, normals, colour, colours }) {
    if (!xyz.length) {
      this.dropParts(name);
      return;
    }
    const part = this.part(name), n = xyz.length / 3, rgb = new Uint8Array(3 * n), known = colours.map(rgb01);
    for (let i = 0; i < n; i++) rgb.set(known[colour[Math.floor(i / 3)]].map((v) => 255 * v), 3 * i);
    part.data.getPoints().setData(xyz, 3);
    part.data.getPolys().setData(withCounts(Uint32Array.from({ length: n }, (_, i) => i), 3));
    part.data.getPointData().setNormals(this.array(normals, 3, 'Normals'));
    part.data.getPointData().setScalars(this.array(rgb, 3, 'colours'));
    part.mapper.setScalarVisibility(true);
    part.mapper.setColorModeToDirectScalars();
    part.mapper.setResolveCoincidentTopologyToPolygonOffset();
    part.mapper.setRelativeCoincidentTopologyPolygonOffsetParameters?.(-1, -1);
    part.property.setBackfaceCulling(Boolean(this.mesh?.closed));
    part.data.modified();
  },

  /** Points of one colour: few as balls of a radius in ball units, many as squares of a size in pixels. */
  dots(name, xyz, colour, size, radius) {
    const few = xyz.length <= 3 * FEW_DOTS;
    if (this.parts.get(name)?.few === !few) this.dropParts(name);
    const part = this.part(name, { lit: few });
    part.few = few;
    if (part.xyz !== xyz && few) {
      const shape = spheres(xyz, radius);
      part.data.getPoints().setData(shape.points, 3);
      part.data.getPolys().setData(shape.polys);
      part.data.getPointData().setNormals(this.array(shape.normals, 3, 'Normals'));
      part.property.setAmbient(0.5);
      part.data.modified();
      part.xyz = xyz;
    } else if (part.xyz !== xyz) {
      part.data.getPoints().setData(xyz, 3);
      part.data.getVerts().setData(withCounts(Uint32Array.from({ length: xyz.length / 3 }, (_, i) => i), 1));
      part.data.modified();
      part.xyz = xyz;
    }
    part.property.setColor(...rgb01(colour));
    part.property.setPointSize(size);
  },

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
  },

  /** Arrows: glyph asset, vectors (3 n), length per magnitude, ink and paper as hex. */
  arrows(glyphs, vectors, length, ink, paper) {
    const part = this.part('arrows', { lit: false });
    const both = this.mesh && !this.mesh.closed;
    if (part.glyphs !== glyphs || part.both !== both) {
      part.glyphs = glyphs;
      part.both = both;
      part.buffers = arrowBuffers(glyphs.points.length / 3, { both: both && !glyphs.onCut, volume: glyphs.volume, stand: glyphs.onCut });
      part.data.getPoints().setData(part.buffers.points, 3);
      part.data.getPolys().setData(part.buffers.polys);
      part.scalars = this.array(part.buffers.colours, 3, 'ink');
      part.data.getPointData().setScalars(part.scalars);
      part.mapper.setScalarVisibility(true);
      part.mapper.setColorModeToDirectScalars();
      part.property.setBackfaceCulling(!glyphs.volume && !glyphs.onCut); // none may peek out beyond the horizon
      part.look = '';
      part.mapper.removeAllClippingPlanes();
      if (this.plane && !glyphs.onCut) part.mapper.addClippingPlane(this.plane);
    }
    if (part.look !== ink + paper) {
      part.look = ink + paper;
      colourArrows(part.buffers, rgb01(ink).map((v) => v * 255), rgb01(paper).map((v) => v * 255));
      part.scalars.modified();
    }
    placeArrows(part.buffers, glyphs.points, glyphs.normals, vectors, length);
    part.data.getPoints().modified();
    part.data.modified();
  },

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
  },

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
  },
};
