"""Fuzzes the readers of scenarios and TEACUP configs, guided by coverage.

This script needs atheris (`pip install '.[fuzz]'`). The status is 0 without failures, 1 with a
failure, and 3 without atheris. A message names the folder that holds the input of a failure.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("toml", "config")

ABSENT = 3
_HANGS_S = 30
_MEMORY_MB = 3_000


def main() -> int:
    """Fuzzes each reader in a separate process; returns the status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="how long, for all readers")
    parser.add_argument("--reader", choices=[*NAMES], action="append")
    parser.add_argument("--out", type=Path, default=None, help="where inputs that fail are kept")
    parser.add_argument("--child", choices=[*NAMES], help=argparse.SUPPRESS)
    asked, further = parser.parse_known_args()
    try:
        import atheris  # noqa: F401
    except ImportError:
        print("skipped: atheris is not installed: pip install '.[fuzz]'", file=sys.stderr)
        return ABSENT
    if asked.child:
        _fuzz(asked.child, further)
    readers = asked.reader or [*NAMES]
    out = asked.out or Path(tempfile.mkdtemp(prefix="aqmlab-fuzz-"))
    out.mkdir(parents=True, exist_ok=True)
    failed = [name for name in readers if not _passes(name, asked.seconds // len(readers), out)]
    if failed:
        print(f"failed: {', '.join(failed)}; the inputs are in {out}", file=sys.stderr)
    return 1 if failed else 0


def _passes(reader: str, seconds: int, out: Path) -> bool:
    """Fuzzes a reader in a new process for `seconds` seconds; returns whether no input failed."""
    oracles = _oracles()
    with tempfile.TemporaryDirectory() as corpus:
        texts = Path(corpus, "texts")
        texts.mkdir()
        for number, data in enumerate(oracles.seeds(reader)):
            (texts / f"seed-{number}").write_bytes(data)
        words = Path(corpus, "words")
        words.write_text("".join(f'"{word}"\n' for word in oracles.words(reader)))
        command = [
            sys.executable, __file__, "--child", reader, str(texts),
            f"-max_total_time={max(seconds, 1)}", f"-timeout={_HANGS_S}",
            f"-rss_limit_mb={_MEMORY_MB}", f"-dict={words}", f"-max_len={oracles.MOST_BYTES}",
            f"-artifact_prefix={out}/{reader}-", "-print_final_stats=1", "-verbosity=0",
        ]  # fmt: skip
        return subprocess.run(command, cwd=ROOT).returncode == 0


def _oracles() -> ModuleType:
    """Imports and returns the oracles. The late import lets atheris instrument the readers."""
    sys.path.insert(0, str(ROOT))
    return import_module("tests.fuzz.oracles")


def _fuzz(reader: str, further: list[str]) -> None:
    """Fuzzes one reader until libFuzzer ends this process."""
    import atheris

    with atheris.instrument_imports(include=["aqmlab", "tomllib"]):
        oracles = _oracles()
    with oracles.bounded():
        atheris.Setup([sys.argv[0], *further], lambda data: oracles.check(reader, data))
        atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
