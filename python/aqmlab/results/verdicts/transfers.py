"""The speed of transfers: times of small ones, and shares of the line for others.

Source of the share: Philip et al. use the max-min fair share for services on the internet (2024,
"Prudentia: Findings of an Internet Fairness Watchdog", ACM SIGCOMM). An application that demands
less than an equal share gets its demand. The others share the rest. The demand is not observable,
so the throughput stands for it. A transfer's share is the remainder after the others, but never
less than an equal share. Difference: all connections of an application count as one because a
person at home did not open them.

Rates count IP packets. The capacity of a link is its rate of full-sized packets. The capacity of a
radio is not known in advance, so the traffic that it carried is shared.

The time of a transfer that its trial cuts off is projected: the remaining bytes continue at the
measured goodput.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING

from aqmlab.base.failures import RequestError
from aqmlab.engines.trial_spec import AppSpec, LinkSpec, TrialSpec

if TYPE_CHECKING:
    from aqmlab.results.export import FlowNumbers, TrialNumbers
    from aqmlab.results.results import CampaignResults

MOST_TIMED_BYTES = 10_000_000
"""The largest transfer for which ITU-T G.1010 (Table I.2) states a time."""

ACCEPTED_TIME_MS = 60_000.0
"""The longest acceptable time in that table; an unfinished transfer of this age is bad."""

_DIRECTIONS = ("up", "down")
_WHOLE_PACKET = 1500
_ATM_CELL, _ATM_PAYLOAD = 53, 48
_CLOCK = ((60, "min", 1, "s"), (3_600, "h", 60, "min"), (86_400, "d", 3_600, "h"))


@dataclass(frozen=True, slots=True)
class TransferTime:
    """The time of a transfer with a size, measured or projected."""

    size_bytes: int
    """The bytes of all its connections."""
    ms: float
    projected: bool
    """Whether its trial ended before the transfer did."""
    least_ms: float | None = None
    most_ms: float | None = None
    """The longest of several seeds, whose median is `ms`."""

    def __str__(self) -> str:
        """The time in words.

        >>> str(TransferTime(2_000_000_000, 9_570_000, projected=True))
        '2 GB in 2 h 40 min (projected)'
        """
        mark = " (projected)" if self.projected else ""
        return f"{_size_text(self.size_bytes)} in {clock_text(self.ms)}{mark}"


def clock_text(ms: float) -> str:
    """A time in everyday form, with at most two units.

    >>> [clock_text(ms) for ms in (640, 12_300, 119_700, 9_570_000, 200_000_000)]
    ['0.64 s', '12 s', '2 min', '2 h 40 min', '2 d 8 h']
    """
    if ms < 10_000:
        return f"{ms / 1000:.2g} s"
    found = ""
    for unit_s, unit, below_s, below in _CLOCK:
        # A value that rounds to a whole next unit uses that unit.
        whole, rest = divmod(round(ms / 1000 / below_s), unit_s // below_s)
        if whole == 0:
            break
        found = f"{whole} {unit}" + (f" {rest} {below}" if rest else "")
    return found or f"{ms / 1000:.0f} s"


def _size_text(size_bytes: int) -> str:
    steps = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "B"))
    scale, unit = next(one for one in steps if size_bytes >= one[0])
    return f"{size_bytes / scale:.4g} {unit}"


class Speeds:
    """The speeds of a campaign's transfers."""

    def __init__(self, results: CampaignResults) -> None:
        self._results = results

    def of(self, trial: TrialNumbers, apps: Iterable[str]) -> dict[str, dict[str, float]]:
        """The values of `measured` for `apps` in a trial, as `trials_as_json` gives it.

        Raises `RequestError` if the stored specification of the trial cannot be read.
        """
        try:
            spec = TrialSpec.read(self._results.trials["spec"][self._rows[trial["id"]]])
            return measured(spec, trial["flows"], apps)
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ):
            raise RequestError(
                f"{self._results.path}: table `trials` is damaged: the specification of"
                f" `{trial['id']}` cannot be read",
                "restore the file from a copy, or remove the folder and run the campaign again",
            ) from None

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {trial: row for row, trial in enumerate(self._results.trials["trial"])}


