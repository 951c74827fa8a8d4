"""Verdicts beside the verdicts of a baseline condition: paired differences over the common seeds.

Trials with the same seed have the same random values (starts, sizes, losses) in all conditions. The
difference between two conditions therefore varies less over seeds than the value in either
condition. By default, the baseline is the queue of the first condition, at the rate and the
round-trip time of each condition. With one queue, with one rate and round-trip time, or if there is
no such condition for each condition, the baseline is the first condition. The user may name another
condition, or one queue, rate or round-trip time: each condition is then compared with the condition
that differs only in this part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from aqmlab.base.errors import shown, suggestion
from aqmlab.base.failures import RequestError
from aqmlab.results.labels import Label
from aqmlab.results.verdicts.verdict import Estimate, Finding, Verdict


@dataclass(frozen=True, slots=True)
class SharedPart:
    """A queue, rate or round-trip time as the baseline.

    The baseline of a condition is the condition that has this part and is otherwise equal.
    """

    part: Literal["queue", "rate", "rtt"]
    value: str

    @property
    def brief(self) -> str:
        """The baseline in words, for a sentence on differences."""
        return f"{self.value} with all else equal"

    def beside(self, label: Label) -> Label:
        """The condition with which `label` is compared."""
        match self.part:
            case "queue":
                return replace(label, queue=self.value)
            case "rate":
                return replace(label, rate=self.value)
            case "rtt":
                return replace(label, rtt=self.value)


Baseline = Label | SharedPart


class BaselineComparison:
    """The verdicts of a campaign beside the verdicts of its baseline."""

    def __init__(self, verdicts: Sequence[Verdict], baseline: Baseline | None = None) -> None:
        self.labels = list(dict.fromkeys(one.label for one in verdicts))
        self.baseline = baseline or _default(self.labels)
        self._verdicts = {(one.label, one.app): one for one in verdicts}

    @property
    def is_needed(self) -> bool:
        """Whether there is a condition besides the baseline."""
        return len(self.labels) > 1

    def of(self, verdict: Verdict, finding: Finding | None) -> Estimate | None:
        """The paired difference of `finding` from the baseline's finding on the same need.

        It is `None` if one of the two findings is absent, if they have no common seed with values,
        and for the baseline itself.
        """
        other = self._other(verdict)
        if finding is None or other is None:
            return None
        same = other.finding(finding.need)
        return None if same is None else finding.less(same)

    def of_quality(self, verdict: Verdict) -> Estimate | None:
        """The paired difference of the Quality of Outcome from the baseline's.

        It is `None` if one of the two is absent, if `Quality.less` returns `None`, and for the
        baseline itself.
        """
        other = self._other(verdict)
        if verdict.quality is None or other is None or other.quality is None:
            return None
        return verdict.quality.less(other.quality)

    def _other(self, verdict: Verdict) -> Verdict | None:
        """The verdict with which `verdict` is compared, if any; the baseline itself has none."""
        label = self.baseline
        if isinstance(label, SharedPart):
            label = label.beside(verdict.label)
        if label is None or label == verdict.label:
            return None
        return self._verdicts.get((label, verdict.app))


def _default(labels: Sequence[Label]) -> Baseline | None:
    """The queue of the first label if each label has a counterpart with it, or the first label."""
    if not labels:
        return None
    shared, known = SharedPart("queue", labels[0].queue), set(labels)
    counterparts = {shared.beside(label) for label in labels}
    return shared if counterparts <= known and 1 < len(counterparts) < len(labels) else labels[0]


def baseline_called(text: str, labels: Iterable[Label]) -> Baseline:
    """The baseline called `text`.

    `text` is the name of a condition, the queue, rate or round-trip time of several conditions, or
    a word in the name of one condition. A name is the brief or the long form of a label. Raises
    `RequestError` if no condition matches, or if the names of several conditions contain the word.
    """
    known = {form: label for label in labels for form in (str(label), label.brief)}
    distinct = list(dict.fromkeys(known.values()))
    if text in known:
        return known[text]
    if shared := _shared_part(text, distinct):
        return shared
    found = list(dict.fromkeys(label for form, label in known.items() if text in form.split()))
    if len(found) == 1:
        return found[0]
    names = [label.brief for label in distinct]
    problem = f"--baseline: unknown condition `{shown(text)}`"
    if found:
        problem = f"--baseline: `{shown(text)}` is one of {len(found)} conditions"
    raise RequestError(problem, suggestion(text, names) or f"one of {', '.join(names)}")


def _shared_part(text: str, labels: Sequence[Label]) -> SharedPart | None:
    """The part with the value `text`, if several labels but not all labels have it."""
    parts: tuple[Literal["queue", "rate", "rtt"], ...] = ("queue", "rate", "rtt")
    for part in parts:
        equal = sum(getattr(label, part) == text for label in labels)
        if text and 1 < equal < len(labels):
            return SharedPart(part, text)
    return None
