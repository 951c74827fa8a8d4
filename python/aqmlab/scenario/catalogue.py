"""The catalogue of disciplines, applications, congestion controls and host profiles.

The entries come from the simulator's registries, so new kinds are included automatically. Each
parameter has a declared type. User input is checked against the declarations before a trial is
made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from aqmlab import _core
from aqmlab.base.errors import BadValueError, shown, suggestion
from aqmlab.scenario import parameters
from aqmlab.scenario.notation import Table, kind_table
from aqmlab.scenario.parameters import Parameter, Plain

FAMILIES = {
    "disciplines": "discipline",
    "apps": "kind of application",
    "tcp": "congestion control",
    "profiles": "host profile",
}
"""The families of kinds, each with the word for one kind in messages.

An application has a name of its own, so the word for its kind is another.
"""


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a kind.

    `type` is a key of `parameters.READERS`, or "word" for one of `choices`. `default` is
    in base units (ns, bytes, bit/s; `None` is off), and `text` is the default in scenario notation.
    """

    name: str
    type: str
    default: Plain | None
    text: str
    doc: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    """`least` and `most` are the inclusive bounds in base units; `None` for switches and words."""

    @property
    def allowed(self) -> str:
        """The allowed range in scenario notation; empty for switches and words."""
        if self.least is None or self.most is None:
            return ""
        return f"{self.show(self.least)} to {self.show(self.most)}"

    def parse(self, value: object) -> Parameter:
        """Converts `value` from scenario notation to a value of the parameter's type.

        Raises `BadValueError` for a wrong type, a value out of bounds or an unknown choice.
        """
        if self.type != "word":
            parsed = parameters.READERS[self.type](value)
            self._check(parameters.base_units(parsed), value)
            return parsed
        is_plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        word = str(value) if is_plain else shown(value)
        if word not in self.choices:
            meant = _DIRECTIONS.get(word.lower())
            if meant in self.choices:
                raise BadValueError(f"unknown word `{shown(word)}`", f"did you mean `{meant}`?")
            raise BadValueError.unknown("word", word, self.choices)
        return word

    def read(self, value: object) -> Plain | None:
        """Converts `value` from scenario notation to base units.

        Raises the same errors as `parse`.
        """
        return parameters.base_units(self.parse(value))

    def _check(self, number: Plain | None, said: object) -> None:
        if number is None or isinstance(number, str) or self.least is None or self.most is None:
            return
        if not self.least <= number <= self.most:
            hint = None
            if self.type.endswith(" or off") and number == 0:
                hint = 'write "off" for none'
            elif (self.least, self.most) == (0, 1) and 1 < number <= 100:
                hint = f'for {shown(said)} in a hundred write "{shown(said)} %"'
            raise BadValueError(
                f"`{shown(said)}` is out of bounds: {self.name} goes from {self.allowed}", hint
            )

    def show(self, value: Plain | None) -> Plain:
        """Converts `value` from base units to scenario notation."""
        return parameters.spelled(parameters.of_base_units(self.type, value))


_DIRECTIONS = {
    **dict.fromkeys(("upload", "uploading", "upstream", "uplink", "out"), "up"),
    **dict.fromkeys(("download", "downloading", "downstream", "downlink", "in"), "down"),
    **dict.fromkeys(("bidirectional", "duplex", "up/down", "down/up"), "both"),
}
"""Other common words for directions, each with the word of a parameter."""
_NEAREST = {
    "sqm": "cake",
    "fq": "sfq",
    "docsis_pie": "pie",
    "prio": "pfifo_fast",
    "cobalt": "codel",
    "blue": "red",
    "sfb": "red",
    "gred": "red",
}
"""Disciplines that are not modelled, each with the most similar modelled discipline."""
_ELSEWHERE = {
    **dict.fromkeys(("fifo", "droptail", "drop_tail", "taildrop", "tail_drop"), "pfifo"),
    **dict.fromkeys(("pi2", "dualq", "l4s"), "dualpi2"),
}
"""Other common names of disciplines, each with the name in this catalogue."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One discipline, application, congestion control or host profile.

    `params` holds the parameters by name. `default_cc` is the congestion control of a host profile.
    `on_gateway` states whether an application runs on the gateway and not on a host of the home.
    """

    family: str
    name: str
    summary: str
    source: str
    params: Mapping[str, Param]
    default_cc: str | None = None
    on_gateway: bool = False


