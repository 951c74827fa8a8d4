"""A campaign on a real Dask cluster of a scheduler and two workers on this machine."""

import signal
import subprocess
import sys
import threading
from collections import Counter

import dask
import distributed  # noqa: F401 (the import adds settings to `dask.config`, which tests read)
import pytest
import yaml
from aqmlab.base.failures import LabError, RequestError
from aqmlab.campaign import dask_executor
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign import scheduler as running
from aqmlab.campaign.task import Order, perform
from aqmlab.cli import status_of
from aqmlab.results.results import load
from support import fake_engine
from support.campaigns import bytes_of, campaign_of, grid
from support.processes import SECONDS, Dask, wait_for

OTHER_BUILD = """\
from aqmlab.base import versions
versions.build = lambda: '0.1.0 deadbeef'
"""


def test_a_killed_worker_costs_its_trial_and_no_byte(tmp_path, dask):
    specs = [*grid(("pfifo",), seeds=range(1, 7)), *grid(("pie",), seeds=(1, 2), behaviour="wait")]

    def kill_one():
        recorded = (tmp_path / "cluster" / "trials").glob
        wait_for(lambda: len(list(recorded("*.trial"))) == 6, SECONDS)
        wait_for(lambda: {"pie-1", "pie-2"} <= set(fake_engine.runs()), SECONDS)
        dask.workers[0].send_signal(signal.SIGKILL)
        (tmp_path / "mended").touch()

    with dask_executor.Cluster(dask.address()) as cluster:
        cluster._client.wait_for_workers(2, timeout=SECONDS)
        killer = threading.Thread(target=kill_one)
        killer.start()
        report = campaigns.run(campaign_of(specs), tmp_path / "cluster", executor=cluster)
        killer.join()
    assert report.run == 8 and not report.failed
    runs = Counter(fake_engine.runs())
    assert sorted(runs.values()) == [1] * 7 + [2] and runs["pie-1"] + runs["pie-2"] == 3
    campaigns.run(campaign_of(specs), tmp_path / "here", jobs=2)
    assert load(tmp_path / "cluster").digest == load(tmp_path / "here").digest
    assert bytes_of(tmp_path / "cluster") == bytes_of(tmp_path / "here")


def test_a_lost_scheduler_ends_with_a_sentence_and_the_same_command_goes_on(
    tmp_path, dask, monkeypatch
):
    specs = [*grid(("pfifo",), seeds=range(1, 5)), *grid(("pie",), seeds=(1, 2), behaviour="wait")]
    folder = tmp_path / "out"

    def kill_scheduler():
        wait_for(lambda: len(list(folder.glob("trials/*.trial"))) == 4, SECONDS)
        dask.scheduler.kill()

    killer = threading.Thread(target=kill_scheduler)
    with dask_executor.Cluster(dask.address()) as cluster:
        killer.start()
        with pytest.raises(LabError, match="the connection is lost") as caught:
            campaigns.run(campaign_of(specs), folder, executor=cluster)
        killer.join()
    assert "continues from here" in caught.value.hint
    (tmp_path / "mended").touch()
    assert campaigns.run(campaign_of(specs), folder, jobs=2).run == 2
    assert load(folder).complete


def test_another_build_is_refused(tmp_path, monkeypatch):
    other = tmp_path / "other.py"
    monkeypatch.setattr(dask_executor, "_CONNECT_S", SECONDS)
    other.write_text(OTHER_BUILD)
    started = Dask(tmp_path)
    try:
        started.add_worker("--preload", str(other))
        started.address()
        with pytest.raises(RequestError, match=r"has another build .*: 0\.1\.0 dead") as caught:
            dask_executor.Cluster(str(started.file))
    finally:
        started.close()
    assert "the same build of aqmlab on every worker" in caught.value.hint


def test_a_worker_of_another_build_that_joins_late_gets_no_trials(
    tmp_path, dask, monkeypatch, caplog
):
    monkeypatch.setattr(dask_executor, "_COUNT_S", 0.0)
    other = tmp_path / "other.py"
    other.write_text(OTHER_BUILD)
    monkeypatch.setattr(running, "_LOOK_S", 0.2)
    specs = grid(("pie",), seeds=range(9), behaviour="wait")

    def join():
        dask.add_worker("--preload", str(other))
        wait_for(lambda: "0.1.0 deadbeef" in caplog.text, SECONDS)
        (tmp_path / "mended").touch()

    with dask_executor.Cluster(dask.address()) as cluster:
        joining = threading.Thread(target=join)
        joining.start()
        report = campaigns.run(campaign_of(specs), tmp_path / "cluster", executor=cluster)
        joining.join()
    assert report.run == 9 and not report.failed
    assert "it gets no trials" in caplog.text


