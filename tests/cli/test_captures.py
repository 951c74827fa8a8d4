"""Captures of trials, and their round-trip times: `aqmlab pcap` and `aqmlab spp`."""

import json
from io import StringIO
from types import SimpleNamespace

import polars as pl
import pytest
from aqmlab.base.checksums import checksum_of
from aqmlab.campaign.store.manifest import digest_of
from aqmlab.cli import console, spp, status_of
from aqmlab.engines.engine import Prepared
from aqmlab.results import captures
from rich.console import Console
from support.campaigns import rewrite_manifest, spec_of


def test_captures_of_a_trial_give_its_round_trips_again(home, capsys):
    assert status_of(["run", "home.toml", "--out", "out", "--no-report", "--json"]) == 0
    trial = json.loads(capsys.readouterr().out)[1]
    (one,) = [
        flow for flow in trial["flows"] if (flow["name"], flow["direction"]) == ("call", "up")
    ]
    names = []
    for source, name in (("out", "a"), ("home.toml", "b")):
        assert status_of(["pcap", source, "--trial", trial["id"], "--name", name]) == 0
        names.append(capsys.readouterr().out.split())
    assert names == [["a-home.pcap", "a-wan.pcap"], ["b-home.pcap", "b-wan.pcap"]]
    for end in ("home", "wan"):
        assert (home / f"a-{end}.pcap").read_bytes() == (home / f"b-{end}.pcap").read_bytes()

    assert status_of(["pcap", "home.toml", "--name", "c"]) == 0
    assert "trial: qdisc=pfifo,seed=1, the first of 2; --trial" in capsys.readouterr().err

    assert status_of(["spp", *names[0]]) == 0
    shown = capsys.readouterr().out
    assert "RTT p5" in shown and "UDP" in shown and "TCP" in shown
    assert status_of(["spp", *names[0], "--json"]) == 0
    flows = json.loads(capsys.readouterr().out)["flows"]
    measured = [
        rtt
        for rtt, protocol in zip(flows["rtt_p50_ms"], flows["protocol"], strict=True)
        if protocol == "UDP"
    ]
    # Each median comes from a histogram with a relative error of at most 0.1 %.
    assert any(rtt == pytest.approx(one["rtt_ms"]["p50"], rel=2e-3) for rtt in measured)


@pytest.mark.parametrize("columns", [40, 60, 80, 140])
def test_round_trips_of_captures_are_shown_whole_in_any_terminal(monkeypatch, columns):
    flows = {
        "protocol": ["TCP"],
        "from": ["2001:db8:0:1::abcd:1234 port 61000"],
        "to": ["172.16.11.2 port 5201"],
        **{name: [1234567.0] for name, _ in spp._SHOWN[3:]},
    }
    text = StringIO()
    monkeypatch.setattr(console, "stdout", lambda: Console(file=text, width=columns))
    monkeypatch.setattr(console, "stderr", lambda: Console(file=StringIO()))
    spp._show({"flows": flows})
    shown = text.getvalue()
    assert shown.count("1234567") == len(spp._SHOWN) - 3
    for whole in ("TCP", "2001:db8:0:1::abcd:1234", "172.16.11.2", *dict(spp._SHOWN).values()):
        assert whole in shown, shown
    assert "…" not in shown


