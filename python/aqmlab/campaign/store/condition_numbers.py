"""Numbers of a trial's conditions, as columns that can be sorted and plotted.

A condition such as `rtt` holds the text of the scenario, "40 ms". Its number is in a column beside
it, `rtt_ms`. The unit follows from the condition's values: `_ms` for durations, `_mbit` for rates,
`_bytes` for sizes, `_percent` for shares. Two rates, "12/1 Mbit/s", give `_down_mbit` and
`_up_mbit`.

Every trial also has the columns of its path. `rate_down_mbit` and `rate_up_mbit` are the rates of
the slowest links of its applications, except the modem's links. `rtt_base_ms` is the round-trip
time without queues. In a row of an application, `rtt_base_ms` is the application's round-trip time.
In any other row, it is the most common round-trip time of the trial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from aqmlab.base.condition_text import condition_text
from aqmlab.base.errors import BadValueError
from aqmlab.campaign.store.manifest import DIRECTIONS, ConditionValue, Direction, LinkFacts
from aqmlab.scenario.notation import rate_pair
from aqmlab.scenario.number_text import split
from aqmlab.scenario.quantities import Duration, Rate, Size

RTT_BASE = "rtt_base_ms"
"""The column of base round-trip times."""

Number = float | None


class ConditionedTrial(Protocol):
    """A trial with its conditions and the facts of its path."""

    @property
    def conditions(self) -> Mapping[str, ConditionValue]:
        """The varied values, by parameter."""

    @property
    def links(self) -> Mapping[Direction, LinkFacts]:
        """The slowest link of each direction, except the modem's link."""

    @property
    def rtt_base_ms(self) -> Mapping[str, float]:
        """The round-trip time without queues, for each application."""


PATH = (*(f"rate_{way}_mbit" for way in DIRECTIONS), RTT_BASE)
"""The columns of a trial's path, which every trial has."""


def columns(trials: Sequence[ConditionedTrial]) -> dict[str, list[Number]]:
    """The numbers of each trial, by column. No column has the name of a condition."""
    taken = {name.casefold() for one in trials for name in one.conditions}
    found = {**_of_conditions(trials), **_of_path(trials)}
    return {name: numbers for name, numbers in found.items() if name.casefold() not in taken}


def _of_path(trials: Sequence[ConditionedTrial]) -> dict[str, list[Number]]:
    """The rates and the base round-trip time of each trial."""
    rates = [
        [one.links[way].mbit if way in one.links else None for one in trials] for way in DIRECTIONS
    ]
    bases = [_most_common(one.rtt_base_ms.values()) for one in trials]
    return dict(zip(PATH, [*rates, bases], strict=True))


def _most_common(values: Iterable[float]) -> Number:
    """The most frequent value, or the first of equally frequent values; `None` without values."""
    counted = Counter(values).most_common(1)
    return counted[0][0] if counted else None


def _of_conditions(trials: Sequence[ConditionedTrial]) -> dict[str, list[Number]]:
    """The numbers of each condition whose values are all quantities in text, by column.

    A trial without the condition, or with "off", has `None`.
    """
    names = dict.fromkeys(name for one in trials for name in one.conditions)
    found: dict[str, list[Number]] = {}
    for name in names:
        values = [one.conditions.get(name) for one in trials]
        if not any(isinstance(value, str) for value in values):
            continue  # The column already holds numbers.
        texts = [None if value is None else condition_text(value) for value in values]
        distinct = [text for text in dict.fromkeys(texts) if text not in (None, _OFF)]
        read = _reading(distinct)
        if read is not None:
            ends, rows = read
            for end, known in zip(ends, _by_text(distinct, rows), strict=True):
                found[f"{name}_{end}"] = [known.get(text) for text in texts]
    return found


_OFF = "off"


def _by_text(
    texts: Sequence[str | None], rows: Sequence[Sequence[float]]
) -> list[dict[str | None, float]]:
    """For each unit, the numeric value of each text."""
    return [dict(zip(texts, column, strict=True)) for column in zip(*rows, strict=True)]


_Ends = tuple[str, ...]
_Reader = Callable[[str], tuple[float, ...]]


def _two_rates(text: str) -> tuple[float, float]:
    """The rates of "12/1 Mbit/s" in Mbit/s, down and up."""
    down, up = rate_pair(text)
    return _mbit(down), _mbit(up)


def _mbit(text: object) -> float:
    return Rate.parse(text).bps / 1e6


def _two_percentages(text: str) -> tuple[float, float]:
    """The percentages of "90/95 %", down and up."""
    (down,), (up,) = map(_percent, rate_pair(text))
    return down, up


def _percent(text: str) -> tuple[float]:
    parts = split(text)
    if parts is None or parts[1] != "%":
        raise BadValueError("not a percentage")
    return (float(parts[0]),)


_READERS: Sequence[tuple[_Ends, _Reader]] = (
    (("ms",), lambda text: (Duration.parse(text).ns / 1e6,)),
    (("mbit",), lambda text: (_mbit(text),)),
    (("down_mbit", "up_mbit"), _two_rates),
    (("bytes",), lambda text: (float(Size.parse(text).bytes),)),
    (("percent",), _percent),
    (("down_percent", "up_percent"), _two_percentages),
)

ENDS = tuple(end for ends, _ in _READERS for end in ends)
"""The suffixes that `columns` appends to the names of conditions, after an underscore."""


def _reading(texts: Sequence[str | None]) -> tuple[_Ends, list[tuple[float, ...]]] | None:
    """The units and the numbers of `texts`, if all are quantities of one kind."""
    for ends, read in _READERS if texts else ():
        try:
            return ends, [read(str(text)) for text in texts]
        except BadValueError:
            continue
    return None
