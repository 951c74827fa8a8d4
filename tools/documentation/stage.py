"""Writes the sources of the documentation site: documents, generated references, linked files."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tools.documentation import command_line, places, python_reference

ROOT = Path(__file__).parents[2]
_LANGUAGES = {".rs": "rust", ".py": "python", ".toml": "toml", ".json": "json"}
_GENERATED = {
    "reference/command-line.md": command_line.page,
    "reference/python.md": python_reference.page,
}
_SECTION = re.compile(r"^## (.*)\n((?:(?!^## ).*\n?)*)", re.M)


def documents() -> list[str]:
    """The paths of all documents in the repository."""
    inside = sorted((ROOT / "docs").rglob("*.md"))
    return [*places.PROJECT, *(path.relative_to(ROOT).as_posix() for path in inside)]


def write(folder: Path) -> None:
    """Writes all sources of the site to `folder`, whose old contents are removed."""
    shutil.rmtree(folder, ignore_errors=True)
    linked: set[str] = set()
    for path in documents():
        text = places.staged((ROOT / path).read_text(encoding="utf-8"), path, linked.add)
        if path == places.FIRST_PAGE:
            text += contents()
        _write(folder / places.place_of(path), text)
    for name, page in _GENERATED.items():
        _write(folder / name, page())
    for path in sorted(linked.difference(documents())):
        _write_linked(folder, path)


def contents() -> str:
    """The tables of contents, in the sections and the order of `docs/README.md`."""
    text = (ROOT / places.INDEX).read_text(encoding="utf-8")
    trees = []
    for title, body in _SECTION.findall(text):
        linked: list[str] = []
        places.staged(body, places.INDEX, linked.append)
        pages = [
            places.place_of(path) for path in dict.fromkeys(linked) if path != places.FIRST_PAGE
        ]
        trees.append(_tree(title, pages + list(_GENERATED) * (title == "Reference")))
    trees.append(
        _tree("Project", [places.place_of(path) for path in (places.INDEX, *places.PROJECT)])
    )
    return "".join(trees)


def _tree(title: str, pages: list[str]) -> str:
    listed = "\n".join(page.removesuffix(".md") for page in pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{listed}\n```\n"


def _write_linked(folder: Path, path: str) -> None:
    """Writes a page with the text of a linked file or the list of a folder, or copies an image."""
    file = ROOT / path
    if file.suffix in (".png", ".svg"):
        target = folder / places.place_of(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        return
    if file.is_dir():
        text, language = "\n".join(sorted(one.name for one in file.iterdir())), "text"
    else:
        text = file.read_text(encoding="utf-8").rstrip()
        language = _LANGUAGES.get(file.suffix, "text")
    # No file contains a fence of this length, and most Markdown has fences of three backquotes.
    code = f"{'`' * 8}{language}\n{text}\n{'`' * 8}\n"
    head = "---\norphan: true\nnosearch: true\n---\n"
    _write(folder / places.place_of(path), f"{head}# `{path}`\n\n{code}")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
