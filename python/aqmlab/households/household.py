"""A household as frozen values: people, their devices, and their simultaneous activities."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from aqmlab.base.errors import BadMemberError, BadValueError, ScenarioError, shown
from aqmlab.households import activity as known_activities
from aqmlab.households import line as known_lines
from aqmlab.households.activity import Activity
from aqmlab.households.tier import tier_of
from aqmlab.scenario import loading, merge, toml_writer
from aqmlab.scenario.fields import Count, Frozen, FrozenDict, Seeds, Span, Times, Value, plain
from aqmlab.scenario.model import first_problem
from aqmlab.scenario.notation import Table, refuse_deep
from aqmlab.scenario.quantities import NS_PER_S, Duration

MOST_PEOPLE, MOST_USES = 50, 500


def _activity(value: object) -> str:
    if not isinstance(value, str):
        raise BadValueError(f"`{shown(value)}` is not the name of an activity")
    return known_activities.find(value)


class Use(Value):
    """An activity of one device: the number of copies, and their start and stop times."""

    does: Annotated[str, BeforeValidator(_activity)]
    count: Count = 1
    start: Times | None = None
    stop: Span | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        return {"does": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not 1 <= self.count <= 100:
            raise BadMemberError("count", f"{self.count} is not between 1 and 100")
        if isinstance(self.start, tuple) and (self.count > 1 or not self.start):
            problem = "a list of starts already sets how many there are"
            raise BadMemberError("start", problem, "leave out `count`")
        return self

    @property
    def activity(self) -> Activity:
        """The activity that `does` names."""
        return known_activities.activities()[self.does]

    @property
    def copies(self) -> int:
        """The number of simultaneous copies of the activity."""
        return len(self.start) if isinstance(self.start, tuple) else self.count


def _uses(value: object) -> object:
    return [value] if isinstance(value, (str, Mapping)) else value


Uses = Annotated[tuple[Use, ...], BeforeValidator(_uses)]
Devices = Annotated[dict[str, Uses], Frozen]


class Person(Value):
    """A person with devices, each with its simultaneous activities."""

    about: str = ""
    devices: Devices = FrozenDict()


def _share(value: object) -> str:
    try:
        share = Fraction(str(value).strip())
    except (ValueError, ZeroDivisionError):
        raise BadValueError(f"`{shown(value)}` is not a fraction", 'write "1/47"') from None
    if not 0 <= share <= 1 or len(str(value)) > 20:
        raise BadValueError(f"`{shown(value)}` is not between 0 and 1", 'write "1/47"')
    return str(share)


def _line(value: object) -> str:
    return known_lines.name_of(value)


def _scenario(value: object) -> str:
    if not isinstance(value, str) or value not in loading.builtin_names():
        names = loading.builtin_names()
        raise BadValueError.unknown("built-in scenario", value, names)
    return value


_NAME = re.compile(r"[^\W_][\w .'-]{0,39}")


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        problem = f"`{shown(value)}` is not a name"
        raise BadValueError(problem, "use letters, digits, spaces, dots and dashes; at most 40")
    return value


Name = Annotated[str, AfterValidator(_name)]


class Household(Value):
    """People, devices and their simultaneous activities, behind one access line.

    `tier` is the line's speed today. `things` are devices that belong to nobody. `scenario` names a
    built-in scenario with the household's schedule, which then replaces the traffic of the
    activities. `ack_share` is the ratio of TCP's acknowledgements to its data. `patience` divides
    the demand of tolerant activities. `slips` are errors in the household's source.
    """

    title: str = ""
    description: str = ""
    source: str = ""
    people: Annotated[dict[Name, Person], Frozen] = FrozenDict()
    things: Annotated[dict[Name, Uses], Frozen] = FrozenDict()
    line: Annotated[str, BeforeValidator(_line)] = "docsis"
    tier: Annotated[str, BeforeValidator(tier_of)] = "50/20 Mbit/s"
    rtt: Duration = Duration(20_000_000)
    duration: Span = Duration(60 * NS_PER_S)
    seeds: Seeds = 3
    scenario: Annotated[str, BeforeValidator(_scenario)] | None = None
    ack_share: Annotated[str, BeforeValidator(_share)] = "1/47"
    patience: Annotated[float, Field(gt=0, le=1000)] = 1
    slips: tuple[str, ...] = ()

    def __init__(self, /, **values: Any) -> None:
        """Checks `values`; raises `ScenarioError` for a household that cannot be used."""
        refuse_deep(values, "")
        try:
            super().__init__(**values)
        except ValidationError as error:
            keys, problem = first_problem(error, type(self))
            raise MisplacedError(keys, _meant(keys, problem)) from None

    @model_validator(mode="after")
    def _check(self) -> Self:
        uses = self.uses()
        if not self.people and not self.things:
            problem, hint = "is missing", f"add [people], for example: {_EXAMPLE}"
            raise BadMemberError("people", problem, hint)
        if not uses:
            problem = "nobody does anything"
            raise BadMemberError("people", problem, f"add, for example: {_EXAMPLE}")
        if len(self.people) > MOST_PEOPLE:
            problem = f"{len(self.people)} people are too many, {MOST_PEOPLE} at most"
            raise BadMemberError("people", problem)
        if (count := sum(one.use.copies for one in uses)) > MOST_USES:
            problem = f"{count} activities are too many, {MOST_USES} at most"
            raise BadMemberError("people", problem)
        self._refuse_fast_tier()
        self._refuse_late_starts()
        return self

    def _refuse_late_starts(self) -> None:
        """Raises `BadMemberError` for an activity that starts at or after the trial's end."""
        if self.scenario is not None:
            return  # the scenario has its own schedule
        devices: dict[tuple[str, ...], tuple[Use, ...]] = {
            ("people", who, "devices", device): uses
            for who, person in self.people.items()
            for device, uses in person.devices.items()
        }
        devices |= {("things", thing): uses for thing, uses in self.things.items()}
        owned = [
            ((*keys, str(at)), use) for keys, uses in devices.items() for at, use in enumerate(uses)
        ]
        for keys, use in owned:
            latest = max(use.start) if isinstance(use.start, tuple) else use.start
            if latest is not None and latest >= self.duration:
                problem = f"{latest} is not before the end of the trial of {self.duration}"
                hint = "start earlier, or state a longer `duration`"
                raise BadMemberError((*keys, "start"), problem, hint)

    def _refuse_fast_tier(self) -> None:
        """Raises `BadMemberError` for a tier that the line cannot carry."""
        line = known_lines.find(self.line)
        if self.scenario is not None or line.carries(self.tier):
            return
        problem = f"`{self.tier}` is too fast for the line `{self.line}`"
        if "tier" not in self.model_fields_set:
            problem = (
                f"is missing; the default, {self.tier}, is too fast for the line `{self.line}`"
            )
        raise BadMemberError("tier", problem, f'write at most "{line.fastest}", or another line')

    def uses(self) -> list[OwnedUse]:
        """All simultaneous activities, each with its owner."""
        owned = [
            OwnedUse(who, device, use)
            for who, person in self.people.items()
            for device, some in person.devices.items()
            for use in some
        ]
        return owned + [
            OwnedUse("", thing, use) for thing, some in self.things.items() for use in some
        ]

    def to_toml(self) -> str:
        """The text of a household's file, from which `from_toml` restores this value."""
        return toml_writer.write(self.to_dict())

    def to_dict(self) -> Table:
        """The household as nested tables, without default values.

        A stated tier is kept even if it is the default, because it is then known as today's tier.
        """
        table: Table = plain(self.model_dump(by_alias=True, exclude_defaults=True, mode="json"))
        if "tier" in self.model_fields_set:
            table.setdefault("tier", self.tier)
        for person in table.get("people", {}).values():
            person["devices"] = _shortened(person.get("devices", {}))
        if "things" in table:
            table["things"] = _shortened(table["things"])
        return table

    @classmethod
    def from_toml(cls, text: str, source: str = "household") -> Household:
        """The household of a TOML text without `extends`."""
        merge.refuse_path(text, source)
        return build(merge.read_toml(text, source))


