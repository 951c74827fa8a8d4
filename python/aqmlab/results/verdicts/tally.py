"""The number of applications with each verdict in a condition, and the condition's worst verdict.

Each application counts once, including each copy and each application that cannot be judged. A few
good verdicts therefore do not stand for all applications. The terminal and the report show the same
counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aqmlab.results.labels import Label
from aqmlab.results.verdicts.verdict import GOOD, Verdict, by_severity
from aqmlab.scenario import catalogue


@dataclass(frozen=True, slots=True)
class Tally:
    """The verdicts of one condition."""

    label: Label
    verdicts: tuple[Verdict, ...]

    @property
    def counts(self) -> Counter[str]:
        """The number of applications with each verdict word."""
        return Counter(verdict.word for verdict in self.verdicts)

    @property
    def missed(self) -> list[Verdict]:
        """The verdicts that are not good, in the campaign's order.

        Programs of the gateway are omitted, because they have no needs.
        """
        return [one for one in self.verdicts if one.word != GOOD and not _is_on_gateway(one)]

    @property
    def closest(self) -> Verdict | None:
        """The worst verdict with a margin, if any.

        Among equally bad verdicts, it is the verdict with the least margin.
        """
        known = [one for one in self.verdicts if one.margin is not None]
        return min(known, key=by_severity, default=None)

    @property
    def unsure(self) -> list[Verdict]:
        """The verdicts that are not sure (see `Verdict.is_sure`), in the campaign's order."""
        return [one for one in self.verdicts if not one.is_sure]

    @property
    def all_good(self) -> bool:
        """Whether every application has a good verdict, except programs of the gateway."""
        return not self.missed


def _is_on_gateway(verdict: Verdict) -> bool:
    """Whether the application is a program of the gateway, such as `cake_autorate`."""
    kind = catalogue.load()["apps"].get(verdict.kind)
    return kind is not None and kind.on_gateway


def tallies(verdicts: Iterable[Verdict]) -> list[Tally]:
    """The tally of each condition, in the campaign's order."""
    by_label: dict[Label, list[Verdict]] = {}
    for verdict in verdicts:
        by_label.setdefault(verdict.label, []).append(verdict)
    return [Tally(label, tuple(own)) for label, own in by_label.items()]


def conclusion(found: Sequence[Tally]) -> list[str]:
    """The applications that each condition serves, as sentences.

    The first sentence names the conditions that serve every application, or says that all or none
    do. Each other condition has a sentence that names the applications it does not serve, the worst
    first. The sentence also names the applications whose verdicts are not sure. A condition that
    serves every application has its own sentence only if some verdicts are not sure.
    """
    if not found:
        return []
    whole = [one.label.brief for one in found if one.all_good]
    said = []
    if len(whole) == len(found):
        said.append("Every application gets what it needs, in every condition.")
    elif whole:
        said.append(f"Every application gets what it needs with {_listed(whole)}.")
    else:
        said.append("No condition gives every application what it needs.")
    for one in found:
        parts = [] if one.all_good else [_missed(one)]
        if one.unsure:
            parts.append(f"seeds differ on {_listed([each.app for each in one.unsure])}")
        if parts:
            said.append(f"{one.label.brief}: {'; '.join(parts)}.")
    return said


def _missed(tally: Tally) -> str:
    parts = []
    for word in dict.fromkeys(one.word for one in sorted(tally.missed, key=by_severity)):
        names = [one.app for one in tally.missed if one.word == word]
        parts.append(f"{word} for {_listed(names)}")
    good = tally.counts[GOOD]
    return ", ".join([*parts, f"good for {good} of {len(tally.verdicts)}"])


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