def test_a_trial_is_not_run_by_another_build():
    answer = perform(Order("fake_engine:run", "{}", "key", "one", "sim", build="0.1.0 deadbeef"))
    assert answer.failed == "build" and "not 0.1.0 deadbeef" in answer.problem


def test_a_cluster_without_workers_is_not_waited_for_forever(tmp_path, monkeypatch):
    monkeypatch.setattr(dask_executor, "_FIRST_WORKER_S", 0.2)
    monkeypatch.setattr(dask_executor, "_CONNECT_S", SECONDS)
    alone = Dask(tmp_path)
    try:
        with pytest.raises(RequestError, match="no worker has joined"):
            dask_executor.Cluster(alone.address())
    finally:
        alone.close()


def test_where_nobody_answers_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(dask_executor, "_CONNECT_S", 0.2)
    for address in ("tcp://127.0.0.1:9", "nonsense", str(tmp_path / "none.json")):
        with pytest.raises(RequestError, match="no scheduler can be reached") as caught:
            dask_executor.Cluster(address)
        assert "aqmlab cluster" in caught.value.hint


def test_without_dask_the_line_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(RequestError, match="Dask is not installed") as caught:
        dask_executor.Cluster("tcp://127.0.0.1:8786")
    assert caught.value.hint == "pip install distributed"


def test_what_needs_this_machine_does_not_go_to_a_cluster(tmp_path):
    campaign = campaign_of(grid(seeds=(1,)))
    options = {"kernel": {"kernel": "/boot/vmlinuz"}}
    there = campaigns.Campaign(campaign.trials, campaign.about, options=options)

    class Far:
        is_remote = True

    with pytest.raises(RequestError, match="the engine `kernel` needs files"):
        campaigns.run(there, tmp_path / "out", executor=Far())


def test_the_ways_to_start_one_are_told(capsys):
    assert status_of(["cluster"]) == 0
    everything = capsys.readouterr().out
    for where in ("local", "ssh", "slurm", "kubernetes"):
        assert status_of(["cluster", where]) == 0
        told = capsys.readouterr().out
        assert "--cluster" in told and told.splitlines()[-1] in everything
    assert status_of(["cluster", "slrm"]) == 2
    assert "did you mean `slurm`?" in capsys.readouterr().err


def test_what_kubernetes_is_told_fits_together(capsys):
    assert status_of(["cluster", "kubernetes"]) == 0
    text = capsys.readouterr().out
    cluster = yaml.safe_load(text.partition("<<'YAML'\n")[2].partition("\nYAML\n")[0])
    scheduler = cluster["spec"]["scheduler"]
    ports = {one["name"] for one in scheduler["spec"]["containers"][0]["ports"]}
    assert {one["targetPort"] for one in scheduler["service"]["ports"]} == ports
    name = cluster["metadata"]["name"]
    assert scheduler["service"]["selector"]["dask.org/cluster-name"] == name
    assert f"service/{name}-scheduler" in text and f"delete daskcluster {name}" in text


@pytest.mark.parametrize("where", ["local", "ssh", "slurm"])
def test_the_options_that_are_told_are_dasks(capsys, where):
    assert status_of(["cluster", where]) == 0
    text = capsys.readouterr().out.replace("\\\n", "")
    for line in text.splitlines():
        command = line[line.index("dask ") :].split() if " dask " in f" {line}" else []
        if line.startswith("#") or not command:
            continue
        said = subprocess.run(
            [sys.executable, "-m", "dask", command[1], "--help"], capture_output=True, text=True
        ).stdout
        for word in command:
            assert not word.startswith("--") or word in said, (line, word)


@pytest.mark.parametrize("as_file", [False, True])
def test_a_cluster_that_wants_certificates_is_refused_without_in_one_sentence(tmp_path, as_file):
    address = "tls://127.0.0.1:8786"
    if as_file:
        (tmp_path / "scheduler.json").write_text(f'{{"address": "{address}"}}')
        address = str(tmp_path / "scheduler.json")
    command = [sys.executable, "-m", "aqmlab", "run", "bufferbloat", "--cluster", address]
    run = subprocess.run(
        [*command, "--out", str(tmp_path / "out")], capture_output=True, text=True, check=False
    )
    problem = f"error: --cluster {address}: Dask has no certificates, which tls:// needs\n\nhint"
    assert run.stderr.startswith(problem) and run.stderr.count("\n") == 3
    assert (run.returncode, run.stdout) == (2, "")


def test_certificates_that_cannot_be_read_are_said(tmp_path, monkeypatch):
    missing = str(tmp_path / "none.pem")
    tls = "distributed.comm.tls"
    names = (f"{tls}.ca-file", f"{tls}.client.cert", f"{tls}.client.key")
    with (
        dask.config.set(dict.fromkeys(names, missing)),
        pytest.raises(RequestError, match="certificates cannot be read: No such file"),
    ):
        dask_executor.Cluster("tls://127.0.0.1:8786")
