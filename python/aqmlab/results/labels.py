"""Labels of a campaign's trials for tables and figures.

Readers compare *queues* at some *rate* and *round-trip time*. These three come from the resolved
trial, whatever the names of the varied parameters, but varied values that name the queues replace
the queues' kinds. Varied values that do not follow from these three are added to the queue's name.
Different conditions therefore never share a label.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from aqmlab.base.condition_text import condition_text
from aqmlab.base.errors import BadValueError
from aqmlab.campaign.store.manifest import ConditionValue, Direction, LinkFacts, TrialEntry
from aqmlab.scenario.quantities import Duration

_Texts = Mapping[str, str]
"""The conditions of a trial, with their values as text."""

_Condition = tuple[tuple[str, str], ...]

_OF_QUEUES = ("qdisc", "queue", "aqm")
"""The names of conditions end in these parts if the values are disciplines with parameters."""


@dataclass(frozen=True, slots=True)
class Label:
    """A condition in words, in three parts that tables and figures also show separately."""

    queue: str
    """The disciplines, and the varied values that `rate` and `rtt` do not show."""
    rate: str
    """Down and up rates in Mbit/s, such as "12/1"."""
    rtt: str
    """The varied round-trip time, such as "40 ms"; empty if it does not vary.

    If the round-trip time follows from another number, the text includes that number: "50 ms
    (delay=25)".
    """

    @property
    def place(self) -> str:
        """The condition without its queue. Queues are compared at the same place."""
        return ", ".join(self.place_parts())

    def place_parts(self) -> list[str]:
        """The rate and the varied round-trip time, each as a caption shows it."""
        parts = [f"{self.rate} Mbit/s"] if self.rate else []
        return [*parts, f"RTT {self.rtt}"] if self.rtt else parts

    @property
    def brief(self) -> str:
        """The label in its shortest form, for narrow tables."""
        return " ".join(part for part in (self.queue, self.rate, self.rtt) if part)

    def __str__(self) -> str:
        return ", ".join(part for part in (self.queue, self.place) if part)


def label_trials(trials: Sequence[TrialEntry]) -> list[Label]:
    """The label of each trial.

    Conditions are equal if and only if their labels are equal.
    """
    texts = [_texts(trial.conditions) for trial in trials]
    varied_rtt = _varied_rtts(trials)
    plain = [
        Label(_queue(trial.links), _rate(trial.links), _rtt(trial.rtt_base_ms, varied_rtt))
        for trial in trials
    ]
    scheme = _scheme(texts, plain)
    if scheme is not None:
        plain = [replace(label, queue=own[scheme]) for own, label in zip(texts, plain, strict=True)]
    extra = _undetermined(texts, plain)
    behind = [name for name in _behind_rtts(texts, plain) if name not in extra]
    short = _short_names(texts)
    made = [
        replace(
            label,
            queue=_queue_and(label.queue, own, {name: short[name] for name in extra}),
            rtt=_rtt_and(label.rtt, own, {name: short[name] for name in behind}),
        )
        for own, label in zip(texts, plain, strict=True)
    ]
    return _told_apart(made, texts)


def _varied_rtts(trials: Sequence[TrialEntry]) -> set[str]:
    seen: dict[str, set[float]] = defaultdict(set)
    for trial in trials:
        for flow, rtt_ms in trial.rtt_base_ms.items():
            seen[flow].add(rtt_ms)
    return {flow for flow, values in seen.items() if len(values) > 1}


def _queue(links: Mapping[Direction, LinkFacts]) -> str:
    kinds = [link.queue for link in links.values()]
    if len(set(kinds)) > 1:
        return f"{links['down'].queue} down, {links['up'].queue} up"
    return kinds[0] if kinds else "no queue"


def _rate(links: Mapping[Direction, LinkFacts]) -> str:
    return "/".join(f"{link.mbit:g}" for link in links.values())


def _rtt(rtt_base_ms: Mapping[str, float], varied: set[str]) -> str:
    values = sorted({rtt_base_ms[flow] for flow in varied if flow in rtt_base_ms})
    return "/".join(f"{value:g}" for value in values) + " ms" if values else ""


def _behind_rtts(texts: Sequence[_Texts], labels: Sequence[Label]) -> list[str]:
    """The names of the conditions whose numbers or times match the round-trip times one to one.

    Delays of 25 and 50 ms in each direction make RTTs of 50 and 100 ms. With the RTT alone, a
    reader could take "50 ms" for the longer delay.
    """
    return [name for name in _names(texts) if _is_behind(texts, labels, name)]


def _is_behind(texts: Sequence[_Texts], labels: Sequence[Label], name: str) -> bool:
    pairs = set()
    for own, label in zip(texts, labels, strict=True):
        if name not in own:
            return False
        pairs.add((own[name], label.rtt))
    values, rtts = zip(*pairs, strict=True)
    one_to_one = len(set(values)) == len(set(rtts)) == len(pairs) > 1
    return one_to_one and all(_is_another_number(text, rtt) for text, rtt in pairs)


def _is_another_number(text: str, rtt: str) -> bool:
    """Returns whether `text` is a plain number, or a time that differs from the time in `rtt`."""
    try:
        return Duration.parse(text) != Duration.parse(rtt)
    except BadValueError:
        return bool(re.fullmatch(r"[0-9.]+", text))


def _rtt_and(rtt: str, conditions: _Texts, names: Mapping[str, str]) -> str:
    """The round-trip time and the numbers from which it follows."""
    words = [f"{shown}={conditions[name]}" for name, shown in names.items()]
    return f"{rtt} ({', '.join(words)})" if words else rtt


def _scheme(texts: Sequence[_Texts], labels: Sequence[Label]) -> str | None:
    """The name of the condition whose values name the queues, if there is one.

    Such values are "FIFO" and "PIE".
    """
    if len({label.queue for label in labels}) < 2:
        return None
    return next((name for name in _names(texts) if _names_queues(texts, labels, name)), None)


def _names_queues(texts: Sequence[_Texts], labels: Sequence[Label], name: str) -> bool:
    queues: dict[str, set[str]] = defaultdict(set)
    places: dict[str, set[str]] = defaultdict(set)
    for own, label in zip(texts, labels, strict=True):
        if name not in own:
            return False
        queues[own[name]].add(label.queue)
        places[own[name]].add(label.place)
    same_places = len({frozenset(found) for found in places.values()}) == 1
    return (
        same_places
        and all(len(found) == 1 for found in queues.values())
        and not any("=" in text for text in queues)
    )


def _undetermined(texts: Sequence[_Texts], labels: Sequence[Label]) -> list[str]:
    """The names of the conditions that vary within one label.

    A condition is omitted if the conditions before it determine its value. If a trial lacks a
    condition, the scenario's value counts as a separate value.
    """
    parts: list[Hashable] = list(labels)
    chosen: list[str] = []
    for name in _names(texts):
        finer = [(part, own.get(name)) for part, own in zip(parts, texts, strict=True)]
        if len(set(finer)) > len(set(parts)):
            chosen.append(name)
            numbers: dict[Hashable, int] = {}
            parts = [numbers.setdefault(part, len(numbers)) for part in finer]
    return chosen


def _short_names(texts: Sequence[_Texts]) -> dict[str, str]:
    """The last part of each condition's name, or the whole name if that part is not unique."""
    names = _names(texts)
    short = {name: name.rsplit(".", 1)[-1] for name in names}
    known = Counter(name.casefold() for name in {*names, *short.values()})
    ends = Counter(one.casefold() for one in short.values())

    def is_clear(name: str) -> bool:
        end = short[name].casefold()
        return ends[end] == 1 and known[end] == 1

    return {name: short[name] if is_clear(name) else name for name in names}


