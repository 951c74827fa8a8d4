"""Seeds, given as a number of repetitions or as a list.

A number n means the seeds 1 to n. Text with a hyphen or a comma lists seeds, and so does an array:
"3-7", "1,4,9", [1, 4]. The range "7-7" is a single seed. A seed is a whole number from 0 to
2^63 - 1, the largest number that a table's column can hold.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Set
from numbers import Integral
from typing import Any

from aqmlab.base.errors import BadValueError, shown

LARGEST = 2**63 - 1
"""The largest seed, which is the largest value of a table's column."""

MOST = 100_000
"""The maximum number of seeds of a scenario."""

SCHEMA = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": MOST},
        {"type": "string", "pattern": r"^[0-9\s,-]+$"},
        {
            "type": "array",
            "items": {"type": "integer", "minimum": 0, "maximum": LARGEST},
            "minItems": 1,
            "maxItems": MOST,
            "uniqueItems": True,
        },
    ],
    "description": 'The number of repetitions, or the seeds: 5, "3-7", "7-7" or [1, 4].',
}
"""The JSON Schema of the key `seeds`."""

_HINT = 'write how many, such as 5, or which, such as "3-7", "1,4,9" or "7-7"'


def numbers(value: Any) -> tuple[int, ...]:
    """The seeds that `value` states; raises `BadValueError` for an invalid value.

    >>> numbers(3), numbers("3-5"), numbers([1, 4]), numbers("1,7-8"), numbers(range(2))
    ((1, 2, 3), (3, 4, 5), (1, 4), (1, 7, 8), (0, 1))
    """
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]+\s*", value):
        value = int(value) if len(value) < 20 else MOST + 1
    if isinstance(value, Integral) and not isinstance(value, bool):
        value = int(value)  # an integer of numpy becomes one of Python
        seeds = tuple(range(1, value + 1)) if value <= MOST else ()
    elif isinstance(value, str):
        written = (seed for part in value.split(",") for seed in _part(part, value))
        seeds = tuple(itertools.islice(written, MOST + 1))
    else:
        seeds = _listed(value)
    if not 0 < len(seeds) <= MOST:
        raise BadValueError(f"`{shown(value)}` is not between 1 and {MOST} seeds", _HINT)
    if not all(0 <= seed <= LARGEST for seed in seeds):
        problem = f"`{shown(value)}` names a seed that is not between 0 and {LARGEST}"
        raise BadValueError(problem, _HINT)
    if len(set(seeds)) < len(seeds):
        raise BadValueError(f"`{shown(value)}` names a seed twice", _HINT)
    return seeds


def _listed(value: Any) -> tuple[int, ...]:
    """The seeds of a list, an array, a range or a generator, which may be endless.

    Raises `BadValueError` for any other value, and for members that are not whole numbers.
    """
    is_list = isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping, Set))
    members = list(itertools.islice(value, MOST + 1)) if is_list else []
    if not is_list or not all(
        isinstance(one, Integral) and not isinstance(one, bool) for one in members
    ):
        raise BadValueError(f"`{shown(value)}` is not a number of seeds", _HINT)
    return tuple(int(one) for one in members)


def _part(text: str, whole: str) -> range:
    found = re.fullmatch(r"\s*([0-9]{1,19})\s*(?:-\s*([0-9]{1,19})\s*)?", text)
    if found is None:
        raise BadValueError(f"`{shown(whole)}` is not a number of seeds", _HINT)
    first = int(found[1])
    last = int(found[2]) if found[2] else first
    if last < first or last - first >= MOST:
        raise BadValueError(f"`{shown(whole)}` is not between 1 and {MOST} seeds", _HINT)
    return range(first, last + 1)


def spelled(value: Any) -> int | str:
    """The canonical spelling of the seeds in `value`, from which `numbers` restores them.

    Raises `BadValueError` for an invalid value.

    >>> spelled("3 - 7"), spelled([1, 2, 3]), spelled("5"), spelled([7]), spelled([2, 1])
    ('3-7', 3, 5, '7-7', '2,1')
    """
    seeds = numbers(value)
    if seeds == tuple(range(1, len(seeds) + 1)):
        return len(seeds)
    if seeds == tuple(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]}-{seeds[-1]}"
    return ",".join(str(seed) for seed in seeds)
