"""The user's changes of a TEACUP config: names of the config, and keys that no config has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from aqmlab.base.errors import BadValueError, ScenarioError, shown
from aqmlab.planning.change_text import assignment_text
from aqmlab.planning.overrides import Assignment, Variation
from aqmlab.planning.teacup.functions import SCALARS
from aqmlab.planning.teacup.vocabulary import WORDS
from aqmlab.scenario import links
from aqmlab.scenario import seeds as seed_numbers
from aqmlab.scenario.quantities import Duration

HOST_JITTER_NS = 50_000
"""The maximum delay that a host's interrupts and scheduler add to a packet, by assumption."""

START_JITTER_NS = 50_000_000
"""The maximum delay of the start of a generator over ssh, by assumption."""

_OWN = ("measure.", "path.overhead", "path.host_jitter", "path.start_jitter")


class ConfigChanges:
    """The user's changes of a config by type; raises `ScenarioError` for an invalid change."""

    def __init__(
        self,
        sets: Sequence[Assignment],
        vary: Sequence[Variation],
        seeds: Any,
        duration: str | Duration | None,
    ) -> None:
        self.said = dict(assignment_text(one).split("=", 1) for one in sets)
        self.variables: dict[str, object] = {}
        self.names: dict[str, object] = {}
        self.measure: dict[str, str] = {}
        self.overhead: str | None = None
        self.jitters = {"host_jitter_ns": HOST_JITTER_NS, "start_jitter_ns": START_JITTER_NS}
        for one in sets:
            self._set(one.address, one.value)
        self.vary = {one.address: _varied(one) for one in vary}
        for name in set(self.vary) & set(self.variables):
            raise ScenarioError("--vary", f"`{name}` is both set and varied", "choose one")
        self.seeds = _seeds(seeds)
        self.duration_ns = _duration(duration)
        if self.duration_ns is not None:
            self.variables["V_duration"] = self.duration_ns / 1e9
            if self.duration_ns % 1_000_000_000 == 0:
                self.variables["V_duration"] = self.duration_ns // 1_000_000_000

    def refuse_unread(self, bound: Iterable[str], used: Iterable[str]) -> None:
        """Raises `ScenarioError` for a set name that no config has and that this config lacks.

        `bound` are the names that the config binds, and `used` the names that it reads.
        """
        known = {*(f"TPCONF_{word}" for word in WORDS), *used}
        known |= {name for name in bound if name.startswith("TPCONF_")}
        for name in self.names:
            if name not in known:
                raise ScenarioError.unknown("--set", "name", name, known)

    def blamed(self, error: ScenarioError) -> ScenarioError:
        """The error, located at the option that states the value which the error quotes."""
        set_names = self.variables.keys() & self.said.keys()  # `--duration` also sets a variable
        stated = [("--set", name, self.variables[name]) for name in sorted(set_names)]
        stated += [("--vary", name, one) for name, values in self.vary.items() for one in values]
        for option, name, value in stated:
            if f"`{shown(value)}`" in error.problem:
                return error.at(f"{option} {name}: {error.where}")
        return error

    def _set(self, name: str, value: Any) -> None:
        if name.startswith("V_"):
            self.variables[name] = value
        elif name.startswith("TPCONF_"):
            self.names[name] = value
        elif name.startswith("measure."):
            self.measure[name.removeprefix("measure.")] = value
        elif name == "path.overhead":
            if not isinstance(value, str) or value not in links.OVERHEADS:
                raise ScenarioError.unknown(f"--set {name}", "overhead", value, links.OVERHEADS)
            self.overhead = value
        elif name in ("path.host_jitter", "path.start_jitter"):
            try:
                self.jitters[f"{name.removeprefix('path.')}_ns"] = Duration.parse(value).ns
            except BadValueError as problem:
                raise problem.at(f"--set {name}") from None
        else:
            raise ScenarioError(
                "--set",
                f"`{shown(name)}` is not a name in a TEACUP config",
                f"set a V_ or TPCONF_ name, or one of {', '.join(_OWN)}",
            )


def _varied(one: Variation) -> list[Any]:
    name = one.address
    if not name.startswith("V_"):
        raise ScenarioError("--vary", f"`{shown(name)}` is not a variable", "vary a V_ name")
    if not one.values or not all(isinstance(value, SCALARS) for value in one.values):
        raise ScenarioError(f"--vary {name}", "expected values, separated by commas")
    return list(one.values)


def _seeds(seeds: Any) -> tuple[int, ...] | None:
    if seeds is None:
        return None
    try:
        numbers = seed_numbers.numbers(seeds)
    except BadValueError as problem:
        raise problem.at("--seeds") from None
    if 0 in numbers:
        raise ScenarioError("--seeds", "seeds of a TEACUP config count from 1", "run 0 is seed 1")
    return numbers


def _duration(value: str | Duration | None) -> int | None:
    if value is None:
        return None
    try:
        span_ns = Duration.parse(value).ns
    except BadValueError as problem:
        raise problem.at("--duration") from None
    if span_ns == 0:
        raise ScenarioError("--duration", f"`{shown(value)}` is zero")
    return span_ns
