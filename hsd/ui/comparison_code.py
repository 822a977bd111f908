"""The lines of Python with which the pages that compare models begin: sample, mesh and predictor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hsd.ui.comparison_answers import Ready
from hsd.ui.state import AppState


@dataclass(frozen=True)
class Lines:
    """imports : of hsd, in order;  problem : ``problem = …``;  mesh, record : expressions

    predictor : expression for the predictor of the checkpoint ``path`` on ``mesh``;  family : second argument of
    ``yardstick_of``
    """

    imports: tuple[str, ...]
    problem: str
    mesh: str
    record: str
    predictor: str
    family: str


def lines_of(state: AppState, ready: Ready) -> Lines:
    """How the sample in force, its mesh and its models are had without the app."""
    if ready.file is None:
        return Lines(
            ("from hsd.data.tasks import task", "from hsd.training.predictor import load"),
            f'problem = task("{ready.task.name}")',
            f"problem.mesh({ready.nodes or ''})",
            f"problem.sample({state.seed}, {state.comparison.sample})",
            f'load(path, mesh, "{ready.device}")',
            ready.task.family,
        )
    number = ready.key[-1]
    return Lines(
        (
            "from hsd.data.dataset import Dataset",
            "from hsd.data.domain import Domain",
            "from hsd.data.file_task import FileTask",
            "from hsd.training.checkpoint import read_manifest",
            "from hsd.training.predictor import predictor_on",
        ),
        f"problem = FileTask(Dataset({path_here(str(ready.file.data.path))!r}))",
        f"problem.mesh_of({number})",
        f"problem.sample(0, {number})",
        'predictor_on(path, Domain.build(problem, mesh, read_manifest(path)["domain"]["n_modes"]))',
        ready.task.family,
    )


def path_here(path: str) -> str:
    """A path as a script started in the program's folder may write it."""
    here = Path.cwd()
    return Path(path).relative_to(here).as_posix() if Path(path).is_relative_to(here) else path
