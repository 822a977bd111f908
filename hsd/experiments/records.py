"""Records of finished runs: small JSON files that stay in the repository; what is recorded there is not run again."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hsd.hodge.cache import write_atomically
from hsd.models.registry import MODELS, model_class

if TYPE_CHECKING:
    from hsd.experiments.suites import Entry

ASSETS = Path(__file__).resolve().parents[2] / "assets"
RESULTS = ASSETS / "results"
"""Where the records and tables of this repository are."""
SCHEMA = "hsd-result-2"
CURVE_POINTS = 60


@dataclass(frozen=True)
class Records:
    """The records of a folder: ``runs/ENTRY.json`` for each finished entry, ``SUITE.json`` for each table."""

    folder: Path

    @classmethod
    def of(cls, folder: Path | None, out: Path) -> Records:
        """The folder named, else this repository's, else (where that has none) the folder of the runs."""
        return cls(folder or (RESULTS if RESULTS.is_dir() else out))

    def path(self, entry: Entry) -> Path:
        return self.folder / "runs" / f"{entry.name}.json"

    def read(self, entry: Entry) -> dict[str, Any] | None:
        """The record of an entry, cut short or not; None where there is none, or only one of another run."""
        record = read_json(self.path(entry))
        return record if record is not None and is_of(record, entry) else None

    def read_older(self, entry: Entry) -> dict[str, Any] | None:
        """The record of an entry that was made with an older version of its model, or None."""
        record = read_json(self.path(entry))
        return record if record is not None and is_older(record) and is_of(record, entry, older=True) else None

    def read_whole(self, entry: Entry) -> dict[str, Any] | None:
        """The record of an entry that had its whole budget, or None."""
        record = self.read(entry)
        return None if record is None or record["cut"] else record

    def write(self, entry: Entry, record: dict[str, Any]) -> None:
        write_atomically(self.path(entry), text_of(record).encode())


def is_of(record: Mapping[str, Any], entry: Entry, older: bool = False) -> bool:
    """Whether a record is of this entry: same schema, config, budget, data and seed, and a model that is still built
    like that (its version is the same, entries of its config that exist then and now are equal).

    older : let the version and the model's own config differ
    """
    if record.get("schema") != SCHEMA:
        return False
    if not older and version_in(record) != version_of(entry.model):
        return False
    if any(record.get(key) != value for key, value in _plain(asdict(entry)).items()):
        return False
    if older or "model_config" not in record:
        return True
    cls = model_class(entry.model)
    config = cls.make_config(entry.task, **entry.config)
    now, idle = _plain(asdict(config)), cls.idle_entries(config)
    return all(now[key] == value for key, value in record["model_config"].items() if key in now and key not in idle)


def version_of(model: str) -> int:
    """The version of a model's architecture and training rules by now."""
    return getattr(model_class(model), "version", 1)


def version_in(record: Mapping[str, Any]) -> int:
    """The version of the model that a record, or the protocol of a shipped checkpoint, is of (1 where it says none)."""
    return record.get("model_version", 1)


def is_older(record: Mapping[str, Any]) -> bool:
    """Whether a record was made with an older version of its model."""
    return record.get("model") in MODELS and version_in(record) < version_of(record["model"])


def rounded(value: Any, digits: int = 6) -> Any:
    """Plain values with floats of so many significant digits; None for those that are not finite."""
    if isinstance(value, dict):
        return {key: rounded(item, digits) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item, digits) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else None
    return value


def text_of(value: Any) -> str:
    """JSON, one entry a line, lists of plain values on one line."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    return re.sub(r"\[\n\s*([^\[\]{}]*?)\n\s*\]", lambda m: "[" + re.sub(r"\n\s*", " ", m[1]) + "]", text) + "\n"


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file, or None."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def thin_curve(log: list[dict[str, Any]], points: int = CURVE_POINTS) -> dict[str, list]:
    """Columns epoch, seconds, train_loss, validation of a run's log, at most ``points`` rows, first and last kept."""
    rows = np.unique(np.linspace(0, len(log) - 1, min(points, len(log))).round().astype(int)) if log else ()
    return {key: [log[i][key] for i in rows] for key in ("epoch", "seconds", "train_loss", "validation")}


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))
