"""The engine `kernel`: trials on Linux's own TCP and disciplines, in virtual time, without root."""

from aqmlab.kernel.engine import run
from aqmlab.kernel.errors import APT_LINE, MachineError, MissingError, RefusedError

__all__ = ["APT_LINE", "MachineError", "MissingError", "RefusedError", "run"]
