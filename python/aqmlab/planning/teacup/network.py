"""Converts the router queues of a TEACUP config to links and routes.

Source: TEACUP v1.1 `routersetup.py` and `experiment.py`. On Linux, the last matching rule of
iptables marks a packet, and the packet passes through the queue of this rule only. On FreeBSD, with
`net.inet.ip.fw.one_pass=0`, the packet passes through every matching pipe in order. On both systems
the emulated delay follows the queue. HTB sets the rate of a Linux router, with the default bursts
of `tc`. Dummynet sends at its ticks. A Linux router counts Ethernet frames (IP + 14 bytes), and
dummynet at layer 3 counts IP bytes.

Differences: loss is applied after the last queue, although dummynet on FreeBSD applies it before
the pipe. With several routers in series, all delay follows the last router.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import UNSET

from aqmlab.base.errors import BadValueError, ScenarioError, shown
from aqmlab.engines.trial_spec import LinkSpec, OverheadSpec, RouteSpec
from aqmlab.planning.links_spec import overhead_spec
from aqmlab.planning.teacup import disciplines
from aqmlab.planning.teacup.hosts import Hosts
from aqmlab.planning.teacup.vocabulary import (
    Arguments,
    Config,
    ListEntry,
    arguments,
    entries,
    variable_uses,
)
from aqmlab.scenario.fields import refuse_rate

KEYS = frozenset((
    "source", "dest", "delay", "loss", "rate", "rtt", "queue_size", "queue_size_mult",
    "queue_disc", "queue_disc_params", "bidir", "attach_to_queue",
))  # fmt: skip
_MOST_LINKS = 2_000
_DEFAULT_RATE = 1_000_000_000
_MS = 1_000_000


@dataclass
class Queue:
    """One entry of the router's queues.

    Packets from `source` to `dest` match the entry, and with `both_ways` also packets from `dest`
    to `source`. A packet that matches has the delay `delay_ns` and the probability of loss `loss`.
    """

    where: str
    id: str
    router: str
    source: str
    dest: str
    links: dict[bool, int]
    """The index of each direction's link; `True` is from `source` to `dest`. A bidirectional queue
    on Linux has one link on each interface."""
    delay_ns: int
    loss: float
    both_ways: bool

    def takes(self, hosts: Hosts, source: str, dest: str) -> bool | None:
        """The direction in which a packet from `source` to `dest` passes through the queue.

        Returns true for forward, false for backward, and `None` if the queue does not match.
        """
        if hosts.within(source, self.source) and hosts.within(dest, self.dest):
            return True
        back = hosts.within(source, self.dest) and hosts.within(dest, self.source)
        return False if self.both_ways and back else None


@dataclass
class Network:
    """Links in the simulator's form, and the queues before them.

    `home` holds the networks of the home. With `shared_list`, each of several routers has all
    queues.
    """

    hosts: Hosts
    overhead: str | None = None
    links: list[LinkSpec] = field(default_factory=list)
    queues: list[Queue] = field(default_factory=list)
    home: list[str] = field(default_factory=list)
    routers: list[str] = field(default_factory=list)
    shared_list: bool = False

    def is_home(self, address: str) -> bool:
        """Returns whether an address belongs to the home."""
        return any(self.hosts.within(address, net) for net in self.home)

    def way(self, source: str, dest: str) -> str:
        """The direction of a link: "up" if only `source` overlaps the home, otherwise "down"."""
        if any(self.hosts.overlap(dest, net) for net in self.home):
            return "down"
        return "up" if any(self.hosts.overlap(source, net) for net in self.home) else "down"

    def route(self, source: str, dest: str) -> RouteSpec:
        """The route from one address to another in the simulator's form."""
        links: list[int] = []
        delay_ns, passed = 0, 1.0
        for queue, forward in self.through(source, dest):
            links += [queue.links[forward]] if queue.links else []
            delay_ns += queue.delay_ns
            passed *= 1.0 - queue.loss
        return RouteSpec(links=tuple(links), delay_ns=delay_ns, loss=round(1.0 - passed, 12))

    def through(self, source: str, dest: str) -> list[tuple[Queue, bool]]:
        """The queues that a packet passes through, each with true for the forward direction."""
        return [
            step
            for router in self._routers_between(source, dest)
            for step in self._matching(router, source, dest)
        ]

    def _matching(self, router: str, source: str, dest: str) -> list[tuple[Queue, bool]]:
        found = []
        for queue in self.queues:
            forward = queue.takes(self.hosts, source, dest)
            if queue.router == router and forward is not None:
                found.append((queue, forward))
        # iptables: the last mark applies. ipfw: rules apply in the order of their numbers, and no
        # pipe ends the search.
        if self.hosts.is_linux(router):
            return found[-1:]
        return sorted(found, key=lambda pair: _number(pair[0].id))

    def _routers_between(self, source: str, dest: str) -> list[str]:
        """The routers on the route, with the router in the sender's subnet first."""
        near = [router for router in self.routers if self.hosts.beside(router, source)]
        far = [router for router in self.routers if self.hosts.beside(router, dest)]
        between = [router for router in self.routers if router not in near and router not in far]
        far = [router for router in far if router not in near]
        if self.shared_list and (near or far):
            between = []  # Every router has all queues, so further routers would repeat them.
        return [*near, *between, *far]


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0


