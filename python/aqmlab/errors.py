"""Errors that people read.

Every message answers, in this order: where, what was found, what is allowed, and, when it can
be guessed, what was probably meant. The command line prints it without a traceback and exits
with status 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ScenarioError(ValueError):
    """A scenario that cannot be run, and why.

    >>> print(ScenarioError("home.toml:14: path.rtt", "missing", "add a line"))
    home.toml:14: path.rtt: missing
    <BLANKLINE>
    hint: add a line
    """

    def __init__(self, where: str, problem: str, hint: str | None = None) -> None:
        self.where, self.problem, self.hint = where, problem, hint
        text = f"{where}: {problem}" if where else problem
        super().__init__(text + (f"\n\nhint: {hint}" if hint else ""))

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[str, str, str | None]]:
        """Lets the error cross to another process whole."""
        return (type(self), (self.where, self.problem, self.hint))

    @classmethod
    def unknown(cls, where: str, what: str, got: str, known: Iterable[str]) -> ScenarioError:
        """`got` is not one of the `known` names for a `what`."""
        return cls(where, f"unknown {what} `{got}`", suggestion(got, known))

    def at(self, where: str) -> ScenarioError:
        """The same error, found at `where`."""
        return type(self)(where, self.problem, self.hint)


class BadValueError(ValueError):
    """A value that is wrong, before anybody has said where it stands."""

    def __init__(self, problem: str, hint: str | None = None) -> None:
        super().__init__(problem)
        self.problem, self.hint = problem, hint

    @classmethod
    def unknown(cls, what: str, got: str, known: Iterable[str]) -> BadValueError:
        """`got` is not one of the `known` names for a `what`."""
        return cls(f"unknown {what} `{shown(got)}`", suggestion(got, known))

    def at(self, where: str) -> ScenarioError:
        """This problem, found at `where`."""
        return ScenarioError(where, self.problem, self.hint)


class BadMemberError(BadValueError):
    """A problem with a member, at `keys`, of the value under validation."""

    def __init__(self, keys: str | tuple[str, ...], problem: str, hint: str | None = None) -> None:
        super().__init__(problem, hint)
        self.keys = (keys,) if isinstance(keys, str) else keys


def suggestion(got: str, known: Iterable[str]) -> str:
    """What was probably meant by `got`, or what there is.

    >>> suggestion("fq_code", ["codel", "fq_codel"])
    'did you mean `fq_codel`?'
    >>> suggestion("xyz", ["codel", "fq_codel"])
    'there are codel, fq_codel'
    """
    names = list(known)
    lowered = {name.lower(): name for name in names}
    close = difflib.get_close_matches(got.lower()[:60], lowered, n=1)
    if close:
        return f"did you mean `{lowered[close[0]]}`?"
    return f"there are {', '.join(sorted(names))}" if names else "there are none"


def shown(value: object, most: int = 60) -> str:
    """`value` as a message shows it: on one line, and not endless."""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(char if char.isprintable() else "?" for char in text[: most + 1])
    return text if len(text) <= most else text[: most - 1] + "…"
