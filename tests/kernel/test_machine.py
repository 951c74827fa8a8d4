"""What is said when a machine dies, hangs or cannot be started; with programs in QEMU's place."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from aqmlab.kernel import MachineError, MissingError, RefusedError, engine, image, machine

from .trials import app, text, trial


@pytest.fixture
def qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a script in QEMU's place; `$place` is where the machine's files are."""

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
    with pytest.raises(MachineError, match="without a whole result"):
        run(qemu("printf '{' > $place/result; exit 1"))


def test_a_machine_that_hangs_is_ended(qemu) -> None:
    with pytest.raises(MachineError, match="was not done after"):
        run(qemu("exec sleep 60"), timeout_s=0.3)


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
    with pytest.raises(MissingError, match="linux-image-cloud-amd64"):
        image.find_kernel()


def test_a_machine_that_dies_is_tried_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [MachineError("it died"), '{"refused": "links: too many"}\n']

    def attempt(*_: object, **__: object) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(engine.machine, "run", attempt)
    monkeypatch.setattr(engine.image, "build", lambda agent: None)
    with pytest.raises(RefusedError, match="links: too many"):
        engine.run(text(trial(app("a", "bulk"))), agent_path=Path("agent"))
    assert not answers


def test_columns_keep_their_types() -> None:
    columns = [["flow", "word", [[0, 0], ["a"]]], ["n", "count", [1, 2]], ["x", "float", [None, 2]]]
    result = {"digest": "0", "packets": 2, "kernel": "6.1", "tables": {"t": columns}}
    table = engine._outcome(result)["tables"]["t"]
    assert table["flow"] == ["a", "a"]
    assert table["n"].dtype == np.uint64
    assert np.isnan(table["x"][0])
