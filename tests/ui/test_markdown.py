"""Text with marks of Markdown is shown as it is written."""

from __future__ import annotations

import re

from hsd.metrics.definitions import DEFINITIONS
from hsd.metrics.losses import LOSSES
from hsd.ui.markdown import literal


def test_every_mark_is_escaped_and_the_text_is_otherwise_the_same():
    for text in (
        *(d.formula for d in DEFINITIONS.values()),
        *(loss.formula for loss in LOSSES.values()),
        "a_b*c\\d $e$",
    ):
        shown = literal(text)
        assert re.sub(r"\\(.)", r"\1", shown) == text
        assert not re.search(r"(?<!\\)(?:\\\\)*[_*`$]", shown), shown
