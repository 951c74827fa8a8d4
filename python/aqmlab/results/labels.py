"""What each trial of a campaign is called in tables and figures.

People compare *queues* at some *rate* and *round-trip time*. These three are read from the
resolved trial, whatever the scenario calls the parameters it varies; what else is varied is
added to the queue's name, so that no two different conditions share a label.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aqmlab.base.errors import BadValueError
from aqmlab.scenario import quantities


@dataclass(frozen=True, slots=True)
class Label:
    """A condition in words; the fields say more than their sum, so each may stand alone."""

    queue: str
    """The disciplines, and whatever else is varied at equal rate and round-trip time."""
    rate: str
    """Down and up, in Mbit/s, such as "12/1"."""
    rtt: str
    """The varied round-trip time, such as "40 ms"; empty if it does not vary. Where it follows from
    another number, that is named, too: "50 ms (delay=25)"."""

    @property
    def place(self) -> str:
        """Everything but the queue: where the queues are compared."""
        return ", ".join(self.place_parts())

    def place_parts(self) -> list[str]:
        """Rate and round-trip time, as captions say them."""
        parts = [f"{self.rate} Mbit/s"] if self.rate else []
        return [*parts, f"RTT {self.rtt}"] if self.rtt else parts

    @property
    def brief(self) -> str:
        """As short as it goes, for narrow tables."""
        return " ".join(part for part in (self.queue, self.rate, self.rtt) if part)

    def __str__(self) -> str:
        return ", ".join(part for part in (self.queue, self.place) if part)


def label_trials(trials: Sequence[Mapping[str, Any]]) -> list[Label]:
    """The label of each trial.

    A trial is a mapping with `conditions`, `links` (as `links_of` gives them) and `rtt_base_ms`.
    """
    varied_rtt = _varied_rtts(trials)
    plain = [
        Label(_queue(trial["links"]), _rate(trial["links"]), _rtt(trial["rtt_base_ms"], varied_rtt))
        for trial in trials
    ]
    scheme = _scheme(trials, plain)
    if scheme is not None:
        plain = [
            replace(label, queue=condition_text(trial["conditions"][scheme]))
            for trial, label in zip(trials, plain, strict=True)
        ]
    extra = _undetermined(trials, plain)
    behind = [name for name in _behind_rtts(trials, plain) if name not in extra]
    return [
        replace(
            label,
            queue=_queue_and(label.queue, trial["conditions"], extra),
            rtt=_rtt_and(label.rtt, trial["conditions"], behind),
        )
        for trial, label in zip(trials, plain, strict=True)
    ]


def links_of(spec: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Per direction, the slowest link that an application crosses: its rate and discipline.

    A modem's is none of them, for what people compare is what the gateway is set to.
    """
    found: dict[str, dict[str, Any]] = {}
    for direction in ("down", "up"):
        used = {index for app in spec["apps"] for index in app[direction]["links"]}
        links = [spec["links"][index] for index in sorted(used)]
        links = [link for link in links if link["name"] != f"modem-{direction}"]
        if links:
            slowest = min(links, key=lambda link: link["rate_bps"])
            mbit = slowest["rate_bps"] / 1e6
            found[direction] = {"mbit": mbit, "queue": slowest["qdisc"]["kind"]}
    return found


