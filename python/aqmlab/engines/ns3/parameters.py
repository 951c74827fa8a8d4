"""The parameters of a kind: the trial's values, and the catalogue's defaults for all others."""

from __future__ import annotations

from collections.abc import Mapping

from aqmlab import _core
from aqmlab.engines.trial_spec import Argument, KindSpec


class KindParameters:
    """The values of all parameters of a kind, read by their types."""

    def __init__(self, values: Mapping[str, Argument]) -> None:
        self._values = values

    @classmethod
    def of(cls, family: str, given: KindSpec) -> KindParameters:
        """The parameters of the kind that `given` names, in the `family` of the catalogue.

        Parameters that `given` does not state have the catalogue's defaults.
        """
        entries = {entry["name"]: entry for entry in _core.catalogue()[family]}
        defaults = {param["name"]: param["default"] for param in entries[given.kind]["params"]}
        return cls(defaults | given.params)

    def has(self, name: str) -> bool:
        """Returns whether the kind has the parameter `name`."""
        return name in self._values

    def optional(self, name: str) -> int | None:
        """A parameter that is a whole number in base units; `None` means off.

        Raises `TypeError` for any other value.
        """
        value = self._values[name]
        if value is not None and not isinstance(value, int):
            raise TypeError(f"`{name}` is {value!r}, which is not a whole number")
        return value

    def whole(self, name: str) -> int:
        """A parameter that is a whole number in base units; off counts as zero."""
        return self.optional(name) or 0

    def number(self, name: str) -> float:
        """A parameter that is a number; raises `TypeError` for any other value."""
        value = self._values[name]
        if not isinstance(value, (int, float)):
            raise TypeError(f"`{name}` is {value!r}, which is not a number")
        return value

    def flag(self, name: str) -> bool:
        """A parameter that is a switch."""
        return bool(self._values[name])

    def word(self, name: str) -> str:
        """A parameter that is a word, such as a direction."""
        return str(self._values[name])
