"""The packets of a call, in the form in which Flent's `voip` tests record them.

Delays are one-way delays upstream, from the caller at home. Flent records irtt's upstream delays in
`owd_up`, and irtt's round-trip times in `val`. In these files, both members hold the upstream
delay. Flent computes the rating of a call from the delays and losses of these samples.
"""

from __future__ import annotations

from collections.abc import Iterator

from aqmlab.results.export import packets
from aqmlab.results.export.flent.form import Sample
from aqmlab.results.export.flent.sampling import STEP_S
from aqmlab.results.export.flent.series import FlentSeries
from aqmlab.results.export.flent.tests import Cast
from aqmlab.results.export.trials import TrialRows

_KBIT = 1000


def series(trial: TrialRows, cast: Cast, epoch_s: float) -> dict[str, FlentSeries]:
    """The series of a trial's first call, by Flent's names; empty without a call.

    Runs the trial again for its packets. `epoch_s` is the time at which captures begin, in Unix
    time. Raises `RequestError` if the engine keeps no packets.
    """
    if not cast.voip:
        return {}
    name = cast.voip[0]
    app = next(n for n, one in enumerate(trial.spec.apps) if one.name == name)
    with packets.of_trial(trial) as ends:
        sent, received = (packets.read(path).of(app, "up") for path in ends)
    raw = list(_samples(sent, received, epoch_s))
    arrived = [one for one in raw if "val" in one]
    rows = trial.of("windows", flow=name, direction="up")
    bitrate = [(row["t_s"], row["throughput_mbit"] * _KBIT) for row in rows]
    return {
        "VoIP": FlentSeries("Kbps", raw, line=[]),
        "VoIP::bitrate": FlentSeries("Kbits/s", line=bitrate),
        "VoIP::delay": FlentSeries("ms", [_part(one, "owd_up") for one in arrived]),
        "VoIP::jitter": FlentSeries("ms", [_part(one, "jitter") for one in arrived]),
        "VoIP::loss": FlentSeries("count", line=_losses(raw)),
    }


def _part(sample: Sample, key: str) -> Sample:
    return {"t": sample["t"], "val": sample[key]}


def _samples(sent: packets.Packets, received: packets.Packets, epoch_s: float) -> Iterator[Sample]:
    """Yields a sample for each datagram, received or lost, in sending order.

    The datagrams after the last received datagram are omitted, because they may be in flight.
    """
    came_at = dict(zip(received.number.tolist(), received.at_s.tolist(), strict=True))
    fates = [came_at.get(number) for number in sent.number.tolist()]
    known = max((n for n, came_s in enumerate(fates) if came_s is not None), default=-1) + 1
    before_ms = None
    for seq, (at_s, came_s) in enumerate(zip(sent.at_s.tolist()[:known], fates, strict=False)):
        if came_s is None:
            yield {"t": round(at_s - epoch_s, 6), "seq": seq, "lost": True, "lost_dir": "up"}
            continue
        delay_ms = round((came_s - at_s) * 1e3, 4)
        change_ms = 0.0 if before_ms is None else round(delay_ms - before_ms, 4)
        yield {
            "t": round(came_s - epoch_s, 6),
            "seq": seq,
            "val": delay_ms,
            "owd_up": delay_ms,
            "ipdv_up": change_ms,
            "jitter": abs(change_ms),
        }
        before_ms = delay_ms


def _losses(raw: list[Sample]) -> list[tuple[float, float]]:
    """The start of each step, and the number of datagrams sent in the step that were lost."""
    import numpy as np

    ends_s = max((one["t"] for one in raw), default=0.0)
    lost = [one["t"] for one in raw if one.get("lost")]
    edges = np.arange(0.0, ends_s + 2 * STEP_S, STEP_S)
    counts, _ = np.histogram(lost, edges)
    return [(round(float(at), 6), int(n)) for at, n in zip(edges[:-1], counts, strict=True)]
