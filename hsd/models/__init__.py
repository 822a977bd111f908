"""Operators: HSD and eight baselines, one file each, one interface (``base``), one list (``registry``)."""