@dataclass(frozen=True, slots=True)
class _Traffic:
    """The traffic of one application in one direction, and its active interval."""

    app: str
    primary: bool
    links: tuple[int, ...]
    mbit: float
    start_ns: int
    stop_ns: int

    def during(self, other: _Traffic) -> float:
        """Its mean rate, in Mbit/s, during the active interval of `other`."""
        both_ns = min(self.stop_ns, other.stop_ns) - max(self.start_ns, other.start_ns)
        return self.mbit * max(both_ns, 0) / (other.stop_ns - other.start_ns)


def measured(
    spec: TrialSpec, flows: Sequence[FlowNumbers], wanted: Iterable[str]
) -> dict[str, dict[str, float]]:
    """`transfer_ms` or `fair_share_percent` of each application in `wanted` that ran.

    `flows` are the flows of one trial in the form of `trials_as_json`; `spec` is its specification.
    A transfer of at most `MOST_TIMED_BYTES` has a time: its completion, or the time that was not
    enough. An unfinished one that could run for less than `ACCEPTED_TIME_MS` has a share, like all
    larger transfers. A transfer of any size also has its `size_bytes`, and `took_ms` or
    `projected_ms`.
    """
    sized = {name: one for name, one in _sized(spec, flows) if name in set(wanted)}
    judged = {name: ms for name, one in sized.items() if (ms := one.judged_ms()) is not None}
    shares = _fair_shares_percent(spec, flows, set(wanted).difference(judged))
    found: dict[str, dict[str, float]] = {name: {"transfer_ms": ms} for name, ms in judged.items()}
    found |= {name: {"fair_share_percent": percent} for name, percent in shares.items()}
    for name, one in sized.items():
        found.setdefault(name, {}).update(one.told())
    return found


@dataclass(frozen=True, slots=True)
class _Sized:
    """A transfer with a size, and its outcome in a trial."""

    size_bytes: int
    took_ms: float | None
    had_ms: float
    """The time available to it, in ms."""
    read_bytes: float
    goodput_mbit: float

    def judged_ms(self) -> float | None:
        """The time that is judged, if a limit applies to this transfer."""
        if self.size_bytes > MOST_TIMED_BYTES:
            return None
        if self.took_ms is None and self.had_ms >= ACCEPTED_TIME_MS:
            return self.had_ms
        return self.took_ms

    def told(self) -> dict[str, float]:
        """Its size and its time, measured or projected; empty if it moved no data."""
        if self.took_ms is not None:
            return {"size_bytes": self.size_bytes, "took_ms": self.took_ms}
        if not self.goodput_mbit:
            return {}
        left_ms = (self.size_bytes - self.read_bytes) * 8 / (self.goodput_mbit * 1000)
        return {"size_bytes": self.size_bytes, "projected_ms": self.had_ms + max(left_ms, 0.0)}


def _sized(spec: TrialSpec, flows: Sequence[FlowNumbers]) -> Iterator[tuple[str, _Sized]]:
    apps = spec.apps_by_name()
    # The goodput of the data direction must overwrite that of the other.
    for row in sorted(flows, key=itemgetter("primary")):
        app, told = apps[row["name"]], row["app"]
        size_bytes = _count(app, "size", 0) * _count(app, "parallel", 1)
        if size_bytes > 0:
            took_s = told.get("completion_time_s")
            yield (
                row["name"],
                _Sized(
                    size_bytes,
                    None if took_s is None else 1000 * took_s,
                    (_end_ns(spec, app) - app.start_ns) / 1e6,
                    told.get("read_bytes") or 0.0,
                    row.get("goodput_mbit") or 0.0,
                ),
            )


