"""The declaration of a paper's figure, and the base class of forms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqmlab.report import figures
from aqmlab.studies.trials import Trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from aqmlab.results.results import CampaignResults


class Form(ABC):
    """The form of a figure."""

    over_seeds = "medians over them"
    """The treatment of several seeds, for the caption."""

    @property
    def legend(self) -> str:
        """The meaning of the form's marks, as a sentence of the caption."""
        return ""

    @abstractmethod
    def draw(self, results: CampaignResults) -> Sequence[Canvas]:
        """Draws the results as one drawing or several."""


@dataclass(frozen=True)
class Figure:
    """A figure of a paper: its number in the paper, its subject, its trials and its form."""

    number: str
    title: str
    condition: str
    """The conditions, in the words of the caption."""
    needs: Trials | Sequence[Trials]
    """The trials; for several scenarios, `scenario` is a condition like any other."""
    form: Form

    @property
    def trials(self) -> tuple[Trials, ...]:
        """The trials that the figure needs."""
        return (self.needs,) if isinstance(self.needs, Trials) else tuple(self.needs)


@dataclass(frozen=True)
class Lab(Form):
    """A figure of reports, such as "queue_time", for the trials of this figure."""

    name: str

    def draw(self, results: CampaignResults) -> Sequence[Canvas]:
        """Draws the report's figure."""
        return [drawing.canvas for drawing in figures.draw(results, self.name)]
