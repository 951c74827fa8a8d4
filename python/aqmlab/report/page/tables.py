"""The tables and notes of the report's page."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aqmlab.results import spans
from aqmlab.results.summary import FlowSummary, lines, sparse
from aqmlab.results.verdicts.verdict import BAD, GOOD, TOLERABLE, UNJUDGED, Verdict, worst
from aqmlab.results.verdicts.wording import quantity, unbroken

if TYPE_CHECKING:
    from aqmlab.results.results import CampaignResults

_MOST_MATRICES = 6
_MOST_LINES = 3_000


@dataclass(frozen=True, slots=True)
class VerdictCell:
    """A verdict in a table."""

    word: str
    brief: str
    sentence: str
    value: str = ""

    @property
    def kind(self) -> str:
        """The name of its style."""
        return self.word.replace(" ", "-")


@dataclass(slots=True)
class Matrix:
    """Verdicts in rows and columns."""

    title: str
    corner: str
    columns: list[str]
    groups: list[tuple[str, int]] = field(default_factory=list)
    """Column groups, each with a name and its number of columns."""
    rows: list[tuple[str, list[VerdictCell | None]]] = field(default_factory=list)
    dense: bool = False
    """Whether a cell has room for a number only."""


def _cell(verdict: Verdict | None) -> VerdictCell | None:
    if verdict is None:
        return None
    decided = verdict.deciding
    value = ""
    if decided is not None and decided.value is not None:
        value = unbroken(quantity(decided.value, decided.criterion.unit))
    return VerdictCell(verdict.word, unbroken(verdict.because), verdict.sentence, value)


def _grouped(results: CampaignResults) -> dict[tuple[str, str, str], Verdict]:
    """The worst verdict among the copies of an application, by place, queue and name."""
    groups = results.manifest.app_groups
    found: dict[tuple[str, str, str], Verdict] = {}
    for verdict in results.verdicts:
        key = (verdict.label.place, verdict.label.queue, groups.get(verdict.app, verdict.app))
        found[key] = worst(found[key], verdict) if key in found else verdict
    return found


def matrices(results: CampaignResults) -> list[Matrix]:
    """Verdicts in a table of applications and queues per place, or in one for many places."""
    found = _grouped(results)
    places = list(dict.fromkeys(place for place, _, _ in found))
    queues = list(dict.fromkeys(queue for _, queue, _ in found))
    apps = list(dict.fromkeys(app for _, _, app in found))
    if len(places) > _MOST_MATRICES:
        matrix = Matrix("", "line", queues * len(apps), [(app, len(queues)) for app in apps])
        matrix.dense = True
        for place in places:
            row = [_cell(found.get((place, queue, app))) for app in apps for queue in queues]
            matrix.rows.append((place, row))
        return [matrix]
    made = []
    for place in places:
        matrix = Matrix(place, "application", queues)
        for app in apps:
            row = [_cell(found.get((place, queue, app))) for queue in queues]
            matrix.rows.append((app, row))
        made.append(matrix)
    return made


def tallies(results: CampaignResults) -> list[str]:
    """A sentence per queue: the number of applications with a good verdict, over all places."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for (_, queue, _), verdict in _grouped(results).items():
        counts[queue][verdict.word] += 1
    return [f"{queue}: {_tally(count)}" for queue, count in counts.items()]


def _tally(count: Counter[str]) -> str:
    total = sum(count.values())
    words = [f"{count[word]} {word}" for word in (GOOD, TOLERABLE, BAD, *UNJUDGED) if count[word]]
    return f"of {total} verdicts {', '.join(words)}"


def numbers(results: CampaignResults) -> list[FlowSummary]:
    """The numbers of every condition, up to the limit of a page."""
    return [line for line, _ in zip(lines(results), range(_MOST_LINES), strict=False)]


def notes(results: CampaignResults) -> list[str]:
    """Reasons to doubt the results."""
    return [*results.warnings, *_shortcomings(results)]


def _shortcomings(results: CampaignResults) -> Iterator[str]:
    trials = results.manifest.trials
    missing = len(trials) - results.table("trials").height
    if missing:
        yield f"{missing} of {len(trials)} trials have no result."
    for trial, problem in results.failed.items():
        yield f"Trial {trial} failed: {problem}"
    few = sparse(results)
    if few:
        yield f"{few[0].upper()}{few[1:]}. Their numbers say little."
    if len(results.manifest.seeds()) == 1:
        yield "One seed only: the report cannot show how much the numbers vary by chance."


def how_made(results: CampaignResults) -> list[tuple[str, str]]:
    """The facts that are needed to repeat the results."""
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
