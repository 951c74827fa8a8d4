"""The tables and notes of the report's page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aqmlab.base.numerals import count_text
from aqmlab.results import spans
from aqmlab.results.summary import FlowSummary, lines, sparse
from aqmlab.results.verdicts import tally
from aqmlab.results.verdicts.comparison import BaselineComparison
from aqmlab.results.verdicts.verdict import WORDS, Verdict, worst
from aqmlab.results.verdicts.wording import (
    closest_text,
    quality_text,
    signed,
    unbroken,
    value_text,
)

if TYPE_CHECKING:
    from aqmlab.results.results import CampaignResults

_MOST_MATRICES = 6
_MOST_LINES = 3_000
_MOST_SENTENCES = 40


@dataclass(frozen=True, slots=True)
class VerdictCell:
    """A verdict in a table: its word, and texts that explain it."""

    word: str
    brief: str
    sentence: str
    value: str = ""
    difference: str = ""
    """The difference of the deciding number from its value in the baseline condition."""
    quality: str = ""
    """The Quality of Outcome, with the part that has the worst score."""

    @property
    def kind(self) -> str:
        """The name of the cell's CSS class."""
        return self.word.replace(" ", "-")


@dataclass(slots=True)
class Matrix:
    """A table of verdicts, by application and queue or by line."""

    title: str
    corner: str
    columns: list[str]
    groups: list[tuple[str, int]] = field(default_factory=list)
    """Column groups, each with a name and its number of columns."""
    rows: list[tuple[str, list[VerdictCell | None]]] = field(default_factory=list)
    dense: bool = False
    """Whether a cell has room only for a number."""


@dataclass(slots=True)
class _CopyVerdicts:
    """The verdicts on the copies of an application in one condition."""

    verdicts: list[Verdict] = field(default_factory=list)

    def cell(self, comparison: BaselineComparison) -> VerdictCell:
        """The worst verdict, with the number of copies that have it."""
        shown = self.verdicts[0]
        for verdict in self.verdicts[1:]:
            shown = worst(shown, verdict)
        alike = sum(verdict.word == shown.word for verdict in self.verdicts)
        brief, copies = shown.because, len(self.verdicts)
        if copies > 1:
            brief = f"{alike} of {copies}: {brief}"
        if not shown.is_sure:
            brief += ", seeds differ"
        decided = shown.deciding
        value = unbroken(value_text(decided)) if decided else ""
        apart = comparison.of(shown, decided)
        difference = signed(apart, decided.unit) if apart and decided else ""
        return VerdictCell(
            shown.word,
            unbroken(brief),
            shown.sentence,
            value,
            unbroken(difference),
            _quality(shown),
        )


def _quality(verdict: Verdict) -> str:
    text, found = quality_text(verdict), verdict.quality
    return unbroken(f"QoO {text}: {found.because}") if text and found else ""


def _grouped(
    results: CampaignResults, comparison: BaselineComparison
) -> dict[tuple[str, str, str], VerdictCell]:
    """The verdicts on each application and its copies, by place, queue and name."""
    groups = results.manifest.app_groups
    found: dict[tuple[str, str, str], _CopyVerdicts] = defaultdict(_CopyVerdicts)
    for verdict in results.judged:
        key = (verdict.label.place, verdict.label.queue, groups.get(verdict.app, verdict.app))
        found[key].verdicts.append(verdict)
    return {key: copies.cell(comparison) for key, copies in found.items()}


def matrices(results: CampaignResults, comparison: BaselineComparison) -> list[Matrix]:
    """A table of applications and queues for each place, or a single table for many places."""
    found = _grouped(results, comparison)
    places = list(dict.fromkeys(place for place, _, _ in found))
    queues = list(dict.fromkeys(queue for _, queue, _ in found))
    apps = list(dict.fromkeys(app for _, _, app in found))
    if len(places) > _MOST_MATRICES:
        matrix = Matrix("", "line", queues * len(apps), [(app, len(queues)) for app in apps])
        matrix.dense = True
        for place in places:
            row = [found.get((place, queue, app)) for app in apps for queue in queues]
            matrix.rows.append((place, row))
        return [matrix]
    made = []
    for place in places:
        matrix = Matrix(place, "application", queues)
        for app in apps:
            row = [found.get((place, queue, app)) for queue in queues]
            matrix.rows.append((app, row))
        made.append(matrix)
    return made


