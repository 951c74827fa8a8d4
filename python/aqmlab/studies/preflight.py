"""Checks claims and figures before their trials run, because the trials may take hours.

The plan lists the flows and conditions of the trials. A claim's function runs with placeholder
numbers, and its requests are compared with the plan.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aqmlab.base.failures import RequestError
from aqmlab.studies.claims import Claim, finding
from aqmlab.studies.draw.figure import Lab
from aqmlab.studies.draw.rows import DERIVED
from aqmlab.studies.numbers import (
    NOWHERE,
    Numbers,
    Points,
    Unjudged,
    refuse_unknown,
    refuse_unknown_condition,
    ways,
)

if TYPE_CHECKING:
    from aqmlab.planning.plan import PlannedTrial
    from aqmlab.studies.draw import Figure
    from aqmlab.studies.laboratory import Laboratory


class _Enough(Exception):  # noqa: N818 (it is no error: an end)
    """Raised if the next step depends on results of trials."""


def of_claims(claims: Sequence[Claim], laboratory: Laboratory) -> None:
    """Raises `RequestError` for an error in a claim that shows without results.

    The `RequestError` names the claim's place and number.
    """
    for claim in claims:
        with laboratory.study.place_of_claim(claim).named():
            planned = laboratory.planned(claim.needs)
            _rehearse(claim, [_Numbers(trials) for trials in planned.values()])


def of_figures(figures: Sequence[Figure], laboratory: Laboratory) -> None:
    """Raises `RequestError` for a figure whose trials do not exist.

    A condition with the name of a column that rows add (`DERIVED`) is also an error, except for a
    `Lab` figure.
    """
    for figure in figures:
        with laboratory.study.place_of_figure(figure).named():
            planned = laboratory.planned(figure.trials)
            if not isinstance(figure.form, Lab):
                _refuse_derived(trial for trials in planned.values() for trial in trials)


def _refuse_derived(trials: Iterable[PlannedTrial]) -> None:
    """Raises `RequestError` for a condition with the name of a column that rows add."""
    for name in dict.fromkeys(name for trial in trials for name in trial.conditions):
        if name in DERIVED:
            problem = f"condition `{name}`: `{name}` is a column that figures add"
            raise RequestError(problem, f"rename the loop; {', '.join(sorted(DERIVED))} are taken")


def _rehearse(claim: Claim, numbers: Sequence[_Numbers]) -> None:
    try:
        finding(claim.judge(*numbers))
    except (Unjudged, _Enough):
        return
    except Exception as error:
        if _is_slip(error):
            raise


def _is_slip(error: Exception) -> bool:
    """Returns whether an error is the author's, and no effect of the missing numbers."""
    if isinstance(error, (NameError, AttributeError, TypeError)):
        # Without values, a variable may be unset or `None`.
        return not isinstance(error, UnboundLocalError) and "NoneType" not in str(error)
    return isinstance(error, (RequestError, ImportError))


class _Numbers:
    """A placeholder for `Numbers`.

    Its methods compare their arguments with the plan, and return NaN for each seed.
    A method that would return a time series raises `_Enough` instead.
    """

    def __init__(self, trials: Sequence[PlannedTrial]) -> None:
        self.seeds = sorted({trial.seed for trial in trials})
        conditions = {tuple(trial.texts.values()): trial for trial in trials}.values()
        self._conditions = [trial.texts for trial in conditions]
        self._flows = {app.name for trial in conditions for app in trial.spec.apps}
        self._links = {link.name for trial in conditions for link in trial.spec.links}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name == "results":
            raise _Enough
        method = getattr(Numbers, name)
        signature = inspect.signature(method, eval_str=True)

        def ask(*args: Any, **kwargs: Any) -> Any:
            try:
                given = signature.bind(self, *args, **kwargs).arguments
            except TypeError as problem:
                raise TypeError(f"{name}(): {problem}") from None
            self._refuse(given)
            if signature.return_annotation == Points:
                raise _Enough
            return dict.fromkeys(self.seeds, math.nan)

        return ask

    def _refuse(self, given: Mapping[str, Any]) -> None:
        """Raises `RequestError` if the arguments of a method match nothing in the plan."""
        if "flow" in given:
            refuse_unknown("flow", [given["flow"]], self._flows)
        if "link" in given:
            refuse_unknown("link", [given["link"]], self._links)
        if given.get("direction") is not None:
            what, known = ways(given.get("table", "flows"))
            refuse_unknown(what, [given["direction"]], known)
        at = given.get("at", NOWHERE)
        refuse_unknown("condition", at, self._conditions[0])
        refuse_unknown_condition(at, self._conditions)
