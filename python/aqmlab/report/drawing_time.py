"""Predicts the time of drawing from earlier drawings on this machine.

The time of a drawing has a constant part, and a part that grows with the simulated time of the
trials, whose rows are read. Earlier drawings of the scenario or figure with different simulated
times determine both parts. If the times of drawing do not grow with them, the prediction is the
mean. Without drawings of this scenario or figure, drawings of all others count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import StatisticsError, fmean, linear_regression
from typing import Annotated, Literal, NamedTuple, TypeAlias

from msgspec import Meta

from aqmlab.base import measurements

Kind: TypeAlias = Literal["report", "figure"]
"""A campaign's report with all of its figures, or one figure of a study."""

_FILE = "drawing.json"
_MOST_NAMES = 200
"""The maximum number of scenarios or figures in the cache, which keeps the last drawn."""
_MOST_DRAWINGS = 10
"""The maximum number of drawings of a scenario or figure in the cache, which keeps the latest."""

_Seconds = Annotated[float, Meta(ge=0, le=1e9)]


class _Drawing(NamedTuple):
    """The measured time of one drawing."""

    simulated_s: _Seconds
    """The simulated seconds of its trials."""
    seconds: _Seconds


_Known = dict[str, dict[str, tuple[_Drawing, ...]]]
"""The drawings of each scenario or figure, by kind."""


class Wanted(NamedTuple):
    """A report or a figure that is to be drawn."""

    name: str
    """The name of the scenario or of the figure."""
    simulated_s: float
    """The simulated seconds of its trials."""


@dataclass(frozen=True, slots=True)
class ExpectedDrawing:
    """The predicted time of drawing."""

    seconds: float
    drawings: int
    """The number of drawings behind the prediction."""
    alike: bool
    """Whether these drawings are of the scenario or the figures that are to be drawn."""


def expected(kind: Kind, wanted: Iterable[Wanted]) -> ExpectedDrawing | None:
    """Predicts the time to draw all of `wanted`; `None` if nothing of this kind was ever drawn."""
    known = measurements.read(_FILE, _Known).get(kind, {})
    every = [one for drawings in known.values() for one in drawings]
    if not every:
        return None
    parts = [(one, known.get(one.name)) for one in wanted]
    seconds = sum(_seconds(own or every, one.simulated_s) for one, own in parts)
    alike = all(own for _, own in parts)
    behind = sum(len(own) for _, own in parts if own) if alike else len(every)
    return ExpectedDrawing(seconds, behind, alike)


def note(kind: Kind, drawn: Wanted, seconds: float) -> None:
    """Stores the time of a drawing."""
    known = measurements.read(_FILE, _Known)
    names = known.setdefault(kind, {})
    before = names.pop(drawn.name, ())
    names[drawn.name] = (*before, _Drawing(drawn.simulated_s, seconds))[-_MOST_DRAWINGS:]
    for old in list(names)[:-_MOST_NAMES]:
        del names[old]
    measurements.store(_FILE, known)


def _seconds(drawings: Sequence[_Drawing], simulated_s: float) -> float:
    """The drawing's time at `simulated_s`, from the line through `drawings` or from their mean."""
    amounts, times = zip(*drawings, strict=True)
    mean = fmean(times)
    try:
        line = linear_regression(amounts, times)
    except StatisticsError:  # one drawing, or equal amounts
        return mean
    if line.slope <= 0:
        return mean
    if line.intercept < 0:
        return linear_regression(amounts, times, proportional=True).slope * simulated_s
    return line.intercept + line.slope * simulated_s
