"""Text that Streamlit shows as it is written, where it would read marks of Markdown in it."""

from __future__ import annotations

import re

MARKS = re.compile(r"([\\`*_~$\[\]<>#|])")


def literal(text: str) -> str:
    """The text with a backslash before every mark, so that ``u_p − u_g`` keeps its underscores."""
    return MARKS.sub(r"\\\1", text)
