// vtk.js: the one canvas of a view, with one renderer a panel (Drawing).
//
// Trap: a WebGL context is freed only by loseContext(); browsers drop the oldest beyond sixteen.

import { Drawing } from './draw.js';

let loading = null;

/** Load vtk.js once; resolves to its namespace. */
export function loadVtk(url) {
  loading ??= import(url).then(() => globalThis.vtk);
  return loading;
}

let probed;

/** What draws WebGL here: null without WebGL2, else {software, name}.  Looked up once a page. */
export function probe() {
  if (probed === undefined) probed = look();
  return probed;
}

function look() {
  const canvas = document.createElement('canvas');
  const gl = canvas.getContext('webgl2');
  if (!gl) return null;
  const info = gl.getExtension('WEBGL_debug_renderer_info');
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension('WEBGL_lose_context')?.loseContext();
  return { software: /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name), name };
}

export class Stage {
  constructor(host, vtk, { software }) {
    this.vtk = vtk;
    this.software = software;
    this.window = vtk.Rendering.Core.vtkRenderWindow.newInstance();
    this.gl = this.window.newAPISpecificView('WebGL');
    // the first getContext decides: no multisampling where every sample costs a processor
    this.context = this.gl.getCanvas().getContext('webgl2', { antialias: !software, alpha: true, depth: true });
    this.gl.setContainer(host);
    this.window.addView(this.gl);
    this.canvas = this.gl.getCanvas();
    Object.assign(this.canvas.style, { width: '100%', height: '100%', display: 'block' });
    this.drawings = [];
  }

  /** Make at least n drawings, in order; those beyond n are kept with what they hold, and not drawn. */
  count(n) {
    while (this.drawings.length < n) this.drawings.push(new Drawing(this));
    for (const spare of this.drawings.slice(n)) spare.renderer.setDraw(false);
  }

  /** Backing size in device pixels. */
  size(width, height) {
    this.gl.setSize(Math.max(1, Math.round(width)), Math.max(1, Math.round(height)));
  }

  render() {
    this.window.render();
  }

  delete() {
    for (const drawing of this.drawings) drawing.delete();
    this.window.removeView(this.gl);
    this.gl.setContainer(null);
    this.context?.getExtension('WEBGL_lose_context')?.loseContext();
    this.gl.delete();
    this.window.delete();
  }
}
