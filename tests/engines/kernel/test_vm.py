"""One home on the real kernel. Each machine takes about ten seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aqmlab import _core
from aqmlab.engines.kernel import agent, engine, image, machine
from aqmlab.engines.kernel.errors import MachineError, RefusedError

from .trials import app, text, trial

pytestmark = pytest.mark.vm


def row(table: dict[str, Any], flow: str, direction: str) -> dict[str, Any]:
    """The row of a flow and direction."""
    wanted = [*zip(table["flow"], table["direction"], strict=True)].index((flow, direction))
    return {name: values[wanted] for name, values in table.items()}


def test_a_home_fills_its_line_and_the_same_seed_gives_the_same_run() -> None:
    apps = app("bulk", "bulk"), app("ping", "ping", delay_ms=5, interval=200_000_000)
    spec = text(trial(*apps, kind="fq_codel", seconds=4))
    one, two = engine.run(spec), engine.run(spec)
    assert one["digest"] == two["digest"]
    flows = one["tables"]["flows"]
    bulk, ping = row(flows, "bulk", "down"), row(flows, "ping", "up")
    model = row(_core.run(spec)["tables"]["flows"], "bulk", "down")
    assert bulk["throughput_p95_mbit"] == pytest.approx(model["throughput_p95_mbit"], rel=0.02)
    assert bulk["packets_received"] > 2_000
    assert 40 <= bulk["rtt_min_ms"] < 43
    assert 10 <= ping["rtt_min_ms"] < 13  # this application has its own delay
    queues = one["tables"]["queues"]
    assert queues["link"] == ["up", "down"]
    assert np.all(queues["utilisation"] <= 1.01)


def test_a_busy_neighbour_changes_nothing() -> None:
    """Runs two machines on one core, together with two other busy processes."""
    core = str(min(os.sched_getaffinity(0)))
    one_core = ["taskset", "--cpu-list", core]
    spec = text(trial(app("bulk", "bulk"), kind="pie", seconds=3))
    alone = engine.run(spec)
    spin = [sys.executable, "-c", "while True: pass"]
    neighbours = [subprocess.Popen([*one_core, *spin]) for _ in range(2)]
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {int(core)})
        with ThreadPoolExecutor(2) as pool:
            crowded = list(pool.map(engine.run, [spec, spec]))
    finally:
        os.sched_setaffinity(0, before)
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
    for run in crowded:
        assert (run["digest"], run["packets"]) == (alone["digest"], alone["packets"])
        for name, table in alone["tables"].items():
            for column, values in table.items():
                np.testing.assert_array_equal(run["tables"][name][column], values)


def test_the_seed_moves_what_the_kernel_itself_draws() -> None:
    """PIE drops at random, so machines that differ only in their seed drop different packets."""
    spec = text(trial(app("bulk", "bulk"), kind="pie", seconds=4))
    made = image.build(agent.find())
    results = [machine.parse(machine.run(made, spec, seed=seed, patience_s=300)) for seed in (1, 2)]
    assert results[0]["digest"] != results[1]["digest"]


def test_disciplines_of_ours_do_what_the_kernels_do_and_know_more() -> None:
    apps = app("bulk", "bulk"), app("ping", "ping", delay_ms=5, interval=200_000_000)
    spec = trial(*apps, kind="fq_codel", seconds=4)
    spec["measure"] = {"from_ns": 1_000_000_000, "sample_ns": 100_000_000}
    one, two, theirs = (
        engine.run(text(spec), qdisc_source=source) for source in ("sim", "sim", "kernel")
    )
    assert one["digest"] == two["digest"]
    for name, flow, direction in (
        ("throughput_mean_mbit", "bulk", "down"),
        ("rtt_p50_ms", "bulk", "down"),
        ("rtt_p50_ms", "ping", "up"),
    ):
        both = [row(run["tables"]["flows"], flow, direction)[name] for run in (one, theirs)]
        assert both[0] == pytest.approx(both[1], rel=0.03), name
    queues, drops = one["tables"]["queues"], one["tables"]["queue_drops"]
    assert queues["drops_sojourn"][1] == sum(drops["drops"]) > 0
    assert queues["drops_overlimit"][1] == 0


def test_a_discipline_that_the_kernel_lacks_runs_between_its_tcps() -> None:
    spec = trial(app("bulk", "bulk"), kind="pie_freebsd", seconds=4)
    with pytest.raises(RefusedError, match="the kernel does not have it"):
        engine.run(text(spec))
    tables = engine.run(text(spec), qdisc_source="sim")["tables"]
    assert tables["queues"]["packets_out"][1] > 2_000


def test_a_fifo_that_is_full_drops() -> None:
    tables = engine.run(text(trial(app("bulk", "bulk"), limit=20, seconds=4)))["tables"]
    drops = tables["queues"]["drops_overlimit"][1]
    bulk = row(tables["flows"], "bulk", "down")
    assert 0 < drops == bulk["lost"]
    assert bulk["retransmissions"] >= drops
    assert max(tables["queue_series"]["backlog_packets"]) <= 20
    assert tables["queue_drops"]["link"] == ["down"]
    assert [*tables["queue_drops"]["drops"]] == [drops]
    # There is only one connection, so the hosts' counters are the connection's counters.
    assert tables["conns"]["fast_recoveries"][0] > 0 == tables["conns"]["ece_reductions"][0]


def test_marks_and_reductions_for_them_are_known_and_packets_can_be_kept(tmp_path: Path) -> None:
    marked, other = app("bulk", "bulk"), app("two", "bulk", direction="up")
    for side in ("home", "wan"):
        marked[side] |= {"ecn": True}
    spec = trial(marked, other, kind="fq_codel", seconds=4, ecn=True)
    spec["measure"] = {"packets": True}
    files = str(tmp_path / "home.pcap"), str(tmp_path / "wan.pcap")
    tables = engine.run(text(spec), captures=files)["tables"]
    queues, whose, conns = (tables[name] for name in ("queues", "queue_drops", "conns"))
    assert [sum(whose["marks"]), sum(whose["drops"])] == [
        sum(queues["marks"]),
        sum(queues["drops_sojourn"]),
    ]
    assert 0 < conns["ece_reductions"][0] <= sum(whose["marks"])
    assert conns["ece_reductions"][1] == 0 and np.isnan(conns["rtos"]).all()
    assert set(tables["queue_gauges"]["gauge"]) == {"new_flows", "old_flows"}
    read = _core.spp(*files)
    assert read["first_matched"] == read["second_matched"] > 4_000


def test_a_full_line_is_the_simulators_to_the_microsecond() -> None:
    """Sends more datagrams than an ADSL line carries, to test the path without TCP."""
    load = app("load", "cbr", payload=472, rate=1_500_000, direction="down") | {"priority": 1}
    spec = trial(load, kind="pfifo", limit=20, seconds=3)
    spec["links"][1] |= {
        "rate_bps": 1_000_000,
        "overhead": {"bytes": 40, "atm": True, "counted": 14},
    }
    spec["measure"] = {"from_ns": 1_000_000_000}
    real, model = (run(text(spec))["tables"] for run in (engine.run, _core.run))
    for name, table in model.items():
        assert [*real[name]] == [*table], name
    for name in ("throughput_mbit", "utilisation", "sojourn_p5_ms", "sojourn_p50_ms"):
        ours, theirs = (tables["queues"][name][1] for tables in (model, real))
        assert theirs == pytest.approx(ours, rel=2e-3), name
    ours, theirs = (tables["flows"]["owd_p50_ms"][0] for tables in (model, real))
    assert theirs == pytest.approx(ours, abs=0.5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"profile": "freebsd"}, r"apps\[0\]\.home\.profile: `freebsd`"),
        ({"cc": {"kind": "compound", "params": {}}}, r"apps\[0\]\.home\.cc: `compound`"),
    ],
)
def test_hosts_that_are_not_linux_are_refused(change: dict[str, Any], said: str) -> None:
    wrong = app("bulk", "bulk")
    wrong["home"] |= change
    with pytest.raises(RefusedError, match=said):
        engine.run(text(trial(wrong)))


def test_a_kernel_that_panics_is_reported_with_its_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    broken = tmp_path / "agent"
    broken.write_bytes(b"\x7fELF is what programs begin with, but not how they go on")
    with pytest.raises(MachineError, match=r"kernel died(.|\n)*Kernel panic - not syncing"):
        machine.run(image.build(broken), text(trial(app("bulk", "bulk"), seconds=1)), seed=1)
