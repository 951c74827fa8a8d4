"""The tiers and gateways from which the advice chooses, built in or from a file."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ValidationError

from aqmlab.base.errors import BadValueError, ScenarioError, shown
from aqmlab.base.text_files import file_text
from aqmlab.households.line import Line
from aqmlab.households.tier import is_one_rate, one_rate, said_tier, tier_text
from aqmlab.planning.change_text import listed
from aqmlab.scenario import merge
from aqmlab.scenario.fields import Qdisc, Value
from aqmlab.scenario.model import first_problem
from aqmlab.scenario.notation import rate_pair
from aqmlab.scenario.quantities import Rate

TODAY = "today"
"""The gateway with which the advice always compares all other gateways."""

DEFAULT = (TODAY, "modem-pie", "sqm-up", "sqm")
"""The gateways that the advice compares if the user names none."""

MOST_TIERS = 100


class Tier(Value):
    """A pair of rates, down and up, that a provider sells."""

    down: Rate
    up: Rate

    @classmethod
    def parse(cls, text: object) -> Tier:
        """The tier that a text such as "25/5 Mbit/s" states; raises `BadValueError`."""
        if not isinstance(text, str) or "/" not in text or "%" in text:
            raise BadValueError(f"`{shown(text)}` is not a tier", 'write "25/5 Mbit/s"')
        down, up = map(Rate.parse, rate_pair(text))
        if min(down.bps, up.bps) < 100_000 or max(down.bps, up.bps) > 10_000_000_000:
            problem = f"`{shown(text)}` is outside the range of tiers"
            raise BadValueError(problem, "write rates between 100 kbit/s and 10 Gbit/s")
        return cls(down=down, up=up)

    def __str__(self) -> str:
        return tier_text(self.down, self.up)

    @property
    def order(self) -> tuple[int, int]:
        """The sort key from slow to fast: the downlink's rate, then the uplink's."""
        return self.down.bps, self.up.bps


class Managed(Value):
    """The discipline of one direction, and the device that runs it."""

    qdisc: Qdisc
    at: Literal["gateway", "line"] = "gateway"


def _title(title: str) -> str:
    if not title.isprintable() or not 0 < len(title) <= 80:
        raise BadValueError("a title is one line of at most 80 characters")
    return title


class GatewayChoice(Value):
    """A gateway to choose from. A direction without a discipline keeps its unmanaged queue."""

    title: Annotated[str, AfterValidator(_title)]
    up: Managed | None = None
    down: Managed | None = None
    source: str = ""

    @property
    def shapes(self) -> bool:
        """Whether the gateway must send more slowly than the line in at least one direction."""
        return any(one is not None and one.at == "gateway" for one in (self.up, self.down))


class TierList(Value):
    """The tiers that providers sell, as texts, with the source of the list."""

    tiers: tuple[str, ...]
    title: str = ""
    source: str = ""


@functools.cache
def tier_lists() -> Mapping[str, TierList]:
    """The built-in lists of tiers by name."""
    layer = _built_in("tiers.toml")
    return {name: TierList(**table) for name, table in layer.data.items()}


@functools.cache
def gateways() -> Mapping[str, GatewayChoice]:
    """The built-in gateways by name."""
    return _gateways(_built_in("gateways.toml"))


def _built_in(name: str) -> merge.Layer:
    return merge.read_toml((resources.files("aqmlab.advise") / name).read_text("utf-8"), name)


def tiers_of(asked: str) -> list[Tier]:
    """The tiers of a built-in list, of a file, or of a text such as "25/5,50/20 Mbit/s".

    A tier without a unit has the unit of the last tier, or Mbit/s if the last tier has none. The
    result is sorted from slow to fast. Raises `ScenarioError`.
    """
    if asked in tier_lists():
        return _sorted(tier_lists()[asked].tiers, lambda _: "--tiers")
    if asked.endswith(".toml"):
        layer = merge.read_toml(file_text(Path(asked)), Path(asked).name)
        made = _checked(TierList, layer)
        return _sorted(made.tiers, lambda number: layer.where(("tiers", str(number))))
    if is_one_rate(asked):
        raise one_rate(asked).at("--tiers")
    if "/" not in asked or not any(char.isdigit() for char in asked):
        known = [*tier_lists(), "a .toml file", '"25/5,50/20 Mbit/s"']
        raise ScenarioError.unknown("--tiers", "list of tiers", asked, known)
    parts = listed(asked, "--tiers")
    unit = " ".join(parts[-1].split()[1:])
    texts = [part if " " in part or not unit else f"{part} {unit}" for part in parts]
    texts = [said_tier(text) for text in texts]
    return _sorted(texts, lambda _: "--tiers")


@dataclass(frozen=True, slots=True)
class Offer:
    """The tiers to choose from, and a sentence on the tiers that the line cannot carry."""

    tiers: tuple[Tier, ...]
    left_out: tuple[Tier, ...] = ()
    limit: str = ""
    """The sentence on the tiers that were left out; empty if there are none."""


def offer(asked: str, today: Tier | None, line: Line | None) -> Offer:
    """The offer on a line: the tiers that `asked` names, and today's tier.

    Tiers of a list that are too fast for the line are left out. Raises `ScenarioError` if today's
    tier or a tier that `asked` states as rates is too fast, or if no tier is left. Without a line,
    no tier is too fast.
    """
    named = tiers_of(asked)
    tiers = tuple(sorted({*named, *([] if today is None else [today])}, key=lambda one: one.order))
    if line is None:
        return Offer(tiers)
    if today is not None and not line.carries(str(today)):
        problem = f"the household's tier, {today}, is too fast for {line.title}"
        raise ScenarioError("--line", problem, _slower(line))
    carried = tuple(one for one in tiers if line.carries(str(one)))
    left_out = tuple(one for one in tiers if one not in carried)
    if not left_out:
        return Offer(tiers)
    if not carried or not _is_list(asked):
        told = f"all tiers of `{shown(asked)}` are" if _is_list(asked) else f"`{left_out[0]}` is"
        raise ScenarioError("--tiers", f"{told} too fast for {line.title}", _slower(line))
    names = ", ".join(str(one).removesuffix(" Mbit/s") for one in left_out)
    return Offer(carried, left_out, f"{line.limit} Left out: {names}.")


def _slower(line: Line) -> str:
    return f"give tiers of at most {line.fastest}, or another `--line`"


def _is_list(asked: str) -> bool:
    return asked in tier_lists() or asked.endswith(".toml")


def _sorted(texts: Sequence[str], where: Any) -> list[Tier]:
    found: dict[Tier, None] = {}
    for number, text in enumerate(texts):
        try:
            tier = Tier.parse(text)
        except BadValueError as problem:
            raise problem.at(where(number)) from None
        if tier in found:
            raise ScenarioError(where(number), f"`{shown(text)}` is given twice")
        found[tier] = None
    if not 0 < len(found) <= MOST_TIERS:
        count = f"{len(found)} tiers are given; 1 to {MOST_TIERS} are possible"
        raise ScenarioError(where(0), count)
    return sorted(found, key=lambda tier: tier.order)


def gateways_of(asked: str | None) -> dict[str, GatewayChoice]:
    """The gateways in a list of names or in a file (`DEFAULT` for `None`), today's gateway first.

    Raises `ScenarioError`.
    """
    if asked is None:
        return {name: gateways()[name] for name in DEFAULT}
    if asked.endswith(".toml"):
        own = _gateways(merge.read_toml(file_text(Path(asked)), Path(asked).name))
    else:
        names = listed(asked, "--gateways")
        for name in names:
            if name not in gateways():
                raise _unknown_gateway(name).at("--gateways")
        own = {name: gateways()[name] for name in names}
    if not own.keys() - {TODAY}:
        hint = f"there are {', '.join(gateways())}"
        raise ScenarioError("--gateways", "no gateway is given beside today's", hint)
    return {TODAY: own.get(TODAY, gateways()[TODAY])} | own


def _unknown_gateway(name: str) -> BadValueError:
    """The error for an unknown gateway. For a discipline, the hint names the gateways with it."""
    kind = name.lower().replace("-", "_")
    with_it = [
        known
        for known, gateway in gateways().items()
        if any(one is not None and one.qdisc.kind == kind for one in (gateway.up, gateway.down))
    ]
    if not with_it:
        return BadValueError.unknown("gateway", name, gateways())
    problem = f"`{shown(name)}` is a discipline, not a gateway"
    return BadValueError(problem, f"gateways with it: {', '.join(with_it)}")


def _gateways(layer: merge.Layer) -> dict[str, GatewayChoice]:
    made = {}
    for name, table in layer.data.items():
        if not isinstance(table, dict):
            problem = f"`{shown(table)}` is not a gateway"
            raise ScenarioError(layer.where((name,)), problem, 'write { title = "…", up = … }')
        try:
            made[name] = GatewayChoice(**table)
        except ValidationError as error:
            keys, found = first_problem(error, GatewayChoice)
            raise found.at(layer.where((name, *keys))) from None
    return made


def _checked(model: type[TierList], layer: merge.Layer) -> TierList:
    try:
        return model(**layer.data)
    except ValidationError as error:
        keys, problem = first_problem(error, model)
        raise problem.at(layer.where(keys)) from None
