"""The reader of TEACUP's configs.

The modules of the reader are loaded by name when a config, or a value of a config, is first read.
Plans of other sources do not need these modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from aqmlab.planning.overrides import Assignment, TomlValue, Variation
from aqmlab.planning.plan import Plan
from aqmlab.scenario.quantities import Duration

SUFFIX = ".py"
"""The suffix of the names of config files."""

_PREFIXES = ("V_", "TPCONF_")
"""The beginnings of the names in a config."""


def load(
    path: Path,
    sets: Sequence[Assignment],
    vary: Sequence[Variation],
    seeds: Any,
    duration: str | Duration | None,
) -> Plan:
    """Plans the config in `path`; see `teacup.load`."""
    plan: Plan = resolve_name("aqmlab.planning.teacup:load")(path, sets, vary, seeds, duration)
    return plan


def is_name(address: str) -> bool:
    """Returns whether an address is a name of a TEACUP config."""
    return address.startswith(_PREFIXES)


def literal(text: str) -> TomlValue:
    """Parses a value in Python's notation; see `teacup.literals.literal`."""
    return resolve_name("aqmlab.planning.teacup.literals:literal")(text)