def _fair_shares_percent(
    spec: TrialSpec, flows: Sequence[FlowNumbers], wanted: Collection[str]
) -> dict[str, float]:
    found: dict[str, float] = {}
    for direction in _DIRECTIONS if wanted else ():
        ran = list(_flows(spec, flows, direction))
        for flow in ran:
            if flow.primary and flow.app in wanted and flow.stop_ns > flow.start_ns:
                fair = min(_fair(spec, link, flow, ran) for link in flow.links)
                percent = 100 * flow.mbit / fair if fair else 0.0
                found[flow.app] = min(percent, found.get(flow.app, percent))
    return found


def max_min_share(capacity: float, demands: Iterable[float]) -> float:
    """The share of `capacity` for one greedy flow beside `demands`.

    >>> [max_min_share(9, demands) for demands in ([], [1], [8], [1, 8], [1, 1, 8])]
    [9, 8, 4.5, 4.0, 3.5]
    """
    least_first = sorted(demands)
    for served, demand in enumerate(least_first):
        equal = capacity / (len(least_first) + 1 - served)
        if demand >= equal:
            return equal
        capacity -= demand
    return capacity


def _flows(spec: TrialSpec, flows: Sequence[FlowNumbers], direction: str) -> Iterable[_Traffic]:
    apps = spec.apps_by_name()
    for row in flows:
        links = apps[row["name"]].route(direction).links
        if row["direction"] == direction and links:
            start_ns, stop_ns = _active_ns(row) or _ran(spec, apps[row["name"]], row["app"])
            mbit = row["throughput_mbit"]["mean"] or 0.0
            yield _Traffic(row["name"], row["primary"], links, mbit, start_ns, stop_ns)


def _active_ns(row: FlowNumbers) -> tuple[int, int] | None:
    """The active interval of a flow, over which its rate is measured; `None` if not recorded."""
    start_s, stop_s = row.get("active_from_s"), row.get("active_to_s")
    if start_s is None or stop_s is None:
        return None
    return round(start_s * 1e9), round(stop_s * 1e9)


def _ran(spec: TrialSpec, app: AppSpec, told: Mapping[str, float | None]) -> tuple[int, int]:
    """The scheduled interval of an application, if its table has no active interval."""
    start_ns, stop_ns = app.start_ns, _end_ns(spec, app)
    if (took_s := told.get("completion_time_s")) is not None:
        stop_ns = min(stop_ns, start_ns + int(took_s * 1e9))
    from_ns, to_ns = spec.interval_ns
    return max(start_ns, from_ns), min(stop_ns, to_ns)


def _end_ns(spec: TrialSpec, app: AppSpec) -> int:
    """The latest end of an application."""
    ends_ns = [spec.duration_ns]
    if app.stop_ns is not None:
        ends_ns.append(app.stop_ns)
    if isinstance(span_ns := app.app.params.get("duration"), int):
        ends_ns.append(app.start_ns + span_ns)
    return min(ends_ns)


def _count(app: AppSpec, name: str, default: int) -> int:
    """A parameter of an application that is a whole number."""
    value = app.app.params.get(name, default)
    return value if isinstance(value, int) else default


def _fair(spec: TrialSpec, link: int, flow: _Traffic, ran: Sequence[_Traffic]) -> float:
    others = [one.during(flow) for one in ran if one is not flow and link in one.links]
    capacity = _capacity_mbit(spec.links[link])
    if capacity is None:
        capacity = flow.mbit + sum(others)
    return max_min_share(capacity, others)


def _capacity_mbit(link: LinkSpec) -> float | None:
    """The IP capacity of a link with full-sized packets; unknown for a radio."""
    if link.wifi or not link.rate_bps:
        return None
    charged = max(_WHOLE_PACKET + link.overhead.bytes, link.overhead.minimum)
    if link.overhead.atm:
        charged = -(-charged // _ATM_PAYLOAD) * _ATM_CELL
    return link.rate_bps / 1e6 * _WHOLE_PACKET / charged