def conclusion(results: CampaignResults) -> list[str]:
    """The applications that each condition serves, in at most `_MOST_SENTENCES` sentences."""
    found = tally.tallies(results.judged)
    return [unbroken(sentence) for sentence in tally.conclusion(found)[:_MOST_SENTENCES]]


@dataclass(frozen=True, slots=True)
class TallyRow:
    """The number of applications with each verdict in one condition."""

    condition: str
    counts: list[int]
    """The number of applications for each verdict word, in the order of the table's columns."""
    closest: str


def tally_words(results: CampaignResults) -> list[str]:
    """The verdict words that occur, in the order of columns."""
    said = {verdict.word for verdict in results.judged}
    return [word for word in WORDS if word in said]


def tallies(results: CampaignResults) -> list[TallyRow]:
    """The tally of each condition, with the need that decides the verdict `Tally.closest`."""
    words = tally_words(results)
    return [
        TallyRow(
            unbroken(one.label.brief),
            [one.counts[word] for word in words],
            unbroken(closest_text(one.closest)) if one.closest else "",
        )
        for one in tally.tallies(results.judged)
    ]


def baseline(comparison: BaselineComparison) -> str:
    """The condition to which differences refer, as text; empty if there is only one condition."""
    if comparison.baseline is None or not comparison.is_needed:
        return ""
    return comparison.baseline.brief


def has_quality(shown: Sequence[Matrix]) -> bool:
    """Whether a cell of a table that is not dense has a Quality of Outcome."""
    rows = [row for matrix in shown if not matrix.dense for _, row in matrix.rows]
    return any(cell is not None and cell.quality for row in rows for cell in row)


def numbers(results: CampaignResults) -> list[FlowSummary]:
    """The first `_MOST_LINES` summaries of flows."""
    return [line for line, _ in zip(lines(results), range(_MOST_LINES), strict=False)]


def notes(results: CampaignResults) -> list[str]:
    """Reasons to doubt the results."""
    return [*results.warnings, *_shortcomings(results)]


def _shortcomings(results: CampaignResults) -> Iterator[str]:
    trials = results.manifest.trials
    missing = len(trials) - results.table("trials").height
    if missing:
        yield f"{missing} of {count_text(len(trials), 'trial', 'have')} no result."
    for trial, problem in results.failed.items():
        yield f"Trial {trial} failed: {problem}"
    few = sparse(results)
    if few:
        yield f"{few[0].upper()}{few[1:]}. Their numbers say little."
    if len(results.manifest.seeds()) == 1:
        yield "One seed only: the report cannot show how much the numbers vary by chance."


def how_made(results: CampaignResults) -> list[tuple[str, str]]:
    """The facts that a repetition of the results needs."""
    manifest, seeds = results.manifest, results.manifest.seeds()
    versions = ", ".join(f"{name} {value}" for name, value in manifest.versions.items())
    length, measured = spans.length_text(manifest), spans.measured_text(manifest)
    packets = None
    if manifest.packets is not None:
        packets = f"{manifest.packets:,}".replace(",", " ")
    made = [
        ("Command", manifest.command),
        ("Scenario", manifest.source or manifest.name),
        ("Trials", f"{len(manifest.trials)} of {length}, statistics from {measured}"),
        ("Varied", ", ".join(manifest.conditions) or "nothing"),
        ("Seeds", ", ".join(map(str, seeds[:50])) + (" …" if len(seeds) > 50 else "")),
        ("Engine", results.made_by),
        ("Versions", versions),
        ("Digest", results.digest or "none: trials are missing"),
        ("Packets", packets),
    ]
    return [(name, text) for name, text in made if text is not None]
