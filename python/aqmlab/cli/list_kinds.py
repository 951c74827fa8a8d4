"""The kinds of a family of the catalogue, as `aqmlab list` shows them."""

from __future__ import annotations

from typing import cast

from aqmlab.cli.listed import Listed, only
from aqmlab.engines import registry
from aqmlab.scenario import catalogue


def entries(topic: str, name: str | None) -> list[Listed]:
    """The kinds of the family `topic`, or the kind called `name`."""
    kinds = catalogue.load()[topic]
    registered = (
        {
            **entry,
            "engines": list(registry.that_have(topic, entry["name"])),
            "params": [
                {**param, "allowed": kinds[entry["name"]].params[param["name"]].allowed}
                for param in entry["params"]
            ],
        }
        for entry in catalogue.raw()[topic]
    )
    return only(topic, name, [cast(Listed, one) for one in registered])
