"""`aqmlab page`: writes the page on which a browser simulates a home, and opens it."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from aqmlab.base.failures import RequestError
from aqmlab.base.files import write_atomically
from aqmlab.campaign.store import own_files
from aqmlab.cli import console
from aqmlab.cli.parameters.page import PageParameters
from aqmlab.page.builder import one_file, write_folder


def command(given: PageParameters) -> int:
    """Runs `aqmlab page`; returns the exit status."""
    if given.folder is not None:
        if given.out is not None:
            problem = "--folder: the page becomes a folder, so `--out` has no effect"
            raise RequestError(problem, "leave one of the two out")
        write_folder(given.folder)
        print(given.folder / "index.html")
        return 0  # The page is not opened, because browsers load modules only from a server.
    out = given.out or Path("page.html")
    own_files.refuse(out)
    write_atomically(out, one_file())
    print(out)
    if given.is_opened and not webbrowser.open(out.resolve().as_uri()):
        console.talk("no browser could be started; open the file in one")
    return 0
