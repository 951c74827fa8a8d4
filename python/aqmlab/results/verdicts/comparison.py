"""Verdicts beside the verdicts of a baseline condition: paired differences over the common seeds.

Trials with the same seed have the same random values (starts, sizes, losses) in all conditions. The
difference between two conditions therefore varies less over seeds than the value in either
condition. The baseline is the first condition unless the user names another condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aqmlab.base.errors import shown, suggestion
from aqmlab.base.failures import RequestError
from aqmlab.results.labels import Label
from aqmlab.results.verdicts.verdict import Estimate, Finding, Verdict


class BaselineComparison:
    """The verdicts of a campaign beside the verdicts of its baseline."""

    def __init__(self, verdicts: Sequence[Verdict], baseline: Label | None = None) -> None:
        self.labels = list(dict.fromkeys(one.label for one in verdicts))
        self.baseline = baseline or (self.labels[0] if self.labels else None)
        self._of_baseline = {one.app: one for one in verdicts if one.label == self.baseline}

    @property
    def is_needed(self) -> bool:
        """Whether there is a condition besides the baseline."""
        return len(self.labels) > 1

    def of(self, verdict: Verdict, finding: Finding | None) -> Estimate | None:
        """The paired difference of `finding` from the baseline's finding on the same need."""
        other = self._of_baseline.get(verdict.app)
        if finding is None or other is None or verdict.label == self.baseline:
            return None
        same = other.finding(finding.need)
        return None if same is None else finding.less(same)

    def of_quality(self, verdict: Verdict) -> Estimate | None:
        """The paired difference of the Quality of Outcome from the baseline's."""
        other = self._of_baseline.get(verdict.app)
        if verdict.quality is None or other is None or verdict.label == self.baseline:
            return None
        return None if other.quality is None else verdict.quality.less(other.quality)


def label_called(text: str, labels: Iterable[Label]) -> Label:
    """The condition called `text`, or the only condition whose name contains the word `text`.

    A name is the brief or the long form of a label. Raises `RequestError` if no condition, or more
    than one, matches.
    """
    known = {form: label for label in labels for form in (str(label), label.brief)}
    if text in known:
        return known[text]
    found = list(dict.fromkeys(label for form, label in known.items() if text in form.split()))
    if len(found) == 1:
        return found[0]
    names = [label.brief for label in dict.fromkeys(known.values())]
    problem = f"--baseline: unknown condition `{shown(text)}`"
    if found:
        problem = f"--baseline: `{shown(text)}` is one of {len(found)} conditions"
    raise RequestError(problem, suggestion(text, names) or f"one of {', '.join(names)}")
