"""Fonts for characters that the figures' own font lacks, such as Chinese names of applications.

The figures' font is in matplotlib, so figures are the same on every machine. Only texts with other
characters use fonts of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_REGULAR = 400
_PLACEHOLDERS = "Last Resort"
"""The beginning of the name of a font that has boxes for all characters."""
_MOST_NAMED = 12


def complete(made: Canvas) -> str:
    """Gives texts with characters that the figures' font lacks fonts of the machine.

    Returns a note on characters that no font has, or an empty text.
    """
    from matplotlib.text import Text

    own = _own_family()
    texts: list[Any] = [one for one in made.findobj(Text) if not one.get_text().isascii()]
    lacking = {one: _printed(one.get_text()) - _characters(_path(own)) for one in texts}
    lost = frozenset().union(*lacking.values())
    if not lost:
        return ""
    families = []
    for family, path in _others():
        if found := lost & _characters(path):
            families.append(family)
            lost -= found
        if not lost:
            break
    for text, characters in lacking.items():
        if characters and families:
            text.set_fontfamily([own, *families])
    if not lost:
        return ""
    named = "".join(sorted(lost)[:_MOST_NAMED]) + "…" * (len(lost) > _MOST_NAMED)
    return f"no font on this machine has the characters {named}, which are drawn as boxes"


def _printed(text: str) -> frozenset[str]:
    return frozenset(character for character in text if character.isprintable())


def _own_family() -> str:
    from matplotlib import rcParams

    return str(rcParams["font.family"][0])


@cache
def _path(family: str) -> str:
    from matplotlib.font_manager import findfont

    return str(findfont(family))


@cache
def _characters(path: str) -> Set[str]:
    """The characters of the font at `path`; none if the font cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(map(chr, get_font(path).get_charmap()))
    except (OSError, RuntimeError):
        return frozenset()


def _others() -> Iterator[tuple[str, str]]:
    """Yields the family and the path of each regular font of the machine, without serifs first."""
    from matplotlib.font_manager import fontManager

    regular = (
        (one.name, one.fname)
        for one in fontManager.ttflist
        if one.style == "normal"
        and one.weight == _REGULAR
        and not one.name.startswith(_PLACEHOLDERS)
    )
    yield from sorted(regular, key=lambda one: ("Sans" not in one[0], one))
