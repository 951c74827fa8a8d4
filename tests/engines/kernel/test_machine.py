"""Errors of a machine that dies, hangs or does not start. Other programs replace QEMU."""

from __future__ import annotations

import gzip
import lzma
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from aqmlab.engines.kernel import (
    APT_LINE,
    MachineError,
    MissingError,
    RefusedError,
    engine,
    image,
    installed,
    machine,
)

from .trials import app, text, trial


@pytest.fixture
def qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that replaces QEMU by a script; `$place` is the folder of the machine's files."""

    def put(script: str) -> image.Image:
        program = tmp_path / "bin" / "qemu-system-x86_64"
        program.parent.mkdir()
        find = 'place=$(echo "$*" | sed "s/.*path=\\([^ ]*\\)\\/result.*/\\1/")'
        program.write_text(f"#!/bin/sh\n{find}\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        initramfs = tmp_path / "initramfs"
        initramfs.write_bytes(b"xyz")
        return image.Image(tmp_path / "vmlinuz", "6.1.0", initramfs)

    return put


def run(made: image.Image, timeout_s: float = 20) -> str:
    return machine.run(made, "{}", seed=1, timeout_s=timeout_s)


def test_a_result_is_returned_and_progress_is_told(qemu) -> None:
    made = qemu('echo "{}" > $place/result; printf .. > $place/progress; sleep 0.3; exit 1')
    told: list[float] = []
    assert machine.run(made, "{}", seed=1, timeout_s=20, progress=told.append) == "{}\n"
    assert told == [2.0]


def test_a_panic_is_reported_with_the_end_of_the_console(qemu) -> None:
    made = qemu('echo "Kernel panic - not syncing: no init" > $place/console; exit 0')
    with pytest.raises(MachineError, match="Kernel panic"):
        run(made)


def test_a_result_cut_short_is_no_result(qemu) -> None:
    with pytest.raises(MachineError, match="without a complete result"):
        run(qemu("printf '{' > $place/result; exit 1"))


def test_a_result_that_is_not_text_is_damaged(qemu) -> None:
    made = qemu("printf '\\377\\376{\\n' > $place/result; exit 1")
    with pytest.raises(MachineError, match="the guest's result is damaged"):
        machine.parse(run(made))


@pytest.mark.parametrize("garbage", ["{]", "[1, 2]", "7", ""])
def test_a_result_that_is_no_object_is_damaged(garbage: str) -> None:
    with pytest.raises(MachineError, match="the guest's result is damaged"):
        machine.parse(garbage)


def test_an_option_that_qemu_does_not_know_is_quoted_and_the_version_needed_named(qemu) -> None:
    made = qemu('echo "qemu-system-x86_64: -rtc clock=vm: invalid option" >&2; exit 1')
    with pytest.raises(MachineError, match=r"QEMU 7\.2 or newer(.|\n)*-rtc clock=vm: invalid"):
        run(made)


def test_a_machine_that_is_killed_is_said_to_have_been(qemu) -> None:
    with pytest.raises(MachineError, match="killed by signal 9, possibly because memory ran out"):
        run(qemu("kill -9 $$"))


def test_a_guest_that_starts_anew_without_a_word_is_reported(qemu) -> None:
    with pytest.raises(MachineError, match=r"kernel died(.|\n)*its console is empty"):
        run(qemu("exit 0"))


def test_a_machine_that_hangs_is_ended(qemu) -> None:
    with pytest.raises(MachineError, match="was not done after"):
        run(qemu("exec sleep 60"), timeout_s=0.3)


def test_a_machine_in_which_no_second_passes_is_ended_however_long_it_may_take(qemu) -> None:
    made = qemu("printf . > $place/progress; exec sleep 60")
    told: list[float] = []
    with pytest.raises(MachineError, match="made no progress in the trial for 1 s"):
        machine.run(made, "{}", seed=1, patience_s=1, progress=told.append)
    assert told == [1.0]


def test_a_slow_machine_that_goes_on_is_left_alone(qemu) -> None:
    tick = "printf . >> $place/progress; sleep 0.4"
    made = qemu("; ".join([tick] * 6) + '; echo "{}" > $place/result; exit 1')
    assert machine.run(made, "{}", seed=1, patience_s=1.5) == "{}\n"


def test_time_in_which_others_had_the_processor_is_not_counted_as_hanging(
    qemu, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = time.monotonic()
    monkeypatch.setattr(machine, "_starved_s", lambda pid: 0.9 * (time.monotonic() - started))
    made = qemu('sleep 1.2; echo "{}" > $place/result; exit 1')
    assert machine.run(made, "{}", seed=1, patience_s=0.6) == "{}\n"


def test_two_processes_on_one_processor_wait_for_each_other() -> None:
    spin = [sys.executable, "-c", "while True: pass"]
    one = min(os.sched_getaffinity(0))
    with subprocess.Popen(spin) as first, subprocess.Popen(spin) as second:
        for process in (first, second):
            os.sched_setaffinity(process.pid, {one})
        deadline = time.monotonic() + 20
        while machine._starved_s(first.pid) < 0.05 and time.monotonic() < deadline:
            time.sleep(0.02)
        waited_s = machine._starved_s(first.pid)
        first.kill()
        second.kill()
    assert waited_s >= 0.05


def test_the_digest_of_the_machine_moves_with_its_options_and_firmware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qemu = tmp_path / "bin" / "qemu-system-x86_64"
    seen = {machine.digest(str(qemu))}
    firmware = tmp_path / "share" / "seabios" / "bios-256k.bin"
    firmware.parent.mkdir(parents=True)
    for contents in (b"one", b"two"):
        firmware.write_bytes(contents)
        seen.add(machine.digest(str(qemu)))
    monkeypatch.setattr(machine, "_MEMORY_MB", 2048)
    seen.add(machine.digest(str(qemu)))
    assert len(seen) == 4
    assert machine.digest(str(qemu)) in seen


def test_without_qemu_the_line_that_installs_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="apt-get install qemu-system-x86"):
        machine.find_qemu()


def test_without_a_kernel_the_line_that_installs_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "_module_dir", lambda release: tmp_path / release)
    with pytest.raises(MissingError, match=re.escape(APT_LINE)):
        image.find_kernel()


