"""Decides whether two activities in a row, in the words of a household, are one activity.

They are one in three cases:

- Both have words for the same activity ("streaming a film").
- A verb takes its object ("uploading a video" is an upload, and nobody watches the video).
- The last noun of a compound is the activity ("a video camera").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from aqmlab.base.errors import BadValueError
from aqmlab.households import activity as activities

ARTICLES = frozenset(("a", "an"))
OWNERS = frozenset(("the", "my", "our", "their"))
"""The words before a noun that are no numbers."""

_SEPARATING = frozenset(("and", "with", "while", "&", "+"))
"""The joining words between two activities. Other joining words may be inside one activity."""

_BEFORE_OBJECTS = ARTICLES | OWNERS | {"to", "of", "for"}
_BEFORE_FORMS = frozenset(("in", "on", "at", "using"))
"""The words before the form or the place of an object, as in "uploading a video in 4k"."""

_PARTICIPLES = {
    f"{stem}{ending}": f"{stem}ing"
    for stem in ("upload", "download", "stream")
    for ending in ("", "s", "ing")
} | {"update": "downloading", "updates": "downloading", "backup": "uploading"}
"""The verbs that take an object, each with the participle of a verb in `activities.toml`."""

_TRANSFERS = frozenset(
    ("upload", "uploads", "download", "downloads", "update", "updates", "backup", "backups")
)
"""Words that are nouns after a number or another noun: "two downloads", "a video upload"."""

_OWN_ACTIVITIES = {
    "cloud-backup": frozenset(("photo-sync", "photo-album", "medical-images", "upload-2016")),
    "game-download": frozenset(("boerlage-movie", "boerlage-updates", "download-2016")),
}
"""The objects of each verb that are activities of its kind. Such an object is the activity."""

_LISTED = frozenset(("photo", "photos", "picture", "pictures", "video", "videos"))
"""Further objects, if "and" and one of these words follow the first: "photos and videos"."""


class Name(NamedTuple):
    """Words that name an activity. They are counted after a number, an article or an owner."""

    words: str
    key: str
    is_counted: bool = False

    @property
    def participle(self) -> str | None:
        """The participle of a name that may take an object; otherwise `None`."""
        first, *others = self.words.split()
        if others and not first.endswith("ing"):  # such as "cloud backup"
            return _PARTICIPLES.get(others[-1])
        return _PARTICIPLES.get(first)

    @property
    def is_noun(self) -> bool:
        """Whether the name is a noun for a transfer, which takes its object after "of"."""
        first, *others = self.words.split()
        if others:
            return first in _TRANSFERS
        return first in _TRANSFERS and self.is_counted

    @property
    def is_doing(self) -> bool:
        """Whether the name begins with a participle, as in "gaming" and "watching tv"."""
        first = self.words.split()[0]
        return first.endswith("ing") and first != "meeting"

    @property
    def is_stream(self) -> bool:
        """Whether the activity is a stream, such as a film or music."""
        return activities.activities()[self.key].category == "streaming"


def compound(first: Name, second: Name) -> Name | None:
    """The activity of two names without a word between them; `None` if they are two activities.

    >>> compound(Name("video", "film-hd"), Name("camera", "camera")).key
    'camera'
    """
    if second.words == "streaming" and not first.is_doing:
        return _streamed(first)
    if first.participle is not None:
        return None
    if second.words in _TRANSFERS and not first.is_doing:
        return Name(second.words, _transferred(second, first), is_counted=True)
    is_form = first.words in ("video", "4k") and (not second.is_doing or second.words == "gaming")
    is_about = first.key in ("game", "music") and second.words in ("video", "videos")
    if is_form or is_about:
        return Name(second.words, _same(first.key, second.key) or second.key, first.is_counted)
    return None


def joined(first: Name, between: Sequence[str], second: Name) -> Name | None:
    """The activity of two names with the words `between`; `None` if they are two activities.

    Numbers in `between` are digits, except the articles.

    >>> joined(Name("uploading", "cloud-backup"), ["a"], Name("video", "film-hd")).key
    'cloud-backup'
    """
    if _is_object(first, between, second):
        if first.participle == "streaming":
            return _streamed(second)
        return Name(f"{first.participle} {second.words}", _transferred(first, second))
    if _SEPARATING.isdisjoint(between) and not any(map(str.isdecimal, between)):
        key = _same(first.key, second.key)
        return None if key is None else second._replace(key=key)
    return None


def _is_object(first: Name, between: Sequence[str], second: Name) -> bool:
    """Whether `second` is the object of `first`, or the form of this object."""
    is_question = first.participle == "streaming" and second.key == "game"
    if first.participle is None or (second.is_doing and not is_question):
        return False
    words = {word for word in between if not word.isdecimal()}
    if words & _SEPARATING:
        has_object = first.words.startswith(("uploading ", "downloading "))
        return has_object and second.words in _LISTED and words <= _SEPARATING | _BEFORE_OBJECTS
    if first.is_noun and not words & {"of", "to", "for"}:
        return False
    if words & _BEFORE_FORMS and not second.is_stream and second.key != "game":
        return False
    return words <= _BEFORE_OBJECTS | _BEFORE_FORMS


def _same(key: str, other: str) -> str | None:
    """The one activity that the words of two keys name together; `None` if they are two."""
    if {key, other} == {"film-hd", "film-4k"}:
        return "film-4k"
    return key if key == other else None


def _transferred(verb: Name, thing: Name) -> str:
    """The key of the upload or download of `thing`."""
    known = activities.by_words().get(f"{verb.participle} {thing.words}")
    if known is not None:
        return known
    return thing.key if thing.key in _OWN_ACTIVITIES.get(verb.key, ()) else verb.key


def _streamed(thing: Name) -> Name | None:
    """The activity of a person who streams `thing`; raises `BadValueError` for a game."""
    if thing.key == "game":
        problem = f"`streaming` with `{thing.words}` does not say who plays"
        hint = (
            "do they play, watch another player, or show their own game? write `gaming`, `film` or "
            "`gaming and uploading`"
        )
        raise BadValueError(problem, hint)
    return thing if thing.is_stream else None