def test_captures_without_packets_have_no_flows(home, capsys):
    assert status_of(["pcap", "home.toml", "--duration", "1 s", "--name", "a"]) == 0
    (home / "empty.pcap").write_bytes((home / "a-home.pcap").read_bytes()[:24])
    capsys.readouterr()
    for pair in (("empty.pcap", "a-wan.pcap"), ("a-home.pcap", "empty.pcap"), ("empty.pcap",) * 2):
        assert status_of(["spp", *pair]) == 0
        told = capsys.readouterr()
        assert told.out == ""
        assert "no packet is in both captures, so there are no flows" in told.err
        assert "first matched: 0" in told.err
        assert status_of(["spp", *pair, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["flows"] == {}


def test_a_full_disk_is_named_with_what_to_do(home, capsys, monkeypatch):
    def full(_):
        def run(*_, captures):
            raise OSError(f"{captures[1]}: No space left on device (os error 28)")

        return run

    monkeypatch.setattr(captures, "load_runner", full)
    assert status_of(["pcap", "home.toml", "--name", "a"]) == 2
    told = capsys.readouterr().err
    assert "error: a-wan.pcap: the disk is full\n" in told
    assert "hint: free some space and run the same command again\n" in told
    assert not list(home.glob("*pcap*"))


def test_a_capture_that_cannot_be_written_is_named(home, capsys):
    assert status_of(["pcap", "home.toml", "--duration", "1 s", "--name", "no/such/x"]) == 2
    assert "error: no/such/x-home.pcap: cannot be written: " in capsys.readouterr().err


def test_captures_take_the_place_of_files_only(home, capsys):
    (home / "x-wan.pcap").mkdir()
    assert status_of(["pcap", "home.toml", "--duration", "1 s", "--name", "x"]) == 2
    assert "x-wan.pcap: cannot be written: it is a folder" in capsys.readouterr().err
    assert sorted(path.name for path in home.iterdir()) == ["home.toml", "x-wan.pcap"]


def test_a_finished_trial_cannot_be_changed(home, capsys):
    assert status_of(["run", "home.toml", "--out", "out", "--no-report"]) == 0
    capsys.readouterr()
    assert status_of(["pcap", "out", "--set", "path.rtt=1 ms"]) == 2
    assert "cannot be changed" in capsys.readouterr().err


def test_packets_of_another_trial_than_the_recorded_one_are_refused(home, capsys):
    assert status_of(["run", "home.toml", "--duration", "1 s", "--out", "out", "--no-report"]) == 0
    path = home / "out/tables/trials/chunk=0000/rows.parquet"
    rows = pl.read_parquet(path, hive_partitioning=False)
    own = rows["digest"][0]
    rows.with_columns(digest=pl.lit("0123456789abcdef")).write_parquet(path)
    files = json.loads((home / "out/manifest.json").read_text("utf-8"))["files"]
    files[path.relative_to(home / "out").as_posix()] = list(checksum_of(path))
    rewrite_manifest(home / "out", files=files)
    assert status_of(["pcap", "out"]) == 2
    assert f"has the digest 0123456789abcdef, and {own} in" in capsys.readouterr().err
    digests = ["0123456789abcdef"] * rows.height
    digest = digest_of(rows["trial"], digests)
    rewrite_manifest(home / "out", digests=digests, digest=digest)
    for command in (["pcap", "out"], ["export", "out", "--teacup", "--out", "teacup"]):
        capsys.readouterr()
        assert status_of(command) == 1
        said = capsys.readouterr().err
        assert f"the trial `{rows['trial'][0]}` does not give the packets of its results" in said
        assert f"its digest is {own}, and the digest of the results is 0123456789abcdef" in said
    assert sorted(path.name for path in home.iterdir()) == ["cache", "home.toml", "out"]


def test_other_packets_of_the_kernel_engine_are_a_warning(home, monkeypatch):
    engine = SimpleNamespace(
        keeps_packets=True, reports_progress=True, runner="", prepare=lambda *_: Prepared()
    )
    monkeypatch.setattr(captures.registry, "engine", lambda _: engine)
    monkeypatch.setattr(captures, "load_runner", lambda _: lambda *_, **__: {"digest": "new"})
    said = []
    recorded = captures.RecordedTrial("a", "old")
    captures.write(spec_of("pie"), "x", "kernel", said.append, recorded)
    (warning,) = said
    assert warning.startswith("warning: the trial `a` does not give the packets of its results")
    assert sorted(path.name for path in home.glob("*.pcap")) == ["x-home.pcap", "x-wan.pcap"]
