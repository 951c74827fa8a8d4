"""The tier of a line: its downlink and uplink rates, as files state them and as people say them."""

from __future__ import annotations

import re

from aqmlab.base.errors import BadValueError, shown
from aqmlab.scenario.notation import has_no_unit, rate_pair
from aqmlab.scenario.quantities import Rate

LEAST_BPS = 1_000
"""The lowest rate of a line in either direction."""

_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?")


def tier_of(value: object) -> str:
    """The tier that a text such as "50/20 Mbit/s" states, in its usual form.

    A single rate is refused, because few lines have the same rate in both directions.

    >>> tier_of("12 Mbit/s / 1500 kbit/s")
    '12/1.5 Mbit/s'
    """
    if not isinstance(value, str):
        raise BadValueError(f"`{shown(value)}` is not a pair of rates", 'write "50/20 Mbit/s"')
    if is_one_rate(value):
        raise one_rate(value)
    if "%" in value:
        raise BadValueError(f"`{shown(value)}` is a share", 'write rates: "50/20 Mbit/s"')
    down, up = rates_of(value)
    if min(down.bps, up.bps) < LEAST_BPS:
        raise BadValueError(f"`{shown(value)}` is too slow for a line", "write 1 kbit/s or more")
    return tier_text(down, up)


def tier_text(down: Rate, up: Rate) -> str:
    """Both rates of a line in one text.

    >>> tier_text(Rate.parse("12 Mbit/s"), Rate.parse("1.5 Mbit/s"))
    '12/1.5 Mbit/s'
    """
    return f"{down.bps / 1e6:g}/{up.bps / 1e6:g} Mbit/s"


def rates_of(tier: str) -> tuple[Rate, Rate]:
    """The downlink and uplink rates in a tier's text.

    >>> [str(rate) for rate in rates_of("50/0.5 Mbit/s")]
    ['50 Mbit/s', '500 kbit/s']
    """
    down, up = rate_pair(tier)
    return Rate.parse(down), Rate.parse(up)


def said_tier(text: str) -> str:
    """A tier from the command line, in Mbit/s if it has no unit.

    >>> said_tier("25/5"), said_tier("25/5 kbit/s")
    ('25/5 Mbit/s', '25/5 kbit/s')
    """
    return f"{text.strip()} Mbit/s" if has_no_unit(text) else text


def is_one_rate(text: str) -> bool:
    """Returns whether a text states one rate or one number.

    >>> is_one_rate("50 Mbit/s"), is_one_rate("50"), is_one_rate("50/20 Mbit/s")
    (True, True, False)
    """
    if _NUMBER.fullmatch(text.strip()):
        return True
    try:
        Rate.parse(text)
    except BadValueError:
        return False
    return True


def one_rate(text: str) -> BadValueError:
    """The error for a tier with one rate."""
    problem = f"`{shown(text)}` is one rate; a tier has two, down and up"
    return BadValueError(problem, 'write both, as in "50/20 Mbit/s"')
