"""Types of the table rows that exports read. docs/reference/results.md defines the columns."""

from __future__ import annotations

from typing import TypedDict


class FlowRow(TypedDict):
    """The numbers of a flow in one direction over the measured interval."""

    flow: str
    direction: str
    throughput_mean_mbit: float | None


class WindowRow(TypedDict):
    """The throughput of a flow in one direction in one window."""

    t_s: float
    throughput_mbit: float


class RttRow(TypedDict):
    """The `n` round-trip times of a flow in one direction in one step of measurement."""

    t_s: float
    rtt_p50_ms: float | None
    rtt_min_ms: float
    rtt_mean_ms: float
    rtt_max_ms: float
    n: int


class AppSeriesRow(TypedDict):
    """A value that an application itself measured."""

    t_s: float
    metric: str
    value: float


class TcpSeriesRow(TypedDict):
    """The state of one end of a connection at one time."""

    side: str
    conn: int
    t_s: float
    cwnd_bytes: float
    srtt_ms: float | None


class QueueSeriesRow(TypedDict):
    """The state of a link's queue at one time, with the numbers of all drops and marks so far."""

    link: str
    t_s: float
    backlog_bytes: int | None
    backlog_packets: int
    drops: int
    marks: int | None
