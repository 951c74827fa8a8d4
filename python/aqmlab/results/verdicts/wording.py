"""Numbers and verdicts in the form for people."""

from __future__ import annotations

import re


def quantity(value: float, unit: str) -> str:
    """A number with its unit, in the form for people.

    >>> quantity(2710.4, "ms"), quantity(12.34, "ms"), quantity(3.6, ""), quantity(12.5, "%")
    ('2.7 s', '12 ms', '3.6', '12.5 %')
    """
    if unit == "ms" and abs(value) >= 1000:
        value, unit = value / 1000, "s"
    if unit == "%" and 99 < value < 100:
        return f"{value:.2f} %"
    whole = abs(value) >= 10 or value == 0
    digits = f"{value:.1f}" if 2 * value % 2 == 1 else f"{value:.0f}" if whole else f"{value:.2g}"
    return f"{digits} {unit}".strip()


def unbroken(text: str) -> str:
    """`text` with no-break spaces between each number and its unit or limit.

    >>> unbroken("pie 12/1 50 ms: 2 s > 400 ms").split(" ")
    ['pie', '12/1', '50\\xa0ms:', '2\\xa0s', '>\\xa0400\\xa0ms']
    """
    return re.sub(r"(?<=\d) (?=[^\W\d]|[%<>≤≥])|(?<=[<>≤≥]) (?=\d)", "\u00a0", text)


def apart(value: float, limit: float) -> str:
    """`value` with the fewest digits that distinguish it from `limit`, which it does not equal.

    >>> apart(3.9961, 4.0)
    '3.996'
    """
    texts = (f"{value:.{digits}f}" for digits in range(1, 18))
    return next(text for text in texts if float(text) != limit)
