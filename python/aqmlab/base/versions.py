"""Versions on which results depend: this package, its core, and the system."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path

from aqmlab import __version__, _core

_RESULTS_ARE_MADE_BY = (
    "base/condition_text.py",
    "campaign/store",
    "campaign/task.py",
    "engines",
    "scenario/notation.py",
    "scenario/number_text.py",
    "scenario/quantities.py",
)
"""Modules and packages whose code determines the tables of a resolved trial.

The JSON text of a trial does not identify this code.
"""


@cache
def build() -> str:
    """The core's version, and a digest of the core's binary and of the code that makes tables.

    Results of two builds are never combined in a folder or a campaign.
    """
    with Path(_core.__file__).open("rb") as binary:
        folded = hashlib.file_digest(binary, "sha256")
    package = Path(__file__).parents[1]
    for name in _RESULTS_ARE_MADE_BY:
        place = package / name
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            folded.update(f"{path.relative_to(package).as_posix()}\n".encode() + path.read_bytes())
    return f"{_core.version()} {folded.hexdigest()[:8]}"


def versions() -> dict[str, str]:
    """The software versions for a manifest.

    The member `build` identifies the code that makes results.
    """
    import pyarrow

    core, made_by = build().split()
    return {
        "aqmlab": __version__,
        "core": core,
        "build": made_by,
        "python": platform.python_version(),
        "pyarrow": pyarrow.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