@pytest.fixture
def boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Hides the installed kernels and modules; returns a function that adds a fake kernel."""
    monkeypatch.setattr(image, "_BOOT", tmp_path)
    monkeypatch.setattr(image, "_module_dir", lambda release: tmp_path / "modules" / release)
    # Root can read the file in any mode.
    readable = lambda path, mode: bool(Path(path).stat().st_mode & 0o004)  # noqa: E731
    monkeypatch.setattr(image.os, "access", readable)

    def put(release: str, mode: int = 0o644) -> Path:
        kernel = tmp_path / f"vmlinuz-{release}"
        kernel.write_bytes(b"")
        kernel.chmod(mode)
        (tmp_path / "modules" / release).mkdir(parents=True)
        (tmp_path / "modules" / release / "modules.dep").write_text("")
        return kernel

    return put


def test_a_kernel_that_root_alone_can_read_says_what_to_do(boot) -> None:
    kernel = boot("6.8.0-31-generic", 0o600)
    with pytest.raises(MissingError, match=f"dpkg-statoverride .* 0644 {kernel}"):
        image.find_kernel()


def test_a_kernel_that_can_be_read_is_preferred_then_a_cloud_kernel_then_the_newest(boot) -> None:
    boot("6.9.0-1-cloud-amd64", 0o600)
    boot("6.8.0-1-amd64")
    assert image.find_kernel()[1] == "6.8.0-1-amd64"
    boot("6.1.0-9-cloud-amd64")
    boot("6.1.0-10-cloud-amd64")
    assert image.find_kernel()[1] == "6.1.0-10-cloud-amd64"


def test_modules_are_unpacked_or_the_program_that_does_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for suffix, packed in ((".xz", lzma.compress(b"code")), (".gz", gzip.compress(b"code"))):
        (tmp_path / f"a.ko{suffix}").write_bytes(packed)
        assert image._unpacked(tmp_path / f"a.ko{suffix}") == b"code"
    program = tmp_path / "zstd"
    program.write_text("#!/bin/sh\nprintf code\n")
    program.chmod(0o755)
    (tmp_path / "a.ko.zst").write_bytes(b"packed")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert image._unpacked(tmp_path / "a.ko.zst") == b"code"
    program.write_text("#!/bin/sh\necho 'unsupported format' >&2; exit 1\n")
    with pytest.raises(MissingError, match="cannot be unpacked: unsupported format"):
        image._unpacked(tmp_path / "a.ko.zst")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(MissingError, match="apt-get install zstd"):
        image._unpacked(tmp_path / "a.ko.zst")


def test_a_kernel_is_named_with_its_build(tmp_path: Path) -> None:
    head = bytearray(0x400)
    head[0x202:0x206] = b"HdrS"
    head[0x20E:0x210] = (0x100).to_bytes(2, "little")
    banner = b"6.1.0-9-cloud-amd64 (somebody) #1 SMP Debian 6.1.99-1 (2026-01-01)\0"
    head[0x300 : 0x300 + len(banner)] = banner
    path = tmp_path / "vmlinuz"
    path.write_bytes(head)
    named = installed.kernel_version(path, "6.1.0-9-cloud-amd64")
    assert named == "6.1.0-9-cloud-amd64 #1 SMP Debian 6.1.99-1 (2026-01-01)"
    path.write_bytes(b"no kernel")
    assert installed.kernel_version(path, "6.1.0") == "6.1.0"


def test_the_cache_keeps_the_last_few_of_each_kind_and_what_was_used_today(tmp_path: Path) -> None:
    day = 24 * 3600
    for kind in ("initramfs", "agent"):
        for days in range(7):
            path = tmp_path / f"{kind}-{days}"
            path.write_bytes(b"")
            os.utime(path, (0, time.time() - days * day - 60))
    (tmp_path / "agent-6").touch()  # a new use
    image.prune(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "agent-0", "agent-1", "agent-2", "agent-6",
        "initramfs-0", "initramfs-1", "initramfs-2", "initramfs-3",
    ]  # fmt: skip
    for path in tmp_path.iterdir():
        path.touch()
    image.keep(tmp_path / "agent-new", b"")
    assert len([*tmp_path.iterdir()]) == 9


@pytest.mark.parametrize("first", [MachineError("it died"), "{]\n"])
def test_a_machine_that_dies_or_gives_rubbish_is_tried_once_more(
    first: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [first, '{"refused": "links: too many"}\n']

    def attempt(*_: object, **__: object) -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(engine.machine, "run", attempt)
    booted = engine.image.Image(Path("kernel"), "6.1", Path("initramfs"))
    monkeypatch.setattr(engine.image, "build", lambda agent: booted)
    with pytest.raises(RefusedError, match="links: too many"):
        engine.run(text(trial(app("a", "bulk"))), agent_path=Path("agent"))
    assert not answers


def test_columns_keep_their_types() -> None:
    columns = [["flow", "word", [[0, 0], ["a"]]], ["n", "count", [1, 2]], ["x", "float", [None, 2]]]
    result = {"digest": "0", "packets": 2, "kernel": "6.1", "tables": {"t": columns}}
    table = engine.outcome(result)["tables"]["t"]
    assert table["flow"] == ["a", "a"]
    assert table["n"].dtype == np.uint64
    assert np.isnan(table["x"][0])
