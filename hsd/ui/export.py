"""Results as files with their provenance."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go


def table_csv(columns: Mapping[str, Sequence], provenance: Mapping[str, str]) -> bytes:
    """A table as CSV (UTF-8), provenance as comment lines at its head."""
    out = io.StringIO()
    for name, value in provenance.items():
        out.write(f"# {name}: {value}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue().encode()


def figure_html(figure: go.Figure, provenance: Mapping[str, str]) -> bytes:
    """A plot as one page that needs nothing from outside, provenance below it."""
    text = " · ".join(f"{name} {value}" for name, value in provenance.items())
    page = figure.to_html(include_plotlyjs=True, full_html=True)
    return page.replace("</body>", f"<p style='font: 12px sans-serif; color: #666'>{text}</p></body>").encode()