def build(
    config: Config, hosts: Hosts, variables: Mapping[str, object], overhead: str | None
) -> Network:
    """Builds the network of one experiment.

    `overhead` applies to every link. By default the overhead depends on the router. Raises
    `ScenarioError` for an invalid queue, and if there is no queue.
    """
    network = Network(hosts, overhead)
    specs = config.get("router_queues")
    routers = [str(router) for router in config.rows("router")]
    if isinstance(specs, dict):
        by_router = {str(router): rows for router, rows in config.table("router_queues").items()}
    else:
        by_router = dict.fromkeys(routers or ["router"], specs)
        network.shared_list = len(by_router) > 1
    network.routers = [router for router in routers if router in by_router] or list(by_router)
    all_entries = {
        router: entries(config, "router_queues", by_router[router], 2) for router in network.routers
    }
    network.home = _home(config, all_entries, variables)
    for router, rows in all_entries.items():
        for entry in rows:
            _add_queue(network, config, router, entry, variables)
    if not network.queues:
        raise ScenarioError(config.where("router_queues"), "there is no queue")
    return network


def _home(
    config: Config, rows: Mapping[str, list[ListEntry]], variables: Mapping[str, object]
) -> list[str]:
    """The networks of the home, by the names of the variables in the queues' rates.

    The home has the sources of queues with an `up` variable and the destinations of queues with a
    `down` variable. Without such variables, the home is the /24 network of the first source.
    """
    up, down, first = [], [], ""
    for entry in (entry for entries_of in rows.values() for entry in entries_of):
        variable = _rate_variable(str(entry.fields[1]))
        args = arguments(entry, entry.fields[1], variables, config.warn)
        first = first or args.text("source")
        words = variable.lower().split("_")
        if any(word.startswith("up") for word in words):
            up.append(args.text("source"))
        elif any(word in ("dn", "down", "downstream") for word in words):
            down.append(args.text("dest"))
    home = list(dict.fromkeys([*up, *down])) or [_subnet(first)]
    why = (
        "its queues have rates named after up and down"
        if up or down
        else "it is the source of the first queue"
    )
    config.warn(f"{config.source}: {', '.join(home)} is taken for the home: {why}")
    return home


def _rate_variable(text: str) -> str:
    """The variable in a queue's rate, or an empty text.

    >>> _rate_variable("source='a', rate=2*V_up_rate, delay=V_delay"), _rate_variable("rate=1")
    ('V_up_rate', '')
    """
    for part in text.split(","):
        rate = re.search(r"\brate\s*+=", part)
        found = re.compile(r"V_\w+").search(part, rate.end()) if rate else None
        if found:
            return found[0]
    return ""


def delays(config: Config) -> set[str]:
    """The variables that the queues use only as `delay=NAME`, so their numbers are milliseconds."""
    specs = config.get("router_queues")
    lists = config.table("router_queues").values() if isinstance(specs, dict) else [specs]
    uses: dict[str, set[str]] = {}
    for rows in lists:
        for entry in entries(config, "router_queues", rows, 2):
            for name, use in variable_uses(entry.fields[1]):
                uses.setdefault(name, set()).add(use)
    return {name for name, own in uses.items() if own == {"delay"}}


