"""Warnings about values that are permitted, but probably not meant."""

from __future__ import annotations

from collections.abc import Iterator

from aqmlab.engines.trial_spec import AppSpec, KindSpec, TrialSpec
from aqmlab.scenario import catalogue
from aqmlab.scenario.quantities import Duration

_LONGEST_RTT_NS = 5_000_000_000
"""The longest round-trip time without a warning. A geostationary satellite has 0.6 s."""

_L4S_QDISCS = ("dualpi2", "dualpi2_rfc")


def unlikely(spec: TrialSpec) -> Iterator[str]:
    """Yields a warning for each value of a trial that is probably not meant."""
    longest_ns = max((app.up.delay_ns + app.down.delay_ns for app in spec.apps), default=0)
    rtt = Duration(longest_ns)
    if longest_ns > _LONGEST_RTT_NS:
        yield f"the round-trip time without queues is {rtt}; over a satellite it is 0.6 s"
    if spec.duration_ns < longest_ns:
        yield (
            f"the trial ends after {Duration(spec.duration_ns)}, before an answer can arrive:"
            f" the round-trip time is {rtt}"
        )
    for kind in dict.fromkeys(link.qdisc.kind for link in spec.links if _holds_one(link.qdisc)):
        yield f"limit=1 of {kind}: while a packet waits, every arrival is dropped"
    yield from _without_l4s(spec)


def _holds_one(qdisc: KindSpec) -> bool:
    """Returns whether a queue has room for only one packet."""
    param = catalogue.load()["disciplines"][qdisc.kind].params.get("limit")
    return param is not None and param.type == "count" and qdisc.params.get("limit") == 1


def _without_l4s(spec: TrialSpec) -> Iterator[str]:
    """Yields a warning if a discipline for L4S gets no L4S packets.

    RFC 9331, section 4.1: senders of L4S set ECT(1).
    """
    kinds = {link.qdisc.kind for link in spec.links}
    for name in _L4S_QDISCS:
        if name in kinds and not any(map(_sends_l4s, spec.apps)):
            yield f"{name}: no application sends L4S packets, so its low-latency queue stays empty"


def _sends_l4s(app: AppSpec) -> bool:
    ends = (app.home, app.wan)
    by_sender = any(end.cc is not None and end.cc.kind == "prague" for end in ends)
    return by_sender or app.app.params.get("ecn") == "ect1"
