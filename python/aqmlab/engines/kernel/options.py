"""The options of the engine `kernel`: the source of its disciplines, and its machine."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

QdiscSource: TypeAlias = Literal["kernel", "sim"]
"""The source of the disciplines between the kernel's TCPs: the kernel, or the simulator."""

RunOn: TypeAlias = Literal["vm", "host"]
"""The machine of the kernel: a virtual machine, or this host, as root and in real time."""

QDISC_SOURCES: tuple[QdiscSource, ...] = get_args(QdiscSource)
"""The sources of disciplines, with the default first."""

RUN_ON: tuple[RunOn, ...] = get_args(RunOn)
"""The machines, with the default first."""

_WORDS = {"sim": "ours", "host": "host"}
"""The parts of an engine's name that stand for options other than the defaults.

Stored campaigns contain these names, so they do not change.
"""


def engine_name(qdisc_source: QdiscSource = "kernel", run_on: RunOn = "vm") -> str:
    """The name of the engine with its options.

    >>> engine_name(), engine_name("sim"), engine_name("sim", "host")
    ('kernel', 'kernel-ours', 'kernel-ours-host')
    """
    chosen = (_WORDS.get(option) for option in (qdisc_source, run_on))
    return "-".join(["kernel", *filter(None, chosen)])
