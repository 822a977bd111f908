"""The process that draws a figure sheet: ``python -m hsd.ui.comparison_sheet WIDTH HEIGHT`` < scene > PNG.

Its standard input is the scene and its provenance as the app itself wrote them into the pipe, never a file or anything
from outside.
"""

from __future__ import annotations

import os
import pickle
import sys

from hsd.errors import HsdError


def main(words: list[str]) -> int:
    """Draw the scene; one line on stderr and 1 where that is impossible."""
    from hsd.viz.headless import render

    answer = os.dup(1)
    os.dup2(2, 1)  # what VTK says goes to stderr
    scene, about = pickle.load(sys.stdin.buffer)
    try:
        picture = render(scene, (int(words[0]), int(words[1])), about=about)
    except (HsdError, RuntimeError, ImportError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    with os.fdopen(answer, "wb") as out:
        out.write(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
