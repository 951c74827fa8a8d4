"""Parses a household in words: "two adults in meetings, one teenager gaming, 4k film".

The vocabulary is closed: numbers, people, the words of activities and a few joining words. Anything
else is an error with a suggestion. Clauses end at a comma, a semicolon or the end of a line. A
clause names people and their activities, or an activity of the home that belongs to nobody:

    clause   = people ("and" people)* [joining] activities  |  [number] activity
    people   = [number] person
    activities = activity (("and" | "with" | "while") activity)*

Each person in a clause has all activities of the clause. `word_pairs` states which two activities
in a row are one, such as "uploading a video". A single person of `ONLY_ONE` is the same person in
every clause.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import dropwhile
from typing import NamedTuple, TypedDict

from aqmlab.base.errors import BadValueError, ScenarioError, nearest, shown
from aqmlab.households import activity as activities
from aqmlab.households.household import Household
from aqmlab.households.word_pairs import ARTICLES, OWNERS, Name, compound, joined

NUMBERS = {
    name: number
    for number, names in enumerate(
        ("", "a an one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
    for name in names.split()
}
"""Numbers in words. Digits are also accepted."""

PEOPLE = {
    "person": "person", "people": "person", "adult": "adult", "adults": "adult",
    "parent": "parent", "parents": "parent", "mother": "mother", "father": "father",
    "mum": "mother", "mom": "mother", "dad": "father", "woman": "woman", "women": "woman",
    "man": "man", "men": "man", "teenager": "teenager", "teenagers": "teenager",
    "teen": "teenager", "teens": "teenager", "child": "child", "children": "child",
    "kid": "child", "kids": "child", "student": "student", "students": "student",
    "flatmate": "flatmate", "flatmates": "flatmate", "grandmother": "grandmother",
    "grandfather": "grandfather", "grandparent": "grandparent", "grandparents": "grandparent",
    "gamer": "gamer", "gamers": "gamer", "patient": "patient", "patients": "patient",
    "guest": "guest", "guests": "guest", "daughter": "daughter", "daughters": "daughter",
    "son": "son", "sons": "son", "me": "me", "i": "me", "i'm": "me", "myself": "me",
    "wife": "wife", "husband": "husband", "partner": "partner", "boyfriend": "boyfriend",
    "girlfriend": "girlfriend", "brother": "brother", "brothers": "brother", "sister": "sister",
    "sisters": "sister", "roommate": "roommate", "roommates": "roommate",
    "housemate": "housemate", "housemates": "housemate", "grandma": "grandmother",
    "grandpa": "grandfather", "girl": "girl", "girls": "girl", "boy": "boy", "boys": "boy",
}  # fmt: skip
"""Words for people, each with the name that the file uses."""

ONLY_ONE = frozenset(
    ("me", "mother", "father", "wife", "husband", "partner", "boyfriend", "girlfriend",
     "grandmother", "grandfather")
)  # fmt: skip
"""The people of whom a home usually has one."""

JOINING = frozenset(
    ("in", "on", "at", "with", "and", "while", "who", "doing", "watching", "listening", "to",
     "using", "having", "making", "playing", "the", "their", "is", "are", "am", "of", "&", "+",
     "my", "our", "for", "does", "do")
)  # fmt: skip
"""Words that are ignored outside the names of activities."""

_MOST_CHARACTERS = 2_000
_MOST_OF_ONE = 20


class _Counted(TypedDict):
    """An activity with several copies, as a file states it."""

    does: str
    count: int


_Devices = dict[str, list[str | _Counted]]
"""Devices by name, each with its activities."""


class _PersonTable(TypedDict):
    """A person's devices, as a file states them."""

    devices: _Devices


class _Part(NamedTuple):
    """An activity of a clause, with its number of copies."""

    key: str
    copies: int


def household_of(text: str) -> Household:
    """The household that `text` describes; raises `ScenarioError` for any other text."""
    try:
        return _read(text)
    except BadValueError as problem:
        raise problem.at("new") from None


