"""Objects that outlive a process: folders, stopped workers, forks, results of other builds."""

import multiprocessing.pool
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import aqmlab
import polars as pl
import pytest
from aqmlab.api import Request, load
from aqmlab.base import versions
from aqmlab.base.failures import LabError, RequestError
from aqmlab.base.scratch import Scratch, remove_abandoned
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign import scheduler
from aqmlab.cli import status_of
from support import fake_engine
from support.campaigns import campaign_of, spec_of
from support.processes import wait_for


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A private folder for temporary folders."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv("TMPDIR", str(place))
    return place


def test_a_folder_of_a_killed_process_is_removed_by_the_next_one(temporary):
    program = (
        "from aqmlab.base.scratch import Scratch; s = Scratch(); print(s.name, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        left = Path(process.stdout.readline().strip())
        assert left.parent == temporary
        remove_abandoned()
        assert left.is_dir()  # its process is alive
        process.kill()
    with Scratch() as own:
        assert not left.exists()
        remove_abandoned()
        assert Path(own).is_dir()
    assert not [*temporary.iterdir()]


@pytest.mark.parametrize(
    "name", ["aqmlab-results", "aqmlab-scratch-notes", "aqmlab-scratch-ab12cd_e"]
)
def test_an_old_folder_of_the_user_stays_with_its_files(temporary, name):
    table = temporary / name / "tables" / "flows.parquet"
    table.parent.mkdir(parents=True)
    table.touch()
    os.utime(temporary / name, (0, 0))
    remove_abandoned()
    assert table.exists()


def test_an_old_folder_of_a_process_that_died_before_it_locked_a_file_is_removed(temporary):
    empty, begun, new = (temporary / f"aqmlab-scratch-{digit * 8}" for digit in "012")
    for folder in (empty, begun, new):
        folder.mkdir()
    (begun / "in-use.new").touch()
    (temporary / "aqmlab-scratch-33333333").touch()
    (temporary / "aqmlab-scratch-44444444").symlink_to(new)
    for folder in (empty, begun):
        os.utime(folder, (0, 0))
    remove_abandoned()
    assert {path.name[-1] for path in temporary.iterdir()} == {"2", "3", "4"}


def test_a_stopped_worker_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(scheduler, "_LOOK_S", 0.1)
    waiting = campaign_of([({"queue": "pie"}, spec_of("pie", behaviour="wait"))])

    class Stop(campaigns.Silence):
        def begin(self, trials, missing):
            def stop():
                wait_for(fake_engine.runs)
                found = subprocess.run(
                    ["pgrep", "-P", str(os.getpid()), "-f", "aqmlab.campaign.worker"],
                    capture_output=True, text=True, check=True,
                )  # fmt: skip
                os.kill(int(found.stdout.split()[0]), signal.SIGSTOP)
                (tmp_path / "mended").touch()

            self.thread = multiprocessing.pool.ThreadPool(1)
            self.stopped = self.thread.apply_async(stop)

    progress = Stop()
    report = campaigns.run(waiting, tmp_path / "out", jobs=1, progress=progress)
    progress.stopped.get()
    progress.thread.close()
    assert not report.failed and fake_engine.runs() == ["pie-1", "pie-1"]


def _heights(path):
    try:
        print(load(path).flows.height)
    except LabError as error:
        print(error.problem)
        sys.exit(error.status)


def test_a_fork_of_a_process_that_has_read_a_table_says_that_it_cannot(home_results, capfd):
    for read in (False, True):
        program = (
            "import multiprocessing, sys\n"
            "sys.path.append('tests')\n"
            "from aqmlab.api import load\n"
            "from tests.campaign.test_housekeeping import _heights\n"
            "results = load(sys.argv[1])\n"
            f"{read} and results.flows\n"
            "child = multiprocessing.get_context('fork').Process(\n"
            "    target=_heights, args=(sys.argv[1],))\n"
            "child.start(); child.join(60); print(child.exitcode)\n"
        )
        asked = [sys.executable, "-c", program, str(home_results.path)]
        root = Path(__file__).parents[2]
        found = subprocess.run(asked, capture_output=True, text=True, cwd=root, timeout=120)
        if read:
            assert "is a fork of one that has read tables" in found.stdout
            assert found.stdout.endswith("1\n")
        else:
            assert found.stdout.split() == [str(home_results.flows.height), "0"]


@pytest.mark.parametrize("name", ["campaign/store/dataset.py", "engines/kernel/engine.py", "_core"])
def test_an_edit_of_what_makes_results_is_another_build(tmp_path, monkeypatch, name):
    package = tmp_path / "aqmlab"
    shutil.copytree(
        Path(versions.__file__).parents[1], package, ignore=shutil.ignore_patterns("reference")
    )
    monkeypatch.setattr(versions, "__file__", str(package / "base" / "versions.py"))
    core = tmp_path / "core.so"
    core.write_bytes(b"core")
    monkeypatch.setattr(aqmlab._core, "__file__", str(core))
    build = versions.build.__wrapped__
    before = build()
    (package / "cli" / "show.py").write_text("# shows results and makes none")
    assert build() == before
    (core if name == "_core" else package / name).write_text("# edited")
    assert build() != before


def test_results_say_nothing_of_the_folders_of_this_machine(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "home.toml"
    path.parent.mkdir()
    shutil.copy(Path(__file__).parents[2] / "examples" / "first.toml", path)
    assert Request(path).command() == "aqmlab run home.toml"
    monkeypatch.chdir(tmp_path)
    assert Request(path).command() == "aqmlab run deep/home.toml"
    assert Request("deep/home.toml").command() == "aqmlab run deep/home.toml"
    monkeypatch.chdir(Path(__file__).parent)
    results = aqmlab.run(path, duration="2 s", out=tmp_path / "out", jobs=1)
    page = results.report().read_text()
    assert results.manifest.source == "home.toml"
    assert str(tmp_path) not in page
    assert str(tmp_path) not in (results.path / "manifest.json").read_text()


def test_verify_answers_for_every_file(home_results, tmp_path, capsys):
    shutil.copytree(home_results.path, tmp_path / "out")
    assert status_of(["verify", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert " table files are unchanged, " in said and home_results.digest in said
    (tmp_path / "out" / "catalogue.sql").write_text("-- edited")
    assert status_of(["verify", str(tmp_path / "out")]) == 2
    assert "catalogue.sql: is damaged" in capsys.readouterr().err


def test_files_are_verified_before_others_read_them(home_results, tmp_path):
    shutil.copytree(home_results.path, tmp_path / "out")
    results = load(tmp_path / "out")
    (path,) = results.files("flows")
    assert pl.read_parquet(path, hive_partitioning=False).equals(
        home_results.flows, null_equal=True
    )
    path.write_bytes(path.read_bytes()[:-1] + b"2")
    with pytest.raises(RequestError, match="its contents are not those recorded"):
        results.files("flows")
    with pytest.raises(RequestError, match="there is no table `flow`"):
        results.files("flow")
