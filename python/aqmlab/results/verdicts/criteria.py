"""The criteria by which each application is judged.

Sources: the tolerances of ITU-T G.1010 as Boerlage and Collom adapt them to round-trip
times (2016, Table I): voice and video to 150 ms, games to 200 ms, web and e-mail 1 to 2 s,
streaming and messaging 5 to 10 s, bulk transfers 10 s and more; G.1010 Tables I.1 and I.2 for
loss and for the limits of voice (400 ms) and web pages (2 s preferred, 4 s acceptable); the
real-time telemonitoring bound of 250 ms of Kua et al. (2017, §II-A), with less than a second
where Armitage et al. (2017, Table VII) accept it; 100 ms preferred by players of shooters
(Armitage 2003); the opinion scores of G.107 Annex B (4.0 satisfied, 3.6 some dissatisfied).

A probe stands for any application that may need an immediate answer. Up to 150 ms "most
applications, both speech and non-speech, will experience essentially transparent interactivity",
and 400 ms is the limit (ITU-T G.114, 2003, §4). Plain datagrams stand for no application and have
no limit.

A bulk transfer is also judged by its speed. For transfers of up to 10 MB, G.1010 Table I.2 gives
the time: 15 s preferred, 60 s acceptable. Any other transfer is compared with its fair share of the
line (`transfers`). A flow is reasonably fair within a factor of two (RFC 5348 §1), so half of the
fair share is good. G.1010 accepts four times the preferred time, so a quarter of the share is
tolerable. The time of a transfer with a size is shown beside the verdict. If no limit is known for
that time, it is not judged.

These delays are one-way. Like Boerlage et al., we compare the round-trip time with them, which is
stricter. A delay is judged by its 95th percentile. With several seeds, the median over seeds is
judged.

"""

from __future__ import annotations

from collections.abc import Callable

from aqmlab.results.verdicts.verdict import Criterion, Measured


def checks_for(
    kind: str, rtt_limit_ms: float | None = None, rate_mbit: float | None = None
) -> tuple[Criterion, ...]:
    """The needs of an application of `kind`; a stated need replaces that of its kind."""
    checks = CHECKS.get(kind, _BULK)
    if rtt_limit_ms is not None:
        checks = _with(checks, _round_trips(rtt_limit_ms, rtt_limit_ms))
    if rate_mbit is not None:
        needed = Criterion("rate", _metric("flow_rate_mbit"), rate_mbit, rate_mbit, "Mbit/s", True)
        checks = (needed, *(one for one in checks if one not in (_FAIR_SHARE, TIME)))
    return checks


def _with(checks: tuple[Criterion, ...], stated: Criterion) -> tuple[Criterion, ...]:
    """`checks` with `stated` in place of the check of the same name, or appended."""
    if not any(check.what == stated.what for check in checks):
        return (*checks, stated)
    return tuple(stated if check.what == stated.what else check for check in checks)


def _metric(*names: str, worst: Callable[..., float] = max) -> Callable[[Measured], float | None]:
    """The worst of the available values among some metrics."""

    def read(measured: Measured) -> float | None:
        values = [value for value in map(measured.get, names) if value is not None]
        return worst(values) if values else None

    return read


def _delivered_percent(measured: Measured) -> float | None:
    """The share of a sensor's data that arrived, in per cent."""
    offered, delivered = measured.get("offered_kbit"), measured.get("delivered_kbit")
    return 100 * (delivered or 0.0) / offered if offered else None


def _answered_percent(measured: Measured) -> float | None:
    """The share of requests with a known outcome that were answered."""
    answered, failed = measured.get("answered_count"), measured.get("failed_count")
    if answered is None or failed is None or answered + failed == 0:
        return None
    return 100 * answered / (answered + failed)


def _played_percent(measured: Measured) -> float | None:
    """The share of time in which video played, from the moment that it started or should have."""
    played, stalled = measured.get("played_s"), measured.get("stalled_percent")
    if played is None:
        return None
    return 0.0 if played == 0 else 100 - (stalled or 0.0)


def _round_trips(good_ms: float, tolerable_ms: float) -> Criterion:
    return Criterion("round trips", _metric("flow_rtt_p95_ms"), good_ms, tolerable_ms)