def _read(text: str) -> Household:
    if len(text) > _MOST_CHARACTERS:
        problem = f"{len(text)} characters are too many, {_MOST_CHARACTERS} at most"
        raise BadValueError(problem)
    people: dict[str, _PersonTable] = {}
    things: _Devices = {}
    for clause in filter(None, (part.strip() for part in re.split(r"[,;\n]", text))):
        _clause(_tokens(clause), clause, people, things)
    if not people and not things:
        raise BadValueError("no words are given", f"for example: {EXAMPLE}")
    try:
        return Household(title=_title(text), people=people, things=things)
    except ScenarioError as error:
        raise BadValueError(error.problem, error.hint) from None


EXAMPLE = '"two adults in meetings, one teenager gaming, 4k film"'


def _title(text: str) -> str:
    words = " ".join(text.split())
    return words[:1].upper() + words[1:200]


def _tokens(clause: str) -> list[str]:
    sign = re.search(r"[^\w\s'&+.-]", clause)
    if sign is not None:
        problem = f"unknown sign `{shown(sign[0])}` in `{shown(clause)}`"
        raise BadValueError(problem, "commas separate the clauses")
    return re.findall(r"[\w'&+-]+", clause.lower())


def _clause(
    tokens: list[str], clause: str, people: dict[str, _PersonTable], things: _Devices
) -> None:
    groups, rest = _groups(tokens)
    if not groups:
        if not _number(rest)[1]:
            what = f"`{shown(clause)}` names nobody and nothing"
            raise BadValueError(what, f"for example: {EXAMPLE}")
        for part in _activities(rest, clause):
            _add(things, _unused(part.key, things), part)
        return
    for _, count in groups:
        if not 1 <= count <= _MOST_OF_ONE:
            raise BadValueError(f"`{shown(clause)}`: 1 to {_MOST_OF_ONE} people, not {count}")
    parts = _activities(rest, clause)
    if not parts:
        problem = f"`{shown(clause)}` does not say what they do"
        raise BadValueError(problem, f"what do they do? For example: {EXAMPLE}")
    for who, count in groups:
        for _ in range(count):
            devices: _Devices = {}
            for part in parts:
                _add(devices, _device(part.key), part)
            name = PEOPLE[who]
            is_one = name in people and f"{name}-2" not in people
            if count == 1 and name in ONLY_ONE and is_one:
                known = people[name]["devices"]
                for device, uses in devices.items():
                    known.setdefault(device, []).extend(uses)
            else:
                people[_numbered(name, people)] = {"devices": devices}


def _groups(tokens: Sequence[str]) -> tuple[list[tuple[str, int]], list[str]]:
    """The people at the front, each with a number, and the tokens behind them."""
    groups: list[tuple[str, int]] = []
    rest = list(tokens)
    while True:
        ahead = list(dropwhile(_AND_MY.__contains__, rest))
        count, behind = _number(ahead)
        if not behind or behind[0] not in PEOPLE:
            return groups, rest
        groups.append((behind[0], count))
        rest = behind[1:]


_AND_MY = frozenset(("and", "&", "+", "with", "my", "our", "the"))
"""Words that may precede a person, and are ignored."""


_DIGITS = re.compile(r"[0-9]+")


def _number(tokens: Sequence[str]) -> tuple[int, list[str]]:
    """The number at the front (1 if there is none), and the other tokens."""
    if tokens and tokens[0] in NUMBERS:
        return NUMBERS[tokens[0]], list(tokens[1:])
    if tokens and _DIGITS.fullmatch(tokens[0]):
        return int(tokens[0]), list(tokens[1:])
    return 1, list(tokens)


def _activities(tokens: Sequence[str], clause: str) -> list[_Part]:
    """The activities that `tokens` name."""
    found: list[_Part] = []
    last: Name | None = None
    between: list[str] = []
    at, count = 0, 1
    while at < len(tokens):
        taken = _name(tokens, at)
        if tokens[at] == "playing" and _longest(tokens[at + 1 :]) is not None:
            between.append(tokens[at])  # the name of the activity follows "playing"
            at += 1
        elif taken is not None:
            words, name = taken
            one = last and joined(last, between, name)
            if one is None:
                found.append(_Part(name.key, count))
            else:
                is_stream = last is not None and last.participle == "streaming"
                copies = max(count, found[-1].copies) if is_stream else found[-1].copies
                found[-1] = _Part(one.key, copies)
            last, between, at, count = one or name, [], at + words, 1
        elif tokens[at] in NUMBERS or _DIGITS.fullmatch(tokens[at]):
            count = _number(tokens[at : at + 1])[0]
            if not 1 <= count <= _MOST_OF_ONE:
                raise BadValueError(f"`{shown(clause)}`: 1 to {_MOST_OF_ONE} of one kind")
            between.append(tokens[at] if tokens[at] in ARTICLES else str(count))
            at += 1
        elif tokens[at] in JOINING:
            between.append(tokens[at])
            at += 1
        else:
            raise _unknown(tokens[at:], clause)
    return found


