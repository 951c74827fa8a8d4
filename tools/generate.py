"""Rewrites the generated parts of the documents: `python tools/generate.py`.

A generated part stands between `<!-- make: WHAT … -->` and `<!-- end -->`. WHAT is a name in
`MAKERS`, `figure`, or the kind of output that a command prints (`run`, `error`, `warnings`).
`output` stands for the output of the Python code before it. The commands and the code of a document
run in order, in one new folder with a link to `examples`. `--check` writes nothing and names the
outdated documents. `tests/test_docs.py` performs the same check.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
HERE = ROOT / "docs"
sys.path.insert(0, str(ROOT))

from aqmlab.scenario import loading  # noqa: E402

from tools import (  # noqa: E402
    compared,
    conformance_count,
    figures,
    heads,
    households_section,
    keys,
    kinds,
    peers,
    speed,
    validated,
)

DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    *(path.relative_to(ROOT).as_posix() for path in sorted(HERE.rglob("*.md"))),
)
_PART = re.compile(r"(<!-- make: (\w+)(?: ([^\n]+))? -->\n)(.*?)(<!-- end -->)", re.S)
_STATEMENT = re.compile(r"^(\| C-(\d{2,3}) \|[^|\n]*\|[^|\n]*\|)[^|\n]*\|$", re.M)


def fenced(text: str, language: str = "") -> str:
    """`text` as a block of code."""
    lines = "\n".join(line.rstrip() for line in text.rstrip().splitlines())
    return f"```{language}\n{lines}\n```\n"


class Document:
    """One document, and the folder in which its commands run."""

    def __init__(self, text: str, folder: Path) -> None:
        self.text, self._folder = text, folder
        self.figures: dict[Path, bytes] = {}
        """The figures that the document's parts drew, by path."""
        (folder / "examples").symlink_to(ROOT / "examples")

    def made(self) -> str:
        """The text of the document with all generated parts regenerated."""
        text = _PART.sub(self._part, self.text)
        return _STATEMENT.sub(_with_tests, text)

    def _part(self, found: re.Match[str]) -> str:
        begin, what, argument, _, end = found.groups(default="")
        if what in ("run", "error", "warnings", "output"):
            before = self.text[: found.start()]
            return begin + self._printed(what, argument, before) + end
        if what == "figure":
            return begin + self._drawn(*argument.split()) + end
        return begin + MAKERS[what](argument) + end

    def _printed(self, what: str, argument: str, before: str) -> str:
        if what == "output":  # output of the Python code that precedes it
            code = re.findall(r"```python\n(.*?)```", before, re.S)[-1]
            return fenced(self._run([sys.executable, "-c", code]).stdout, "text")
        done = self._run(_command(argument), status=2 if what == "error" else 0)
        if what == "warnings":
            said = done.stderr.splitlines()
            return fenced("\n".join(line for line in said if line.startswith("warning")), "text")
        printed = done.stderr if what == "error" else done.stdout
        return fenced(f"$ {argument}\n{printed}", "console")

    def _drawn(self, scenario: str, figure: str, path: str) -> str:
        """The digest of a figure's trials with one seed.

        If the digest has changed, the figure of all seeds is also drawn again.
        """
        self._run(_command(f"aqmlab run {scenario} --seeds 1 --out first"))
        digest = json.loads((self._folder / "first/manifest.json").read_text())["digest"]
        text = f"*The digest of its trials with the seed 1 is {digest}.*\n"
        if text not in self.text:
            self._run(_command(f"aqmlab run {scenario} --out shown"))
            self._run(_command("aqmlab report shown"))
            self.figures[ROOT / path] = (self._folder / f"shown/figures/{figure}.png").read_bytes()
        return text

    def _run(self, words: list[str], status: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "COLUMNS": "", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            words, cwd=self._folder, capture_output=True, text=True, check=False, env=environment
        )
        if done.returncode != status:
            raise SystemExit(f"{shlex.join(words[1:])}: status {done.returncode}\n{done.stderr}")
        return done


def _command(text: str) -> list[str]:
    """The words that execute the command `text`. A run draws no report, because none is shown."""
    words = shlex.split(text)
    drawn = words[:2] == ["aqmlab", "run"] and "--no-report" not in words
    return [sys.executable, "-m", *words, *["--no-report"] * drawn]


def _with_tests(found: re.Match[str]) -> str:
    """A row of the table of statements, with the tests that check its statement."""
    holders = conformance_count.holders().get(int(found[2]), ())
    tests = ", ".join(f"[{test.name}](../../{test.path})" for test in holders)
    return f"{found[1]} {tests or '*none yet*'} |"


def _count(_: str) -> str:
    numbers = [
        int(number)
        for _, number in _STATEMENT.findall((HERE / "reference/conformance.md").read_text())
    ]
    held = conformance_count.holders().keys() & set(numbers)
    return f"Tests check {len(held)} of {len(numbers)} statements.\n"


def _file(name: str) -> str:
    path = ROOT / name
    languages = {".toml": "toml", ".py": "python", ".rs": "rust"}
    return fenced(path.read_text(), languages.get(path.suffix, ""))


def _scenarios(_: str) -> str:
    rows = [f"| `{name}` | {title} |\n" for name, title in loading.builtins().items()]
    return "| Name | What it is |\n|---|---|\n" + "".join(rows)


MAKERS: dict[str, Callable[[str], str]] = {
    "kinds": kinds.section,
    "needs": kinds.needs,
    "notes": kinds.notes,
    "requirements": kinds.requirements,
    "profiles": lambda _: kinds.profiles(),
    "differences": lambda crate: heads.differences(crate),
    "scenarios": _scenarios,
    "compared": compared.table,
    "homes": households_section.section,
    "directional": keys.directional,
    "figures": figures.table,
    "file": _file,
    "count": _count,
    "validation": validated.table,
    "peer": peers.table,
    **speed.MAKERS,
}


def stale() -> Iterator[tuple[Path, bytes]]:
    """Yields the path and the new content of each outdated document, and of its figures."""
    for name in DOCUMENTS:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            document = Document(text, Path(folder))
            made = document.made()
        if made != text:
            yield path, made.encode()
            yield from document.figures.items()


def main() -> int:
    """Names and rewrites outdated documents.

    With `--check` rewrites nothing, and returns 1 if a document is outdated.
    """
    check = sys.argv[1:] == ["--check"]
    found = list(stale())
    for path, content in found:
        print(path.relative_to(ROOT), file=sys.stderr)
        if not check:
            path.write_bytes(content)
    return int(check and bool(found))


if __name__ == "__main__":
    sys.exit(main())
