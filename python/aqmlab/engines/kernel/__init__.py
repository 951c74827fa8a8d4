"""The engine `kernel`: trials on Linux's TCP and disciplines, in virtual time, without root.

| Module      | Holds                                                              |
|-------------|--------------------------------------------------------------------|
| `options`   | the engine with its options, as callers see it                     |
| `engine`    | one trial in a machine, from its JSON to tables                    |
| `host`      | one trial on this host                                             |
| `abilities` | refusals of trials before a machine is started                     |
| `installed` | installed and missing requirements                                 |
| `agent`     | the program that runs in the machine                               |
| `image`     | the kernel and the initramfs; `cpio` writes it                     |
| `machine`   | QEMU                                                               |
| `errors`    | error types                                                        |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aqmlab.engines.kernel.errors import APT_LINE, MachineError, MissingError, RefusedError

if TYPE_CHECKING:
    from aqmlab.engines.kernel.engine import run

__all__ = ["APT_LINE", "MachineError", "MissingError", "RefusedError", "run"]


def __getattr__(name: str) -> Any:
    """Imports the engine on first use, because the tables in `abilities` need no numpy."""
    if name == "run":
        from aqmlab.engines.kernel.engine import run

        return run
    raise AttributeError(name)
