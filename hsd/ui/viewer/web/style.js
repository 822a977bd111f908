// Styles of the DOM parts, and the colours of the themes.

export const CSS = `
.hsd-viewer { --ink: #1f2328; --paper: #fff; --muted: #6b7280; --line: #d5d9df; --accent: #2563eb; --f: 13px;
  font-family: var(--font, sans-serif); font-size: var(--f); color: var(--ink); line-height: 1.35; }
.hsd-viewer * { box-sizing: border-box; }
.hsd-viewer.framed { background: var(--paper); }
.hsd-viewer figure { margin: 0; }
.stage { position: relative; background: var(--paper); border: 1px solid var(--line); border-radius: 8px;
  overflow: hidden; outline: none; touch-action: none; user-select: none; cursor: grab; }
.stage:focus { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
.stage.placing { cursor: crosshair; }
.stage.turning { cursor: grabbing; }
.stage .canvas { position: absolute; inset: 0; }
.stage .overlay { position: absolute; inset: 0; pointer-events: none; overflow: hidden; }
.cell { position: absolute; }
.cell + .cell { border-left: 0; }
.cell .title { position: absolute; left: 12px; top: 9px; right: 12px; font-weight: 600; font-size: 1.06em;
  text-shadow: 0 0 3px var(--paper), 0 0 3px var(--paper); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.cell.half .title { right: 50%; }
.cell.half.right .title { left: 50%; right: 12px; text-align: right; }
.edge { position: absolute; width: 15px; margin-left: -7px; pointer-events: auto; cursor: ew-resize; touch-action: none; }
.edge::before { content: ''; position: absolute; left: 6px; width: 2px; top: 0; bottom: 0; background: var(--ink);
  box-shadow: 0 0 0 1px var(--paper); }
.cell .note { position: absolute; left: 12px; top: calc(12px + 1.5em); font-size: .86em; color: var(--muted); }
.cell .key { position: absolute; left: 12px; bottom: 9px; display: flex; align-items: center; gap: 7px; font-size: .9em;
  text-shadow: 0 0 3px var(--paper), 0 0 3px var(--paper); }
.cell .legend { position: absolute; left: 12px; bottom: 34px; font-size: .9em; }
figure > .legend { display: flex; flex-wrap: wrap; gap: 2px 16px; margin-top: 6px; font-size: .9em; }
figure > .legend:empty { display: none; }
.legend i, .bar .cat i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px;
  vertical-align: -1px; border: 1px solid rgba(128,128,128,.5); }
.bar { position: absolute; }
.bar .name { position: absolute; top: 9px; left: 0; right: 4px; font-size: .92em; line-height: 1.2; max-height: 2.4em;
  overflow: hidden; }
.bar .name small { color: var(--muted); font-size: 1em; }
.bar canvas { position: absolute; border: 1px solid var(--line); }
.bar .tick { position: absolute; font-size: .88em; white-space: nowrap; transform: translateY(-50%);
  font-variant-numeric: tabular-nums; }
.bar .tick::before { content: ''; position: absolute; left: -7px; top: 50%; width: 4px; border-top: 1px solid var(--ink); }
.bar .cat { font-size: .9em; margin: 3px 0; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.tools { position: absolute; right: 8px; bottom: 8px; display: flex; gap: 4px; pointer-events: auto; opacity: .45;
  transition: opacity .15s; background: var(--paper); border-radius: 6px; }
.stage:hover .tools, .stage:focus .tools, .stage:focus-within .tools { opacity: 1; }
button.tool { all: unset; width: 28px; height: 28px; display: grid; place-items: center; border-radius: 6px;
  border: 1px solid var(--line); background: var(--paper); color: var(--ink); cursor: pointer; }
button.tool:hover { border-color: var(--accent); color: var(--accent); }
button.tool:focus-visible { outline: 2px solid var(--accent); }
button.tool[aria-pressed=true] { background: var(--accent); border-color: var(--accent); color: #fff; }
button.tool svg { width: 16px; height: 16px; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round;
  stroke-linejoin: round; }
.ring { position: absolute; width: 14px; height: 14px; margin: -7px 0 0 -7px; border-radius: 50%;
  border: 2px solid var(--ink); box-shadow: 0 0 0 1.5px var(--paper), inset 0 0 0 1.5px var(--paper); }
.ring.behind { opacity: .35; }
.card { position: absolute; background: var(--paper); color: var(--ink); border: 1px solid var(--line); border-radius: 7px;
  padding: 5px 9px; font-variant-numeric: tabular-nums; box-shadow: 0 2px 8px rgba(0,0,0,.18); white-space: nowrap;
  max-width: 100%; overflow: hidden; text-overflow: ellipsis; }
.card b { font-weight: 600; }
.card small { display: block; color: var(--muted); font-size: .86em; }
.label { position: absolute; transform: translate(12px, -50%); font-size: .9em; font-weight: 600;
  text-shadow: 0 0 3px var(--paper), 0 0 3px var(--paper), 0 0 3px var(--paper); white-space: nowrap; }
.label.left { transform: translate(calc(-100% - 12px), -50%); }
.hint { position: absolute; left: 50%; bottom: 14px; transform: translateX(-50%); background: var(--ink);
  color: var(--paper); padding: 4px 12px; border-radius: 14px; opacity: 0; transition: opacity .25s; font-size: .95em; }
.hint.on { opacity: .92; }
.controls { display: grid; grid-template-columns: auto 1fr auto; gap: 3px 12px; align-items: center; margin-top: 8px; }
.controls .row { display: contents; }
.controls label { white-space: nowrap; font-weight: 500; }
.controls .middle { display: flex; align-items: center; gap: 8px; }
.controls input[type=range] { flex: 1; min-width: 80px; accent-color: var(--accent); height: 24px; margin: 0; }
.controls output { font-variant-numeric: tabular-nums; min-width: 9.5em; white-space: nowrap; }
figcaption { color: var(--muted); margin-top: 6px; font-size: .95em; }
.nogl { padding: 24px; color: var(--ink); }
@media (prefers-reduced-motion: reduce) { .hsd-viewer * { transition: none !important; } }
`;

