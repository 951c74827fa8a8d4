"""The reference set: growth, continuation and reproduction."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from aqmlab.base.failures import RequestError
from aqmlab.engines.kernel import MachineError, RefusedError, agent_source
from aqmlab.validation import agents, engines, grid, regenerate
from aqmlab.validation.reference import Reference
from aqmlab.validation.regenerate import DIFFERENT, FAILED, NEW, REFUSED, RENEWED, SAME, Growth, Job

from .support import PROGRAM, RECIPE, SMALL, SOURCE, Shop, fake_kernel, slow_kernel, small

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of built agents that replaces the user's own folder."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def shop(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """Replaces the kernel engine by a fake engine."""
    shop = Shop(tmp_path_factory.mktemp("shop"))
    monkeypatch.setattr(engines, "kernel", shop)
    monkeypatch.setattr(agent_source, "source_here", lambda: SOURCE)
    monkeypatch.setattr(agent_source, "rebuild", lambda source, say: shop.rebuilt)
    return shop


def _missing(reference: Reference) -> Growth:
    return _run(reference, regenerate.jobs_of(small().cells, reference, missing=True))


def _again(reference: Reference) -> Growth:
    return _run(reference, regenerate.jobs_of(small().cells, reference, missing=False))


def _run(reference: Reference, jobs: list[Job]) -> Growth:
    return _grow(reference, regenerate.tasks_of(jobs, reference, print))


def _renew(reference: Reference) -> Growth:
    return _grow(reference, regenerate.renewals(small().cells, reference, print))


def _grow(reference: Reference, tasks: list[regenerate.Task]) -> Growth:
    return regenerate.grow(tasks, reference, parallel=2, progress=lambda *_: None)


def _counts(growth: Growth) -> dict[str, int]:
    return {became: len(trials) for became, trials in growth.trials.items()}


def test_seed_one_of_every_cell_comes_first(tmp_path: Path) -> None:
    todo = regenerate.jobs_of(small().cells, Reference(tmp_path), missing=True)
    assert [(cell.name, seed) for cell, seed in todo] == [
        ("alone.codel", 1), ("alone.fq_codel-100", 1), ("both.8-2.loss1pc", 1),
        ("alone.codel", 2), ("alone.fq_codel-100", 2), ("both.8-2.loss1pc", 2),
        ("alone.codel", 3), ("alone.fq_codel-100", 3), ("both.8-2.loss1pc", 3),
        ("alone.fq_codel-100", 4),
    ]  # fmt: skip


def test_what_is_there_is_not_run_again_and_comes_out_the_same_if_it_is(
    tmp_path: Path, shop: Shop
) -> None:
    reference = Reference(tmp_path)
    assert _counts(_missing(reference)) == {NEW: 10}
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert _missing(reference).trials == {}
    again = _again(reference)
    assert _counts(again) == {SAME: 10} and again.well
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_is_not_reproduced_is_said_and_kept_as_it_was(tmp_path: Path, shop: Shop) -> None:
    reference = Reference(tmp_path)
    _missing(reference)
    before = reference.trials(small().cells[0])
    shop.run, shop.recipe = slow_kernel, RECIPE | {"kernel": "6.1.1-fake"}
    jobs = regenerate.jobs_of(small().cells, reference, missing=False)
    tasks = regenerate.tasks_of(jobs, reference, print)
    (warning,) = regenerate.warnings(tasks, reference)
    assert (
        "the kernel was 6.1.0-fake and is 6.1.1-fake: 10 trials may not come out the same"
        in warning
    )
    growth = _grow(reference, tasks)
    assert growth.count(DIFFERENT) == 10 and not growth.well
    assert "the kernel was 6.1.0-fake and is 6.1.1-fake" in growth.trials[DIFFERENT][0][2]
    assert reference.trials(small().cells[0]) == before


# --- The agent ------------------------------------------------------------------------------------


def test_what_is_there_is_run_again_by_the_agent_that_made_it(tmp_path: Path, shop: Shop) -> None:
    reference = Reference(tmp_path)
    _missing(reference)
    assert agents.there(tmp_path) == [agents.record(tmp_path, RECIPE["agent"])]
    shop.agent = b"a newer agent"
    assert _counts(_again(reference)) == {SAME: 10}
    assert shop.asked[-1] == RECIPE["agent"]


def test_what_is_missing_is_made_by_the_agent_of_the_rest(tmp_path: Path, shop: Shop) -> None:
    reference = Reference(tmp_path)
    _run(reference, regenerate.jobs_of(small().cells, reference, missing=True, seeds=1))
    shop.agent = b"a newer agent"
    assert _counts(_missing(reference)) == {NEW: 7}
    trials = [trial for cell in small().cells for trial in reference.trials(cell).values()]
    assert {trial.recipe["agent"] for trial in trials} == {RECIPE["agent"]}
    assert len(agents.there(tmp_path)) == 1


def test_what_the_agent_of_the_rest_refuses_is_made_by_a_newer_one(
    tmp_path: Path, shop: Shop
) -> None:
    reference = Reference(tmp_path)
    (codel, *rest) = small().cells
    _run(reference, regenerate.jobs_of(rest, reference, missing=True))
    shop.agent, shop.unknown = b"a newer agent", {RECIPE["agent"]: "codel"}
    assert _counts(_missing(reference)) == {NEW: 3}
    newer = agents.digest_of(shop.agent)
    assert {trial.recipe["agent"] for trial in reference.trials(codel).values()} == {newer}
    # A later version continues with the agent of the set that can run the cell.
    reference.path(codel).unlink()
    _run(reference, regenerate.jobs_of([codel], reference, missing=True, seeds=1))
    shop.agent = b"the newest agent"
    assert _counts(_missing(reference)) == {NEW: 2}
    assert {trial.recipe["agent"] for trial in reference.trials(codel).values()} == {newer}


def test_what_is_new_by_another_kernel_is_warned_of(tmp_path: Path, shop: Shop) -> None:
    reference = Reference(tmp_path)
    _run(reference, regenerate.jobs_of(small().cells, reference, missing=True, seeds=1))
    shop.recipe = RECIPE | {"qemu": "9.9"}
    jobs = regenerate.jobs_of(small().cells, reference, missing=True)
    (warning,) = regenerate.warnings(regenerate.tasks_of(jobs, reference, print), reference)
    assert "QEMU was 7.2 and is 9.9: 7 trials will not be made like the rest" in warning


def test_a_set_is_renewed_by_the_agent_of_the_package(tmp_path: Path, shop: Shop) -> None:
    reference = Reference(tmp_path)
    _missing(reference)
    shop.run, shop.agent = slow_kernel, b"a newer agent"
    newer = agents.digest_of(shop.agent)
    todo = regenerate.renewals(small().cells, reference, print)
    assert regenerate.warnings(todo, reference) == []
    _grow(reference, todo[:3])  # an interrupted run
    assert len(agents.there(tmp_path)) == 2
    growth = _renew(reference)
    assert _counts(growth) == {RENEWED: 7} and growth.well
    trials = reference.trials(small().cells[0])
    assert {trial.recipe["agent"] for trial in trials.values()} == {newer}
    assert agents.there(tmp_path) == [agents.record(tmp_path, newer)]
    assert _renew(reference).trials == {}
    assert _counts(_again(reference)) == {SAME: 10}


def test_an_agent_that_cannot_be_rebuilt_to_the_byte_is_not_run(
    tmp_path: Path, shop: Shop, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = Reference(tmp_path)
    _missing(reference)
    path = agents.record(tmp_path, RECIPE["agent"])
    shutil.rmtree(cache / "aqmlab")
    shop.rebuilt = b"another"
    here = replace(SOURCE, compiler="rustc 9.9")
    monkeypatch.setattr(agent_source, "differences_here", lambda source: source.differences(here))
    with pytest.raises(RequestError, match=r"compiler was rustc 1\.0 and is rustc 9\.9") as caught:
        _again(reference)
    assert "--renew" in (caught.value.hint or "")
    path.write_text('{"commit": 1}')
    with pytest.raises(RequestError, match="cannot be read"):
        _again(reference)
    path.unlink()
    with pytest.raises(RequestError, match="is missing") as caught:
        _again(reference)
    assert "--renew" in (caught.value.hint or "")


def test_an_agent_that_the_cache_lacks_or_that_is_damaged_there_is_rebuilt(
    tmp_path: Path, shop: Shop
) -> None:
    reference = Reference(tmp_path)
    _missing(reference)
    cached = agents.program(tmp_path, RECIPE["agent"])
    for spoil in (lambda: cached.write_bytes(b"damaged"), cached.unlink):
        spoil()
        assert agents.program(tmp_path, RECIPE["agent"]).read_bytes() == PROGRAM
    assert _counts(_again(reference)) == {SAME: 10}


def test_a_trial_is_run_again_to_the_letter_though_it_is_written_otherwise_now(
    tmp_path: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = Reference(tmp_path)
    _missing(reference)
    given: list[str] = []

    def listening(spec_json: str) -> object:
        given.append(spec_json)
        return fake_kernel(spec_json)

    shop.run = listening
    plain = grid.Cell.spec_json
    monkeypatch.setattr(grid.Cell, "spec_json", lambda cell, seed: plain(cell, seed) + " ")
    assert _counts(_again(reference)) == {SAME: 10}
    assert not any(text.endswith(" ") for text in given)
    assert len(regenerate.renewals(small().cells, reference, print)) == 10


# --- Random samples -------------------------------------------------------------------------------


def test_a_sample_is_of_different_cells_that_are_there_and_can_be_drawn_again(
    tmp_path: Path, shop: Shop
) -> None:
    reference = Reference(tmp_path)
    cells = small().cells
    assert regenerate.sample(cells, reference, 2, draw=1) == []
    _run(reference, regenerate.jobs_of(cells[:2], reference, missing=True))
    drawn = [regenerate.sample(cells, reference, 2, draw) for draw in range(20)]
    assert all({cell.name for cell, _ in jobs} == {cell.name for cell in cells[:2]}
               for jobs in drawn)  # fmt: skip
    assert len({tuple((cell.name, seed) for cell, seed in jobs) for jobs in drawn}) > 5
    assert regenerate.sample(cells, reference, 2, draw=7) == drawn[7]
    assert len(regenerate.sample(cells, reference, 9, draw=1)) == 2
    assert _counts(_run(reference, drawn[0])) == {SAME: 2}


# --- Errors ---------------------------------------------------------------------------------------


def test_a_cell_that_was_changed_is_run_anew(tmp_path: Path, shop: Shop) -> None:
    reference = Reference(tmp_path)
    _missing(reference)
    changed = grid.read(SMALL.replace('"20 ms"', '"30 ms"')).cells
    assert reference.complete(changed) == (0, 10)
    assert len(regenerate.jobs_of(changed, reference, missing=True)) == 10


def test_a_refusal_is_no_failure_and_a_machine_that_dies_is(tmp_path: Path, shop: Shop) -> None:
    def moody(spec_json: str) -> object:
        kinds = {link["qdisc"]["kind"] for link in json.loads(spec_json)["links"]}
        if "codel" in kinds:
            raise RefusedError("the kernel has no CoDel today")
        if "pfifo" in kinds:
            raise MachineError("the machine died")
        return fake_kernel(spec_json)

    shop.run = moody
    growth = _missing(Reference(tmp_path))
    assert growth.count(REFUSED) == 3 and growth.count(FAILED) == 3 and growth.count(NEW) == 4
    assert not growth.well
    assert growth.trials[FAILED][0][2] == "the machine died"


def test_what_is_refused_although_it_was_run_once_is_a_failure(tmp_path: Path, shop: Shop) -> None:
    reference = Reference(tmp_path)
    _missing(reference)

    def refuse(spec_json: str) -> object:
        raise RefusedError("the kernel has nothing today")

    shop.run = refuse
    growth = _again(reference)
    assert _counts(growth) == {FAILED: 10} and not growth.well


def test_a_trial_says_what_made_it(tmp_path: Path, shop: Shop) -> None:
    reference = Reference(tmp_path)
    _missing(reference)
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


def test_files_of_cells_that_are_gone_are_found(tmp_path: Path, shop: Shop) -> None:
    reference = Reference(tmp_path)
    _missing(reference)
    assert reference.strays(small().cells) == []
    assert [path.name for path in reference.strays(small().cells[1:])] == ["alone.codel.json.gz"]


_KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.validation.support import SOURCE, Shop, small
from aqmlab.engines.kernel import agent_source
from aqmlab.validation import engines, regenerate
from aqmlab.validation.reference import Reference
reference = Reference(Path({folder!r}))
engines.kernel = Shop(Path({shop!r}))
agent_source.source_here = lambda: SOURCE
todo = regenerate.jobs_of(small().cells, reference, missing=True)
tasks = regenerate.tasks_of(todo, reference, print)
def tell(job, became, why, number, total):
    print(number, flush=True)
    if number == 3:
        time.sleep(600)
regenerate.grow(tasks, reference, parallel=1, progress=tell)
"""


