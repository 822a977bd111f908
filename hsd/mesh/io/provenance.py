"""Where a file came from, kept within it: field data of text in VTU and VTP, the title line in VTK, text in NPZ.

Other programs show it (ParaView: the Information panel); :func:`read_provenance` gives it back, and
:func:`hsd.load_mesh` passes over it.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import numpy as np

from hsd.errors import InputError

PREFIX = "provenance/"
HEAD = 1 << 16
"""Bytes at the start of a VTU or VTP file that its provenance lies in."""
TITLE = 255
"""Bytes that the title line of a legacy VTK file may have."""


def field_data(provenance: Mapping[str, object]) -> str:
    """``<FieldData>`` with one text array an entry, as VTK writes text: its bytes as numbers, ended by 0."""
    arrays = []
    for name, value in provenance.items():
        codes = " ".join(map(str, [*str(value).encode(), 0]))
        label = quoteattr(PREFIX + name)
        arrays.append(
            f'<DataArray type="String" Name={label} NumberOfTuples="1" format="ascii">\n{codes}\n</DataArray>\n'
        )
    return f"<FieldData>\n{''.join(arrays)}</FieldData>\n" if arrays else ""


def title(name: str, provenance: Mapping[str, object]) -> str:
    """The title line of a legacy VTK file: the name, then ``key=value`` words as far as they fit."""
    line = name.encode()[:TITLE].decode(errors="ignore")
    for key, value in provenance.items():
        word = " {}={}".format(key, "_".join(str(value).split()))
        if len((line + word).encode()) > TITLE:
            break
        line += word
    return line


def text_arrays(provenance: Mapping[str, object]) -> dict[str, np.ndarray]:
    """Arrays of text for an NPZ archive."""
    return {PREFIX + name: np.array(str(value)) for name, value in provenance.items()}


def read_provenance(path: str | os.PathLike) -> dict[str, str]:
    """Provenance of a .vtu, .vtp, .vtk or .npz file that was written here, {} where there is none.

    Raises InputError (no_file).
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", "no_file") from error
    if head.startswith(b"PK"):
        return _from_archive(path)
    if head.startswith(b"# vtk"):
        words = head.split(b"\n", 2)[1].decode("utf-8", "replace").split() if head.count(b"\n") else []
        return dict(word.split("=", 1) for word in words[1:] if "=" in word)
    found = re.search(rb"<FieldData>.*?</FieldData>", head, re.S)
    if found is None:
        return {}
    try:
        arrays = ElementTree.fromstring(found.group()).findall("DataArray")
        return {
            a.get("Name", "").removeprefix(PREFIX): bytes(map(int, (a.text or "").split())).rstrip(b"\0").decode()
            for a in arrays
            if a.get("type") == "String" and a.get("Name", "").startswith(PREFIX)
        }
    except (ElementTree.ParseError, ValueError):
        return {}


def _from_archive(path: Path) -> dict[str, str]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = [name for name in archive.files if name.startswith(PREFIX)]
            return {name.removeprefix(PREFIX): str(archive[name]) for name in names}
    except (ValueError, OSError, zipfile.BadZipFile, KeyError):
        return {}
