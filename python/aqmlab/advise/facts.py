"""The advice in the form in which the core's crate `advice` returns it.

A test compares these types with the core's schema (`_core.advice_schema()`).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Cause: TypeAlias = Literal["fine", "gateway", "tier", "both", "open"]
"""The cause of bad service at a tier.

`fine` means that today's gateway is enough, `gateway` that another gateway is enough or better at
this tier, `tier` that the other gateway does not help either, `both` that fewer applications are
bad with the other gateway, but some are, and `open` that one of the gateways has no measurements.
"""

About: TypeAlias = Literal["tier", "spoils", "gain", "cost", "detail"]
"""The subject of a sentence. A `detail` is a number for a reader who checks the conclusion."""


class TierCount(Struct, frozen=True):
    """The numbers of applications at a tier by verdict."""

    tier: str
    judged: int
    served: int
    """The number of judged applications that are not bad."""
    good: int
    word: str
    """The worst verdict on a judged application; "no data" if none was judged."""
    seeds_served: int
    """The number of seeds in which no application is bad."""


class ByMedian(Struct, frozen=True):
    """The slowest tier that suffices for `apps` by the median of their round-trip times."""

    apps: tuple[str, ...]
    tier: str


class Setback(Struct, frozen=True):
    """A tier that serves `apps` worse than the next slower tier, `slower`."""

    tier: str
    slower: str
    apps: tuple[str, ...]


class Spoiled(Struct, frozen=True):
    """An application, or several with one description, that today's gateway does not serve."""

    app: str
    felt: str
    """The effect that a person notices, as a clause; empty if none is known."""
    because: str
    """The measured numbers, each with the limit that it misses."""


class Gain(Struct, frozen=True):
    """The 95th percentiles of an application's round-trip times under both gateways."""

    app: str
    today_ms: float
    better_ms: float


class Cost(Struct, frozen=True):
    """The rates of a transfer under both gateways."""

    app: str
    today_mbit: float
    better_mbit: float


class BetterGateway(Struct, frozen=True):
    """The recommended gateway.

    It serves the household better at `Facts.compared_at`, or it only lets a slower tier suffice.
    """

    name: str
    tier: str
    """The tier for which the gateway is set up.

    It is `Facts.compared_at` if the gateway serves the household better there. Otherwise it is the
    slowest tier at which the gateway serves everyone.
    """
    is_for_slower_tier: bool
    """Whether the household needs no other gateway at `Facts.compared_at`.

    The gateway then only lets the slower tier `tier` suffice.
    """


class GatewayFacts(Struct, frozen=True):
    """A gateway with the tiers that suffice."""

    name: str
    title: str
    served: str | None
    """The slowest tier at which no application is bad; `None` if there is none."""
    well: str | None
    """The slowest tier at which every application is good; `None` if there is none."""
    tolerable: tuple[str, ...]
    """The applications that are tolerable and not good at `served`."""
    failed: str | None
    """The next slower tier than `served` that was run; `None` if there is none."""
    failing: tuple[str, ...]
    """The applications that are bad at `failed`, or at the fastest tier if no tier suffices."""
    by_median: tuple[ByMedian, ...]
    seeds_served: int
    """The number of seeds in which no application is bad at `served`."""
    exceptions: tuple[str, ...]
    """The tiers faster than `served` at which an application is bad."""
    setbacks: tuple[Setback, ...]
    tiers: tuple[TierCount, ...]


class Facts(Struct, frozen=True):
    """The facts that the sentences state, with tiers and applications by name."""

    seeds: int
    """The number of seeds of the case with the fewest seeds."""
    fastest: str
    """The fastest tier that was run."""
    gateways: tuple[GatewayFacts, ...]
    """Today's gateway, then the other gateways."""
    compared_at: str
    """The tier at which gateways are compared: today's tier if it is known.

    Otherwise it is the slowest sufficient tier of the better gateway or, without a better gateway,
    of today's gateway. If no tier suffices, it is the fastest tier.
    """
    spoiled: tuple[Spoiled, ...]
    better: BetterGateway | None
    gains: tuple[Gain, ...]
    costs: tuple[Cost, ...]


class Headline(Struct, frozen=True):
    """The answer in one sentence, with its kind."""

    kind: Cause
    text: str


class Sentence(Struct, frozen=True):
    """A sentence, with its subject."""

    about: About
    text: str


class AdviceReport(Struct, frozen=True):
    """The facts, and the texts that state them."""

    conclusion: Facts
    headline: Headline | None
    """`None` until the gateways that it compares were both run at `Facts.compared_at`."""
    sentences: tuple[Sentence, ...]
