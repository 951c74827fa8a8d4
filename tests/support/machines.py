"""The requirements of a virtual machine."""

from __future__ import annotations

from aqmlab.engines import kernel
from aqmlab.engines.kernel import image, machine


def missing() -> str | None:
    """The first missing requirement of a virtual machine except its agent; `None` without any.

    Builds nothing.
    """
    try:
        machine.find_qemu()
        image.find_kernel()
        image.find_tools()
    except kernel.MissingError as error:
        return f"{error.problem} ({error.hint})"
    return None
