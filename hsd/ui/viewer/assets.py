"""The viewer's JavaScript: own modules and vtk.js, copied into the app's static folder under names with a content hash.

vtk.js (BSD-3-Clause, Kitware) lies inside the installed ``panel`` package, so nothing is fetched from outside.  A new
version of a file gets a new name; a browser can never mix old and new ones.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
from functools import lru_cache
from pathlib import Path

from hsd.errors import HsdError

WEB = Path(__file__).parent / "web"
ROOT = Path(__file__).resolve().parents[3]
VTK_SHA256 = "41626a78eb2b831a94642fe7718bd44397a94e08bdf6f01947e569241cbc406e"
"""Of vtk.js 30.1.0 as panel 1.9.4 ships it; the viewer is tested with this file."""
VTK_NAME = f"vtk-30.1.0-{VTK_SHA256[:8]}.js"
KEPT = 3
"""Versions of the own modules that stay in the static folder, for pages that are still open."""


class ViewerAssetsError(HsdError):
    """vtk.js is not where it should be, or is another file."""

    default_kind = "viewer_assets"


@lru_cache(maxsize=1)
def web_folder() -> str:
    """Name of the folder of own modules in the static folder: ``viewer-<hash of all files>``."""
    digest = hashlib.sha256()
    for file in sorted(WEB.iterdir()):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return f"viewer-{digest.hexdigest()[:10]}"


def find_vtk() -> Path:
    """vtk.js inside the installed panel package, without importing panel.  Raises ViewerAssetsError."""
    spec = importlib.util.find_spec("panel")
    folder = Path(spec.origin).parent / "dist" / "bundled" / "abstractvtkplot" if spec and spec.origin else None
    found = sorted(folder.glob("vtk.js@*/vtk.js")) if folder else []
    if not found:
        raise ViewerAssetsError(
            "The 3-D viewer needs vtk.js from the package panel (1.9.4), which is not installed: pip install "
            "panel==1.9.4."
        )
    return found[-1]


def ensure_static(root: Path | None = None) -> Path:
    """Copy own modules, vtk.js and its licence into ``static/`` beside the app, unless they are there; its path.

    Safe when several servers start at once.  Raises ViewerAssetsError where vtk.js is missing or has another checksum.
    """
    static = (root or ROOT) / "static"
    static.mkdir(exist_ok=True)
    target = static / VTK_NAME
    if not (target.is_file() and _sha256(target) == VTK_SHA256):
        source = find_vtk()
        found = _sha256(source)
        if found != VTK_SHA256:
            raise ViewerAssetsError(
                f"vtk.js in the installed panel has checksum {found[:12]}…, expected {VTK_SHA256[:12]}… (30.1.0): "
                "pip install panel==1.9.4."
            )
        _copy(source, target)
    _copy(WEB / "LICENSE-vtk.js.txt", static / f"{VTK_NAME}.LICENSE.txt")
    own = static / web_folder()
    own.mkdir(exist_ok=True)
    for file in WEB.iterdir():
        if not (own / file.name).is_file():
            _copy(file, own / file.name)
    old = sorted((p for p in static.glob("viewer-*") if p != own), key=lambda p: p.stat().st_mtime)
    for folder in old[: max(0, len(old) - KEPT + 1)]:
        shutil.rmtree(folder, ignore_errors=True)
    return static


def loader(module: str, function: str) -> str:
    """JavaScript of a component that hands itself to ``function`` of an own module in the static folder.

    The address is taken from Streamlit's own script, so that it holds below any base path and on every page.
    """
    return (
        "// loader\n"
        "const s = document.querySelector('script[src*=\"static/js/\"]');\n"
        "const base = new URL('.', s ? s.src.slice(0, s.src.indexOf('static/js/')) : document.baseURI);\n"
        f"const own = new URL('app/static/{web_folder()}/{module}', base).href;\n"
        f"const vtk = new URL('app/static/{VTK_NAME}', base).href;\n"
        f"export default c => import(own).then(m => m.{function}(c, vtk));\n"
    )


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _copy(source: Path, target: Path) -> None:
    part = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copyfile(source, part)
    os.replace(part, target)
