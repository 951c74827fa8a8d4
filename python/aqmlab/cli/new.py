"""`aqmlab new`: writes a household's file from words, or from answers on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from aqmlab.base.errors import ScenarioError
from aqmlab.base.failures import RequestError
from aqmlab.base.files import write_atomically
from aqmlab.cli import console
from aqmlab.cli.parameters.new import NewParameters
from aqmlab.households import line as lines
from aqmlab.households.household import Household
from aqmlab.households.tier import said_tier
from aqmlab.households.words import EXAMPLE, household_of

_WHO = f"Who is at home, and what do they do at once?\nFor example: {EXAMPLE}\n"


def command(given: NewParameters) -> int:
    """Runs `aqmlab new`."""
    household = _of_words(given) if given.words else _asked(given)
    if given.out.exists() and not given.force:
        raise RequestError(f"--out: {given.out} exists", "give another name, or --force")
    write_atomically(given.out, household.to_toml().encode())
    print(household.to_toml(), end="")
    console.talk(f"household: {given.out}\nnext: aqmlab advise {given.out}")
    return 0


def _of_words(given: NewParameters) -> Household:
    household = household_of(" ".join(given.words or ()))
    for option, value in (("tier", given.tier), ("line", given.line)):
        if value is not None:
            household = _with(household, option, value, f"--{option}")
    return household


def _asked(given: NewParameters) -> Household:
    """Asks questions and returns the household. A question is repeated after a wrong answer."""
    if not sys.stdin.isatty():
        raise RequestError("new: there are no words, and no terminal to ask", f"write {EXAMPLE}")
    household = _answer(_WHO, household_of)
    told = {"line": given.line, "tier": given.tier}
    for option, question in (
        ("line", f"Which line? {', '.join(_usual_names())} [{household.line}] "),
        ("tier", f"How fast, down and up? [{household.tier}] "),
    ):
        if (value := told[option]) is not None:
            household = _with(household, option, value, f"--{option}")
        else:
            household = _answer(question, partial(_kept, household, option))
    return household


def _usual_names() -> list[str]:
    """The name that people use for each kind of line."""
    return [one.words[0] if one.words else name for name, one in lines.lines().items()]


def _kept(household: Household, key: str, text: str) -> Household:
    """The household with the answer `text`, or unchanged if `text` is empty."""
    return _with(household, key, text, key) if text.strip() else household


def _with(household: Household, key: str, value: str, where: str) -> Household:
    said = said_tier(value) if key == "tier" else value
    try:
        return Household(**(household.to_dict() | {key: said}))
    except ScenarioError as error:
        raise error.at(where) from None


def _answer(question: str, read: Callable[[str], Household]) -> Household:
    while True:
        print(question, end="", file=sys.stderr, flush=True)
        text = sys.stdin.readline()
        if not text:
            raise KeyboardInterrupt
        try:
            return read(text.strip())
        except ScenarioError as error:
            console.talk(f"{error.problem}" + (f"\nhint: {error.hint}" if error.hint else ""))
