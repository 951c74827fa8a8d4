"""What can go wrong with a kernel trial, each with what to do about it."""

from __future__ import annotations

from aqmlab.failures import LabError

APT_LINE = "sudo apt-get install qemu-system-x86 linux-image-cloud-amd64 iproute2 ethtool"
"""What installs everything that the kernel engine needs on Debian and Ubuntu."""


class MissingError(LabError):
    """Something that must be installed is not."""

    status = 2


class MachineError(LabError):
    """A virtual machine that died, hung or gave no result."""


class RefusedError(LabError, ValueError):
    """A trial that the kernel cannot run as it is written."""

    status = 2
