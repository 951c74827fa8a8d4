"""The advice on a household: the search, its conclusion, and the settings to paste."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from msgspec import json, structs

from aqmlab.advise.bench import Bench
from aqmlab.advise.cases import GatewayCase, Setup
from aqmlab.advise.choices import Offer, Tier, gateways_of, offer
from aqmlab.advise.conclusion import AppWords, Conclusion, GatewayResult, Runs, concluded
from aqmlab.advise.equal_gateways import distinct, stated
from aqmlab.advise.facts import Facts, Sentence
from aqmlab.advise.modem_line import line_of
from aqmlab.advise.search import run_places, search
from aqmlab.advise.settings import settings
from aqmlab.base.errors import BadValueError, ScenarioError
from aqmlab.base.numerals import count_text
from aqmlab.base.unique_names import without_number
from aqmlab.campaign.runner import Progress
from aqmlab.households import line as lines
from aqmlab.households import loading as households
from aqmlab.households.household import Household
from aqmlab.households.traffic import named_apps, scenario_of
from aqmlab.planning.overrides import checked_seeds
from aqmlab.scenario import catalogue, loading
from aqmlab.scenario.model import Scenario, build

OWN = "own"
"""The value of `--line` that keeps the scenario's own path."""

_WITHOUT_MODEM = (
    "The runs had no modem behind the gateway. With one, ask again with --line, or shape to 95 % of"
    " these rates."
)


@dataclass(frozen=True, slots=True)
class AdviceQuestion:
    """A household or a scenario, and the tiers and gateways to choose from.

    `line` is the value of `--line`, and `seeds` are the seeds of each case.
    """

    source: str | Path | Household | Scenario
    tiers: str = "nbn"
    gateways: str | None = None
    line: str | None = None
    seeds: str | int | Sequence[int] = 10


@dataclass(frozen=True, slots=True, repr=False)
class Advice:
    """The answer to an `AdviceQuestion`, which rests only on trials that ran.

    `results` holds the result of each gateway by name. `equal` names each gateway that gives the
    same trials as one of `results`, with that one. `better` is the recommended gateway, if any.
    `settings` holds the commands that set up this gateway, by the kind of gateway. `seeds` and
    `trials` are the numbers of seeds and of trials.
    """

    title: str
    offer: Offer
    results: Mapping[str, GatewayResult]
    equal: Mapping[str, str]
    better: GatewayResult | None
    case: GatewayCase | None
    """The recommended gateway at the tier of `settings`; `None` if no gateway is recommended."""
    facts: Facts
    headline: str
    """The answer in one sentence."""
    sentences: Sequence[Sentence]
    settings: Mapping[str, str]
    note: str
    """The assumption under which the settings are valid; empty if there is none."""
    seeds: int
    trials: int
    folder: Path

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """The tiers to choose from, from slow to fast, of which a bisection runs only some."""
        return self.offer.tiers

    @property
    def limits(self) -> Sequence[str]:
        """The sentences on tiers that were left out and on gateways that are equal to others."""
        return [text for text in (self.offer.limit, stated(self.equal)) if text]

    def __repr__(self) -> str:
        """A summary in one line."""
        return f"Advice({self.title}: {count_text(self.trials, 'trial')}, {str(self.folder)!r})"

    def __str__(self) -> str:
        """The title, any sentences of `limits`, and the conclusion, by line."""
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        """The lines of `str`, the note and the settings as HTML, for notebooks."""
        said = "".join(f"<p>{escape(line)}</p>" for line in self._lines())
        pasted = "".join(
            f"<details><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"
            for name, text in self.settings.items()
        )
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        return f"{said}{note}{pasted}"

    def _lines(self) -> list[str]:
        told = [one.text for one in self.sentences]
        texts = (self.title, *self.limits, self.headline, *told)
        return [text for text in texts if text]

    def as_json(self) -> dict[str, Any]:
        """The advice as a dictionary that JSON can represent."""
        return {
            "household": self.title,
            "seeds": self.seeds,
            "trials": self.trials,
            "folder": str(self.folder),
            "tiers": [str(tier) for tier in self.offer.tiers],
            "left_out": [str(tier) for tier in self.offer.left_out],
            "limit": self.offer.limit,
            "gateways": {name: _plain(one) for name, one in self.results.items()},
            "equal": dict(self.equal),
            "better": None if self.better is None else self.better.name,
            "conclusion": _as_json(self.facts),
            "headline": self.headline,
            "sentences": _as_json(self.sentences),
            "settings": {
                "for": None if self.case is None else self.case.label,
                "note": self.note,
                **self.settings,
            },
        }