class Catalogue(Mapping[str, Mapping[str, Kind]]):
    """All kinds, by family and name."""

    def __init__(self, raw: Mapping[str, list[dict[str, Any]]]) -> None:
        self._families = {
            family: {entry["name"]: _kind(family, entry) for entry in raw.get(family, ())}
            for family in FAMILIES
        }

    def __getitem__(self, family: str) -> Mapping[str, Kind]:
        """The kinds of one family, in the order in which lists show them."""
        return self._families[family]

    def __iter__(self) -> Iterator[str]:
        """An iterator over the names of the families."""
        return iter(self._families)

    def __len__(self) -> int:
        """The number of families."""
        return len(self._families)

    def find(self, family: str, name: object) -> Kind:
        """The kind called `name`; raises `BadValueError` with a suggestion if there is none."""
        kinds = self._families[family]
        if not isinstance(name, str) or name not in kinds:
            what = f"unknown {FAMILIES[family]} `{shown(name)}`"
            raise BadValueError(what, _meant(family, shown(name), kinds))
        return kinds[name]

    def refuse_setting(self, profile: str, name: str) -> BadValueError | None:
        """The error if `profile` lacks the setting `name` and another profile has it, or `None`."""
        kind, any_host = self.find("profiles", profile), self.any_profile()
        if any_host is None or name in kind.params or name not in any_host.params:
            return None
        problem = f"a host of profile `{profile}` has no setting `{name}`"
        return BadValueError(problem, "docs/reference/tcp.md lists which host has which")

    def any_profile(self) -> Kind | None:
        """A combined profile with the settings of all host profiles; `None` without profiles."""
        profiles = list(self["profiles"].values())
        if not profiles:
            return None
        params = {name: param for kind in profiles for name, param in kind.params.items()}
        return replace(profiles[0], params=params)


def table_of(family: str, text: str) -> Table:
    """The table of a text such as "fq_codel limit=1000".

    Raises `BadValueError` for an invalid text. An unknown kind is refused before its parameters,
    because its parameters have no meaning.
    """
    try:
        return kind_table(text)
    except BadValueError:
        load().find(family, text.split(maxsplit=1)[0])
        raise


def _meant(family: str, name: str, kinds: Mapping[str, Kind]) -> str:
    """A hint for an unknown name, which is not among `kinds`."""
    first, comma, rest = name.partition(",")
    if comma and first.strip() in kinds:
        return f"write a space before parameters: `{first.strip()} {rest.strip()}`"
    if family == "disciplines":
        word = name.lower().replace("-", "_")
        if word in _ELSEWHERE:
            return f"did you mean `{_ELSEWHERE[word]}`?"
        if word in _NEAREST:
            return f"{name} is not modelled; `{_NEAREST[word]}` is the nearest to it"
    return suggestion(name, kinds)


def _kind(family: str, entry: Mapping[str, Any]) -> Kind:
    params = {
        param["name"]: Param(
            name=param["name"],
            type=param["type"],
            default=param["default"],
            text=param["text"],
            doc=param["doc"],
            choices=tuple(param.get("choices") or ()),
            least=param.get("least"),
            most=param.get("most"),
        )
        for param in entry["params"]
    }
    return Kind(
        family,
        entry["name"],
        entry["summary"],
        entry["source"],
        params,
        default_cc=entry.get("default_cc"),
        on_gateway=entry.get("on_gateway", False),
    )


def raw() -> Mapping[str, list[dict[str, Any]]]:
    """The entries of each registry of the core, by the name of the registry."""
    return _core.catalogue()


@lru_cache(maxsize=1)
def load() -> Catalogue:
    """The catalogue of the core's kinds, which is made only once."""
    return Catalogue(raw())
