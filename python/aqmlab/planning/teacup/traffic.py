"""Reads the traffic generators of a TEACUP config: their starts, tasks and arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping

from aqmlab.base.errors import ScenarioError, shown
from aqmlab.planning.teacup.generators import Traffic
from aqmlab.planning.teacup.hosts import Hosts
from aqmlab.planning.teacup.network import Network
from aqmlab.planning.teacup.tasks import SERVERS, TASKS
from aqmlab.planning.teacup.vocabulary import (
    Arguments,
    Config,
    ListEntry,
    arguments,
    entries,
    or_rather,
)
from aqmlab.scenario.quantities import NS_PER_S

_FRAMEWORK = frozenset((
    "counter", "file_prefix", "remote_dir", "local_dir", "check", "wait", "kill",
))  # fmt: skip


def read(
    config: Config, hosts: Hosts, network: Network, variables: Mapping[str, object]
) -> Traffic:
    """Reads the applications of one experiment.

    Raises `NotModelledError` for an unsupported application.
    """
    traffic = Traffic(config, hosts, network, variables)
    seen: set[str] = set()
    for entry in entries(config, "traffic_gens", config.rows("traffic_gens"), 3):
        args = arguments(entry, entry.fields[2], variables, config.warn)
        own_id = str(entry.fields[1])
        if own_id in seen:
            raise ScenarioError(entry.where, f"there are two generators with the number {own_id}")
        seen.add(own_id)
        _start(traffic, entry, args, re.sub(r"[^\w.-]", "-", own_id)[:20])
    return traffic


def _start(traffic: Traffic, entry: ListEntry, args: Arguments, own_id: str) -> None:
    start = Arguments(entry.where, "", {"start": entry.fields[0]})
    start_ns = start.nanoseconds("start", NS_PER_S)
    task = args.task.lower()
    if task in SERVERS:
        traffic.config.warn(
            f"{entry.where}: no meaning here: {args.task} (a server is there when a client asks)"
        )
    elif task in TASKS:
        generate, known = TASKS[task]
        for key in sorted(set(args) - set(known.split()) - _FRAMEWORK):
            rather = or_rather(key, known.split())
            traffic.config.warn(f"{entry.where}: {args.task}: `{shown(key)}` is not read{rather}")
        generate(traffic, args, own_id, start_ns)
    else:
        rather = or_rather(args.task, [*TASKS, *SERVERS])
        traffic.config.warn(f"{entry.where}: unknown task `{shown(args.task)}`: left out{rather}")
