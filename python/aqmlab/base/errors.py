"""The base class of errors with messages for users, and the errors in scenarios.

The message of a `ScenarioError` gives the location, if it is known, and the problem, in this order.
A hint follows if there is one, such as the likely correction or the allowed values. The command
line prints the message without a traceback and exits with the error's status.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Iterator
from datetime import date, time

_MOST_WHERE, _HALF = 400, 190
_MOST_LISTED = 100
_MOST_COMPARED = 1_000
"""The maximum number of names that are compared with an unknown name.

A comparison with 100,000 names takes about a minute.
"""


class LabError(Exception):
    """An error with an optional hint and the exit status of the command line."""

    status = 1
    problem: str
    hint: str | None

    def __init__(self, problem: str, hint: str | None = None) -> None:
        self.problem, self.hint = brief(problem), hint and brief(hint)
        super().__init__(_with_hint(self.problem, self.hint))


class ScenarioError(LabError, ValueError):
    """A scenario that cannot be run, with the reason.

    >>> print(ScenarioError("home.toml:14: path.rtt", "missing", "add a line"))
    home.toml:14: path.rtt: missing
    <BLANKLINE>
    hint: add a line
    """

    status = 2
    member: BadMemberError | None = None
    """The problem, with the keys of the invalid member; `None` if the keys are unknown.

    The reader of a file finds the member's line by these keys.
    """

    def __init__(self, where: str, problem: str, hint: str | None = None) -> None:
        self.where, self.problem = place(where), brief(problem)
        self.hint = hint and brief(hint)
        text = f"{self.where}: {self.problem}" if where else self.problem
        ValueError.__init__(self, _with_hint(text, self.hint))

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[str, str, str | None]]:
        """Pickles the location, the problem and the hint, for transfer to another process."""
        return (type(self), (self.where, self.problem, self.hint))

    @staticmethod
    def unknown(where: str, what: str, got: object, known: Iterable[str]) -> ScenarioError:
        """The error for an unknown name `got`; `known` are the valid names of the kind `what`."""
        return BadValueError.unknown(what, got, known).at(where)

    def at(self, where: str) -> ScenarioError:
        """The error with the location `where`, and without `member`."""
        return type(self)(where, self.problem, self.hint)


class BadValueError(ValueError):
    """An invalid value whose location is not yet known."""

    def __init__(self, problem: str, hint: str | None = None) -> None:
        self.problem, self.hint = brief(problem), hint and brief(hint)
        super().__init__(self.problem)

    @staticmethod
    def unknown(what: str, got: object, known: Iterable[str]) -> BadValueError:
        """The error for an unknown name `got`; `known` are the valid names of the kind `what`."""
        name = shown(got)
        return BadValueError(f"unknown {what} `{name}`", suggestion(name, known))

    def at(self, where: str) -> ScenarioError:
        """This problem with the location `where`."""
        return ScenarioError(where, self.problem, self.hint)

    def inside(self, keys: str | tuple[str, ...]) -> BadMemberError:
        """This problem, located in the member at `keys` of the validated value."""
        return BadMemberError(keys, self.problem, self.hint)


class BadMemberError(BadValueError):
    """A problem with the member at `keys` of the validated value."""

    def __init__(self, keys: str | tuple[str, ...], problem: str, hint: str | None = None) -> None:
        super().__init__(problem, hint)
        self.keys = (keys,) if isinstance(keys, str) else keys


def _with_hint(text: str, hint: str | None) -> str:
    return f"{text}\n\nhint: {hint}" if hint else text


def suggestion(got: str, known: Iterable[str]) -> str:
    """Suggests the name in `known` that is most similar to `got`.

    If no name is similar, lists the first names of `known` in alphabetical order.

    >>> suggestion("fq_code", ["codel", "fq_codel"])
    'did you mean `fq_codel`?'
    >>> suggestion("xyz", ["codel", "fq_codel"])
    'there are codel, fq_codel'
    """
    names = list(dict.fromkeys(known))
    close = nearest(got, names)
    if close is not None:
        return f"did you mean `{shown(close)}`?"
    if not names:
        return "there are none"
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return f"there are {', '.join(map(shown, sorted(names)[:_MOST_LISTED]))}{more}"


def nearest(got: str, known: Iterable[str]) -> str | None:
    """The name in `known` that is most similar to `got`, or `None` if none is similar.

    Ignores case, and compares only the first `_MOST_COMPARED` names.

    >>> nearest("fq_code", ["codel", "fq_codel"]), nearest("xyz", ["codel", "fq_codel"])
    ('fq_codel', None)
    """
    lowered = {name.lower(): name for name in known}
    compared = itertools.islice(lowered, _MOST_COMPARED)
    close = difflib.get_close_matches(got.lower()[:60], list(compared), n=1)
    return lowered[close[0]] if close else None


def shown(value: object, most: int = 60) -> str:
    """Formats `value` for a message, on one line of at most `most` characters.

    Values that TOML has are in the notation of TOML.

    >>> shown([1, ("a",), {"b": True}]), shown("a\\nb"), shown(list(range(9)), 12)
    ("[1, ('a',), {b = true}]", 'a?b', '[0, 1, 2, 3…')
    """
    text = ""
    for piece in (value,) if isinstance(value, str) else _pieces(value, most):
        text += piece[: most + 1]
        if len(text) > most:
            break
    text = printable(text[: most + 1])
    return text if len(text) <= most else text[: most - 1] + "…"


def brief(text: str) -> str:
    """Shortens long names in backquotes.

    Names of trials, which have at most 255 characters, are not shortened.

    >>> len(brief("there is no `" + "a" * 5_000 + "`")), brief("`ab`")
    (270, '`ab`')
    """
    return _QUOTED.sub(lambda found: f"`{found[1][: _MOST_QUOTED - 1]}…`", text)


_MOST_QUOTED = 256
_QUOTED = re.compile(f"`([^`]{{{_MOST_QUOTED + 1},}})`")


_BARE_KEY = re.compile("[A-Za-z0-9_-]+")
"""The pattern of the keys that TOML leaves without quotes."""


def _pieces(value: object, most: int) -> Iterator[str]:
    """Yields the text of a value in pieces, because nested lists can make it unboundedly long.

    Booleans, tables and dates are in TOML's notation, other values in Python's. Long texts are
    truncated, and long integers are hexadecimal.
    """
    if isinstance(value, dict):
        yield "{"
        for number, (key, member) in enumerate(value.items()):
            yield ", " if number else ""
            is_bare = isinstance(key, str) and _BARE_KEY.fullmatch(key[: most + 1])
            yield from (key,) if is_bare else _pieces(key, most)
            yield " = "
            yield from _pieces(member, most)
        yield "}"
    elif isinstance(value, (list, tuple)):
        yield "[" if isinstance(value, list) else "("
        for number, member in enumerate(value):
            yield ", " if number else ""
            yield from _pieces(member, most)
        yield "]" if isinstance(value, list) else ",)" if len(value) == 1 else ")"
    elif isinstance(value, str):
        yield repr(value[: most + 1])
    elif isinstance(value, bool):
        yield str(value).lower()
    elif isinstance(value, (date, time)):  # a date with a time is also a date
        yield value.isoformat()
    elif isinstance(value, int) and not -(10**most) < value < 10**most:
        yield hex(value)  # Python refuses to write thousands of decimal digits
    else:
        yield repr(value)


def printable(text: str, also: str = "") -> str:
    r"""Replaces unprintable characters by `?`, because they could control the terminal.

    Characters in `also` are kept.

    >>> printable("a\x1b[31mb\n"), printable("a\nb", also="\n")
    ('a?[31mb?', 'a\nb')
    """
    return "".join(char if char.isprintable() or char in also else "?" for char in text)


def place(where: str) -> str:
    """Formats a location for a message. A long location is shortened to its beginning and end."""
    text = printable(where)
    return text if len(text) <= _MOST_WHERE else f"{text[:_HALF]}…{text[-_HALF:]}"