def _queue_and(queue: str, conditions: _Texts, names: Mapping[str, str]) -> str:
    """The queue's name and the values of the conditions `names`, each with its shown name.

    If a queue's condition has the queue's name with parameters as its value, this value replaces
    the name.
    """
    own, words = queue, []
    for name, shown in names.items():
        if name in conditions:
            text = conditions[name]
            is_own = name.rpartition(".")[2].casefold() in _OF_QUEUES
            if is_own and own == queue and text.partition(" ")[0] == queue:
                own = text
            else:
                words.append(f"{shown}={text}")
    return " ".join([own, *words])


def _told_apart(labels: list[Label], texts: Sequence[_Texts]) -> list[Label]:
    """The labels, reworded if different conditions have labels with the same text."""
    conditions = [tuple(sorted(own.items())) for own in texts]
    confused = _confused(labels, conditions)
    spelled = list(labels)
    for index in confused:
        words = (
            f"{name}={json.dumps(text, ensure_ascii=False)}" for name, text in conditions[index]
        )
        spelled[index] = replace(labels[index], queue=" ".join([labels[index].queue, *words]))
    while confused := _confused(spelled, conditions):
        numbers: dict[_Condition, int] = {}
        for index in confused:
            number = numbers.setdefault(conditions[index], len(numbers) + 1)
            spelled[index] = replace(spelled[index], queue=f"{spelled[index].queue} #{number}")
    return spelled


def _confused(labels: Sequence[Label], conditions: Sequence[_Condition]) -> list[int]:
    """The indices of trials whose label, in one of its forms, equals another condition's label."""
    meant: dict[str, set[_Condition]] = defaultdict(set)
    forms = [(f"brief {label.brief}", f"long {label}") for label in labels]
    for own, condition in zip(forms, conditions, strict=True):
        for form in own:
            meant[form].add(condition)
    return [index for index, own in enumerate(forms) if any(len(meant[form]) > 1 for form in own)]


def _names(texts: Sequence[_Texts]) -> list[str]:
    """The names of all trials' conditions, in the order of their first occurrence."""
    return list(dict.fromkeys(name for own in texts for name in own))


def _texts(conditions: Mapping[str, ConditionValue]) -> dict[str, str]:
    return {name: condition_text(value) for name, value in conditions.items()}
