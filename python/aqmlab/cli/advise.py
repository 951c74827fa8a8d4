"""`aqmlab advise`: the tier and the gateway that serve a household, and the gateway's settings."""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.advise.advice import Advice, AdviceQuestion, advise
from aqmlab.advise.bench import CaseOutcome
from aqmlab.base.failures import StoppedError
from aqmlab.base.numerals import count_text
from aqmlab.campaign.scheduler import Silence
from aqmlab.campaign.store.folder import Trial
from aqmlab.cli import console
from aqmlab.cli.parameters.advise import AdviseParameters
from aqmlab.results.verdicts.wording import unbroken

_HEADS = {
    "tc": "A Linux gateway (as root; the device's name may differ)",
    "uci": "OpenWrt",
    "dnctl": "FreeBSD or OPNsense",
}


class _Steps(Silence):
    """Reports the number of trials of each step of the search, and each quarter of them."""

    def __init__(self) -> None:
        self._done = self._count = 0

    def begin(self, trials: Sequence[Trial], missing: Sequence[Trial]) -> None:
        """Reports the number of trials that a step of the search runs."""
        self._done, self._count = 0, len(missing)
        if missing:
            console.talk(f"running {count_text(len(missing), 'trial')}")

    def damaged(self, problem: str) -> None:
        """Warns of a damaged file."""
        console.talk(f"warning: {problem}")

    def done(self, trial: Trial, problem: str | None, busy_s: float | None) -> None:
        """Counts a trial, and reports when a quarter, half or three quarters of them are done."""
        self._done += 1
        quarters = 4 * self._done // self._count
        if quarters < 4 and quarters > 4 * (self._done - 1) // self._count:
            console.talk(f"{self._done}/{count_text(self._count, 'trial')}")


def command(given: AdviseParameters) -> int:
    """Runs `aqmlab advise`; returns the exit status."""
    question = AdviceQuestion(given.household, given.tiers, given.gateways, given.line, given.seeds)
    try:
        advice = advise(question, out=given.out, jobs=given.jobs, progress=_Steps())
    except KeyboardInterrupt:
        raise StoppedError(
            "interrupted; finished trials are kept", "the same command continues from here"
        ) from None
    if given.as_json:
        console.print_json(advice.as_json())
    else:
        _show(advice)
    seeds = count_text(advice.seeds, "seed")
    console.talk(f"folder: {advice.folder}\ntrials: {advice.trials} ({seeds})")
    return 0


def _show(advice: Advice) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("tier")
    for one in advice.results.values():
        table.add_column(one.name, justify="right")
    for tier in advice.offer.tiers:
        cells = [_cell(one.outcomes.get(tier)) for one in advice.results.values()]
        table.add_row(str(tier), *cells)
    print(advice.title)
    console.stdout().print(table)
    if any(
        outcome.case.share for one in advice.results.values() for outcome in one.outcomes.values()
    ):
        print("In brackets: the share of the line's rate at which the router sends.\n")
    for limit in advice.limits:
        print(f"{limit}\n")
    if advice.headline:
        print(advice.headline)
    for sentence in advice.sentences:
        if sentence.about != "detail":
            print(sentence.text)
    details = [sentence.text for sentence in advice.sentences if sentence.about == "detail"]
    if details:
        print("\nIn detail:", *details, sep="\n")
    if advice.case is not None and advice.settings:
        print(f"\nSettings for {advice.case.label}:")
        if advice.note:
            print(advice.note)
        for name, head in _HEADS.items():
            print(f"\n# {head}\n{advice.settings[name].rstrip()}")


def _cell(outcome: CaseOutcome | None) -> str:
    """The table's cell for a case.

    It has the number of bad applications or, if none is bad, the number that are not good. If the
    gateway shapes, its share of the line's rate follows. `None` is a case that was not run.
    """
    if outcome is None:
        return "not run"
    share = "" if outcome.case.share is None else unbroken(f" ({outcome.case.share} %)")
    service = outcome.service
    if service.judged == 0:
        return f"not measured{share}"
    if service.bad:
        return f"{service.bad} bad{share}"
    left = service.not_good
    return f"{left} not good{share}" if left else f"all good{share}"
