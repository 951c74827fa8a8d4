"""What a figure of a paper is, and what a form must be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqmlab.studies.trials import Trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from aqmlab.results.results import Results


class Form(ABC):
    """How a figure is drawn."""

    over_seeds = "medians over them"
    """What is shown of several seeds, as the caption says it."""

    @property
    def legend(self) -> str:
        """What its marks mean, as a sentence of the caption."""
        return ""

    @abstractmethod
    def draw(self, results: Results) -> Sequence[Canvas]:
        """One drawing, or several."""


@dataclass(frozen=True)
class Figure:
    """A figure of a paper: its number there, what it shows, what it needs, and its form."""

    number: str
    title: str
    condition: str
    """Under which conditions, as the caption says it."""
    needs: Trials | Sequence[Trials]
    """If they are of several scenarios, `scenario` is a condition like any other."""
    form: Form

    @property
    def trials(self) -> tuple[Trials, ...]:
        """What it needs."""
        return (self.needs,) if isinstance(self.needs, Trials) else tuple(self.needs)


@dataclass(frozen=True)
class Lab(Form):
    """A figure of the laboratory, such as "queue_time", of these trials alone."""

    name: str

    def draw(self, results: Results) -> Sequence[Canvas]:
        """As many drawings as that figure makes."""
        from aqmlab.report import figures

        return [drawing.canvas for drawing in figures.draw(results, self.name)]
