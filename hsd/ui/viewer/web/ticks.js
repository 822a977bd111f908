// Numbers as text, pure.

const MINUS = '\u2212';

/** A number with `digits` significant digits, short: 0.00012 → 1.2e−4, 12000 → 1.2e4. */
export function format(value, digits = 4) {
  if (value !== value) return 'no value';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return value > 0 ? '∞' : MINUS + '∞';
  let text;
  if (size >= 1e5 || size < 1e-3) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split('e');
    text = `${mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa}e${Number(exponent)}`;
  } else {
    text = String(Number(value.toPrecision(digits)));
  }
  return text.replaceAll('-', MINUS);
}

/** The nice step (1, 2 or 5 times a power of ten) nearest to `rough` from above. */
export function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const part = rough / power;
  return (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10) * power;
}

/** The largest of 1, 2, 5 times a power of ten that is not above `value`. */
export function niceBelow(value) {
  if (!(value > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(value)), part = value / power;
  return (part >= 5 ? 5 : part >= 2 ? 2 : 1) * power;
}

/** Nice ticks inside [low, high], about n of them and at least two: [{value, text}]; one alone would be no scale. */
export function ticks([low, high], n = 5) {
  if (!(high > low)) return [{ value: low, text: format(low) }];
  const step = niceStep((high - low) / Math.max(n, 1));
  const out = [], first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  for (let i = first; i <= last; i++) out.push({ value: i * step, text: format(Number((i * step).toPrecision(10))) });
  return out.length < 2 && n < 12 ? ticks([low, high], n + 1) : out;
}

/** Common power of ten to take out of tick texts (0 when there is none): ticks then read 0.5, 1 and the bar "×10⁻⁶". */
export function commonPower([low, high]) {
  const top = Math.max(Math.abs(low), Math.abs(high));
  if (!(top > 0)) return 0;
  const power = Math.floor(Math.log10(top));
  return power >= 4 || power <= -3 ? power : 0;
}

const SUPERSCRIPT = { '-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' };

/** "×10⁻⁶", or "" for power 0. */
export function powerText(power) {
  return power ? `×10${[...String(power)].map((c) => SUPERSCRIPT[c]).join('')}` : '';
}
