"""The demand of a household: the sums of its activities' rates by category and direction.

This is the arithmetic of Armitage et al. 2017 (§VI-D) and of Boerlage and Collom 2016 (§III). Each
activity has a data rate in each direction. TCP's data also need acknowledgements in the other
direction. If a source states the rate of these acknowledgements, this rate counts. Otherwise the
rate is a share of the data rate of streams and transfers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from aqmlab.households.activity import CATEGORIES, Category
from aqmlab.households.household import Household, OwnedUse
from aqmlab.households.traffic import words_of
from aqmlab.scenario.quantities import Rate

Way = Literal["down", "up"]
WAYS: tuple[Way, ...] = ("down", "up")
_OTHER: dict[Way, Way] = {"down": "up", "up": "down"}


@dataclass(frozen=True, slots=True)
class Demand:
    """The demand of all copies of one activity.

    `what` is the activity with its owner. `data_bps` and `acks_bps` are the rates of data and of
    acknowledgements by direction.
    """

    what: str
    category: Category
    copies: int
    source: str
    data_bps: dict[Way, Fraction]
    acks_bps: dict[Way, Fraction]


@dataclass(frozen=True, slots=True)
class HouseholdDemand:
    """The demands of a household, and their sums in Mbit/s."""

    parts: tuple[Demand, ...]

    def data_mbit(self, way: Way, *categories: Category) -> float:
        """The rate of data in one direction, for some categories or for all."""
        chosen = self._of(categories or CATEGORIES)
        return float(sum(one.data_bps[way] for one in chosen)) / 1e6

    def acks_mbit(self, way: Way) -> float:
        """The rate of acknowledgements in one direction."""
        return float(sum(one.acks_bps[way] for one in self.parts)) / 1e6

    def total_mbit(self, way: Way) -> float:
        """The rate of data and acknowledgements in one direction."""
        return self.data_mbit(way) + self.acks_mbit(way)

    def rounded_up(self) -> tuple[int, int]:
        """Both totals in whole Mbit/s, rounded up, as Boerlage and Collom print them."""
        down, up = (
            math.ceil(sum(one.data_bps[way] + one.acks_bps[way] for one in self.parts) / 10**6)
            for way in WAYS
        )
        return down, up

    def _of(self, categories: Iterable[Category]) -> list[Demand]:
        return [one for one in self.parts if one.category in categories]


def demand_of(household: Household) -> HouseholdDemand:
    """The demand of all simultaneous activities of the household."""
    share, patience = Fraction(household.ack_share), Fraction(str(household.patience))
    return HouseholdDemand(tuple(_demand(one, share, patience) for one in household.uses()))


def _demand(owned: OwnedUse, share: Fraction, patience: Fraction) -> Demand:
    activity, copies = owned.use.activity, owned.use.copies
    calm = patience if activity.category == "tolerant" else Fraction(1)
    stated: dict[Way, Rate | None] = {"down": activity.needs.down, "up": activity.needs.up}
    data = {way: copies * _bps(rate) / calm for way, rate in stated.items()}
    acks = {_OTHER[way]: share * bps for way, bps in data.items()}
    own = {"down": activity.needs.acks_down, "up": activity.needs.acks_up}
    if activity.category == "sensitive" or activity.needs.acks == "included":
        # Activities that are sensitive to delay send datagrams, which have no acknowledgements.
        # Included acknowledgements are part of the data rate.
        acks = dict.fromkeys(WAYS, Fraction(0))
    if any(rate is not None for rate in own.values()):
        acks = {way: copies * _bps(own[way]) / calm for way in WAYS}
    return Demand(words_of(owned), activity.category, copies, activity.source, data, acks)


def _bps(rate: Rate | None) -> Fraction:
    return Fraction(0 if rate is None else rate.bps)
