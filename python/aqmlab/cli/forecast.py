"""The expected cost of a campaign before it starts."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.base.failures import size_text
from aqmlab.base.numerals import count_text
from aqmlab.campaign.costs import simulated_s
from aqmlab.campaign.runner import cores, lots, missing
from aqmlab.campaign.speed import expected
from aqmlab.engines.registry import made_by
from aqmlab.report.drawing_time import Kind, Wanted
from aqmlab.report.drawing_time import expected as expected_drawing

if TYPE_CHECKING:
    from aqmlab.campaign.runner import Campaign
    from aqmlab.campaign.speed import Expected
    from aqmlab.campaign.store.folder import Trial
    from aqmlab.planning.plan import Plan, PlannedTrial


_MOST_S = 1e9
"""The longest drawing time that is shown. The numbers in the cache may be wrong."""


def lines(campaign: Campaign, folder: Path, processes: int | None) -> Iterator[str]:
    """Yields lines on trials, engine, folder, expected run time and expected size of results."""
    left = missing(campaign, folder)
    total, done = len(campaign.trials), len(campaign.trials) - len(left)
    product = _product(campaign.trials)
    yield f"trials: {total} ({product}); {done} recorded, {len(left)} to run"
    yield f"simulated: {_grouped(sum(map(simulated_s, left)))} s to run"
    yield f"engine: {made_by(campaign.engine, campaign.about.versions)}"
    yield f"folder: {folder}"
    if left:
        yield from forecast(expected(lots(campaign, left)), len(left), processes)


def of_plan(plan: Plan, unbuilt: Sequence[str]) -> Iterator[str]:
    """Yields lines on the trials of `plan`, whose engines `unbuilt` are not built yet.

    The number of trials with results is then not known, because results belong to one build of an
    engine.
    """
    seconds = sum(one.spec.duration_s for one in plan.trials)
    yield f"trials: {len(plan.trials)} ({_product(plan.trials)})"
    yield f"simulated: {_grouped(seconds)} s"
    yield unasked(unbuilt)


def unasked(unbuilt: Sequence[str]) -> str:
    """A line on the facts that are unknown until `unbuilt` are built, with the build command."""
    return (
        f"engine: {', '.join(unbuilt)}: not built yet (`aqmlab kernel build` builds it), so"
        " recorded and refused trials are not known"
    )


def forecast(found: Expected | None, trials: int, processes: int | None) -> Iterator[str]:
    """Yields lines on the expected run time and on the size of the results.

    `trials` is the number of trials to run. `found` is the prediction from earlier trials, whose
    number the lines state. If it is `None`, the only line says that the time is not known.
    """
    if found is None:
        yield "time: not known, because this build has run no trial on this machine"
        return
    alike = "this scenario" if found.alike else "other scenarios"
    count = count_text(found.trials, "trial")
    rests = f"from {count} of {alike} on this machine"
    processes = processes or cores()
    yield (
        f"time: about {span(found.seconds(processes, trials))} in"
        f" {count_text(processes, 'process')}, {rests}"
    )
    yield f"size: about {size_text(round(found.stored_bytes))}"


def drawing(kind: Kind, wanted: Iterable[Wanted]) -> str:
    """A line on the time that one process is expected to need for drawing, after the last trial."""
    found = expected_drawing(kind, wanted)
    if found is None or not found.seconds <= _MOST_S:
        return "drawing: not known, because nothing was drawn on this machine"
    noun, of = {"report": ("report", "scenario"), "figure": ("drawing", "figure")}[kind]
    alike = f"the same {of}" if found.alike else f"other {of}s"
    count = count_text(found.drawings, noun)
    return f"drawing: about {span(found.seconds)}, from {count} of {alike} on this machine"


def span(seconds: float) -> str:
    """Formats a time, rounded to seconds, minutes or tenths of an hour.

    >>> span(0.4), span(59.6), span(250), span(9000)
    ('1 s', '1 min', '4 min', '2.5 h')
    """
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    if seconds < 59.5 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


_MOST_COLUMNS = 20
"""The maximum number of conditions whose loops are found; the time grows with its square."""


def _product(trials: Sequence[PlannedTrial] | Sequence[Trial]) -> str:
    """The numbers of values of each loop and of seeds, whose product is the number of trials.

    Conditions that vary together are one loop, such as `2 down, up`. If trials of the product are
    absent, such as experiments of a TEACUP config that are left out, there is no product.
    """
    names = list(dict.fromkeys(name for one in trials for name in one.conditions))
    points = {tuple(str(one.conditions.get(name)) for name in names) for one in trials}
    seeds = len({one.seed for one in trials})
    loops = _loops(points, len(names)) if len(names) <= _MOST_COLUMNS else [[*range(len(names))]]
    counts = [len(_values(points, loop)) for loop in loops]
    own_seeds = count_text(seeds, "seed")
    if math.prod(counts) * seeds != len(trials):
        return f"combinations of {', '.join([*names, own_seeds])}"
    named = [", ".join(names[at] for at in loop) for loop in loops]
    parts = [f"{count} {name}" for count, name in zip(counts, named, strict=True)]
    return " × ".join([*parts, own_seeds])


def _loops(points: Collection[tuple[str, ...]], columns: int) -> list[list[int]]:
    """The columns of each loop. Two columns are of one loop if some pair of their values is absent.

    `points` are the combinations of values of all columns.
    """
    loops: list[list[int]] = []
    for column in range(columns):
        own = [loop for loop in loops if any(_is_linked(points, one, column) for one in loop)]
        joined = sorted(one for loop in own for one in loop)
        loops = [loop for loop in loops if loop not in own]
        loops.append([*joined, column])
    return sorted(loops)


def _is_linked(points: Collection[tuple[str, ...]], one: int, other: int) -> bool:
    pairs = len(_values(points, (one, other)))
    return pairs < len(_values(points, (one,))) * len(_values(points, (other,)))


def _values(points: Iterable[tuple[str, ...]], columns: Sequence[int]) -> set[tuple[str, ...]]:
    return {tuple(point[at] for at in columns) for point in points}


def _grouped(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")
