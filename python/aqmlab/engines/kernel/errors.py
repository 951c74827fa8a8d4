"""What can go wrong with a kernel trial, each with what to do about it."""

from __future__ import annotations

import platform
from collections.abc import Mapping

from aqmlab.base.failures import LabError


def apt_line(release: Mapping[str, str]) -> str:
    """The line that installs all that is needed where /etc/os-release says `release`.

    >>> apt_line({"ID": "debian"})
    'sudo apt-get install qemu-system-x86 linux-image-cloud-amd64 iproute2 ethtool'
    >>> apt_line({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"})
    'sudo apt-get install qemu-system-x86 linux-image-generic iproute2 ethtool'
    """
    like = f"{release.get('ID', '')} {release.get('ID_LIKE', '')}".split()
    # Ubuntu has no package of Debian's name, and keeps some disciplines out of smaller images.
    image = "linux-image-generic" if "ubuntu" in like else "linux-image-cloud-amd64"
    return f"sudo apt-get install qemu-system-x86 {image} iproute2 ethtool"


def _os_release() -> Mapping[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


APT_LINE = apt_line(_os_release())
"""What installs everything that the kernel engine needs here; Debian's line where neither is."""


class MissingError(LabError):
    """Something that must be installed is not."""

    status = 2


class MachineError(LabError):
    """A virtual machine that died, hung or gave no result."""


class RefusedError(LabError, ValueError):
    """A trial that the kernel cannot run as it is written."""

    status = 2
