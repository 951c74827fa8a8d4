"""Old names of the options of the engine `kernel`, which this version still accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from aqmlab.base.failures import RequestError
from aqmlab.engines.kernel.options import QDISC_SOURCES, RUN_ON

_WORDS = {"ours": "sim"}
"""The old values of `--qdisc-source`, each with its new value."""


class KernelOptions(NamedTuple):
    """The options of the engine `kernel`, and a warning for each old name and old value."""

    qdisc_source: str
    run_on: str
    warnings: tuple[str, ...]


def kernel_options(
    qdisc_source: str, run_on: str, discipline: str | None = None, place: str | None = None
) -> KernelOptions:
    """The options under their new names.

    `discipline` and `place` are the values under the old names.

    Raises `RequestError` if an old name is given and the new name has a value other than the
    default.

    >>> kernel_options("kernel", "vm", discipline="ours,kernel")[:2]
    ('sim,kernel', 'vm')
    """
    warnings: list[str] = []
    for old, new, given, chosen, usual in (
        ("--discipline", "--qdisc-source", discipline, qdisc_source, QDISC_SOURCES[0]),
        ("--place", "--run-on", place, run_on, RUN_ON[0]),
    ):
        if given is not None:
            if chosen != usual:
                raise RequestError(f"{old}: is the old name of {new}", f"give {new} alone")
            warnings.append(f"{old} is now {new}; a later version will refuse the old name")
    words = (discipline or qdisc_source).split(",")
    warnings += _of_words(words)
    source = ",".join(_WORDS.get(word.strip(), word) for word in words)
    return KernelOptions(source, place or run_on, tuple(warnings))


def _of_words(words: list[str]) -> Iterator[str]:
    for word in words:
        new = _WORDS.get(word.strip())
        if new is not None:
            yield (
                f"--qdisc-source: `{word.strip()}` is now `{new}`; a later version will refuse the"
                " old word"
            )
