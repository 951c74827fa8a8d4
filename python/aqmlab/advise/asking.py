"""The function `aqmlab.advice` for Python programs and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from aqmlab.advise.advice import Advice, AdviceQuestion, advise
from aqmlab.base.python_words import of_arguments
from aqmlab.campaign.progress_lines import receiver
from aqmlab.campaign.runner import Progress
from aqmlab.households.household import Household
from aqmlab.scenario.model import Scenario


def advice(
    source: str | Path | Household | Scenario,
    *,
    tiers: str | Sequence[str] = "nbn",
    gateways: str | Sequence[str] | None = None,
    line: str | None = None,
    seeds: str | int | Sequence[int] = 10,
    out: Path | str | None = None,
    jobs: int | None = None,
    progress: Progress | bool | None = None,
) -> Advice:
    """Finds the tier and the gateway that serve a household, as `aqmlab advise` does.

    `source` is a `Household`, a `Scenario`, a file or a built-in name. `tiers` is the name of a
    list, a file, or rates such as "25/5,50/20 Mbit/s". `gateways` names the gateways to compare;
    tiers and gateways may also be lists of texts. `line` names the kind of access line; "own" keeps
    the path of a scenario. Without `out`, the trials are in a folder below
    `results` of the current folder, and the same call repeats no finished trial. `progress=True`
    prints the progress.

    Raises `ScenarioError` for an invalid question.
    """
    with of_arguments((), ()):
        chosen = None if gateways is None else _joined(gateways)
        question = AdviceQuestion(source, _joined(tiers), chosen, line, seeds)
        folder = None if out is None else Path(out)
        return advise(question, out=folder, jobs=jobs, progress=receiver(progress))


def _joined(given: str | Sequence[str]) -> str:
    """The text of an option that accepts several values."""
    return given if isinstance(given, str) else ",".join(str(one) for one in given)
