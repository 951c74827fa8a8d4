"""What makes a result: this package, its core, and the machine's kind."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path


@cache
def build() -> str:
    """The core's version and its very binary, as two machines compare them.

    Results of two builds never share a folder, nor a campaign.
    """
    from aqmlab import _core

    binary = hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:8]
    return f"{_core.version()} {binary}"


def versions() -> dict[str, str]:
    """What a manifest says of the software; `build` stands for the core's binary."""
    import pyarrow

    from aqmlab import __version__

    core, binary = build().split()
    return {
        "aqmlab": __version__,
        "core": core,
        "build": binary,
        "python": platform.python_version(),
        "pyarrow": pyarrow.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