_FAIR_SHARE = Criterion(
    "fair share reached",
    _metric("fair_share_percent"),
    good=50,
    tolerable=12.5,
    unit="%",
    more_is_better=True,
)
TIME = Criterion("transferred in", _metric("transfer_ms"), good=15_000, tolerable=60_000)
_BULK = (_FAIR_SHARE, TIME, _round_trips(10_000, 60_000))
_VOICE = (
    Criterion(
        "opinion score",
        _metric("mos_up", "mos_down", worst=min),
        good=4.0,
        tolerable=3.6,
        unit="",
        more_is_better=True,
    ),
    _round_trips(150, 400),
)
_VIDEO_CALL = (
    _round_trips(150, 400),
    Criterion("loss", _metric("flow_loss_percent"), good=1, tolerable=3, unit="%"),
)
_ADAPTIVE_CALL = (
    Criterion(
        "frozen", _metric("frozen_up_percent", "frozen_down_percent"), good=0, tolerable=1, unit="%"
    ),
    Criterion(
        "seconds below 24 frames",
        _metric("below_24_fps_up_percent", "below_24_fps_down_percent"),
        good=5,
        tolerable=100,
        unit="%",
    ),
    Criterion(
        "seconds below 15 frames",
        _metric("below_15_fps_up_percent", "below_15_fps_down_percent"),
        good=10,
        tolerable=10,
        unit="%",
    ),
    Criterion(
        "frame delay",
        _metric("frame_delay_up_p95_ms", "frame_delay_down_p95_ms"),
        good=150,
        tolerable=400,
    ),
    *_VOICE,
)
_PROBE = (_round_trips(150, 400),)
_GAME = (_round_trips(100, 200),)
_SENSOR = (
    Criterion(
        "rate delivered",
        _delivered_percent,
        good=95,
        tolerable=95,
        unit="%",
        more_is_better=True,
    ),
    _round_trips(250, 1_000),
)
_MQTT = (
    Criterion("delivery", _metric("delivery_p95_ms"), good=250, tolerable=1_000),
    _round_trips(250, 1_000),
)
_COAP = (
    Criterion("answered", _answered_percent, good=95, tolerable=95, unit="%", more_is_better=True),
    Criterion("responses", _metric("response_p95_ms"), good=250, tolerable=1_000),
)
_VIDEO = (
    Criterion(
        "played without stalls",
        _played_percent,
        good=100,
        tolerable=99,
        unit="%",
        more_is_better=True,
    ),
    _round_trips(5_000, 10_000),
)
_PAGES = (
    Criterion("page loads", _metric("plt_p50_ms", "page_load_p50_ms"), good=2_000, tolerable=4_000),
    _round_trips(1_000, 2_000),
)
_BURSTS = (
    Criterion("late", _metric("late_percent"), good=0, tolerable=5, unit="%"),
    _round_trips(1_000, 2_000),
)
_MESSAGES = (
    Criterion("late", _metric("late_percent"), good=0, tolerable=5, unit="%"),
    _round_trips(5_000, 10_000),
)

CHECKS: dict[str, tuple[Criterion, ...]] = {
    "voip": _VOICE,
    "voip_g729": _VOICE,
    "video_call": _VIDEO_CALL,
    "webrtc_call": _ADAPTIVE_CALL,
    "game": _GAME,
    "iot_low": _SENSOR,
    "iot_high": _SENSOR,
    "telemetry": _SENSOR,
    "mqtt": _MQTT,
    "coap": _COAP,
    "dash": _VIDEO,
    "audio_stream": _VIDEO,
    "web": _PAGES,
    "bursts": _BURSTS,
    "notification": _MESSAGES,
    "photo_upload": _BURSTS,
    "bulk": _BULK,
    "ping": _PROBE,
    "irtt": _PROBE,
    "cbr": (),
}
"""The needs of each kind of application; any other kind is judged as a bulk transfer."""


def is_transfer(kind: str) -> bool:
    """Whether an application of `kind` is judged by its speed."""
    return CHECKS.get(kind, _BULK) is _BULK
