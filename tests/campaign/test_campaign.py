import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from aqmlab.base.failures import DiskError, RequestError
from aqmlab.campaign import runner as campaigns
from aqmlab.results.export.trials import read
from aqmlab.results.results import load
from support.campaigns import HERE, bytes_of, campaign_of, grid, spec_of
from support.processes import wait_for


def test_the_bytes_do_not_depend_on_the_number_of_jobs(tmp_path):
    for jobs in (1, 3):
        report = campaigns.run(campaign_of(grid()), tmp_path / str(jobs), jobs=jobs)
        assert report.run == 6 and not report.failed
    assert bytes_of(tmp_path / "1") == bytes_of(tmp_path / "3")


def test_a_complete_campaign_is_not_run_again(tmp_path):
    campaigns.run(campaign_of(grid()), tmp_path / "out", jobs=2)
    before = bytes_of(tmp_path / "out")
    assert campaigns.run(campaign_of(grid()), tmp_path / "out").run == 0
    assert bytes_of(tmp_path / "out") == before
    assert not (tmp_path / "out" / "trials").exists()


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [
        ("crash", "the process that ran it was killed by SIGKILL"),
        ("panic", "Panic: packets sent, and packets accounted for"),
        ("refuse", "links[0].qdisc: unknown discipline `x`"),
    ],
)
def test_a_trial_that_dies_fails_alone_and_is_tried_again(tmp_path, behaviour, problem):
    specs = grid(seeds=(1,))
    specs.insert(1, ({"queue": "pie", "rate": ""}, spec_of("pie", behaviour=f"{behaviour} once")))
    folder = tmp_path / "out"
    report = campaigns.run(campaign_of(specs), folder, jobs=2)
    assert report.failed == {"trial-1": problem}
    broken = load(folder)
    assert not broken.complete and broken.digest is None and broken.failed == report.failed
    assert broken.trials["trial"].to_list() == ["trial-0", "trial-2", "trial-3"]

    (tmp_path / "mended").touch()
    assert campaigns.run(campaign_of(specs), folder, jobs=2).run == 1
    campaigns.run(campaign_of(specs), tmp_path / "fresh", jobs=2)
    assert bytes_of(folder) == bytes_of(tmp_path / "fresh")


def test_what_an_engine_prints_is_no_answer(tmp_path):
    specs = grid(queues=("pie",), behaviour="chatter")
    assert not campaigns.run(campaign_of(specs), tmp_path / "out", jobs=1).failed


def half_waiting():
    """A campaign of which six trials end immediately, and six wait until `mended` exists."""
    ready = grid(queues=("pfifo",), seeds=range(1, 7))
    return campaign_of([*ready, *grid(queues=("pie",), seeds=range(1, 7), behaviour="wait")])


def start_in_another_process(folder, session=False):
    code = (
        "from campaign.test_campaign import *\n"
        f"campaigns.run(half_waiting(), Path({str(folder)!r}), jobs=2)"
    )
    package = Path(campaigns.__file__).parents[2]
    path = os.pathsep.join(map(str, (HERE.parent, HERE, package)))
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        start_new_session=session,
    )


@pytest.mark.parametrize("whole_group", [False, True])
def test_a_killed_campaign_goes_on_and_ends_with_the_same_bytes(tmp_path, whole_group):
    folder = tmp_path / "out"
    process = start_in_another_process(folder, session=True)
    wait_for(lambda: len(list(folder.glob("trials/*.trial"))) == 6)
    if whole_group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()
    (folder / "trials" / ".00099.trial.1.tmp").write_bytes(b"half a tri")
    partial = load(folder)
    assert not partial.complete and partial.flows["trial"].n_unique() == 6

    (tmp_path / "mended").touch()
    assert campaigns.run(half_waiting(), folder, jobs=2).run == 6
    campaigns.run(half_waiting(), tmp_path / "fresh", jobs=2)
    assert bytes_of(folder) == bytes_of(tmp_path / "fresh")


def test_a_damaged_trial_is_run_again(tmp_path):
    folder = tmp_path / "out"
    specs = grid(seeds=(1,))
    specs.append(({"queue": "pie", "rate": ""}, spec_of("pie", behaviour="refuse once")))
    campaigns.run(campaign_of(specs), folder, jobs=1)
    part = folder / "trials" / "00000.trial"
    part.write_bytes(part.read_bytes()[:-100])
    (tmp_path / "mended").touch()
    assert campaigns.run(campaign_of(specs), folder, jobs=1).run == 2


def test_a_folder_of_another_campaign_is_refused(tmp_path):
    folder = tmp_path / "out"
    campaigns.run(campaign_of(grid()), folder, jobs=2)
    before = bytes_of(folder)
    with pytest.raises(RequestError, match="holds another campaign: fake, 6 trials") as caught:
        campaigns.run(campaign_of(grid(seeds=(1, 2, 3))), folder)
    assert "--out DIR" in caught.value.hint and caught.value.status == 2
    newer = campaign_of(grid(), versions={"aqmlab": "1", "core": "1"})
    with pytest.raises(RequestError, match="another campaign"):
        campaigns.run(newer, folder)
    assert bytes_of(folder) == before


