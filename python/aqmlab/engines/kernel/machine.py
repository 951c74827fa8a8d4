"""One trial in one virtual machine, in virtual time.

QEMU counts instructions (`-icount`): one instruction takes one nanosecond, and time jumps while
the guest is idle. A run therefore does not depend on the load of the host. The guest has no
external inputs: no network, no disk, no keyboard, and only the virtual clock.

`crates/agent` runs in the guest. Its modules `taps` and `tables` record packets and counters, and
`guest` writes them to the host.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.base.scratch import Scratch
from aqmlab.engines.kernel import cpio
from aqmlab.engines.kernel.errors import APT_LINE, MachineError, MissingError
from aqmlab.engines.kernel.image import Image, gateway_files
from aqmlab.engines.kernel.options import QdiscSource

Progress = Callable[[float], None]
"""A function that receives the number of virtual seconds of the trial that have passed."""

_ENDED = 1
"""The exit status of QEMU after the guest writes 0 to `isa-debug-exit`."""
_POLL_S = 0.05
_MEMORY_MB = 1024
_FIRMWARE = ("bios-256k.bin", "linuxboot_dma.bin", "kvmvapic.bin")
"""The files of the firmware, which runs before the kernel."""
_CONSOLE_LINES = 15
_OLDEST_QEMU = "7.2"
_COMMAND_LINE = (
    "console=ttyS0 quiet panic=-1 oops=panic tsc=reliable clocksource=tsc random.trust_cpu=off "
    "net.ifnames=0 "
    # These protections are useless, because an isolated guest has no attackers. They cost
    # instructions for every packet. `randomize_kstack_offset` reads the clock in every system call,
    # which is slow under QEMU. None of them affects TCP or a discipline.
    "mitigations=off nokaslr randomize_kstack_offset=off hardened_usercopy=off init_on_alloc=0 "
    "lsm=none audit=0 nowatchdog"
)


def find_qemu() -> str:
    """The path of QEMU; raises `MissingError` if it is not installed."""
    found = shutil.which("qemu-system-x86_64")
    if found is None:
        raise MissingError("`qemu-system-x86_64` is not installed", APT_LINE)
    return found


def run(
    image: Image,
    spec_json: str,
    *,
    seed: int,
    timeout_s: float | None = None,
    patience_s: float | None = None,
    progress: Progress | None = None,
    qdisc_source: QdiscSource = "kernel",
    captures: Path | None = None,
    extra: Mapping[str, cpio.ArchiveEntry] | None = None,
) -> str:
    """Runs a guest and returns its output.

    Raises `MachineError` if the guest dies, hangs or writes an incomplete result. If `qdisc_source`
    is "sim", the simulator's disciplines replace the kernel's. If the guest writes captures, the
    file `captures` receives the records of both taps, with the home's records first. A guest counts
    as hanging if it runs longer than `timeout_s`, or if it neither simulates a second nor writes
    results within `patience_s`. Both limits are in real seconds, without the time in which QEMU
    waits for a processor. `extra` holds files that only some jobs need.
    """
    qemu = find_qemu()
    with Scratch() as folder:
        place = Path(folder)
        files = {"aqmlab/spec.json": cpio.file(spec_json.encode())}
        if qdisc_source == "sim":
            # These files are in the trial's archive, because only the simulator's disciplines need
            # them.
            files |= gateway_files(image.release)
        files |= extra or {}
        trial = cpio.archive(files)
        base = image.initramfs.read_bytes()
        # The kernel unpacks concatenated archives. Each archive starts at a multiple of four bytes.
        (place / "initrd").write_bytes(base + b"\0" * (-len(base) % 4) + trial)
        words = " -- ours" if qdisc_source == "sim" else ""
        command = [*_leash(), *_command(qemu, image, place, seed, words)]
        # The device for captures is added only on request, because a device changes the machine.
        command += _capturing(place) if captures else []
        limits = _Limits(timeout_s, patience_s)
        status = _wait(command, place, limits, progress)
        result = place / "result"
        text = result.read_text(encoding="utf-8", errors="replace") if result.exists() else ""
        if status == _ENDED and text.endswith("\n"):
            if captures and (place / "captures").exists():
                shutil.copyfile(place / "captures", captures)
            return text
        raise MachineError(_failure(status, limits, place), _console(place))


def digest(qemu: str) -> str:
    """The first 16 hexadecimal digits of a SHA-256 over the machine's options and firmware.

    The firmware is included because it also takes virtual time.
    """
    image = Image(Path("kernel"), "", Path("initramfs"))
    folded = hashlib.sha256(json.dumps(_command("qemu", image, Path("place"), 0)).encode())
    for path in _firmware(qemu):
        folded.update(path.read_bytes())
    return folded.hexdigest()[:16]


def _firmware(qemu: str) -> list[Path]:
    """The firmware files, which distributions install beside the program."""
    share = Path(qemu).resolve().parent.parent / "share"
    places = [share / folder / name for name in _FIRMWARE for folder in ("seabios", "qemu")]
    return [path for path in places if path.exists()]


def _leash() -> list[str]:
    """The command prefix that kills a machine when its parent ends; empty without `setpriv`."""
    return ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []


def _command(qemu: str, image: Image, place: Path, seed: int, words: str = "") -> list[str]:
    # The kernel's random pool includes the command line, so the seed changes all random numbers of
    # the kernel. The agent receives the words after two dashes.
    append = f"{_COMMAND_LINE} aqmlab.seed={seed}{words}"
    # Recording (to /dev/null) makes QEMU's two threads alternate. Without it, on a busy host, the
    # main loop can find the guest idle before the last instructions are counted. The main loop then
    # moves the clock too far (accel/tcg/icount-common.c: icount_start_warp_timer).
    icount = "shift=0,sleep=off,rr=record,rrfile=/dev/null"
    return [
        qemu, "-machine", "pc", "-accel", "tcg,thread=single", "-cpu", "qemu64",
        "-smp", "1", "-seed", str(seed % 2**64),
        "-m", str(_MEMORY_MB), "-nodefaults", "-no-user-config", "-display", "none", "-nic", "none",
        "-no-reboot", "-icount", icount, "-rtc", "clock=vm,base=2020-01-01",
        "-kernel", str(image.kernel), "-initrd", str(place / "initrd"), "-append", append,
        "-chardev", f"file,id=console,path={place}/console", "-serial", "chardev:console",
        "-chardev", f"file,id=result,path={place}/result",
        "-device", "isa-debugcon,iobase=0xe9,chardev=result",
        "-chardev", f"file,id=progress,path={place}/progress",
        "-device", "isa-debugcon,iobase=0xea,chardev=progress",
        "-device", "isa-debug-exit,iobase=0xf4,iosize=1",
    ]  # fmt: skip


def _capturing(place: Path) -> list[str]:
    return [
        "-chardev", f"file,id=captures,path={place}/captures",
        "-device", "isa-debugcon,iobase=0xeb,chardev=captures",
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Limits:
    """Time limits of a machine: in total, and without progress."""

    timeout_s: float | None
    patience_s: float | None

    def exceeded(self, all_s: float, silent_s: float) -> bool:
        """Returns whether a machine hangs.

        `all_s` is the time that it has run, and `silent_s` is the time without progress.
        """
        return (self.timeout_s is not None and all_s > self.timeout_s) or (
            self.patience_s is not None and silent_s > self.patience_s
        )

    def __str__(self) -> str:
        if self.timeout_s is not None:
            return f"was not done after {self.timeout_s:.0f} s"
        return f"made no progress in the trial for {self.patience_s:.0f} s"


def _wait(
    command: list[str], place: Path, limits: _Limits, progress: Progress | None
) -> int | None:
    """Runs QEMU and returns its exit status, or `None` if QEMU exceeded `limits` and was killed."""
    with (place / "qemu").open("wb") as errors:
        machine = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, env=dict(os.environ)
        )
        try:
            started = heard = now = time.monotonic()
            seconds = handed_out = 0
            while not limits.exceeded(now - started, now - heard):
                try:
                    return machine.wait(_POLL_S)
                except subprocess.TimeoutExpired:
                    now = time.monotonic() - _starved_s(machine.pid)
                before = seconds, handed_out
                seconds = _size(place / "progress")
                handed_out = _size(place / "result") + _size(place / "captures")
                if (seconds, handed_out) != before:
                    heard = now
                if progress is not None and seconds > before[0]:
                    progress(float(seconds))
            return None
        finally:
            if machine.poll() is None:
                machine.kill()
                machine.wait()


def _starved_s(pid: int) -> float:
    """The time for which a process's threads have waited for a processor; 0 if unknown.

    The source is the second number of /proc/PID/task/TID/schedstat, in nanoseconds (Linux,
    Documentation/scheduler/sched-stats.rst). QEMU's threads alternate, so the sum hardly exceeds
    the time that has passed.
    """
    waited_ns = 0
    for path in Path("/proc", str(pid), "task").glob("*/schedstat"):
        with contextlib.suppress(OSError, IndexError, ValueError):  # a thread may have ended
            waited_ns += int(path.read_text().split()[1])
    return waited_ns / 1e9


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _failure(status: int | None, limits: _Limits, place: Path) -> str:
    if status is None:
        return f"the virtual machine {limits} and was killed"
    if status < 0:
        return f"QEMU was killed by signal {-status}" + (
            ", possibly because memory ran out" if status == -9 else ""
        )
    if not _lines(place / "console") and _lines(place / "qemu"):
        return (
            f"QEMU did not start the machine (status {status}); "
            f"aqmlab needs QEMU {_OLDEST_QEMU} or newer"
        )
    if status == _ENDED:
        return "the virtual machine ended without a complete result"
    return f"the guest's kernel died or restarted (status {status})"


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


def parse(text: str) -> dict[str, Any]:
    """Parses the guest's result, which is a JSON object; raises `MachineError` for other text."""
    try:
        result = json.loads(text)
    except ValueError as error:
        raise MachineError("the guest's result is damaged", str(error)) from None
    if not isinstance(result, dict):
        raise MachineError("the guest's result is damaged", f"it begins with {text[:40]!r}")
    return result