def advise(
    question: AdviceQuestion,
    *,
    out: Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Advice:
    """Runs the cases that the question needs, and draws the conclusion.

    Raises `ScenarioError` for an invalid question.
    """
    household, scenario, name = _source(question.source)
    _refuse_programs_of_the_gateway(scenario)
    gateways = gateways_of(question.gateways)
    setup = Setup(scenario, _line(question.line, household, scenario), gateways)
    today = _today(household)
    offered = offer(question.tiers, today, setup.line)
    tiers = offered.tiers
    setup, equal = distinct(setup, tiers[-1])
    cases = setup.cases(tiers)
    seeds = checked_seeds(question.seeds)
    whole = setup.whole(cases, seeds)
    bench = Bench(whole, name, cases, out, jobs, progress)
    found = search(bench, setup, tiers)
    runs = Runs(tiers, today, _apps(household, bench), found)
    conclusion = concluded(setup, runs)
    # A bisection may have left out the tier at which the gateways are compared.
    while left := _left_out(conclusion):
        for case, outcome in run_places(bench, setup, left).items():
            found[case.gateway][case.tier] = outcome
        conclusion = concluded(setup, runs)
    return _advice(bench, setup, scenario, offered, equal, conclusion)


def _left_out(conclusion: Conclusion) -> list[tuple[str, Tier]]:
    """The pairs of a gateway and a tier that the comparison needs and that have not been run."""
    results = conclusion.results.values()
    return [(one.name, conclusion.at) for one in results if conclusion.at not in one.outcomes]


def _advice(
    bench: Bench,
    setup: Setup,
    scenario: Scenario,
    offered: Offer,
    equal: Mapping[str, str],
    conclusion: Conclusion,
) -> Advice:
    case = conclusion.case
    commands = {} if case is None else settings(setup, case)
    return Advice(
        title=scenario.title,
        offer=offered,
        results=conclusion.results,
        equal=equal,
        better=conclusion.better,
        case=case,
        facts=conclusion.facts,
        headline=conclusion.headline,
        sentences=conclusion.sentences,
        settings=commands,
        note=_WITHOUT_MODEM if commands and setup.line is None else "",
        seeds=len(bench.seeds),
        trials=bench.trials,
        folder=bench.folder,
    )


def _source(
    source: str | Path | Household | Scenario,
) -> tuple[Household | None, Scenario, str]:
    """The household (`None` for a scenario), the scenario, and a name for the campaign's folder."""
    if isinstance(source, Household):
        return source, scenario_of(source), _slug(source.title)
    if isinstance(source, Scenario):
        return None, source, _slug(source.title)
    found = households.find_among_scenarios(source)
    if found is not None:
        return found.household, scenario_of(found.household), found.name
    if str(source) not in loading.builtin_names() and not Path(source).exists():
        households.find(source)  # raises, and suggests a household
    known = loading.find(source)
    return None, build(known.layer), known.name


def _refuse_programs_of_the_gateway(scenario: Scenario) -> None:
    """Raises `ScenarioError` for an application that runs on the scenario's own gateway."""
    for name, app in scenario.apps.items():
        if catalogue.load().find("apps", app.kind).on_gateway:
            problem = (
                f"`{app.kind}` is a program of the scenario's gateway, which the advice replaces"
            )
            raise ScenarioError(f"apps.{name}", problem, "leave this application out")


def _line(asked: str | None, household: Household | None, scenario: Scenario) -> lines.Line | None:
    """The line that `asked` names; by default the household's line, or the scenario's modem.

    Returns `None` if the scenario keeps its own path and this path has no modem. Raises
    `ScenarioError` for an unknown line.
    """
    has_own = household is None or household.scenario is not None
    if asked == OWN and not has_own:
        raise ScenarioError("--line", f"`{OWN}` is the path of a scenario; this is a household")
    if asked in (None, OWN) and has_own:
        modem = scenario.path.modem
        return None if modem is None else line_of(modem)
    try:
        return lines.find(household.line if asked is None and household else asked)
    except BadValueError as problem:
        raise problem.at("--line") from None


def _today(household: Household | None) -> Tier | None:
    """The household's tier, if it states one."""
    if household is None or "tier" not in household.model_fields_set:
        return None
    return Tier.parse(household.tier)


def _apps(household: Household | None, bench: Bench) -> list[AppWords]:
    """The applications of the campaign in plain words.

    An application without such words has the name of its group, or its own name.
    """
    about = bench.campaign.about
    plain = {}
    if household is not None and household.scenario is None:
        plain = {one.name: one.words for one in named_apps(household)}

    def words(app: str) -> str:
        name = without_number(app)
        return plain.get(app) or plain.get(name) or about.app_groups.get(app, name)

    return [AppWords(app, "", words(app)) for app in about.apps]


def _slug(title: str) -> str:
    return "-".join(re.findall(r"\w+", title.lower()))[:60] or "household"


def _as_json(value: object) -> object:
    """The values that a reader of the JSON text gets: lists in place of tuples."""
    plain: object = json.decode(json.encode(value))
    return plain


def _plain(one: GatewayResult) -> dict[str, Any]:
    return {
        "title": one.title,
        "served": None if one.served is None else str(one.served),
        "well": None if one.well is None else str(one.well),
        "seeds_served": one.seeds_served,
        "tiers": {
            str(tier): {
                "share_percent": outcome.case.share,
                "serves": outcome.service.serves,
                "apps": {
                    name: {
                        "verdict": app.word,
                        "because": app.because,
                        **structs.asdict(app.medians),
                    }
                    for name, app in outcome.apps.items()
                },
            }
            for tier, outcome in one.outcomes.items()
        },
    }
