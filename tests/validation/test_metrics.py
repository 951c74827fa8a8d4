"""Metrics of a trial."""

from __future__ import annotations

import json

import pytest
from aqmlab import _core
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.validation import curves, exchangeable, trial_record
from aqmlab.validation.metrics import BY_NAME, METRICS, Scale
from support.campaigns import app, spec_of

from .support import small


def _kept(name: str, seed: int = 1) -> tuple[TrialSpec, dict]:
    cell = small().select([name])[0]
    spec = cell.spec.with_seed(seed)
    return cell.spec, trial_record.record(spec, _core.run(spec.text()))


def test_a_record_survives_json_to_the_bit() -> None:
    _, kept = _kept("both.*")
    assert json.loads(json.dumps(kept, allow_nan=False)) == kept


def test_every_item_of_a_trial_has_its_numbers() -> None:
    spec, kept = _kept("alone.codel")
    found = trial_record.measure(spec, kept)
    assert set(found.values["sojourn_p50"]) == {"up", "down"}
    assert set(found.values["throughput"]) == {"bulk down"}
    assert found.values["throughput"]["bulk down"] == pytest.approx(4, rel=0.1)
    assert 20 <= found.values["rtt_p5"]["bulk down"] < found.values["rtt_p99"]["bulk down"]
    assert found.values["cwnd_peaks"]["bulk down"] >= 0
    queues = {row["link"]: row for row in trial_record.rows(kept["tables"]["queues"])}
    share = 100 * queues["down"]["drops_sojourn"] / queues["down"]["packets_offered"]
    assert found.values["drops"]["down"] == pytest.approx(share)


def test_copies_that_are_alike_are_put_in_order() -> None:
    spec, kept = _kept("both.*")
    items = trial_record.measure(spec, kept).values["throughput"]
    assert [item for item in items if "bulk" in item] == ["bulk#1 down", "bulk#2 down"]
    assert items["bulk#1 down"] <= items["bulk#2 down"]
    assert set(kept["series"]["cwnd_bytes"]) == {"bulk#1 down", "bulk#2 down"}


def test_copies_that_start_apart_are_not_alike() -> None:
    apart = spec_of("pie", apps=[app("a-1"), app("a-2", start_ns=5)])
    assert exchangeable.alike_of(apart) == {}
    together = spec_of("pie", apps=[app("a-1"), app("a-2")])
    assert exchangeable.alike_of(together) == {"a-1": "a", "a-2": "a"}


def test_a_value_that_is_missing_is_none_and_not_a_number_never_gets_into_a_record() -> None:
    _, kept = _kept("both.*")
    assert "NaN" not in json.dumps(kept)


def test_resolutions_are_one_packet_one_tenth_of_a_millisecond_and_the_like() -> None:
    scale = Scale(duration_s=30, packets=2_000, rate_bps=1e6)
    assert BY_NAME["throughput"].resolution(scale) == pytest.approx(0.0004)
    assert BY_NAME["loss"].resolution(scale) == pytest.approx(0.05)
    assert BY_NAME["utilisation"].resolution(scale) == pytest.approx(0.0004)
    assert BY_NAME["rtt_p95"].resolution(scale) == 0.1
    assert BY_NAME["cwnd_peaks"].resolution(scale) == pytest.approx(1 / 30)


def test_metrics_have_names_of_their_own() -> None:
    assert len(BY_NAME) == len(METRICS)
    assert {metric.of for metric in METRICS} == {"flow", "link"}


def test_peaks_are_counted_once_however_long_the_fall() -> None:
    assert curves.peaks([10, 20, 30, 27, 20, 15, 10, 9, 12, 20, 30, 20]) == 2
    assert curves.peaks([10.0] * 9) == 0
    assert curves.peaks([100, 95, 100, 95, 100]) == 0
