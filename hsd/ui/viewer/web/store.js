// Assets: packed arrays that arrive in their own tiny components, kept in one map by content hash.
//
// An asset is held while the component that brought it is in the page (Streamlit does not send it again as long as it
// is unchanged); those no longer held are dropped oldest first above a limit.

const LIMIT = 256 * 2 ** 20; // bytes of assets that no component holds
const TYPES = { f4: Float32Array, u4: Uint32Array, i2: Int16Array, i1: Int8Array, u1: Uint8Array };

const store = (globalThis.__hsdAssets ??= { map: new Map(), waiting: new Map(), held: new Map() });

/** Header and typed arrays of a block: u32 header length | JSON | arrays at multiples of 8, little endian. */
export function unpack(bytes) {
  const block = bytes.slice(); // an own, aligned buffer: the bytes given may start anywhere
  const size = new DataView(block.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(block.subarray(4, 4 + size)));
  const asset = { ...head, bytes: block.byteLength };
  for (const [name, { t, shape, off }] of Object.entries(head.arrays)) {
    const n = shape.reduce((a, b) => a * b, 1);
    asset[name] = new TYPES[t](block.buffer, off, n);
    asset[name].shape = shape;
  }
  return asset;
}

/** Entry point of the asset component. */
export function receive(component) {
  const bytes = component.data;
  if (!(bytes instanceof Uint8Array)) return () => {};
  const owner = component.key;
  const asset = unpack(bytes);
  store.map.delete(asset.hash); // newest last
  store.map.set(asset.hash, asset);
  store.held.set(owner, asset.hash);
  store.waiting.get(asset.hash)?.forEach((resolve) => resolve(asset));
  store.waiting.delete(asset.hash);
  evict();
  const root = component.parentElement;
  // Streamlit may call this for a call that was overtaken by a newer one, so look before letting go.
  return () => setTimeout(() => {
    if (!(root.host ?? root).isConnected) store.held.delete(owner);
  });
}

function evict() {
  const held = new Set(store.held.values());
  let free = [...store.map.values()].filter((a) => !held.has(a.hash));
  let total = free.reduce((sum, a) => sum + a.bytes, 0);
  for (const asset of free) {
    if (total <= LIMIT) return;
    store.map.delete(asset.hash);
    total -= asset.bytes;
  }
}

/** The asset, or undefined. */
export const peek = (hash) => store.map.get(hash);

/** The asset as soon as it is here. */
export function want(hash) {
  const asset = store.map.get(hash);
  if (asset) return Promise.resolve(asset);
  return new Promise((resolve) => {
    if (!store.waiting.has(hash)) store.waiting.set(hash, []);
    store.waiting.get(hash).push(resolve);
  });
}

/** All hashes that a scene names. */
export function hashesOf(scene) {
  const out = new Set();
  for (const p of scene.panels) {
    out.add(p.mesh);
    if (p.colour) out.add(p.colour.mix.cols);
    if (p.arrows) out.add(p.arrows.glyphs).add(p.arrows.mix.cols);
    if (p.super) out.add(p.super.tree);
    for (const part of [...p.tubes, ...p.segments, ...p.dots]) out.add(part.points);
  }
  return [...out];
}
