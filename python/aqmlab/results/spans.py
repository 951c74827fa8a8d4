"""The length of a manifest's trials, and the interval that their statistics cover."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from aqmlab.engines.trial_spec import TrialSpec

_MOST_SAID = 3


class Span(NamedTuple):
    """The length of a trial, and the start and end of its measurement."""

    duration_s: float
    from_s: float
    to_s: float


def of_spec(spec: TrialSpec) -> dict[str, float]:
    """The members of a manifest that state the span of a resolved trial."""
    from_ns, to_ns = spec.interval_ns
    return {
        "duration_s": spec.duration_s,
        "measure_from_s": from_ns / 1e9,
        "measure_to_s": to_ns / 1e9,
    }


def of_trials(manifest: Mapping[str, Any]) -> dict[str, Span]:
    """The span of each trial; a trial without its own span has the campaign's."""
    return {one["id"]: _span({**manifest, **one}) for one in manifest["trials"]}


def _span(told: Mapping[str, Any]) -> Span:
    duration_s = told.get("duration_s", 0.0)
    return Span(duration_s, told.get("measure_from_s", 0.0), told.get("measure_to_s", duration_s))


def measured_text(manifest: Mapping[str, Any]) -> str:
    """The interval that statistics cover, in words, also if it differs by trial."""
    found = list(dict.fromkeys((one.from_s, one.to_s) for one in of_trials(manifest).values()))
    if len(found) == 1:
        return _text(*found[0])
    if len(found) <= _MOST_SAID:
        return f"{' or '.join(_text(*one) for one in found)}, which differs by trial"
    outer = _text(min(start for start, _ in found), max(end for _, end in found))
    return f"{len(found)} spans between {outer.replace(' to ', ' and ')}, which differ by trial"


def length_text(manifest: Mapping[str, Any]) -> str:
    """The length of the trials, in words."""
    lengths = {one.duration_s for one in of_trials(manifest).values()}
    if len(lengths) == 1:
        return f"{min(lengths):g} s"
    return _text(min(lengths), max(lengths))


def _text(start_s: float, end_s: float) -> str:
    return f"{start_s:g} to {end_s:g} s"
