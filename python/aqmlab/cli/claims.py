"""`aqmlab claims`: judges the claims of papers by the results of trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aqmlab import studies
from aqmlab.api import complete
from aqmlab.base.failures import RequestError
from aqmlab.base.numerals import number
from aqmlab.cli import console
from aqmlab.cli.parameters.claims import ClaimsParameters
from aqmlab.cli.reproduce import Workers, count, execute, one_engine, print_forecast
from aqmlab.studies import preflight
from aqmlab.studies.claims import FAILS, claims_hint, judge
from aqmlab.studies.laboratory import Asked, Laboratory

if TYPE_CHECKING:
    from aqmlab.studies.claims import Check, ClaimResult
    from aqmlab.studies.study import Study


def command(given: ClaimsParameters) -> int:
    """Runs `aqmlab claims`; returns the exit status."""
    name = one_engine(given.engine, given.qdisc_source, given.discipline)
    place = Workers(given.jobs, given.cluster)
    verdicts: list[ClaimResult] = []
    shown: list[dict[str, object]] = []
    for found in _studies(given.study, given.ids):
        own_seeds = found.claim_seeds if given.seeds is None else given.seeds
        asked = Asked(own_seeds, name, build=not given.dry_run)
        folder = given.out
        if folder is not None and given.study is None:
            folder /= found.name
        # If no study is named, each study has only some of the requested claims.
        named = [one for one in given.ids or () if given.study is not None or one in found.claims]
        own = _judged(found, named, Laboratory(found, asked, folder), place, given.dry_run)
        verdicts += own
        shown += [{"study": found.name, **one.to_json()} for one in own]
        if not given.as_json and own:
            _print(found, own)
    if given.as_json:
        console.print_json(shown)
    elif given.study is None and verdicts:
        console.talk(f"all studies: {tally(verdicts)}")
    for one in verdicts:
        if one.slip is not None:
            raise one.slip
    return int(given.strict and any(one.word == FAILS for one in verdicts))


def _studies(name: str | None, ids: list[str] | None) -> list[Study]:
    """The study `name`, or without a name, every study that has one of the claims `ids`.

    Without both, returns every study. Raises `RequestError` for a claim that no study has.
    """
    if name is not None:
        return [studies.load(name)]
    every = [studies.load(one) for one in studies.names()]
    if not ids:
        return every
    known = [claim for one in every for claim in one.claims]
    for claim in ids:
        if claim not in known:
            raise RequestError(f"there is no claim `{claim}`", claims_hint(claim, known))
    return [one for one in every if any(claim in one.claims for claim in ids)]


def _judged(
    study: Study, ids: list[str], laboratory: Laboratory, place: Workers, dry_run: bool
) -> list[ClaimResult]:
    claims = study.asked_claims(ids)
    preflight.of_claims(claims, laboratory)
    needs = [need for claim in claims for need in claim.needs]
    if dry_run:
        print(f"{study.name}: {_claims(len(claims))}, {count(laboratory, needs)}")
        print_forecast(laboratory, needs, place.jobs)
        return []
    if needs:  # Claims about arithmetic need no trials.
        complete(execute(laboratory, needs, place))
    return list(judge(claims, laboratory))


_STYLES = {"holds": "green", "fails": "bold red", "cannot be judged": "yellow"}


def _print(study: Study, verdicts: list[ClaimResult]) -> None:
    """Prints a row per claim, and the tally."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("claim", "verdict", "the paper says", "measured"):
        table.add_column(name, overflow="fold", no_wrap=name in ("claim", "verdict"))
    for one in verdicts:
        says = f"{escape(one.claim.says)} [dim]({escape(one.claim.source)})[/]"
        style = _STYLES[one.word]
        table.add_row(one.claim.number, f"[{style}]{one.word}[/]", says, escape(measured(one)))
    console.stdout().print(table)
    console.talk(f"{study.name}: {tally(verdicts)}")


_PLURALS = {"holds": "hold", "fails": "fail", "cannot be judged": "cannot be judged"}


def tally(verdicts: Sequence[ClaimResult]) -> str:
    """The numbers of claims and of each verdict as text, and the share of claims that hold."""
    words = Counter(one.word for one in verdicts)
    told = [
        f"{words[word]} {word if words[word] == 1 else _PLURALS[word]}"
        for word in _STYLES
        if words[word]
    ]
    judged = words["holds"] + words["fails"]
    share = f" ({words['holds'] / judged:.0%} of the {judged} judged)" if judged > 1 else ""
    return f"{_claims(len(verdicts))}: {', '.join(told)}{share}"


def measured(verdict: ClaimResult) -> str:
    """The reasons for a verdict as text.

    They are the deciding check, the number of checks that hold, the paper's words on that number,
    the claim's rule, a remark and the choices, as far as they exist.
    """
    lines = []
    if verdict.finding is not None:
        checks = verdict.finding.checks
        lines.append(sentence(verdict.finding.deciding))
        if len(checks) > 1:
            lines.append(f"{verdict.finding.held} of {len(checks)} comparisons hold")
        words = dict.fromkeys(check.words for check in checks if check.words)
        if words:
            lines.append(f"the paper says {', '.join(f'“{one}”' for one in words)}")
    if verdict.claim.rule:
        lines.append(f"rule: {verdict.claim.rule}")
    if verdict.because:
        lines.append(verdict.because)
    if verdict.choices:
        lines.append(f"depends on the study's choice of {', '.join(verdict.choices)}")
    return "; ".join(lines)


_TOLERANCE = {"<": "+", ">": "-", "≈": "±"}
"""The sign of the tolerance of a bound, by the relation."""


def sentence(check: Check) -> str:
    """A check as text: the median with its interval, the relation, the bound and the margin.

    The tolerance follows the bound, so that the printed comparison is the one that is judged.
    """
    low, high = check.interval
    unit = f" {check.unit}" if check.unit else ""
    slack = f" {_TOLERANCE[check.relation]} {check.slack:.0%}" if check.slack else ""
    seeds = check.seeds
    over = f" [{number(low)}…{number(high)}]" if seeds else ""
    share = f", {round(check.share * seeds)} of {seeds} seeds" if seeds > 1 else ""
    return (
        f"{check.what}: {number(check.middle)}{over}{unit} "
        f"{check.relation} {number(check.bound)}{slack} (margin {check.middle_margin:+.0%}{share})"
    )


def _claims(count: int) -> str:
    return "1 claim" if count == 1 else f"{count} claims"