const LIGHT = { ink: '#1f2328', paper: '#ffffff', muted: '#667085', line: '#d9dde3', accent: '#2563eb', halo: '#ffffff',
  nan: '#b9bec6', font: 'sans-serif', size: 13, thick: 1 };
const DARK = { ...LIGHT, ink: '#f0f2f5', paper: '#14171c', muted: '#a4acb8', line: '#363c47', accent: '#6ea8fe',
  halo: '#0b0e13', nan: '#5a616d' };
// for the far end of a lecture hall: pure white, black, larger, thicker
const PROJECTOR = { ...LIGHT, ink: '#000000', muted: '#333333', line: '#8a8f98', accent: '#0b4fd0', size: 18, thick: 1.45 };

const toHex = (text) => {
  const [r, g, b] = (text.match(/[\d.]+/g) ?? []).map(Number);
  return text.startsWith('#') && text.length >= 7 ? text.slice(0, 7)
    : '#' + [r, g, b].map((v) => Math.round(v).toString(16).padStart(2, '0')).join('');
};

/** Colours and sizes for a theme name, from Streamlit's own custom properties where they are given. */
export function themeOf(name, element) {
  const css = getComputedStyle(element);
  const own = (property) => css.getPropertyValue(property).trim();
  const font = own('--st-font') || css.fontFamily || 'sans-serif';
  if (name === 'projector') return { ...PROJECTOR, font };
  const paper = own('--st-background-color'), ink = own('--st-text-color');
  const usable = (c) => /^#[0-9a-f]{6}/i.test(c) || /^rgba?\(/.test(c);
  if (name !== 'auto' || !usable(paper) || !usable(ink)) return { ...(name === 'dark' ? DARK : LIGHT), font };
  const bg = toHex(paper), luminance = [1, 3, 5].reduce((s, i, k) => s + parseInt(bg.slice(i, i + 2), 16) * [0.2126, 0.7152, 0.0722][k], 0);
  const base = luminance < 110 ? DARK : LIGHT, accent = own('--st-primary-color');
  return { ...base, font, paper: bg, halo: base === DARK ? base.halo : bg, ink: toHex(ink),
    accent: usable(accent) ? toHex(accent) : base.accent };
}

export function applyTheme(root, theme) {
  for (const name of ['ink', 'paper', 'muted', 'line', 'accent', 'font']) root.style.setProperty(`--${name}`, theme[name]);
  root.style.setProperty('--f', `${theme.size}px`);
}
