"""The needs of the applications of a plan: tolerated round-trip times and lowest rates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from aqmlab.base.errors import shown
from aqmlab.planning.plan import PlannedTrial
from aqmlab.scenario.model import Report

TOLERANCES_MS: dict[str, float] = {
    "voip": 150.0,
    "video_call": 150.0,
    "webrtc_call": 150.0,
    "game": 200.0,
    "web": 2_000.0,
    "bursts": 2_000.0,
    "dash": 10_000.0,
    "audio_stream": 10_000.0,
    "notification": 10_000.0,
}
"""The largest round-trip time that a kind of application tolerates, in milliseconds.

Source: ITU-T G.1010 as adapted by Boerlage et al. 2016, Table I: voice and video up to 150 ms,
games up to 200 ms, web and e-mail up to 2 s, streaming and messaging up to 10 s. Bulk transfers
have no limit.
"""


def unused(trials: Iterable[PlannedTrial], report: Report) -> Iterator[str]:
    """Yields a warning for each stated need without an application."""
    names = {app.name for trial in trials for app in trial.spec.apps}
    families = names | {name.rpartition("-")[0] for name in names}
    for key, said in (("tolerances", report.tolerances), ("rates", report.rates)):
        for name in said:
            if name not in families:
                yield f"report.{key}.{shown(name)}: there is no such application"


def stated(trials: Iterable[PlannedTrial], said: Mapping[str, float]) -> dict[str, float]:
    """The values `said` for applications, for each of their copies."""
    return {
        app.name: said[family]
        for trial in trials
        for app in trial.spec.apps
        for family in said
        if app.name == family or app.name.rpartition("-")[0] == family
    }


def tolerances(trials: Iterable[PlannedTrial]) -> dict[str, float]:
    """The default tolerance of each application of `trials`: a round-trip time in ms."""
    return {
        app.name: TOLERANCES_MS[app.app.kind]
        for trial in trials
        for app in trial.spec.apps
        if app.app.kind in TOLERANCES_MS
    }
