"""The length of a manifest's trials, and the interval that their statistics cover."""

from __future__ import annotations

from typing import NamedTuple

from aqmlab.campaign.store.manifest import Manifest, TrialEntry
from aqmlab.engines.trial_spec import TrialSpec

_MOST_SAID = 3


class Span(NamedTuple):
    """The length of a trial, and the start and end of its measurement."""

    duration_s: float
    measure_from_s: float
    measure_to_s: float


def of_spec(spec: TrialSpec) -> Span:
    """The span of a resolved trial."""
    from_ns, to_ns = spec.interval_ns
    return Span(spec.duration_s, from_ns / 1e9, to_ns / 1e9)


def of_trials(manifest: Manifest) -> dict[str, Span]:
    """The span of each trial, by the trial's name."""
    return {one.id: of_trial(manifest, one) for one in manifest.trials}


def of_trial(manifest: Manifest, trial: TrialEntry) -> Span:
    """The span of a trial. A value that the trial does not have is the campaign's.

    If the campaign has no end of the measurement either, the measurement ends with the trial.
    """
    duration_s = _own(trial.duration_s, manifest.duration_s)
    to_s = _own(trial.measure_to_s, _own(manifest.measure_to_s, duration_s))
    return Span(duration_s, _own(trial.measure_from_s, manifest.measure_from_s), to_s)


def _own(value_s: float | None, otherwise_s: float) -> float:
    return otherwise_s if value_s is None else value_s


def measured_text(manifest: Manifest) -> str:
    """The interval that statistics cover, in words.

    If trials differ, the text names the intervals, or the number of intervals and their outer
    limits.
    """
    found = list(dict.fromkeys(one[1:] for one in of_trials(manifest).values()))
    if len(found) == 1:
        return _text(*found[0])
    if len(found) <= _MOST_SAID:
        return f"{' or '.join(_text(*one) for one in found)}, which differs by trial"
    outer = _text(min(start for start, _ in found), max(end for _, end in found))
    return f"{len(found)} spans between {outer.replace(' to ', ' and ')}, which differ by trial"


def length_text(manifest: Manifest) -> str:
    """The length of the trials in words, or the shortest and the longest length."""
    lengths = {one.duration_s for one in of_trials(manifest).values()}
    if len(lengths) == 1:
        return f"{min(lengths):g} s"
    return _text(min(lengths), max(lengths))


def _text(start_s: float, end_s: float) -> str:
    return f"{start_s:g} to {end_s:g} s"
