"""Reads traces of delivery opportunities in mahimahi's format.

Source: mahimahi ae477d4 `src/frontend/link_queue.cc`. Each line is the time of an opportunity in
whole milliseconds. Equal times are several opportunities. After the last time the trace repeats.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aqmlab.base.errors import ScenarioError, shown
from aqmlab.base.files import open_regular

MOST_BYTES = 20_000_000
"""The maximum size of the file of a trace."""

MOST_OPPORTUNITIES = 2_000_000
"""The maximum number of opportunities of a trial, as in the simulator."""

OPPORTUNITY_BYTES = 1_504
"""The bytes of an opportunity: a packet of 1500 bytes, and the header of mahimahi's TUN device."""

_MS = 1_000_000
_LAST_MS = 2**32 - 1
_TIME = re.compile(rb"[0-9]{1,10}")
_HINT = "each line is the time of an opportunity in whole milliseconds, in order"


@dataclass(frozen=True, slots=True)
class Cut:
    """The opportunities of a trial: the trace up to the first opportunity after the trial."""

    gaps_ms: tuple[int, ...]
    mean_bps: int
    """The mean rate of the trace in the trial."""


def read(where: str, folder: Path, name: str, duration_ns: int) -> Cut:
    """The opportunities of the trace in the file `name` of `folder`, for a trial of `duration_ns`.

    Raises `ScenarioError` with the location `where` if the file cannot be read, lies outside
    `folder` or is not a trace.
    """
    try:
        path = (folder / name).resolve()
        inside = path.is_relative_to(folder.resolve())
    except ValueError:  # a NUL character
        problem = f"`{shown(name)}` is not the name of a file"
        raise ScenarioError(where, problem, _near(folder)) from None
    except (OSError, RuntimeError):  # RuntimeError: a cycle of symbolic links
        inside = False
    if not inside:
        raise ScenarioError(
            where, f"`{shown(name)}` is outside the scenario's folder", _near(folder)
        )
    try:
        with open_regular(path) as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problem = f"`{shown(name)}` cannot be read: {reason.lower()}"
        raise ScenarioError(where, problem, _near(folder)) from None
    if len(data) > MOST_BYTES:
        raise ScenarioError(where, f"`{shown(name)}` is larger than {MOST_BYTES} bytes")
    try:
        return _cut(data, duration_ns)
    except _WrongLineError as wrong:
        place = f"{shown(name)}:{wrong.line}" if wrong.line else shown(name)
        raise ScenarioError(where, f"{place}: {wrong.problem}", _HINT) from None


def _near(folder: Path) -> str:
    return f"name a file in the folder of the scenario, {shown(str(folder.resolve()), 200)}"


class _WrongLineError(Exception):
    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, problem


@functools.lru_cache(maxsize=8)
def _cut(data: bytes, duration_ns: int) -> Cut:
    times_ms = _times(data)
    count, period_ms = len(times_ms), times_ms[-1]
    # As in the simulator, an opportunity at the end of the trial is not used.
    end_ms = -(-duration_ns // _MS)
    passes, within = divmod(end_ms - 1, period_ms)
    used = passes * count + bisect.bisect_left(times_ms, within + 1)
    mean_bps = max(1, used * OPPORTUNITY_BYTES * 8 * 10**9 // duration_ns)
    kept = times_ms[: bisect.bisect_right(times_ms, end_ms) + 1]
    if len(kept) > MOST_OPPORTUNITIES:
        problem = (
            f"{len(kept)} opportunities in the trial are too many, {MOST_OPPORTUNITIES} at most"
        )
        raise _WrongLineError(0, problem)
    gaps_ms = (kept[0], *(later - one for one, later in itertools.pairwise(kept)))
    return Cut(gaps_ms, mean_bps)


def _times(data: bytes) -> Sequence[int]:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    times_ms: list[int] = []
    last = 0
    for number, line in enumerate(lines, 1):
        text = line.removesuffix(b"\r")
        if not _TIME.fullmatch(text) or int(text) > _LAST_MS:
            said = shown(text[:60].decode("utf-8", "replace"))
            raise _WrongLineError(number, f"`{said}` is not a time from 0 to {_LAST_MS}")
        time = int(text)
        if time < last:
            raise _WrongLineError(number, f"{time} is before {last}, the time of the previous line")
        times_ms.append(time)
        last = time
    if not times_ms:
        raise _WrongLineError(0, "holds no opportunity")
    if last == 0:
        raise _WrongLineError(len(times_ms), "the last time is 0, so the trace lasts no time")
    return times_ms
