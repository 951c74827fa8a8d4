"""The grouping of trials into seeds of one condition.

Every number over seeds combines trials with the same label. This module raises an error if
different conditions have the same label, wherever the labels come from.
"""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.base.condition_text import condition_text
from aqmlab.base.failures import LabError
from aqmlab.campaign.store.manifest import TrialEntry
from aqmlab.results.labels import Label, label_trials


def labels_of(trials: Sequence[TrialEntry]) -> dict[str, Label]:
    """The label of each trial of a manifest, by the trial's name.

    Raises `LabError` if trials with the same label are not seeds of one condition.
    """
    labels = label_trials(trials)
    refuse_merged(trials, labels)
    return {trial.id: label for trial, label in zip(trials, labels, strict=True)}


def refuse_merged(trials: Sequence[TrialEntry], labels: Sequence[Label]) -> None:
    """Raises `LabError` if trials with the same label have equal seeds or different conditions."""
    firsts: dict[Label, TrialEntry] = {}
    seen: dict[tuple[Label, int], TrialEntry] = {}
    for trial, label in zip(trials, labels, strict=True):
        first = firsts.setdefault(label, trial)
        if (differs := _difference(first, trial)) is not None:
            raise _merged(first, trial, label, f"they differ in {differs}")
        other = seen.setdefault((label, trial.seed), trial)
        if other is not trial:
            raise _merged(other, trial, label, f"both have the seed {trial.seed}")


def _difference(one: TrialEntry, other: TrialEntry) -> str | None:
    """The difference that keeps two trials from being seeds of one condition; `None` if none."""
    if one is other:
        return None
    if _texts(one) != _texts(other):
        return "their conditions"
    if one.engine != other.engine:
        return "their engines"
    digests = {trial.condition for trial in (one, other)} - {None}
    return "what was run" if len(digests) > 1 else None


def _texts(trial: TrialEntry) -> dict[str, str]:
    return {name: condition_text(value) for name, value in trial.conditions.items()}


def _merged(one: TrialEntry, other: TrialEntry, label: Label, why: str) -> LabError:
    return LabError(
        f"`{label}` is the label of `{one.id}` and of `{other.id}`, but {why}:"
        " they are not repetitions of one condition",
        "give each step of a loop its own label and run the campaign again",
    )