def test_trials_that_are_called_alike_but_differ_are_not_taken_for_each_other(tmp_path):
    folder = tmp_path / "out"
    process = start_in_another_process(folder)  # stopped after six trials
    wait_for(lambda: len(list(folder.glob("trials/*.trial"))) == 6)
    process.kill()
    process.communicate()
    slower = [*grid(queues=("pfifo",), seeds=range(1, 7), rates=((6, 1),))]
    slower = campaign_of([*slower, *grid(queues=("pie",), seeds=range(1, 7), rates=((6, 1),))])
    assert [one.id for one in slower.trials] == [one.id for one in half_waiting().trials]
    before = bytes_of(folder)
    with pytest.raises(RequestError, match="the scenario has changed since") as caught:
        campaigns.run(slower, folder)
    assert "--out DIR" in caught.value.hint
    with pytest.raises(RequestError, match="the scenario has changed since"):
        campaigns.missing(slower, folder)
    assert bytes_of(folder) == before


def test_results_without_a_manifest_are_not_taken_for_a_campaigns(tmp_path):
    specs = grid(seeds=(1,))
    specs.append(({"queue": "pie", "rate": ""}, spec_of("pie", behaviour="refuse once")))
    for name in ("part", "whole"):
        campaigns.run(campaign_of(specs), tmp_path / name, jobs=1)
        (tmp_path / "mended").touch()
        (tmp_path / name / "manifest.json").unlink()
        before = bytes_of(tmp_path / name)
        with pytest.raises(RequestError, match=r"holds results, but no manifest\.json"):
            campaigns.run(campaign_of(grid(seeds=(9,))), tmp_path / name)
        assert bytes_of(tmp_path / name) == before


def test_trials_that_are_in_no_table_yet_say_what_the_engine_was_given(tmp_path):
    folder = tmp_path / "out"
    process = start_in_another_process(folder)
    wait_for(lambda: len(list(folder.glob("trials/*.trial"))) == 6)
    process.kill()
    process.communicate()
    partial, trials = load(folder), half_waiting().trials[:6]
    assert partial.table("trials")["spec"].to_list() == [one.spec for one in trials]
    assert partial.spec("trial-2").seed == 3
    assert [one.id for one in read(partial, ["flows"])] == [one.id for one in trials]


def test_two_processes_do_not_share_a_folder(tmp_path):
    folder = tmp_path / "out"
    process = start_in_another_process(folder)
    wait_for(lambda: len(list(folder.glob("trials/*.trial"))) == 6)
    with pytest.raises(RequestError, match="another process is running this campaign"):
        campaigns.run(half_waiting(), folder)
    (tmp_path / "mended").touch()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


def test_a_full_disk_ends_with_a_sentence_and_loses_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "out"
    really_open = Path.open

    def open_unless_full(path, *arguments, **more):
        if "00003.trial" in path.name and "x" in arguments[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return really_open(path, *arguments, **more)

    with (
        monkeypatch.context() as patch,
        pytest.raises(
            DiskError, match=r"00003.trial: the disk is full: .* kB were needed"
        ) as caught,
    ):
        patch.setattr(Path, "open", open_unless_full)
        campaigns.run(campaign_of(grid(seeds=(1, 2))), folder, jobs=1)
    assert "run the same command again to continue from here" in caught.value.hint
    assert caught.value.status == 2
    kept = sorted(path.name for path in (folder / "trials").iterdir())
    assert kept == ["00000.trial", "00001.trial", "00002.trial"]

    assert campaigns.run(campaign_of(grid(seeds=(1, 2))), folder, jobs=1).run == 3
    assert load(folder).complete


def test_a_disk_that_fills_while_tables_are_written_loses_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "out"

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
        with pytest.raises(DiskError, match="the disk is full"):
            campaigns.run(campaign_of(grid()), folder, jobs=2)
    assert len(list(folder.glob("trials/*.trial"))) == 6
    leftovers = [name for name in bytes_of(folder) if ".tmp" in name or name.endswith(".parquet")]
    assert not leftovers
    campaigns.run(campaign_of(grid()), folder, jobs=2)
    campaigns.run(campaign_of(grid()), tmp_path / "fresh", jobs=2)
    assert bytes_of(folder) == bytes_of(tmp_path / "fresh")


def test_every_table_says_trial_conditions_and_seed_in_front(home_results):
    for name in home_results.tables:
        frame = home_results.table(name)
        front = ["trial", "queue", "rate", "rate_down_mbit", "rate_up_mbit", "rtt_base_ms", "seed"]
        if name == "flows":  # this table has its own base round-trip times
            front.remove("rtt_base_ms")
        assert frame.columns[: len(front)] == front, name
        assert frame["trial"].unique(maintain_order=True).to_list() == [
            f"trial-{index}" for index in range(12)
        ]
    assert home_results.flows.schema["packets_sent"] == pl.Int64
    assert "cpu_s" not in home_results.summary.columns
    assert home_results.summary["jain_up"].null_count() == 12


def test_conditions_keep_their_types_and_their_own_columns(tmp_path):
    specs = [
        ({"ecn": True, "share": 0.5, "flow": "x", "odd": [1, 2]}, spec_of("pie")),
        ({"ecn": False, "share": 1, "flow": "y"}, spec_of("pie", seed=2)),
    ]
    campaigns.run(campaign_of(specs), tmp_path / "out", jobs=1)
    flows = load(tmp_path / "out").flows
    assert flows.columns[:5] == ["trial", "ecn", "share", "condition.flow", "odd"]
    assert flows.columns[5:8] == ["rate_down_mbit", "rate_up_mbit", "seed"]
    assert flows.schema["ecn"] == pl.Boolean and flows.schema["share"] == pl.Float64
    assert flows["odd"].unique(maintain_order=True).to_list() == ["[1, 2]", None]
