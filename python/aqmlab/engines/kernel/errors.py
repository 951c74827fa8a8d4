"""Errors of kernel trials, with remedies."""

from __future__ import annotations

import platform
from collections.abc import Mapping

from aqmlab.base.failures import LabError


def apt_line(release: Mapping[str, str]) -> str:
    """The command that installs all requirements on a system with this /etc/os-release.

    >>> apt_line({"ID": "debian"})
    'sudo apt-get install qemu-system-x86 linux-image-cloud-amd64 iproute2 ethtool'
    >>> apt_line({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"})
    'sudo apt-get install qemu-system-x86 linux-image-generic iproute2 ethtool'
    """
    like = f"{release.get('ID', '')} {release.get('ID_LIKE', '')}".split()
    # Ubuntu lacks Debian's package name, and its smaller images lack some disciplines.
    image = "linux-image-generic" if "ubuntu" in like else "linux-image-cloud-amd64"
    return f"sudo apt-get install qemu-system-x86 {image} iproute2 ethtool"


def _os_release() -> Mapping[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


APT_LINE = apt_line(_os_release())
"""The command that installs all requirements on this system; by default, Debian's command."""


class MissingError(LabError):
    """A requirement that is not installed or cannot be used."""

    status = 2


class MachineError(LabError):
    """A virtual machine or an agent that died, hung or gave no usable result."""


class RefusedError(LabError, ValueError):
    """A trial that the kernel cannot run."""

    status = 2
