// Camera mathematics, pure.  A camera is {position, focal, up, angle}: positions in the unit ball's coordinates, `up`
// a unit vector orthogonal to the line of sight, `angle` the full vertical opening in degrees.  Screen points are
// CSS pixels from the top left corner of a panel of size w × h.

export const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
export const norm = (a) => Math.hypot(a[0], a[1], a[2]);
export const unit = (a) => scale(a, 1 / (norm(a) || 1));

/** Right-handed frame of a camera: right, up, and back (towards the viewer). */
export function frame(camera) {
  const back = unit(sub(camera.position, camera.focal));
  const right = unit(cross(camera.up, back));
  return { right, up: cross(back, right), back };
}

/** Rotate v about a unit axis by `angle` radians (Rodrigues). */
export function turn(v, axis, angle) {
  const c = Math.cos(angle), s = Math.sin(angle);
  return add(add(scale(v, c), scale(cross(axis, v), s)), scale(axis, dot(axis, v) * (1 - c)));
}

/** Turn about the focal point as if a ball were rolled by the drag: dx, dy in units of the panel's shorter side. */
export function orbit(camera, dx, dy) {
  const { right, up } = frame(camera);
  const step = add(scale(up, -dx), scale(right, -dy)); // axis times angle
  const angle = norm(step) * Math.PI;
  if (!angle) return camera;
  const axis = unit(step);
  const arm = turn(sub(camera.position, camera.focal), axis, angle);
  return { ...camera, position: add(camera.focal, arm), up: unit(turn(camera.up, axis, angle)) };
}

/** Turn about the line of sight by `angle` radians. */
export function roll(camera, angle) {
  return { ...camera, up: turn(camera.up, frame(camera).back, angle) };
}

/** Move camera and focal point so that the focal plane follows the pointer: dx, dy pixels, h panel height. */
export function pan(camera, dx, dy, h) {
  const { right, up } = frame(camera);
  const distance = norm(sub(camera.position, camera.focal));
  const perPixel = (2 * distance * Math.tan((camera.angle * Math.PI) / 360)) / h;
  const move = add(scale(right, -dx * perPixel), scale(up, dy * perPixel));
  return { ...camera, position: add(camera.position, move), focal: add(camera.focal, move) };
}

/** Come nearer (factor < 1) or go away; kept between 0.05 and 50 ball radii from the focal point. */
export function zoom(camera, factor) {
  const arm = sub(camera.position, camera.focal);
  const distance = Math.min(50, Math.max(0.05, norm(arm) * factor));
  return { ...camera, position: add(camera.focal, scale(unit(arm), distance)) };
}

/** Ray through a screen point: {origin, direction} with unit direction. */
export function ray(camera, x, y, w, h) {
  const { right, up, back } = frame(camera);
  const half = Math.tan((camera.angle * Math.PI) / 360);
  const sx = ((2 * x) / w - 1) * half * (w / h), sy = (1 - (2 * y) / h) * half;
  return { origin: camera.position, direction: unit(sub(add(scale(right, sx), scale(up, sy)), back)) };
}

/** Screen point of p and its distance along the line of sight: [x, y, depth]; depth ≤ 0 is behind the camera. */
export function project(camera, p, w, h) {
  const { right, up, back } = frame(camera);
  const d = sub(p, camera.position), depth = -dot(d, back);
  const s = h / 2 / Math.tan((camera.angle * Math.PI) / 360) / (depth || 1e-9);
  return [w / 2 + dot(d, right) * s, h / 2 - dot(d, up) * s, depth];
}

/** Camera looking along `direction` (from the object to the viewer: −direction) that just holds all points (Float32Array
 * xyz) in a panel of aspect w/h, with a margin of the panel's size. */
export function fit(points, direction, upHint, aspect, angle = 28, margin = 0.05) {
  const back = unit(scale(direction, -1));
  let up = sub(upHint, scale(back, dot(upHint, back)));
  if (norm(up) < 1e-6) up = Math.abs(back[2]) < 0.9 ? [0, 0, 1] : [0, 1, 0];
  up = unit(sub(up, scale(back, dot(up, back))));
  const right = cross(up, back);
  const ty = Math.tan((angle * Math.PI) / 360) * (1 - 2 * margin), tx = ty * aspect;
  const n = points.length / 3, step = Math.max(1, Math.floor(n / 4000));
  // the four side planes of the frustum: a point is inside when ±x ≤ tx·depth; find the tightest apex
  let x0 = -Infinity, x1 = -Infinity, y0 = -Infinity, y1 = -Infinity, near = -Infinity;
  for (let i = 0; i < n; i += step) {
    const p = [points[3 * i], points[3 * i + 1], points[3 * i + 2]];
    const x = dot(p, right), y = dot(p, up), z = dot(p, back);
    x0 = Math.max(x0, -x + tx * z); x1 = Math.max(x1, x + tx * z);
    y0 = Math.max(y0, -y + ty * z); y1 = Math.max(y1, y + ty * z);
    near = Math.max(near, z);
  }
  if (!n) { x0 = x1 = tx; y0 = y1 = ty; near = 0; }
  const cx = (x1 - x0) / 2, cy = (y1 - y0) / 2;
  const z = Math.max((x0 + x1) / (2 * tx), (y0 + y1) / (2 * ty), near + 0.05);
  const depth = Math.max(0.3, z); // the focal plane goes through the ball's centre
  const focal = add(scale(right, cx), scale(up, cy));
  return { position: add(focal, scale(back, depth)), focal, up, angle };
}

/** Near and far distance that hold the ball of `radius` around the origin. */
export function clippingRange(camera, radius = 1.05) {
  const { back } = frame(camera);
  const toCentre = dot(camera.position, back);
  const far = Math.max(toCentre + radius, 0.02);
  return [Math.max(toCentre - radius, far * 1e-3, 0.002), far];
}
