"""Checks a built site: links lead to a page and an anchor, and no page requests another host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_REQUESTED = {
    ("script", "src"), ("img", "src"), ("img", "srcset"), ("iframe", "src"), ("source", "src"),
    ("video", "src"), ("audio", "src"), ("object", "data"), ("embed", "src"), ("link", "href"),
}  # fmt: skip
"""Attributes whose address the browser requests when it shows the page."""
_IN_STYLES = re.compile(r"(?:url\(|@import)\s*['\"]?\s*((?:https?:)?//[^'\")\s]+)", re.I)


class _Page(HTMLParser):
    """The identifiers, links and requested addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.requested: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Records the identifiers, links and requested addresses of an element."""
        for name, value in attributes:
            if value is None:
                continue
            if name == "id" or (tag, name) == ("a", "name"):
                self.anchors.add(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)
            elif (tag, name) in _REQUESTED:
                self.requested.append(value)


def problems(site: Path) -> Iterator[str]:
    """Yields each broken link and each request to another host as text."""
    for path in sorted(site.rglob("*.html")):
        name, page = path.relative_to(site).as_posix(), _page(path)
        for address in page.requested:
            if urlsplit(address).netloc:
                yield f"{name}: requests {address}"
        for link in (*page.links, *page.requested):
            if _is_broken(path, link):
                yield f"{name}: the link {link} leads nowhere"
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        for address in _IN_STYLES.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site).as_posix()}: its style requests {address}"


def _is_broken(path: Path, link: str) -> bool:
    """Returns whether a link within the site leads to no file, or to no anchor of its page."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return True
    anchor = unquote(parts.fragment)
    return bool(anchor) and target.suffix == ".html" and anchor not in _page(target).anchors


@cache
def _page(path: Path) -> _Page:
    return _Page(path.read_text(encoding="utf-8"))
