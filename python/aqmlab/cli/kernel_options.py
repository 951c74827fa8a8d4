"""The options of the engine `kernel` on the command line."""

from __future__ import annotations

from aqmlab.cli import console
from aqmlab.engines import renamed


def kernel_options(
    qdisc_source: str, discipline: str | None, run_on: str = "vm", place: str | None = None
) -> tuple[str, str]:
    """Returns the source of the disciplines, and the machine of the kernel: "vm" or "host".

    Warns about old names of options.
    """
    found = renamed.kernel_options(qdisc_source, run_on, discipline, place)
    for warning in found.warnings:
        console.talk(f"warning: {warning}")
    return found.qdisc_source, found.run_on