class OwnedUse(Value):
    """A use of an activity, with its person (empty for a thing) and its device."""

    who: str
    device: str
    use: Use

    def __init__(self, who: str, device: str, use: Use) -> None:
        super().__init__(who=who, device=device, use=use)  # type: ignore[call-arg]


_EXAMPLE = 'people.anna.devices.notebook = ["video meeting"]'


class MisplacedError(ScenarioError):
    """An error with the keys of the invalid member, from which the caller finds the line."""

    def __init__(self, keys: tuple[str, ...], problem: BadValueError) -> None:
        super().__init__(".".join(keys), problem.problem, problem.hint)
        self.keys = keys

    def at(self, where: str) -> ScenarioError:
        """The same error with the location `where`."""
        return ScenarioError(where, self.problem, self.hint)

    def __reduce__(self) -> tuple[Any, ...]:
        return (ScenarioError, (self.where, self.problem, self.hint))


def build(layer: merge.Layer) -> Household:
    """The household of a file's tables; errors name their line."""
    try:
        return Household(**layer.data)
    except MisplacedError as error:
        raise ScenarioError(layer.where(error.keys), error.problem, error.hint) from None


def _meant(keys: tuple[str, ...], problem: BadValueError) -> BadValueError:
    """The problem, with a hint for keys that belong to scenarios."""
    if len(keys) == 1 and keys[0] in merge.ROOTS and "unknown key" in problem.problem:
        return BadValueError(problem.problem, "a household has no such table; a scenario has")
    return problem


def _shortened(devices: Mapping[str, Any]) -> Table:
    """The devices, with each activity without further settings as plain text."""
    return {
        name: [use["does"] if list(use) == ["does"] else use for use in some]
        for name, some in devices.items()
    }
