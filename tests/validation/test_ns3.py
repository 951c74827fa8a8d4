"""ns-3 as an engine: its input and its output. Only one test needs ns-3."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aqmlab import _core
from aqmlab.engines import ns3
from aqmlab.engines.ns3 import plan, program, tables
from aqmlab.engines.ns3.streams import Stream
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.validation import engines, grid, trial_record
from msgspec.structs import replace

from .support import small


def _spec(name: str, seed: int = 1) -> TrialSpec:
    cell = {cell.name: cell for cell in grid.load().cells}[name]
    return cell.spec.with_seed(seed)


def _words(spec: TrialSpec, first: str) -> list[list[str]]:
    return [words for line in plan.of(spec).lines if (words := line.split())[0] == first]


# --- The input of ns-3 -------------------------------------------------------------------------


def test_most_of_the_grid_can_be_told_and_the_rest_has_a_reason() -> None:
    can, reasons = 0, set()
    for cell in grid.load().cells:
        try:
            can += bool(plan.of(cell.spec.with_seed(1)).lines)
        except ValueError as error:
            reasons.add(str(error).partition(":")[0])
    assert can >= 130
    kinds = {"`sfq`", "`cake`", "`pfifo_fast`", "`voip`", "`iot_low`", "`game`", "`dash`", "`web`"}
    assert reasons == kinds | {"jitter"}


def test_applications_start_when_they_do_in_the_simulator() -> None:
    spec = replace(_spec("flows.four-downloads.pie", seed=3), duration_ns=200_000_000)
    opened_s = _core.run(spec.text())["tables"]["conns"]["opened_s"]
    starts_s = [at / 1e9 for at in plan.of(spec).starts_ns]
    assert sorted(opened_s) == pytest.approx(sorted(starts_s), abs=1e-9)


@pytest.mark.parametrize(
    ("cell", "way", "told"),
    [
        ("download.pfifo-20", 0, "ns3::FifoQueueDisc 0 MaxSize=20p"),
        ("download.bfifo-30kB", 0, "ns3::FifoQueueDisc 0 MaxSize=29722B"),
        ("download.codel", 0, "ns3::CoDelQueueDisc 0 MaxSize=1000p Target=5000000ns"),
        ("download.fq_codel", 1, "ns3::FqCoDelQueueDisc 1500 MaxSize=10240p"),
        ("download.pie", 1, "ns3::PieQueueDisc 0 MaxSize=1000p QueueDelayReference=15000000ns"),
        ("download.fq_pie", 1, "ns3::FqPieQueueDisc 1500 MaxSize=10240p"),
        ("download.red-200kB", 1, "ns3::RedQueueDisc 0 MaxSize=198150B MinTh=16511 MaxTh=49537"),
    ],
)
def test_disciplines_have_the_parameters_of_linux(cell: str, way: int, told: str) -> None:
    link = " ".join(_words(_spec(cell), "link")[way])
    assert link.startswith(f"link {('up', 'down')[way]} {(1_000_000, 12_000_000)[way]} 3100 {told}")


def test_red_has_the_weight_and_the_probability_of_tc() -> None:
    link = _words(_spec("download.red-200kB"), "link")[1]
    assert {"QW=0.0625", "LInterm=50", "Gentle=false", "MeanPktSize=1500"} <= set(link)


def test_a_parameter_that_ns3_does_not_have_is_refused() -> None:
    spec = _spec("download.pie")
    up, down = spec.links
    qdisc = replace(up.qdisc, params={"bytemode": True})
    spec = replace(spec, links=(replace(up, qdisc=qdisc), down))
    with pytest.raises(ValueError, match="`pie bytemode`"):
        plan.of(spec)


def test_ecn_capable_datagrams_are_refused() -> None:
    spec = _spec("datagrams.flood.pie")
    flood, *others = (app for app in spec.apps if app.app.kind == "cbr")
    marked = replace(flood, app=replace(flood.app, params={**flood.app.params, "ecn": "ect1"}))
    spec = replace(spec, apps=(marked, *others))
    with pytest.raises(ValueError, match="`cbr`: ecn"):
        plan.of(spec)


def test_transfers_and_datagrams_are_what_the_trial_says() -> None:
    sized = _words(_spec("slow-start.file-up-500k.pfifo-100"), "tcp")
    assert [words[4:7] for words in sized] == [["0", "up", "500000"]]
    bursts = [list(map(int, words[2:5])) for words in _words(_spec("on-off.fq_codel"), "tcp")[1:]]
    assert [conn for conn, _, _ in bursts] == [0, 1, 2, 3, 4, 5]
    assert all(stop - start == 2_000_000_000 for _, start, stop in bursts)
    assert bursts[1][1] - bursts[0][1] == 5_000_000_000
    flood, probe = _words(_spec("datagrams.flood.pie"), "udp")
    assert flood[4:] == ["down", "904615", "1470", "0"]
    assert probe[4:] == ["up", "20000000", "172", "1"]


# --- The output of ns-3 ------------------------------------------------------------------------


def _passages(*rows: dict[str, int]) -> Any:
    made = np.zeros(len(rows), np.dtype(program.PASSAGE))
    for place, row in enumerate(rows):
        for name, value in row.items():
            made[name][place] = value
    return made


def test_a_record_is_as_long_as_the_programs() -> None:
    assert np.dtype(program.PASSAGE).itemsize == 48


def test_pairs_give_the_time_there_and_back_without_that_at_the_host() -> None:
    out = _passages(
        {"sent": 1_000_000, "arrived": 3_000_000},
        {"sent": 2_000_000, "arrived": 4_000_000},
        {"sent": 9_000_000},  # lost
    )
    back = _passages(
        {"sent": 4_000_000, "arrived": 14_000_000},  # at the arrival of the second packet
        {"sent": 5_000_000, "arrived": 15_000_000},  # without an unused packet to pair with
    )
    at_ns, rtt_ms = tables.round_trips(out, back)
    assert list(rtt_ms) == [12.0] and list(at_ns) == [8_000_000]


def test_what_begins_below_what_was_sent_was_sent_again() -> None:
    sent = [(0, 1448), (1448, 1448), (0, 1448), (2896, 1448), (1448, 1448), (4344, 0)]
    rows = [{"sequence": first, "payload": size} for first, size in sent]
    assert tables.retransmissions(_passages(*rows)) == 2
    other = [row | {"conn": 1} for row in rows[:2]]
    assert tables.retransmissions(_passages(*rows, *other)) == 2


FAKE = """#!{python}
import pathlib, sys
trial = sys.stdin.read()
folder = pathlib.Path(sys.argv[1])
(folder / "packets").write_bytes(bytes.fromhex("{packets}"))
(folder / "said").write_text("window 0 1 100000000 14480\\nreason down 3 Target exceeded drop\\n")
sys.exit(0 if "run 1 4000000000" in trial else "which trial?")
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """A function that replaces ns-3 by a program that writes the given packets."""

    def stands(packets: Any) -> None:
        path = tmp_path / "fake"
        path.write_text(FAKE.format(python=sys.executable, packets=packets.tobytes().hex()))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(program, "build", lambda: path)

    return stands


