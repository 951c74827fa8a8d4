"""Presets: parameters of `cake` by direction, as sqm-scripts sets them on gateways."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from aqmlab.scenario.notation import Table


@cache
def load() -> Mapping[str, Table]:
    """The presets by name: `title`, `source`, and the parameters of `cake` for `up` and `down`."""
    text = (resources.files("aqmlab.scenario") / "presets.toml").read_text("utf-8")
    return tomllib.loads(text)


def apply(way: str, link: Table) -> None:
    """Replaces the discipline in a gateway's table `link` by `cake`, if the discipline is a preset.

    `way` is the direction of the link, "up" or "down". Parameters in `link` override the preset's
    parameters. CAKE limits the rate, unless the link has another shaper.
    """
    qdisc = link.get("qdisc")
    preset = load().get(str(qdisc.get("kind"))) if isinstance(qdisc, dict) else None
    if preset is None or not isinstance(qdisc, dict):
        return
    link["qdisc"] = preset[way] | qdisc | {"kind": "cake"}
    link.setdefault("shaper", "cake")
