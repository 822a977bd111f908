"""What a lesson is: a text, switches, one live view with the numbers behind it, and a question that hsd answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hsd.mesh.mesh import Mesh
from hsd.ui.state import LearnState
from hsd.viz.scene import Scene


@dataclass(frozen=True)
class Switch:
    """A control of a lesson: the field of :class:`LearnState` that it moves, and what each value is called."""

    field: str
    label: str
    options: Mapping[object, str]


@dataclass(frozen=True)
class Question:
    """A question with one answer, which hsd has computed.

    answer    : the number, or with ``choices`` the index of the right one
    tolerance : how far a number may be off, absolute
    why       : the explanation, with the numbers that answer it
    """

    text: str
    answer: float
    why: str
    choices: tuple[str, ...] = ()
    tolerance: float = 0.0
    unit: str = ""

    def accepts(self, given: float) -> bool:
        return abs(given - self.answer) <= self.tolerance + 1e-9

    @property
    def words(self) -> str:
        """The right answer in words."""
        if self.choices:
            return self.choices[round(self.answer)]
        text = f"{self.answer:.0f}" if self.tolerance == 0 else f"{self.answer:.4g}"
        return f"{text} {self.unit}".strip()


@dataclass(frozen=True, eq=False)
class View:
    """The live view of a lesson for one setting of its switches.

    numbers  : sentences with what hsd computed, for beside the picture
    code     : the lines that make the numbers and the picture
    k, star, bc : degree, Hodge star and boundary condition in force
    controls : id of a slider of the scene that is reported → field of LearnState that keeps it
    """

    mesh: Mesh
    scene: Scene | None
    numbers: str
    question: Question
    code: str
    k: int
    star: str = "galerkin"
    bc: str = "absolute"
    controls: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Lesson:
    """One lesson: ``text`` is markdown with formulas between dollars, ``formulas`` are lines of LaTeX below it.

    show : (state, theme) → its view, computed now
    """

    title: str
    text: str
    formulas: tuple[str, ...]
    switches: tuple[Switch, ...]
    show: Callable[[LearnState, str], View]


def minus(number: int) -> str:
    """A whole number with the sign that stands in formulas."""
    return str(number).replace("-", "−")


def tiny(value: float) -> str:
    """A number that should be zero: its size, or 0 where nothing is left at all."""
    return (f"{abs(value):.2g}" if abs(value) >= 0.01 else f"{abs(value):.1e}") if value else "0"
