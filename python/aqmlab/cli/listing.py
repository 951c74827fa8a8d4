"""`aqmlab list`: the names that a scenario can use, with parameters, defaults and sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pkgutil import resolve_name

from aqmlab._core import quantity
from aqmlab.cli import console
from aqmlab.cli.listed import Listed, ListedNeeds, refuse_unknown
from aqmlab.cli.parameters.listing import TOPICS, ListingParameters

_WIDTH = 120
"""The maximum length of a line of the overview, in characters."""


def command(given: ListingParameters) -> int:
    """Runs `aqmlab list`; returns the exit status."""
    if given.topic is not None:
        refuse_unknown("topic", given.topic, TOPICS)
    found = {one: _entries(one, given.name) for one in ([given.topic] if given.topic else TOPICS)}
    if given.as_json:
        console.print_json(found[given.topic] if given.topic else found)
        return 0
    if given.topic is None:
        print("\n".join(_overview(found)))
        return 0
    entries = [_text(entry) for entry in found[given.topic]]
    # An empty line shows where an entry of several lines ends. Entries of one line need none.
    between = "\n\n" if any(len(lines) > 1 for lines in entries) else "\n"
    print(between.join("\n".join(lines) for lines in entries))
    return 0


def _entries(topic: str, name: str | None) -> list[Listed]:
    """The entries of a topic, or only its entry `name`, from the topic's module."""
    found: list[Listed] = resolve_name(TOPICS[topic])(topic, name)
    return found


def _overview(found: Mapping[str, Sequence[Listed]]) -> Iterator[str]:
    """Yields lines: each topic, each of its entries, and the commands that show more."""
    for topic, entries in found.items():
        yield topic
        width = max((len(one["name"]) for one in entries), default=0)
        yield from (_cut(_headline(one, width)) for one in entries)
        yield ""
    yield "`aqmlab list TOPIC` adds parameters and sources; `aqmlab list TOPIC NAME` shows one"


def _headline(entry: Listed, width: int = 18) -> str:
    """The name of an entry in a column of `width`, and its summary."""
    return f"  {entry['name']:<{width}} {entry.get('summary') or entry.get('title', '')}"


def _cut(line: str) -> str:
    """Shortens a line of the overview to `_WIDTH`, after a whole word."""
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1].rpartition(" ")[0] + " …"


def _span(names: list[str]) -> str:
    """The first name, the last name and the number of names; or the only name."""
    return f"{names[0]} to {names[-1]} ({len(names)})" if len(names) > 1 else ", ".join(names)


def _needs(stated: ListedNeeds) -> str:
    """The needs of an application, each with the limits of good and tolerable values."""
    told = []
    for need in stated["needs"]:
        to = "from" if need["more_is_better"] else "to"
        good, tolerable = (quantity(one, need["unit"]) for one in (need["good"], need["tolerable"]))
        told.append(f"{need['name']} {to} {good} ({tolerable})")
    return "; ".join([*told, *filter(None, [stated["note"]])]) or "nothing is known of them"


def _text(entry: Listed) -> list[str]:
    """An entry as lines: a headline, its facts, and a line per parameter."""
    lines = [_headline(entry)]
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
    if "needs" in entry:
        lines.append(f"      needs: {_needs(entry['needs'])}")
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
