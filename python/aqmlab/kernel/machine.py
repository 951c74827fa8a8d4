"""One trial in one virtual machine, in virtual time.

QEMU counts instructions (`-icount`): one instruction is one nanosecond, and time jumps while
the guest is idle, so a run does not depend on how busy the host is. Nothing from outside can
reach the guest: no network, no disk, no keyboard, no clock but the virtual one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from aqmlab.kernel import cpio
from aqmlab.kernel.errors import APT_LINE, MachineError, MissingError
from aqmlab.kernel.image import Image

Progress = Callable[[float], None]
"""Is told how many virtual seconds of the trial have passed."""

_ENDED = 1
"""The status with which `isa-debug-exit` ends QEMU after the guest wrote 0."""
_POLL_S = 0.05
_CONSOLE_LINES = 15
_OLDEST_QEMU = "7.2"
_COMMAND_LINE = (
    "console=ttyS0 quiet panic=-1 oops=panic tsc=reliable clocksource=tsc random.trust_cpu=off "
    "net.ifnames=0 "
    # Defences against attackers that a guest without an outside does not have. They cost
    # instructions for every packet, and `randomize_kstack_offset` a look at the clock, which is
    # dear under QEMU, for every system call. None is known to TCP or to a discipline.
    "mitigations=off nokaslr randomize_kstack_offset=off hardened_usercopy=off init_on_alloc=0 "
    "lsm=none audit=0 nowatchdog"
)


def find_qemu() -> str:
    """The program that emulates a PC."""
    found = shutil.which("qemu-system-x86_64")
    if found is None:
        raise MissingError("`qemu-system-x86_64` is not installed", APT_LINE)
    return found


def run(
    image: Image,
    spec_json: str,
    *,
    seed: int,
    timeout_s: float,
    memory_mb: int = 1024,
    progress: Progress | None = None,
) -> str:
    """What the guest hands out; `MachineError` if it dies, hangs or hands out nothing whole."""
    qemu = find_qemu()
    with tempfile.TemporaryDirectory(prefix="aqmlab-") as folder:
        place = Path(folder)
        trial = cpio.archive({"aqmlab/spec.json": cpio.file(spec_json.encode())})
        base = image.initramfs.read_bytes()
        # The kernel unpacks archives one after the other; each begins at a multiple of four.
        (place / "initrd").write_bytes(base + b"\0" * (-len(base) % 4) + trial)
        command = _command(qemu, image, place, seed, memory_mb)
        status = _wait(command, place, timeout_s, progress)
        result = place / "result"
        text = result.read_text(encoding="utf-8", errors="replace") if result.exists() else ""
        if status == _ENDED and text.endswith("\n"):
            return text
        raise MachineError(_failure(status, timeout_s, place), _console(place))


def _command(qemu: str, image: Image, place: Path, seed: int, memory_mb: int) -> list[str]:
    # The command line enters the kernel's random pool, so the seed moves all that it draws.
    append = f"{_COMMAND_LINE} aqmlab.seed={seed}"
    # Recording (to nowhere) makes QEMU's two threads take turns. Otherwise its main loop, on a
    # busy host, may find the guest idle before the instructions that it has just run are counted,
    # and move the clock too far (accel/tcg/icount-common.c: icount_start_warp_timer).
    icount = "shift=0,sleep=off,rr=record,rrfile=/dev/null"
    # A machine ends with whoever started it, kill -9 included.
    leash = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    return [
        *leash, qemu, "-machine", "pc", "-accel", "tcg,thread=single", "-cpu", "qemu64",
        "-smp", "1", "-seed", str(seed % 2**64),
        "-m", str(memory_mb), "-nodefaults", "-no-user-config", "-display", "none", "-nic", "none",
        "-no-reboot", "-icount", icount, "-rtc", "clock=vm,base=2020-01-01",
        "-kernel", str(image.kernel), "-initrd", str(place / "initrd"), "-append", append,
        "-chardev", f"file,id=console,path={place}/console", "-serial", "chardev:console",
        "-chardev", f"file,id=result,path={place}/result",
        "-device", "isa-debugcon,iobase=0xe9,chardev=result",
        "-chardev", f"file,id=progress,path={place}/progress",
        "-device", "isa-debugcon,iobase=0xea,chardev=progress",
        "-device", "isa-debug-exit,iobase=0xf4,iosize=1",
    ]  # fmt: skip


def _wait(
    command: list[str], place: Path, timeout_s: float, progress: Progress | None
) -> int | None:
    """Runs QEMU to its end; None if it had to be ended."""
    with (place / "qemu").open("wb") as errors:
        machine = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, env=dict(os.environ)
        )
        try:
            deadline = time.monotonic() + timeout_s
            seconds = 0
            while time.monotonic() < deadline:
                try:
                    return machine.wait(_POLL_S)
                except subprocess.TimeoutExpired:
                    pass
                ticks = place / "progress"
                passed = ticks.stat().st_size if ticks.exists() else 0
                if progress is not None and passed > seconds:
                    seconds = passed
                    progress(float(seconds))
            return None
        finally:
            if machine.poll() is None:
                machine.kill()
                machine.wait()


def _failure(status: int | None, timeout_s: float, place: Path) -> str:
    if status is None:
        return f"the virtual machine was not done after {timeout_s:.0f} s and was ended"
    if status < 0:
        return f"QEMU was ended by signal {-status}" + (
            ", as it is when memory runs out" if status == -9 else ""
        )
    if not _lines(place / "console") and _lines(place / "qemu"):
        return (
            f"QEMU would not start the machine (status {status}); "
            f"aqmlab needs QEMU {_OLDEST_QEMU} or newer"
        )
    if status == _ENDED:
        return "the virtual machine ended without a whole result"
    return f"the guest's kernel died or started anew (status {status})"


def _console(place: Path) -> str:
    last = [*_lines(place / "qemu"), *_lines(place / "console")][-_CONSOLE_LINES:]
    if not last:
        return "its console is empty"
    return "its console ended with:\n" + "\n".join(f"    {line}" for line in last)


def _lines(path: Path) -> list[str]:
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    return [line for line in text.splitlines() if line.strip()]


def parse(text: str) -> dict[str, object]:
    """The guest's result as JSON."""
    try:
        result = json.loads(text)
    except ValueError as error:
        raise MachineError("the guest's result is damaged", str(error)) from None
    if not isinstance(result, dict):
        raise MachineError("the guest's result is damaged", f"it begins with {text[:40]!r}")
    return result
