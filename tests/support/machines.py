"""The requirements of a virtual machine."""

from __future__ import annotations

import shutil

from aqmlab.engines import kernel
from aqmlab.engines.kernel import image, machine
from aqmlab.engines.kernel.errors import APT_LINE


def missing() -> str | None:
    """The first missing requirement of a virtual machine except its agent; `None` without any.

    Builds nothing.
    """
    try:
        machine.find_qemu()
        image.find_kernel()
    except kernel.MissingError as error:
        return f"{error.problem} ({error.hint})"
    absent = [one for one in image.TOOLS if shutil.which(one, path=image.tools_path()) is None]
    return f"`{absent[0]}` is not installed ({APT_LINE})" if absent else None