def test_a_trial_becomes_metrics(fake: Callable[[Any], None]) -> None:
    second, hop = 1_000_000_000, 10_000_000
    down = [
        {"sent": at, "offered": at, "out": at + hop, "arrived": at + 2 * hop, "length": 1500,
         "payload": 1448, "sequence": 1448 * n, "way": 1}
        for n, at in enumerate(range(second, 3 * second, 500_000_000))
    ]  # fmt: skip
    down.append({"sent": 3 * second, "offered": 3 * second, "length": 1500, "way": 1, "lost": 1})
    up = [
        {"sent": row["arrived"], "offered": row["arrived"], "out": row["arrived"],
         "arrived": row["arrived"] + hop, "length": 52}
        for row in down[:4]
    ]  # fmt: skip
    fake(_passages(*down, *up))
    cell = small().select(["alone.codel"])[0]
    outcome = ns3.run(cell.spec_json(1))
    values = trial_record.measure(cell.spec, trial_record.record(cell.spec, outcome)).values
    active_s = 4 - Stream(1, "start.bulk").below(50_000_001) / 1e9
    assert values["throughput"] == {"bulk down": pytest.approx(4 * 1500 * 8 / active_s / 1e6)}
    assert values["loss"] == {"bulk down": 20.0}
    assert values["drops"] == {"down": 60.0, "up": 0.0}
    assert values["rtt_p50"] == {"bulk down": 30.0}
    assert values["sojourn_p50"] == {"down": 10.0, "up": 0.0}
    assert values["reverse"] == {"bulk down": pytest.approx(4 * 52 * 8 / active_s / 1e6)}
    assert values["cwnd_mean"] == {"bulk down": 10.0}


def test_a_program_that_ends_early_says_why(fake: Callable[[Any], None]) -> None:
    fake(_passages())
    cell = small().select(["alone.codel"])[0]
    with pytest.raises(ns3.ProgramError, match="which trial"):
        ns3.run(cell.spec_json(2))


# --- Missing requirements ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tools", "said"),
    [({}, "`g\\+\\+` is not installed"), ({"g++": 0, "pkg-config": 1}, "ns-3 is not installed")],
)
def test_a_missing_ns3_is_named_before_anything_runs(
    tools: dict[str, int], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, status in tools.items():
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\nexit {status}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ns3.Ns3MissingError, match=said) as caught:
        engines.peer("ns3")
    assert caught.value.status == 2
    assert caught.value.hint is not None and "apt-get install" in caught.value.hint


def _installed() -> bool:
    try:
        return bool(program.flags())
    except ns3.Ns3MissingError:
        return False


@pytest.mark.skipif(not _installed(), reason="ns-3 is not installed")
def test_ns3_fills_a_line() -> None:
    cell = small().select(["alone.codel"])[0]
    first, second = (ns3.run(cell.spec_json(1)) for _ in range(2))
    assert first["digest"] == second["digest"]
    values = trial_record.measure(cell.spec, trial_record.record(cell.spec, first)).values
    assert 3.5 < values["throughput"]["bulk down"] < 4
    assert 20 <= values["rtt_p5"]["bulk down"] < 30
    assert values["loss"]["bulk down"] > 0
