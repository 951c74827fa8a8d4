"""`aqmlab verify`: checks that a campaign's files are unchanged."""

from __future__ import annotations

from aqmlab.cli import options


def command(folder: options.FolderArg) -> int:
    """Check that every file of a campaign is unchanged since it was written.

    Each command verifies the files that it reads. This one verifies all of them, for programs that
    read the tables directly.
    """
    from aqmlab.base.failures import size_text
    from aqmlab.cli import console
    from aqmlab.results.results import load

    results = load(folder)
    results.verify()
    paths = [path for name in results.tables for path in results.files(name)]
    size = size_text(sum(path.stat().st_size for path in paths))
    print(f"{len(paths)} files of tables, {size}: all are unchanged")
    if results.complete:
        print(f"digest {results.digest}")
    else:
        console.talk("warning: the campaign is not complete")
    return 0
