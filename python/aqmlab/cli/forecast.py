"""What a campaign would take, before it is started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aqmlab.campaign import Campaign
    from aqmlab.speed import Expected


def lines(campaign: Campaign, folder: Path, processes: int | None) -> Iterator[str]:
    """What would be run, where, and how long it takes in so many processes, if that is known."""
    from aqmlab.campaign import lots, missing
    from aqmlab.costs import simulated_s
    from aqmlab.engines import made_by
    from aqmlab.speed import expected

    left = missing(campaign, folder)
    total, done = len(campaign.trials), len(campaign.trials) - len(left)
    yield f"trials: {total} ({_product(campaign)}); {done} recorded, {len(left)} to run"
    yield f"simulated: {_grouped(sum(map(simulated_s, left)))} s to run"
    yield f"engine: {made_by(campaign.engine, campaign.about['versions'])}"
    yield f"folder: {folder}"
    if left:
        yield from forecast(expected(lots(campaign, left)), len(left), processes)


def forecast(found: Expected | None, trials: int, processes: int | None) -> Iterator[str]:
    """What `trials` will take, and on what that rests."""
    from aqmlab.campaign import cores
    from aqmlab.failures import size_text

    if found is None:
        yield "time: not known, for this build has run no trial on this machine"
        return
    alike = "this scenario" if found.alike else "other scenarios"
    count = f"{found.trials} trial{'s' * (found.trials != 1)}"
    rests = f"from {count} of {alike} on this machine"
    processes = processes or cores()
    yield (
        f"time: about {span(found.seconds(processes, trials))} in {processes}"
        f" process{'es' * (processes != 1)}, {rests}"
    )
    yield f"size: about {size_text(round(found.stored_bytes))}"


def span(seconds: float) -> str:
    """A time that need not be exact.

    >>> span(0.4), span(59.6), span(250), span(9000)
    ('1 s', '1 min', '4 min', '2.5 h')
    """
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    if seconds < 59.5 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


def _product(campaign: Campaign) -> str:
    """How many values each condition has, and how many seeds there are."""
    names = dict.fromkeys(name for one in campaign.trials for name in one.conditions)
    counts = [
        f"{len({str(one.conditions.get(name)) for one in campaign.trials})} {name}"
        for name in names
    ]
    seeds = len({one.seed for one in campaign.trials})
    return " × ".join([*counts, f"{seeds} seed{'s' * (seeds != 1)}"])


def _grouped(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")
