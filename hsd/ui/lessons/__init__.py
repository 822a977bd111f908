"""The eight lessons of the page Learn, in their order.  View and answer are computed by hsd at that moment."""

from hsd.ui.lessons.base import Lesson, Question, Switch, View
from hsd.ui.lessons.fields import BETTI, RIM, SPLIT
from hsd.ui.lessons.forms import DERIVATIVES, FORMS, TWICE
from hsd.ui.lessons.spectra import SPECTRUM
from hsd.ui.lessons.topology import TOPOLOGY

LESSONS = (FORMS, DERIVATIVES, TWICE, SPLIT, BETTI, RIM, SPECTRUM, TOPOLOGY)

__all__ = ["LESSONS", "Lesson", "Question", "Switch", "View"]
