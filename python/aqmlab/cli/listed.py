"""The entries that `aqmlab list` shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NotRequired, TypedDict

from aqmlab.base.errors import shown, suggestion
from aqmlab.base.failures import RequestError


class ListedParam(TypedDict):
    """A parameter of a listed kind."""

    name: str
    text: str
    """The default, in scenario notation."""
    doc: str
    choices: NotRequired[list[str] | None]
    allowed: NotRequired[str | None]


class ListedNeed(TypedDict):
    """A need of a listed application."""

    name: str
    unit: str
    good: float
    tolerable: float
    more_is_better: bool
    source: str


class ListedNeeds(TypedDict):
    """The needs of a listed application."""

    needs: list[ListedNeed]
    note: str


class Listed(TypedDict):
    """An entry of a topic, as `--json` prints it. A kind also has those members of its entry in the
    catalogue that are not declared here."""

    name: str
    title: NotRequired[str]
    summary: NotRequired[str]
    source: NotRequired[str]
    figures: NotRequired[list[str]]
    claims: NotRequired[list[str]]
    engines: NotRequired[list[str]]
    default_cc: NotRequired[str | None]
    params: NotRequired[list[ListedParam]]
    needs: NotRequired[ListedNeeds]


def refuse_unknown(what: str, name: str, names: Iterable[str]) -> None:
    """Raises `RequestError` if `name` is not one of `names`."""
    known = list(names)
    if name not in known:
        raise RequestError(f"list: unknown {what} `{shown(name)}`", suggestion(name, known))


def only(topic: str, name: str | None, entries: Sequence[Listed]) -> list[Listed]:
    """The entry called `name`, or all entries if `name` is `None`.

    Raises `RequestError` if no entry has the name.
    """
    if name is None:
        return list(entries)
    refuse_unknown(f"entry of {topic}", name, (entry["name"] for entry in entries))
    return [entry for entry in entries if entry["name"] == name]
