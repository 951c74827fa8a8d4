"""`aqmlab new`: writes a household's file from words, or from answers on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from aqmlab.base.errors import BadValueError, ScenarioError
from aqmlab.base.failures import RequestError
from aqmlab.base.files import write_atomically
from aqmlab.campaign.store import own_files
from aqmlab.cli import console
from aqmlab.cli.parameters.new import NewParameters
from aqmlab.households import line as lines
from aqmlab.households.household import Household
from aqmlab.households.tier import said_tier
from aqmlab.households.words import EXAMPLE, household_of

_WHO = f"Who is at home, and what do they do at once?\nFor example: {EXAMPLE}\n"

_Read = TypeVar("_Read")


def command(given: NewParameters) -> int:
    """Runs `aqmlab new`; returns the exit status."""
    household = _of_words(given) if given.words else _asked(given)
    own_files.refuse(given.out)
    if given.out.exists() and not given.force:
        raise RequestError(f"--out: {given.out} exists", "give another name, or --force")
    write_atomically(given.out, household.to_toml().encode())
    print(household.to_toml(), end="")
    console.talk(f"household: {given.out}\nnext: aqmlab advise {given.out}")
    return 0


def _of_words(given: NewParameters) -> Household:
    household = household_of(" ".join(given.words or ()))
    stated = {"line": given.line, "tier": given.tier}
    return _with(household, {key: said for key, said in stated.items() if said is not None}, "--")


def _asked(given: NewParameters) -> Household:
    """Asks questions and returns the household. A question is repeated after a wrong answer.

    Raises `RequestError` if standard input is not a terminal.
    """
    if not sys.stdin.isatty():
        raise RequestError("new: there are no words, and no terminal to ask", f"write {EXAMPLE}")
    household = _answer(_WHO, household_of)
    stated: dict[str, str] = {}
    if given.line is not None:
        stated["line"] = given.line
    else:
        question = f"Which line? {', '.join(_usual_names())} [{household.line}] "
        stated |= _answer(question, partial(_said, "line", lines.name_of))
    # The line bounds the tier, so the household is made with both.
    if given.tier is not None:
        return _with(household, stated | {"tier": given.tier}, "--")
    line = lines.find(stated.get("line", household.line))
    usual = f"[{household.tier}] " if line.carries(household.tier) else ""
    question = f"How fast, down and up? {usual}"
    return _answer(question, lambda text: _with(household, stated | _said("tier", str, text), ""))


def _usual_names() -> list[str]:
    """The name that people use for each kind of line."""
    return [one.words[0] if one.words else name for name, one in lines.lines().items()]


def _said(key: str, read: Callable[[str], str], text: str) -> dict[str, str]:
    """`key` with the value that `read` returns for the answer; nothing for an empty answer."""
    return {key: read(text)} if text.strip() else {}


def _with(household: Household, stated: Mapping[str, str], dashes: str) -> Household:
    """The household with the values `stated`. In errors, `dashes` precedes the name of a key."""
    said = {key: said_tier(text) if key == "tier" else text for key, text in stated.items()}
    try:
        return Household(**(household.to_dict() | said))
    except ScenarioError as error:
        raise error.at(f"{dashes}{error.where}") from None


def _answer(question: str, read: Callable[[str], _Read]) -> _Read:
    while True:
        print(question, end="", file=sys.stderr, flush=True)
        text = sys.stdin.readline()
        if not text:
            raise KeyboardInterrupt
        try:
            return read(text.strip())
        except (ScenarioError, BadValueError) as error:
            console.talk(f"{error.problem}" + (f"\nhint: {error.hint}" if error.hint else ""))
