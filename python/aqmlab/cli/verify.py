"""`aqmlab verify`: checks that a campaign's files are unchanged."""

from __future__ import annotations

from aqmlab.base.failures import size_text
from aqmlab.base.numerals import count_text
from aqmlab.cli import console
from aqmlab.cli.parameters.verify import VerifyParameters
from aqmlab.results.results import load


def command(given: VerifyParameters) -> int:
    """Runs `aqmlab verify`; returns the exit status."""
    results = load(given.folder)
    results.verify()
    paths = [path for name in results.tables for path in results.files(name)]
    size = size_text(sum(path.stat().st_size for path in paths))
    print(f"{count_text(len(paths), 'table file', 'are')} unchanged, {size}")
    if results.complete:
        print(f"digest {results.digest}")
    else:
        console.talk("warning: the campaign is not complete")
    return 0
