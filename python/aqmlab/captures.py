"""The packets of a trial, which is run again for them.

A trial on the simulator, or in virtual time, is the same whenever it is run, so the packets are
those that its results were made of.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aqmlab import engines
from aqmlab.failures import DiskError, LabError, RequestError


def write(
    spec: dict[str, Any], name: str, engine: str, say: engines.Say = lambda _: None
) -> tuple[Path, Path]:
    """Runs `spec` on an engine and writes NAME-home.pcap and NAME-wan.pcap.

    Raises `RequestError` for a trial that cannot be run or an engine that keeps no packets, and
    `DiskError`.
    """
    spec = {**spec, "measure": {**spec.get("measure", {}), "enabled": True, "packets": True}}
    paths = Path(f"{name}-home.pcap"), Path(f"{name}-wan.pcap")
    one = engines.ENGINES[engine]
    if not one.captures:
        problem = "pcap: a trial in real time, on this host, does not keep its packets"
        raise RequestError(problem, "`--engine kernel` without `--place host` keeps them")
    prepared = one.prepare([spec], say)
    files = (str(paths[0]), str(paths[1]))
    try:
        engines.load(one.runner)(json.dumps(spec), captures=files, **prepared.options)
    except LabError:
        raise
    except ValueError as error:
        raise RequestError(str(error)) from None
    except OSError as error:  # the core's own, which has a text and nothing else
        place, _, reason = str(error).rpartition(": ")
        reason = reason.partition(" (os error")[0]
        raise DiskError(f"{place}: cannot be written: {reason}") from None
    return paths
