"""The places of the repository's files in the documentation site, and the links between them.

A document keeps its text, except that its links become links to places in the site. A linked file
that is not a document becomes a page with the file's text. The site therefore links to no other
host for files of the repository.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

FIRST_PAGE = "docs/howto/choose-a-tier.md"
INDEX = "docs/README.md"
PROJECT = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
}
"""The documents outside `docs/`, and their places."""
_OWN = {FIRST_PAGE: "index.md", INDEX: "documents.md", **PROJECT}
_IMAGES = (".png", ".svg")
# Matches code, whose text contains no links, or a link.
_CODE_OR_LINK = re.compile(r"^```.*?^```$|(`+)[^`].*?\1(?!`)|\]\(([^)\s]+)\)", re.M | re.S)
_COMMENT = re.compile(r"^<!--.*?-->\n", re.M | re.S)


def place_of(path: str) -> str:
    """The path that the repository's file at `path` has in the site."""
    if path in _OWN:
        return _OWN[path]
    inside = path.removeprefix("docs/")
    if inside != path and path.endswith((".md", *_IMAGES)):
        return inside
    return f"source/{path}.md"


def staged(text: str, path: str, note_link: Callable[[str], None]) -> str:
    """The text of the document at `path`, with links to places of the site.

    Calls `note_link` with the path of each linked file. Comments are omitted, because only
    `tools/generate.py` reads them.
    """
    place = place_of(path)

    def moved(found: re.Match[str]) -> str:
        target = found[2]
        if target is None or target.startswith(("https:", "http:", "#")):
            return found[0]
        file, mark, anchor = target.partition("#")
        linked = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        note_link(linked)
        relative = posixpath.relpath(place_of(linked), posixpath.dirname(place) or ".")
        return f"]({relative}{mark}{anchor})"

    return _CODE_OR_LINK.sub(moved, _COMMENT.sub("", text))
