"""The reference set: how it grows, goes on, and is reproduced."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from aqmlab.failures import RequestError
from aqmlab.kernel import MachineError, RefusedError
from aqmlab.validate import regenerate
from aqmlab.validate.reference import Reference
from aqmlab.validate.regenerate import DIFFERENT, FAILED, NEW, REFUSED, SAME, Growth, Job

from .support import RECIPE, fake_kernel, slow_kernel, small

ROOT = Path(__file__).resolve().parents[2]


def _grow(reference: Reference, engine=fake_kernel, recipe=RECIPE, **options) -> Growth:
    overwrite = options.pop("overwrite", False)
    todo = regenerate.jobs_of(small().cells, reference, **{"missing": True, **options})
    return regenerate.grow(
        todo, reference, (engine, recipe), parallel=2, progress=lambda *_: None,
        overwrite=overwrite,
    )  # fmt: skip


def test_seed_one_of_every_cell_comes_first(tmp_path: Path) -> None:
    todo = regenerate.jobs_of(small().cells, Reference(tmp_path), missing=True)
    assert [(cell.name, seed) for cell, seed in todo] == [
        ("alone.codel", 1), ("alone.fq_codel-100", 1), ("both.8-2.loss1pc", 1),
        ("alone.codel", 2), ("alone.fq_codel-100", 2), ("both.8-2.loss1pc", 2),
        ("alone.codel", 3), ("alone.fq_codel-100", 3), ("both.8-2.loss1pc", 3),
        ("alone.fq_codel-100", 4),
    ]  # fmt: skip


def test_what_is_there_is_not_run_again_and_comes_out_the_same_if_it_is(tmp_path: Path) -> None:
    reference = Reference(tmp_path)
    first = _grow(reference)
    assert {became: len(trials) for became, trials in first.trials.items()} == {NEW: 10}
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert _grow(reference).trials == {}
    again = _grow(reference, missing=False)
    assert {became: len(trials) for became, trials in again.trials.items()} == {SAME: 10}
    assert again.well
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_is_not_reproduced_is_said_and_kept_as_it_was(tmp_path: Path) -> None:
    reference = Reference(tmp_path)
    _grow(reference)
    before = reference.trials(small().cells[0])
    other = RECIPE | {"agent": "bbbb"}
    growth = _grow(reference, slow_kernel, other, missing=False)
    assert growth.count(DIFFERENT) == 10 and not growth.well
    assert "agent aaaa → bbbb" in growth.trials[DIFFERENT][0][2]
    assert reference.trials(small().cells[0]) == before


def test_what_another_agent_made_can_be_replaced(tmp_path: Path) -> None:
    reference = Reference(tmp_path)
    _grow(reference)
    other = RECIPE | {"agent": "bbbb"}
    growth = _grow(reference, slow_kernel, other, outdated=other, overwrite=True)
    assert growth.count(DIFFERENT) == 10
    trials = reference.trials(small().cells[0])
    assert {trial.recipe["agent"] for trial in trials.values()} == {"bbbb"}
    assert regenerate.jobs_of(small().cells, reference, missing=True, outdated=other) == []


def test_a_cell_that_was_changed_is_run_anew(tmp_path: Path) -> None:
    from aqmlab.validate import grid

    from .support import SMALL

    reference = Reference(tmp_path)
    _grow(reference)
    changed = grid.read(SMALL.replace('"20 ms"', '"30 ms"')).cells
    assert reference.complete(changed) == (0, 10)
    assert len(regenerate.jobs_of(changed, reference, missing=True)) == 10


def test_a_refusal_is_no_failure_and_a_machine_that_dies_is(tmp_path: Path) -> None:
    def moody(spec_json: str) -> object:
        kinds = {link["qdisc"]["kind"] for link in json.loads(spec_json)["links"]}
        if "codel" in kinds:
            raise RefusedError("the kernel has no CoDel today")
        if "pfifo" in kinds:
            raise MachineError("the machine died")
        return fake_kernel(spec_json)

    growth = _grow(Reference(tmp_path), moody)
    assert growth.count(REFUSED) == 3 and growth.count(FAILED) == 3 and growth.count(NEW) == 4
    assert not growth.well
    assert growth.trials[FAILED][0][2] == "the machine died"


def test_a_trial_says_what_made_it(tmp_path: Path) -> None:
    reference = Reference(tmp_path)
    _grow(reference)
    cell = small().cells[0]
    trial = reference.trials(cell)[1]
    assert trial.digest == fake_kernel(cell.spec_json(1))["digest"]
    assert set(trial.recipe) == {"kernel", "qemu", "agent", "grid", "spec"}


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    reference = Reference(tmp_path)
    path = reference.path(small().cells[0])
    path.write_bytes(gzip.compress(b'{"format": 1')[:-9])
    with pytest.raises(RequestError, match=r"alone\.codel\.json\.gz: cannot be read"):
        reference.trials(small().cells[0])


def test_files_of_cells_that_are_gone_are_found(tmp_path: Path) -> None:
    reference = Reference(tmp_path)
    _grow(reference)
    assert reference.strays(small().cells) == []
    assert [path.name for path in reference.strays(small().cells[1:])] == ["alone.codel.json.gz"]


_KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.validate.support import RECIPE, fake_kernel, small
from aqmlab.validate import regenerate
from aqmlab.validate.reference import Reference
reference = Reference(Path({folder!r}))
todo = regenerate.jobs_of(small().cells, reference, missing=True)
done = []
def tell(job, became, why, number, total):
    print(number, flush=True)
    if number == 3:
        time.sleep(600)
regenerate.grow(todo, reference, (fake_kernel, RECIPE), parallel=1, progress=tell)
"""


def test_a_growth_that_was_killed_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    program = _KILLED.format(root=str(ROOT), folder=str(killed))
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert [process.stdout.readline().strip() for _ in range(3)] == ["1", "2", "3"]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    (killed / ".alone.codel.json.gz.1.tmp").write_bytes(b"half")
    reference = Reference(killed)
    assert reference.complete(small().cells)[0] == 3
    growth = _grow(reference)
    assert growth.count(NEW) == 7
    _grow(Reference(whole))
    assert {path.name: path.read_bytes() for path in killed.iterdir()} == {
        path.name: path.read_bytes() for path in whole.iterdir()
    }


def test_progress_counts_to_the_end(tmp_path: Path) -> None:
    told: list[tuple[Job, int, int]] = []
    reference = Reference(tmp_path)
    todo = regenerate.jobs_of(small().cells, reference, missing=True, seeds=1)
    started = time.monotonic()
    growth = regenerate.grow(
        todo, reference, (fake_kernel, RECIPE), parallel=2,
        progress=lambda job, became, why, done, total: told.append((job, done, total)),
    )  # fmt: skip
    assert [done for _, done, _ in told] == [1, 2, 3]
    assert 0 <= growth.seconds <= time.monotonic() - started
