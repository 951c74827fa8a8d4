"""Rewrites error messages for Python: arguments replace command-line options and TOML tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from aqmlab.base.errors import ScenarioError, nearest
from aqmlab.base.failures import RequestError

_WORDS = (
    ("`aqmlab run SCENARIO --out DIR` makes one", "`aqmlab.run(scenario, out=folder)` makes one"),
    (
        'add [path] with rate = "12/1 Mbit/s" and rtt = "40 ms"',
        'add path={"rate": "12/1 Mbit/s", "rtt": "40 ms"}',
    ),
    (
        'add rate = "12/1 Mbit/s", down before up, to [path]',
        'add "rate": "12/1 Mbit/s", down before up, to the dictionary `path`',
    ),
    ("add a table such as [apps.upload]", 'add one, such as apps={"upload": {"kind": "bulk"}}'),
    (", in the table [path]?", ", in the dictionary `path`?"),
)
_OPTION = re.compile(r"`aqmlab [^`]*`|--([a-z][a-z-]*)(?: [A-Z]+)?")
"""A pattern for an option of the command line. It also matches commands, which must not change."""
_OF_FILE = re.compile(r"only a scenario's file can add an application: \[apps\.[^]]*\]")
_VALUES = re.compile(r'write --vary "[^"]*=A,B"')
_TABLE = re.compile(r'\{ kind = "([a-z0-9_]+)"(, …)? \}')
_ADDRESS = re.compile(r"(?<=^did you mean `)[^`]+")
_CHANGE = re.compile(r"--(set|vary)(?:[: ]+|$)")


def spoken(text: str) -> str:
    """`text` with arguments of functions instead of command-line options and TOML tables.

    >>> spoken("give another folder with `--out DIR`, or use --qdisc-source")
    'give another folder with `out=`, or use qdisc_source='
    """
    for written, said in _WORDS:
        text = text.replace(written, said)
    text = _VALUES.sub('write a list of values, such as ["A", "B"]', text)
    text = _TABLE.sub(r'{"kind": "\1"\2}', text)
    text = _OF_FILE.sub("`Scenario.but(apps=…)` adds an application", text)
    return _OPTION.sub(
        lambda found: found[1].replace("-", "_") + "=" if found[1] else found[0], text
    )


def member(keys: Sequence[str], name: str = "Scenario") -> str:
    """The place of a member in the arguments of a constructor.

    >>> member(("path", "rt")), member(("path",))
    ('Scenario(path={"rt": …})', 'Scenario(path=…)')
    """
    if not keys:
        return name
    inner = "…"
    for key in reversed(keys[1:]):
        inner = f'{{"{key}": {inner}}}'
    return f"{name}({keys[0]}={inner})"


@contextmanager
def of_arguments(given: Iterable[str], known: Iterable[str]) -> Iterator[None]:
    """Rewrites errors within the context, so that they name the arguments of a call.

    `given` are the names of the changes as the caller wrote them, and `known` are the names of the
    other arguments.
    """
    names, others = list(given), list(known)
    try:
        yield
    except ScenarioError as error:
        where = _place(error.where, names)
        hint = error.hint and spoken(error.hint)
        if not where:  # the name of a changed parameter is not a key of scenarios
            name = next(iter(re.findall(r"`([^`]+)`", error.problem)), "")
            close = nearest(name, others)
            if close:
                hint = f"did you mean `{close}`?"
            elif hint and "." not in name:  # a keyword cannot contain dots
                hint = _ADDRESS.sub(lambda at: at[0].replace(".", "__"), hint)
        raise ScenarioError(where, spoken(error.problem), hint) from None
    except RequestError as error:
        hint = error.hint and spoken(error.hint)
        problem = re.sub(r"^--([a-z-]+):", lambda at: f"{at[1].replace('-', '_')}:", error.problem)
        raise type(error)(spoken(problem), hint) from None


def _place(where: str, names: Iterable[str]) -> str:
    """The place of an error among the arguments."""
    if (change := _CHANGE.match(where)) is None:
        option = re.match(r"--([a-z-]+)", where)
        return option[1].replace("-", "_") if option else where
    rest = where[change.end() :]
    addresses = sorted(((name.replace("__", "."), name) for name in names), key=len, reverse=True)
    for address, name in addresses:
        if rest == address or rest.startswith(f"{address}."):
            inner = rest[len(address) + 1 :]
            if not inner:
                return name
            return f"{name}[{inner}]" if inner.isdigit() else f"{name}: {inner}"
    return rest
