"""The simulator's disciplines treat each packet as the kernel's disciplines do."""

from __future__ import annotations

from pathlib import Path

import pytest
from aqmlab.engines.kernel import arrivals, traces
from aqmlab.engines.kernel.errors import MachineError, RefusedError
from aqmlab.engines.kernel.settings import SETTINGS

KEPT = sorted((Path(__file__).parents[2] / "data" / "traces").glob("*.json.xz"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name.partition(".")[0])
def test_ours_does_what_the_kernel_was_recorded_to_do(path: Path) -> None:
    outcome = traces.compare(traces.load(path))
    assert outcome.difference is None
    assert outcome.same["offered"] >= 1_000
    assert outcome.same["dropped"] > 0


def test_a_recording_of_every_discipline_is_kept() -> None:
    kinds = {traces.load(path)["qdisc"]["kind"] for path in KEPT}
    assert kinds == set(SETTINGS)


@pytest.mark.parametrize("kind", ["codel", "fq_codel", "sfq", "red", "pie", "cake"])
def test_a_drop_that_the_kernel_did_not_make_is_found(kind: str) -> None:
    path = next(path for path in KEPT if path.name.startswith(f"{kind}-"))
    changed = dict(traces.load(path))
    changed["drops"] = changed["drops"][1:]
    said = traces.compare(changed).difference
    assert said is not None
    assert said.startswith(f"operation {traces.load(path)['drops'][0][0]} at")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("codel-1", {"target": 5_500_000}),
        ("codel-3", {"interval": 10_100_000}),
        ("fq_codel-2", {"quantum": 301}),
        ("fq_codel-3", {"interval": 31_000_000}),
        ("sfq-2", {"quantum": 401}),
        ("pie-1", {"beta": 21}),
        ("red-1", {"probability": 0.101}),
        ("cake-6", {"memlimit": 149_000}),
        ("cake-21", {"overhead": 1}),
    ],
)
def test_a_slightly_different_setting_is_found(name: str, change: dict[str, float]) -> None:
    (path,) = (path for path in KEPT if path.name.startswith(name))
    changed = dict(traces.load(path))
    changed["qdisc"] = {
        "kind": changed["qdisc"]["kind"],
        "params": changed["qdisc"]["params"] | change,
    }
    assert traces.compare(changed).difference is not None


def test_packets_are_the_same_for_a_seed_and_a_prefix_of_longer_traces() -> None:
    short, whole = (arrivals.draw(3, count, 10_000_000) for count in (500, 1_000))
    assert whole.packets[:500] == short.packets
    assert arrivals.draw(4, 500, 10_000_000) != short
    assert all(64 <= size <= 1_500 for _, _, size in whole.packets)


def test_a_discipline_that_cannot_be_traced_is_refused_by_name() -> None:
    with pytest.raises(RefusedError, match="`choke` cannot be traced; there are pfifo"):
        traces.make("choke", 0, packets=10)


def _late(recording: traces.Recording) -> traces.Recording:
    """The recording with a timer that ran late by 29 ms."""
    place = recording["updates"][len(recording["updates"]) // 2]
    time = list(recording["time"])
    time[place] += 29_000_000
    return {**recording, "time": time}


@pytest.mark.parametrize("late", [1, 3, 4])
def test_a_recording_with_a_late_timer_is_repeated(
    monkeypatch: pytest.MonkeyPatch, late: int
) -> None:
    good = traces.load(next(path for path in KEPT if path.name.startswith("pie-")))
    with pytest.raises(ValueError, match=r"its timer was .* ns late"):
        traces.compare(_late(good))
    made: list[int] = []

    def record(jobs: list[traces.Trace], **_: object) -> list[traces.Recording]:
        made.append(len(jobs))
        return [_late(good) if len(made) <= late else good for _ in jobs]

    monkeypatch.setattr(traces, "record", record)
    monkeypatch.setattr(traces.agent, "find", lambda say: Path("agent"))
    runs = traces.run(["pie"], count=1, packets=10, workers=1)
    if late == 4:
        with pytest.raises(MachineError, match="trace 0 of `pie`: none of 4 recordings"):
            list(runs)
    else:
        assert [each.difference for each in runs] == [None]
    assert made == [1] * min(late + 1, 4)


@pytest.mark.vm
@pytest.mark.parametrize("kind", SETTINGS)
def test_ours_does_what_the_kernel_does_now(kind: str) -> None:
    """Records and compares a new trace, whose packets are in no stored recording."""
    (recording,) = traces.record([traces.make(kind, 0, packets=1_000, seed=7)])
    outcome = traces.compare(recording)
    assert outcome.difference is None
    assert outcome.same["offered"] == 1_000


@pytest.mark.vm
def test_the_kernel_counts_what_was_recorded() -> None:
    """The kernel's counters agree with the recording, so the probes missed nothing."""
    (recording,) = traces.record([traces.make("codel", 1, packets=2_000)])
    same = traces.compare(recording).same
    own = recording["statistics"].partition("qdisc codel")[2]
    assert f"{same['given']} pkt (dropped {same['dropped']}," in own
    assert f"ecn_mark {same['marked']} " in own
