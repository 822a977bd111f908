"""Text of the terminal: aligned tables, the readable form of a report, and numbers among the options."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence

LABELS = {
    "V": "vertices",
    "E": "edges",
    "F": "triangles",
    "T": "tetrahedra",
    "chi": "Euler characteristic χ",
    "components": "components",
    "boundary_loops": "boundary pieces",
    "closed": "closed",
    "orientable": "orientable",
    "edge_manifold": "manifold at edges",
    "vertex_manifold": "manifold at vertices",
    "genus": "genus",
    "betti_Q": "Betti numbers over Q",
    "betti_relative_Q": "relative Betti numbers over Q",
    "betti_GF2": "Betti numbers over GF(2)",
    "area": "area",
    "volume": "volume",
}


def show(value) -> str:
    """One value as a person reads it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(show(v) for v in value)
    return str(value)


def whole_number(text: str) -> int:
    """An option that counts something, as argparse wants it."""
    if not text.strip().isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number, 0 or more, got {text!r}")
    return int(text)


def count(text: str) -> int:
    """An option that counts something of which there is at least one, as argparse wants it."""
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number, 1 or more, got {text!r}")
    return int(text)


def positive(text: str) -> float:
    """An option that measures something, as argparse wants it."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return value


def table(rows: Iterable[Sequence], header: Sequence[str] | None = None) -> str:
    """Rows as aligned text; columns whose cells all are numbers are set right."""
    body = [[show(cell) for cell in row] for row in rows]
    cells = [list(header), *body] if header else body
    if not cells:
        return ""
    widths = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
    right = [bool(body) and all(_is_number(row[j]) for row in body) for j in range(len(widths))]
    lines = [
        "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)).rstrip()
        for row in cells
    ]
    if header:
        lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(lines)


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).replace("e-", "", 1).replace("e+", "", 1).isdigit()


def report_rows(report: dict) -> list[tuple[str, str]]:
    """(label, value) for each fact of a report; quality measures one a row, warnings left out."""
    rows = [(LABELS[key], show(report[key])) for key in LABELS if key in report]
    quality = report.get("quality")
    if isinstance(quality, dict):
        rows += [(name.replace("_", " "), show(value)) for name, value in quality.items()]
    elif quality is not None:
        rows.append(("quality", show(quality)))
    return rows


def report_text(name: str, report: dict) -> str:
    """The readable report: facts as a table, then each warning as a sentence."""
    text = f"{name}\n\n{table(report_rows(report))}\n"
    warnings = report.get("warnings", [])
    if warnings:
        text += "\n" + "\n".join(f"[{w['kind']}] {w['message']}" for w in warnings) + "\n"
    return text
