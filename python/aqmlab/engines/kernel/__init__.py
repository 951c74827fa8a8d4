"""The engine `kernel`: trials on Linux's TCP and disciplines.

By default, trials run in a virtual machine, in virtual time, without root.

| Module         | Holds                                                 |
|----------------|-------------------------------------------------------|
| `linux_kernel` | the engine with its options, as the registry loads it |
| `options`      | the options and their names                           |
| `kinds`        | supported kinds of the catalogue                      |
| `engine`       | one trial in a machine, from its JSON to tables       |
| `host`         | one trial on this host                                |
| `abilities`    | refusals of trials before a machine is started        |
| `installed`    | installed and missing requirements                    |
| `agent`        | the program in the machine, from `crates/agent`       |
| `image`        | the kernel and the initramfs; `cpio` writes it        |
| `machine`      | QEMU and its virtual time                             |
| `errors`       | error types                                           |
"""

from __future__ import annotations

from aqmlab.engines.kernel.errors import APT_LINE, MachineError, MissingError, RefusedError

__all__ = ["APT_LINE", "MachineError", "MissingError", "RefusedError"]