def test_a_growth_that_was_killed_goes_on_and_ends_with_the_same_bytes(
    tmp_path: Path, shop: Shop
) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    program = _KILLED.format(root=str(ROOT), folder=str(killed), shop=str(shop.folder))
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert [process.stdout.readline().strip() for _ in range(3)] == ["1", "2", "3"]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    (killed / ".alone.codel.json.gz.1.tmp").write_bytes(b"half")
    reference = Reference(killed)
    assert reference.complete(small().cells)[0] == 3
    growth = _missing(reference)
    assert growth.count(NEW) == 7
    _missing(Reference(whole))
    assert {path.name: path.read_bytes() for path in killed.iterdir()} == {
        path.name: path.read_bytes() for path in whole.iterdir()
    }


def test_progress_counts_to_the_end(tmp_path: Path, shop: Shop) -> None:
    told: list[tuple[Job, int, int]] = []
    reference = Reference(tmp_path)
    todo = regenerate.jobs_of(small().cells, reference, missing=True, seeds=1)
    started = time.monotonic()
    growth = regenerate.grow(
        regenerate.tasks_of(todo, reference, print), reference, parallel=2,
        progress=lambda job, became, why, done, total: told.append((job, done, total)),
    )  # fmt: skip
    assert [done for _, done, _ in told] == [1, 2, 3]
    assert 0 <= growth.seconds <= time.monotonic() - started