def group_apps(apps: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """For each application the name under which figures show it.

    Copies that differ only in their number and their start stand together: `web-1` to `web-4`
    are `web`, or `web-1 to 4` if other applications are called `web-5`.
    """
    likes: dict[tuple[str, str], list[str]] = {}
    before: dict[str, Any] = {}
    for app in apps:
        stem, _, number = app["name"].rpartition("-")
        stem = stem if re.fullmatch("[0-9]+", number) and stem else app["name"]
        start_ns, stop_ns = app.get("start_ns", 0), app.get("stop_ns")
        span_ns = None if stop_ns is None else stop_ns - start_ns
        if before.get(app["name"]) == (app["app"], span_ns):
            continue  # as in most trials
        before[app["name"]] = (app["app"], span_ns)
        likeness = json.dumps([app["app"], span_ns], sort_keys=True)
        names = likes.setdefault((stem, likeness), [])
        if app["name"] not in names:
            names.append(app["name"])
    stems = Counter(stem for stem, _ in likes)
    groups = {}
    for (stem, _), names in likes.items():
        shown = names[0]
        if len(names) > 1:
            shown = stem if stems[stem] == 1 else f"{names[0]} to {names[-1].rpartition('-')[2]}"
        groups.update(dict.fromkeys(names, shown))
    return groups


def condition_text(value: Any) -> str:
    """A varied value as people write it.

    >>> condition_text({"kind": "codel", "target": "5 ms"}), condition_text(0.5)
    ('codel target=5 ms', '0.5')
    """
    if isinstance(value, Mapping) and isinstance(value.get("kind"), str):
        params = value.get("params") or {key: value[key] for key in value if key != "kind"}
        if isinstance(params, Mapping):
            return " ".join([value["kind"], *(f"{key}={params[key]}" for key in params)])
    if isinstance(value, str):
        return value
    if not isinstance(value, float):
        return json.dumps(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _varied_rtts(trials: Sequence[Mapping[str, Any]]) -> set[str]:
    seen: dict[str, set[float]] = defaultdict(set)
    for trial in trials:
        for flow, rtt_ms in trial["rtt_base_ms"].items():
            seen[flow].add(rtt_ms)
    return {flow for flow, values in seen.items() if len(values) > 1}


def _queue(links: Mapping[str, Mapping[str, Any]]) -> str:
    kinds = [link["queue"] for link in links.values()]
    if len(set(kinds)) > 1:
        return f"{links['down']['queue']} down, {links['up']['queue']} up"
    return kinds[0] if kinds else "no queue"


def _rate(links: Mapping[str, Mapping[str, Any]]) -> str:
    return "/".join(f"{link['mbit']:g}" for link in links.values())


def _rtt(rtt_base_ms: Mapping[str, float], varied: set[str]) -> str:
    values = sorted({rtt_base_ms[flow] for flow in varied if flow in rtt_base_ms})
    return "/".join(f"{value:g}" for value in values) + " ms" if values else ""


def _behind_rtts(trials: Sequence[Mapping[str, Any]], labels: Sequence[Label]) -> list[str]:
    """The conditions that are numbers of which each stands for one round-trip time.

    An RTT of 50 ms may be a delay of 25 in each direction: who varies 25 and 50 would take the one
    for the other.
    """
    names = dict.fromkeys(name for trial in trials for name in trial["conditions"])
    return [name for name in names if _is_behind(trials, labels, name)]


def _is_behind(trials: Sequence[Mapping[str, Any]], labels: Sequence[Label], name: str) -> bool:
    pairs = set()
    for trial, label in zip(trials, labels, strict=True):
        if name not in trial["conditions"]:
            return False
        pairs.add((condition_text(trial["conditions"][name]), label.rtt))
    texts, rtts = zip(*pairs, strict=True)
    one_to_one = len(set(texts)) == len(set(rtts)) == len(pairs) > 1
    return one_to_one and all(_is_another_number(text, rtt) for text, rtt in pairs)


def _is_another_number(text: str, rtt: str) -> bool:
    """Whether `text` is a plain number or a time, and not the one that `rtt` says."""
    try:
        return quantities.duration(text) != quantities.duration(rtt)
    except BadValueError:
        return bool(re.fullmatch(r"[0-9.]+", text))


def _rtt_and(rtt: str, conditions: Mapping[str, Any], names: Sequence[str]) -> str:
    """The round-trip time and the numbers behind it."""
    words = [f"{name.rsplit('.', 1)[-1]}={condition_text(conditions[name])}" for name in names]
    return f"{rtt} ({', '.join(words)})" if words else rtt


def _scheme(trials: Sequence[Mapping[str, Any]], labels: Sequence[Label]) -> str | None:
    """The condition whose values name the queues, such as "FIFO" and "PIE", if there is one."""
    if len({label.queue for label in labels}) < 2:
        return None
    names = dict.fromkeys(name for trial in trials for name in trial["conditions"])
    return next((name for name in names if _names_queues(trials, labels, name)), None)


def _names_queues(trials: Sequence[Mapping[str, Any]], labels: Sequence[Label], name: str) -> bool:
    queues: dict[str, set[str]] = defaultdict(set)
    places: dict[str, set[str]] = defaultdict(set)
    for trial, label in zip(trials, labels, strict=True):
        if name not in trial["conditions"]:
            return False
        text = condition_text(trial["conditions"][name])
        queues[text].add(label.queue)
        places[text].add(label.place)
    same_places = len({frozenset(found) for found in places.values()}) == 1
    return (
        same_places
        and all(len(found) == 1 for found in queues.values())
        and not any("=" in text for text in queues)
    )


def _undetermined(trials: Sequence[Mapping[str, Any]], labels: Sequence[Label]) -> list[str]:
    """The conditions that vary between trials of one label, without those that follow others."""
    groups: dict[Label, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for trial, label in zip(trials, labels, strict=True):
        for name, value in trial["conditions"].items():
            groups[label][name].append(condition_text(value))
    chosen: list[str] = []
    names = dict.fromkeys(name for trial in trials for name in trial["conditions"])
    for name in names:
        if any(_adds(group, chosen, name) for group in groups.values()):
            chosen.append(name)
    return chosen


def _adds(group: Mapping[str, list[str]], chosen: Sequence[str], name: str) -> bool:
    """Whether `name` tells trials apart that the `chosen` names do not."""
    if name not in group:
        return False
    known = list(zip(*(group[one] for one in chosen if one in group), strict=True))
    known = known or [()] * len(group[name])
    return len(set(zip(known, group[name], strict=True))) > len(set(known))


def _queue_and(queue: str, conditions: Mapping[str, Any], names: Sequence[str]) -> str:
    """The queue's name and what else is varied; what varies its own parameters is said once."""
    short = {name: name.rsplit(".", 1)[-1] for name in names}
    ambiguous = len(set(short.values())) < len(short)
    words: list[str] = []
    for name in names:
        if name in conditions:
            text = condition_text(conditions[name])
            if text.partition(" ")[0] == queue:
                queue = text
            else:
                words.append(f"{name if ambiguous else short[name]}={text}")
    return " ".join([queue, *words])
