"""``python -m hsd``."""

from hsd.cli import main

raise SystemExit(main())
