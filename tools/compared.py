"""Makes the table of the references with which each discipline was compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from aqmlab.engines.kernel.settings import SETTINGS
from aqmlab.scenario import catalogue
from aqmlab.validation import grid

ROOT = Path(__file__).parent.parent
_SOURCES = ROOT / "crates/qdisc/src"
_TESTS = ROOT / "crates/qdisc/tests"
_DUMMYNET = ROOT / "crates/node/tests/dummynet/outcomes.txt"
_DUALPI2 = _TESTS / "dualpi2/outcomes.txt"
_NONE = "–"


def table(_: str = "") -> str:
    """A row for each discipline: its source, and the tests of each kind of comparison."""
    head = (
        "| Discipline | Source | Packet by packet with | Whole trials on Linux 6.1 "
        "| Second transcription | Tests with stated outcomes |\n|---|---|---|---|---|---|\n"
    )
    return head + "".join(_row(kind) for kind in catalogue.load()["disciplines"].values())


def _row(kind: catalogue.Kind) -> str:
    cells = _cells()[kind.name]
    found = (
        _source(kind.source),
        _packets(kind.name),
        f"{cells} cell{'s' * (cells > 1)}" if cells else _NONE,
        _links(_that_name(kind.name, "oracle_*.rs", "oracle_*/*.rs")),
        _links([*_stated(kind.name), *_of_law(kind.name)]),
    )
    return f"| `{kind.name}` | {' | '.join(found)} |\n"


def _source(text: str) -> str:
    """The source of a discipline, with Markdown's special characters escaped."""
    return re.sub(r"([_*])", r"\\\1", text.replace("|", "\\|"))


def _packets(name: str) -> str:
    """The code that made the same decisions for each packet as the model; a dash if none."""
    if name in SETTINGS:
        return f"the running kernel ({len(SETTINGS[name])} settings)"
    traces = Counter(line.split()[0] for line in _DUMMYNET.read_text().splitlines())[name]
    if traces:
        return f"FreeBSD 10.4's code ({traces} traces)"
    if name == "dualpi2":
        return f"Linux 6.18's code ({len(_DUALPI2.read_text().splitlines())} runs)"
    return _NONE


@cache
def _cells() -> Counter[str]:
    """The number of cells of the validation grid, by discipline."""
    return Counter(
        kind for cell in grid.load().cells for kind in {link.qdisc.kind for link in cell.spec.links}
    )


def _stated(name: str) -> Iterator[Path]:
    """Yields the tests of statements and of closed loops that name a discipline, and its scripts.

    A script uses the discipline if a line begins with its name.
    """
    yield from _that_name(name, "statements_*.rs", "*_loop.rs", "fq_pie.rs")
    scripts = sorted(_TESTS.glob("scripts/*.q"))
    yield from (path for path in scripts if re.search(rf"^{name}\b", path.read_text(), re.M))


def _that_name(name: str, *patterns: str) -> list[Path]:
    """The tests that name a discipline in their text or their file's name."""
    paths = (path for pattern in patterns for path in sorted(_TESTS.glob(pattern)))
    own = re.compile(rf"statements_{name}(_\w+)?")
    return [
        path
        for path in paths
        if own.fullmatch(path.stem) or f'"{name}"' in path.read_text(encoding="utf-8")
    ]


def _of_law(name: str) -> Iterator[Path]:
    """Yields the tests of the control laws that the module of a discipline uses."""
    for path in sorted(_SOURCES.glob("kinds/**/*.rs")):
        text = path.read_text(encoding="utf-8")
        if f'name: "{name}"' in text:
            for law in dict.fromkeys(re.findall(r"\baqm::(\w+)", text)):
                found = _SOURCES / "aqm" / law / "tests.rs"
                if found.exists():
                    yield found


def _links(paths: Iterable[Path]) -> str:
    """Markdown links to tests, from docs/reference; a dash if there are none."""
    return ", ".join(f"[{_title(path)}](../../{path.relative_to(ROOT)})" for path in paths) or _NONE


def _title(path: Path) -> str:
    """A short name of a test: its file, with its folder if it is in a subfolder.

    Files called `tests.rs` have only the name of their folder, after `aqm/`.
    """
    if path.stem == "tests":
        return f"aqm/{path.parent.name}"
    return f"{path.parent.name}/{path.stem}" if path.parent != _TESTS else path.stem