def _add_queue(
    network: Network, config: Config, router: str, entry: ListEntry, variables: Mapping[str, object]
) -> None:
    args = arguments(entry, entry.fields[1], variables, config.warn)
    for key in sorted(set(args) - KEYS):
        raise ScenarioError.unknown(entry.where, "key of a queue", key, KEYS)
    own_id = str(entry.fields[0])
    if any(queue.router == router and queue.id == own_id for queue in network.queues):
        raise ScenarioError(entry.where, f"there are two queues with the number {shown(own_id)}")
    queue = Queue(
        where=entry.where,
        id=own_id,
        router=router,
        source=network.hosts.network(args.text("source"), entry.where),
        dest=network.hosts.network(args.text("dest"), entry.where),
        links={},
        delay_ns=args.nanoseconds("delay", _MS, 0),
        loss=args.number("loss", 0),
        both_ways=args.text("bidir", "0") == "1",
    )
    if queue.loss > 1.0:
        raise ScenarioError(f"{entry.where}: loss", f"`{queue.loss:g}` is not between 0 and 1")
    # dummynet without a bandwidth is only a delay. HTB without a rate gets 1 Gbit/s.
    if args.text("rate", "") or args.text("attach_to_queue", "") or network.hosts.is_linux(router):
        queue.links = _links(network, config, queue, args)
    network.queues.append(queue)


def _links(network: Network, config: Config, queue: Queue, args: Arguments) -> dict[bool, int]:
    attached = args.text("attach_to_queue", "")
    if attached:
        for other in network.queues:
            if other.router == queue.router and other.id == attached:
                return other.links
        raise ScenarioError(
            f"{args.where}: attach_to_queue", f"there is no queue {shown(attached)} before this one"
        )
    forward = _add_link(network, config, queue, args, network.way(queue.source, queue.dest))
    if not queue.both_ways:
        return {True: forward}
    if not network.hosts.is_linux(queue.router):
        return {True: forward, False: forward}  # both rules of ipfw use the same pipe
    return {
        True: forward,
        False: _add_link(network, config, queue, args, network.way(queue.dest, queue.source)),
    }


def _add_link(network: Network, config: Config, queue: Queue, args: Arguments, way: str) -> int:
    if len(network.links) >= _MOST_LINKS:
        raise ScenarioError(args.where, f"more than {_MOST_LINKS} queues")
    linux = network.hosts.is_linux(queue.router)
    if args.text("rate", ""):
        rate_bps = _rate_bps(args)
    else:
        rate_bps = _DEFAULT_RATE
        config.warn(f"{args.where}: no rate is given: 1 Gbit/s")
    try:
        qdisc = disciplines.choose(args, rate_bps, linux, network.hosts.router_kernel, config.warn)
    except BadValueError as problem:
        raise problem.at(f"{args.where}: queue_disc") from None
    if linux and network.hosts.router_kernel is None:
        assumption = disciplines.assumed_kernel(args)
        if assumption is not None:
            config.warn(f"{config.source}: {assumption}")
    taken = [link.name for link in network.links]
    name = way if way not in taken else f"{way}-{queue.router}-{queue.id}"
    number = 2
    while name in taken:
        name, number = f"{way}-{queue.router}-{queue.id}-{number}", number + 1
    frame = 14 if linux else 0
    overhead = OverheadSpec(bytes=frame, counted=frame)
    if network.overhead is not None:
        overhead = overhead_spec(network.overhead)
    network.links.append(
        LinkSpec(
            name=name,
            rate_bps=rate_bps,
            qdisc=qdisc,
            overhead=overhead,
            shaper="htb" if linux else "dummynet",
            pipe_delay_ns=UNSET if linux else queue.delay_ns,
        )
    )
    return len(network.links) - 1


def _rate_bps(args: Arguments) -> int:
    """The rate of a link. A number without a unit is in bit/s, as in tc and ipfw."""
    text, rate_bps = args.text("rate"), args.rate("rate")
    try:
        refuse_rate(rate_bps, text)
    except BadValueError as problem:
        hint = problem.hint
        if re.fullmatch(r"[0-9.]+", text.strip()) and rate_bps < 1_000:
            hint = f"a number alone counts bit/s: did you mean '{text.strip()}mbit'?"
        raise ScenarioError(f"{args.where}: rate", problem.problem, hint) from None
    return rate_bps


def _subnet(text: str) -> str:
    """The /24 network of an IPv4 address, as on TEACUP's testbeds. Other text stays unchanged."""
    return f"{text}/24" if re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+", text) else text