def _name(tokens: Sequence[str], at: int) -> tuple[int, Name] | None:
    """The number of tokens at `at` that name one activity, and the name; `None` if none do."""
    taken = _longest(tokens[at:])
    if taken is None:
        return None
    words, key = taken
    before = tokens[at - 1] if at else ""
    is_counted = before in NUMBERS or before in OWNERS or before.isdecimal()
    name = Name(" ".join(tokens[at : at + words]), key, is_counted)
    while (behind := _longest(tokens[at + words :])) is not None:
        more, key = behind
        second = Name(" ".join(tokens[at + words : at + words + more]), key)
        one = compound(name, second)
        if one is None:
            break
        words, name = words + more, one
    return words, name


def _longest(tokens: Sequence[str]) -> tuple[int, str] | None:
    """The number of tokens at the front that name an activity, and its key; `None` if none do."""
    known = activities.by_words()
    for length in range(min(len(tokens), _MOST_WORDS), 0, -1):
        words = " ".join(tokens[:length])
        for spelled in (words, words.replace("-", " "), words.removesuffix("s")):
            if spelled in known:
                return length, known[spelled]
    return None


_MOST_WORDS = 6


_WORK = ("video meeting", "browsing", "cloud upload")
_INSTEAD = {
    "couple": ("two adults",), "twins": ("two children",),
    "family": ("two adults and two children",),
    "phone": ("phone call",), "telephone": ("telephone call",),
    "working": _WORK, "work": _WORK, "works": _WORK,
}  # fmt: skip
"""The words to write instead of words that are not in the vocabulary.

Work has several words, because it can be any of several activities.
"""


def _unknown(tokens: Sequence[str], clause: str) -> BadValueError:
    known = [*activities.by_words(), *PEOPLE, *NUMBERS]
    meant = nearest(" ".join(tokens), known) or nearest(tokens[0], known)
    where = f" in `{shown(clause)}`" if clause.lower() != tokens[0] else ""
    if tokens[0] in PEOPLE:
        problem = f"`{shown(tokens[0])}`{where} begins a second group of people"
        return BadValueError(problem, "put a comma before each group of people")
    if tokens[0].isdecimal():
        hint = "write numbers with the digits 0 to 9"
    elif tokens[0] in _INSTEAD:
        hint = "write " + " or ".join(f"`{words}`" for words in _INSTEAD[tokens[0]])
    elif meant is not None:
        hint = f"did you mean `{meant}`?"
    else:
        hint = "`aqmlab list activities` shows the words"
    return BadValueError(f"unknown word `{shown(tokens[0])}`{where}", hint)


def _add(devices: _Devices, device: str, part: _Part) -> None:
    use: str | _Counted = part.key if part.copies == 1 else {"does": part.key, "count": part.copies}
    devices.setdefault(device, []).append(use)


_DEVICES = {
    "film-4k": "television", "film-hd": "television", "game": "console",
    "game-download": "console", "messages": "telephone", "photo-sync": "telephone",
    "telephone-call": "telephone", "family-call": "tablet", "music": "speaker",
}  # fmt: skip


def _device(key: str) -> str:
    """The usual device of a person's activity."""
    return _DEVICES.get(key, "notebook")


def _unused(key: str, things: _Devices) -> str:
    """The name of a new thing of the home, with a number if the plain name is taken."""
    usual = {"film-4k": "television", "film-hd": "television", "music": "speaker"}
    return _numbered(usual.get(key, key), things)


def _numbered(name: str, taken: Collection[str]) -> str:
    number = 1
    while (made := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return made
