"""What surrounds a headless picture: titles, colour bars, captions, drawn with Pillow; the numbers as in the page."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from math import ceil, floor, log10
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from hsd.viz.palettes import colour_stops
from hsd.viz.scene import Colour
from hsd.viz.style import Ink

MINUS = "\u2212"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@cache
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """DejaVu Sans (with Greek letters), which comes with matplotlib; else Pillow's own, which has no bold."""
    spec = importlib.util.find_spec("matplotlib")  # looked up, not imported
    if spec is not None and spec.origin:
        path = Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / f"DejaVuSans{'-Bold' * bold}.ttf"
        if path.is_file():
            return ImageFont.truetype(str(path), size)
    return ImageFont.load_default(size)


def number(value: float, digits: int = 4) -> str:
    """A number as the page writes it."""
    if value == 0:
        return "0"
    return f"{value:.{digits}g}".replace("-", MINUS)


def ticks(low: float, high: float, n: int = 5) -> list[float]:
    """About n nice values (steps of 1, 2, 5 times a power of ten) inside [low, high]."""
    if not high > low:
        return [low]
    rough = (high - low) / max(n, 1)
    power = 10.0 ** floor(log10(rough))
    step = next(d * power for d in (1, 2, 5, 10) if d * power >= rough * (1 - 1e-9))
    return [i * step for i in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def nice_below(value: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above ``value``."""
    if not value > 0:
        return 0.0
    power = 10.0 ** floor(log10(value))
    return next(d for d in (5, 2, 1) if d * power <= value * (1 + 1e-12)) * power


@dataclass(frozen=True)
class Pen:
    """Where text is drawn: a Pillow canvas, the look, and pixels of a text line."""

    draw: ImageDraw.ImageDraw
    ink: Ink
    size: int

    def text(self, xy, text: str, factor: float = 1.0, muted: bool = False, anchor: str = "la", bold: bool = False):
        self.draw.text(
            xy,
            text,
            font=font(max(8, round(self.size * factor)), bold),
            fill=self.ink.muted if muted else self.ink.ink,
            anchor=anchor,
        )

    def swatch(self, xy, colour: str, text: str):
        """A square of a colour and its name."""
        (x, y), s = xy, self.size
        self.draw.rectangle((x, y - s * 0.4, x + s * 0.8, y + s * 0.4), fill=colour, outline=self.ink.muted)
        self.text((x + 1.3 * s, y), text, 0.95, anchor="lm")


def bar(pen: Pen, colour: Colour, limits: tuple[float, float], box: tuple[int, int, int, int]) -> None:
    """A colour bar in box (x, y, width, height): name and unit on top, ticks at the right; categories as a list."""
    x, y, _, height = box
    s = pen.size
    pen.text((x, y + s * 0.4), colour.name)
    if colour.kind == "category":
        stops = colour_stops("category", len(colour.categories), colour.category_colours)
        for i, name in enumerate(colour.categories):
            top = y + s * (2.6 + 1.6 * i)
            pen.draw.rectangle((x, top, x + s, top + s), fill=stops[i], outline=pen.ink.muted)
            pen.text((x + 1.5 * s, top - 0.1 * s), name)
        return
    top = max(abs(limits[0]), abs(limits[1]))
    power = floor(log10(top)) if top > 0 else 0
    power = power if power >= 4 or power <= -3 else 0
    unit = " ".join(
        t for t in (f"×10{str(power).translate(SUPERSCRIPT)}" if power else "", colour.unit) if t not in ("", "1")
    )
    if unit:
        pen.text((x, y + 1.7 * s), unit, 0.9, muted=True)
    y0, length, width = y + round(3.2 * s), height - round(4.4 * s), s
    stops = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colour_stops(colour.kind)], float)
    at = np.linspace(len(stops) - 1, 0, length)
    column = np.column_stack([np.interp(at, np.arange(len(stops)), stops[:, c]) for c in range(3)])
    picture = Image.fromarray(np.repeat(column[:, None].round().astype(np.uint8), width, axis=1))
    pen.draw._image.paste(picture, (x, y0))
    pen.draw.rectangle((x, y0, x + width, y0 + length), outline=pen.ink.muted, width=max(1, s // 14))
    for value in ticks(limits[0], limits[1], max(2, min(6, length // (3 * s)))):
        ty = y0 + length * (1 - (value - limits[0]) / (limits[1] - limits[0]))
        pen.draw.line((x + width, ty, x + width + s * 0.35, ty), fill=pen.ink.ink, width=max(1, s // 12))
        pen.text((x + width + 0.6 * s, ty), number(value / 10.0**power), 0.95, anchor="lm")


def arrow_key(pen: Pen, xy: tuple[float, float], pixels_per_unit: float, name: str, unit: str) -> None:
    """An arrow of a nice magnitude and what it stands for; ``pixels_per_unit``: drawn length of magnitude 1."""
    value = nice_below(5 * pen.size / pixels_per_unit)
    length, (x, y), s = value * pixels_per_unit, xy, pen.size
    if not length > 0:
        return
    head = min(0.38 * length, 0.9 * s)
    pen.draw.rectangle((x, y - s * 0.1, x + length - head, y + s * 0.1), fill=pen.ink.ink)
    tip = [(x + length - head, y - 0.4 * s), (x + length, y), (x + length - head, y + 0.4 * s)]
    pen.draw.polygon(tip, fill=pen.ink.ink)
    text = f"{name} = {number(value, 3)}" if name else number(value, 3)
    pen.text((x + length + 0.6 * s, y), f"{text} {unit}" if unit not in ("", "1") else text, anchor="lm")


def wrapped(text: str, width: float, size: int) -> list[str]:
    """Text in lines that are at most ``width`` pixels wide."""
    lines, line = [], ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and font(size).getlength(longer) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    return [*lines, line] if line else lines
