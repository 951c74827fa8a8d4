"""`aqmlab list`: the names that a scenario can use, with parameters, defaults and sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NotRequired, Optional, TypedDict, cast

import typer

from aqmlab.cli import options

TOPICS = ("disciplines", "tcp", "apps", "profiles", "scenarios", "studies")


class ListedParam(TypedDict):
    """A parameter of a listed kind."""

    name: str
    text: str
    """The default, in scenario notation."""
    doc: str
    choices: NotRequired[list[str] | None]
    allowed: NotRequired[str | None]


class Listed(TypedDict):
    """A listed name, in the form of `--json`. A kind also has the other members of its registry."""

    name: str
    title: NotRequired[str]
    summary: NotRequired[str]
    source: NotRequired[str]
    figures: NotRequired[list[str]]
    claims: NotRequired[list[str]]
    engines: NotRequired[list[str]]
    default_cc: NotRequired[str | None]
    params: NotRequired[list[ListedParam]]


def command(
    topic: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="[" + "|".join(TOPICS) + "]", help="A topic; all if absent."),
    ] = None,
    name: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="[NAME]", help="An entry; a study may be given by its folder."),
    ] = None,
    as_json: options.AsJson = False,
) -> int:
    """List the names that scenarios can use, and studies."""
    from aqmlab.cli import console

    if topic is not None:
        _known("topic", topic, TOPICS)
    found = {one: _entries(one, name) for one in ([topic] if topic else TOPICS)}
    if as_json:
        console.print_json(found[topic] if topic else found)
        return 0
    for kept, entries in found.items():
        if topic is None:
            print(f"{kept}\n")
        for entry in entries:
            print("\n".join(_text(entry)) + "\n")
    return 0


def _known(what: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        from aqmlab.base.errors import shown, suggestion
        from aqmlab.base.failures import RequestError

        raise RequestError(f"list: unknown {what} `{shown(name)}`", suggestion(name, names))


def _entries(topic: str, name: str | None) -> list[Listed]:
    if topic == "studies":
        from aqmlab import studies

        return _studies([name] if name else studies.names())  # A study may be any folder.
    entries = _every(topic)
    if name is None:
        return entries
    _known(f"entry of {topic}", name, [entry["name"] for entry in entries])
    return [entry for entry in entries if entry["name"] == name]


def _every(topic: str) -> list[Listed]:
    if topic == "scenarios":
        from aqmlab.scenario import loading

        return [{"name": name, "title": title} for name, title in loading.builtins().items()]
    from aqmlab.engines import registry
    from aqmlab.scenario import catalogue

    kinds = catalogue.load()[topic]
    registered = (
        {
            **entry,
            "engines": list(registry.that_have(topic, entry["name"])),
            "params": [
                {**param, "allowed": kinds[entry["name"]].params[param["name"]].allowed}
                for param in entry["params"]
            ],
        }
        for entry in catalogue.raw()[topic]
    )
    return [cast(Listed, one) for one in registered]


def _span(names: list[str]) -> str:
    """The first and the last of many names, and their number."""
    return f"{names[0]} to {names[-1]} ({len(names)})" if len(names) > 1 else ", ".join(names)


def _studies(names: Sequence[str]) -> list[Listed]:
    from aqmlab import studies

    found = (studies.load(name) for name in names)
    return [
        {
            "name": study.name,
            "title": study.title,
            "source": study.paper,
            "figures": list(study.figures),
            "claims": list(study.claims),
        }
        for study in found
    ]


def _text(entry: Listed) -> list[str]:
    """An entry as text: a line, its source, and a line per parameter."""
    lines = [f"  {entry['name']:<18} {entry.get('summary') or entry.get('title', '')}"]
    if "source" in entry:
        lines.append(f"      source: {entry['source']}")
    if "figures" in entry:
        lines.append(f"      figures: {_span(entry['figures'])}")
    if "claims" in entry:
        lines.append(f"      claims: {_span(entry['claims'])}")
    if "engines" in entry:
        lines.append(f"      engines: {', '.join(entry['engines'])}")
    if entry.get("default_cc"):
        lines.append(f"      congestion control: {entry['default_cc']}")
    width = max((len(param["name"]) for param in entry.get("params", ())), default=0)
    for param in entry.get("params", ()):
        known = param.get("choices")
        choices = f" One of {', '.join(known)}." if known else ""
        if allowed := param.get("allowed"):
            choices = f" From {allowed}."
        lines.append(
            f"      {param['name']:<{width}} = {param['text']:<10} {param['doc']}{choices}"
        )
    return lines
