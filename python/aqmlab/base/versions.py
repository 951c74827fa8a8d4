"""Versions of all that results depend on: this package, its core, and the machine's kind."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path

_RESULTS_ARE_MADE_BY = (
    "chunk_record.py",
    "dataset.py",
    "engines.py",
    "labels.py",
    "orders.py",
    "parts.py",
    "store.py",
    "tables.py",
    "kernel",
    "peers",
)
"""Modules between a resolved trial and its tables; what they do is in no trial's text."""


@cache
def build() -> str:
    """The core's version, and a digest of its binary and of the Python that makes tables.

    Results of two builds never share a folder, nor a campaign.
    """
    from aqmlab import _core

    folded = hashlib.sha256(Path(_core.__file__).read_bytes())
    package = Path(__file__).parent
    for name in _RESULTS_ARE_MADE_BY:
        place = package / name
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            folded.update(f"{path.relative_to(package).as_posix()}\n".encode() + path.read_bytes())
    return f"{_core.version()} {folded.hexdigest()[:8]}"


def versions() -> dict[str, str]:
    """What a manifest says of the software; `build` stands for what makes results."""
    import pyarrow

    from aqmlab import __version__

    core, made_by = build().split()
    return {
        "aqmlab": __version__,
        "core": core,
        "build": made_by,
        "python": platform.python_version(),
        "pyarrow": pyarrow.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
