"""Relations between two trials, of which the second is derived from the first.

A relation takes the tables of a random scenario, and a random generator. It derives another
scenario, and yields a sentence for each forbidden difference. A relation that does not apply to a
scenario returns `None`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from ..scenarios import Table
from . import chance, grid, spelling, time

Relation = Callable[[Table, random.Random], Iterator[str] | None]

RELATIONS: tuple[Relation, ...] = (
    grid.again,
    grid.other_steps,
    grid.other_points,
    grid.other_samples,
    grid.without_series,
    grid.with_packets,
    grid.other_interval,
    grid.unmeasured,
    time.longer,
    time.later,
    chance.another_discipline,
    chance.another_order,
    chance.one_that_never_starts,
    chance.among_other_seeds,
    spelling.other_units,
    spelling.both_ways_at_once,
    spelling.defaults_said,
    spelling.a_loop_of_one,
    spelling.written_and_read,
)

PLANNED = (
    chance.among_other_seeds,
    spelling.other_units,
    spelling.both_ways_at_once,
    spelling.a_loop_of_one,
    spelling.written_and_read,
)
"""Relations between plans, for which no trial runs."""
