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
    """The base class of forms. A form draws the results of a figure's trials."""

    over_seeds = "medians over them"
    """The words of the caption on several seeds."""

    @property
    def legend(self) -> str:
        """The meaning of the marks, as a sentence of the caption; empty if the marks need none."""
        return ""

    @abstractmethod
    def draw(self, results: CampaignResults) -> Sequence[Canvas]:
        """Draws the results on one canvas or several, and returns these."""


@dataclass(frozen=True)
class Figure:
    """A figure of a paper: its number in the paper, its subject, its trials and its form."""

    number: str
    title: str
    condition: str
    """The conditions, in the words of the caption."""
    needs: Trials | Sequence[Trials]
    """The trials. Trials of several scenarios have the condition `scenario`."""
    form: Form

    @property
    def trials(self) -> tuple[Trials, ...]:
        """The trials that the figure needs."""
        return (self.needs,) if isinstance(self.needs, Trials) else tuple(self.needs)


@dataclass(frozen=True)
class Lab(Form):
    """A figure that campaign reports also have, such as "queue_time"."""

    name: str

    def draw(self, results: CampaignResults) -> Sequence[Canvas]:
        """Draws the report's figure."""
        return [drawing.canvas for drawing in figures.draw(results, self.name)]
