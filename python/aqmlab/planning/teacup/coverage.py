"""Checks that the traffic passes through the queues of the routers.

A queue with an error in its `source` or `dest` matches no packets. The packets then cross the
router without passing through this queue, on a testbed as in the simulator. The results do not show
this error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aqmlab.base.errors import ScenarioError, shown
from aqmlab.planning.teacup.hosts import Hosts
from aqmlab.planning.teacup.network import Network, Queue
from aqmlab.planning.teacup.vocabulary import Config

_MOST_NAMED = 10


def check(config: Config, network: Network, ways: Mapping[tuple[str, str], str]) -> None:
    """Warns of queues without packets and of packets without a queue.

    Raises `ScenarioError` if a config has both, because the queue was probably meant for these
    packets, and for a config without traffic. `ways` maps the pairs of addresses that
    exchange packets to their locations in the config.
    """
    hosts = network.hosts
    ends = {end for way in ways for end in way}
    # A router's queues do not handle its own packets.
    ends |= {
        address
        for name, own in hosts.addresses.items()
        if name not in network.routers
        for address in own
    }
    idle = {queue.where: said for queue in network.queues if (said := _idle(hosts, queue, ends))}
    if not ways:
        for where, said in idle.items():
            raise ScenarioError(where, said, _where_hosts_are(ends))
        raise ScenarioError(config.where("traffic_gens"), "no traffic is left")
    for (source, dest), place in ways.items():
        if network.through(source, dest):
            continue
        way = f"from {shown(hosts.name_of(source))} to {shown(hosts.name_of(dest))}"
        for where, said in idle.items():
            problem = f"{said}, and packets {way} pass no queue ({place})"
            raise ScenarioError(where, problem, _where_hosts_are(ends))
        config.warn(f"{place}: packets {way} pass no queue: nothing limits or delays them")
    for where, said in idle.items():
        config.warn(f"{where}: {said}")


def _idle(hosts: Hosts, queue: Queue, ends: Iterable[str]) -> str | None:
    """The problem of a queue whose `source` or `dest` contains none of `ends`; otherwise `None`."""
    for key, network in (("source", queue.source), ("dest", queue.dest)):
        if not any(hosts.within(end, network) for end in ends):
            return f"queue {shown(queue.id)} takes no packets: no host is in {key}='{network}'"
    return None


def _where_hosts_are(ends: Iterable[str]) -> str:
    known = sorted(ends)
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return f"hosts are {', '.join(map(shown, known[:_MOST_NAMED]))}{more}"
