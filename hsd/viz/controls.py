"""What moves a picture: sliders in the page, what a click does, and camera commands.  Plain frozen records."""

from __future__ import annotations

from dataclasses import dataclass

from hsd.errors import check_choice


@dataclass(frozen=True)
class Control:
    """A slider in the page that moves the picture without a server message.

    id     : name that Mix, Isolines and Clip refer to
    labels : one text per step of an index control ("λ = …"), shown beside the slider
    play   : a play button that runs through the steps;  keys: arrow keys step it when the view is focused
    report : send the value when it is released (``ViewerEvents.controls``); the script then runs again
    value  : starts the slider; later only a *changed* value moves it
    """

    id: str
    label: str
    minimum: float
    maximum: float
    value: float
    step: float = 1.0
    labels: tuple[str, ...] = ()
    play: bool = False
    keys: bool = False
    report: bool = False


@dataclass(frozen=True)
class Tool:
    """What a click on the surface does: "pick" reads the value there, "place" adds a point of ``kind``."""

    mode: str = "pick"
    kind: str = ""
    colour: str = "#E69F00"

    def __post_init__(self):
        check_choice("tool", self.mode, ("pick", "place", "none"))


@dataclass(frozen=True)
class Camera:
    """A camera command, obeyed once per ``token``: look along ``direction`` with ``up``, fitted to the surface."""

    token: str
    direction: tuple[float, float, float]
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
