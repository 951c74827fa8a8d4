"""The chunks of video streams, in one table."""

import json

import polars as pl
from aqmlab.studies import chunks, draw
from msgspec import structs
from support.campaigns import app, campaign_of, spec_of

APPS = [app("film", "dash", rtt_ms=20), app("call", "voip", rtt_ms=20)]

METRICS = {"ar_mbit": 2.0, "rr_mbit": 1.0, "fetch_s": 0.5, "chunk_bytes": 125_000.0}


class Results:
    """Two trials in reverse order of their names. Only the middle of `b` is measured."""

    def __init__(self):
        self.memo = {}
        specs = [({"qdisc": "pie"}, spec_of("pie", apps=APPS))] * 2
        facts = campaign_of(specs).about
        trials = (structs.replace(facts.trials[0], id=name) for name in "ba")
        self.manifest = structs.replace(facts, trials=tuple(trials))
        spec = json.dumps({"measure": {"from_ns": 10_000_000_000, "to_ns": 20_000_000_000}})
        trials = {"trial": ["b", "a"], "qdisc": ["PIE", "FIFO"], "seed": [1, 1]}
        rows = [
            {"trial": trial, "qdisc": qdisc, "seed": 1, "flow": flow, "t_s": t_s}
            | {"metric": metric, "value": value * t_s}
            for trial, qdisc in (("b", "PIE"), ("a", "FIFO"))
            for flow in ("film", "call")
            for t_s in (5.0, 12.0, 14.0, 21.0)
            for metric, value in METRICS.items()
        ]
        self.tables = {
            "trials": pl.DataFrame({**trials, "spec": [spec, '{"measure": {}}']}),
            "app_series": pl.DataFrame(rows),
        }

    def table(self, name):
        return self.tables[name]


def test_a_chunk_is_a_row_in_the_order_of_the_campaign_if_it_came_in_the_measured_time():
    found = chunks.of(Results())
    assert found["flow"].unique().to_list() == ["film"]
    assert found.filter(trial="b")["t_s"].to_list() == [12.0, 14.0]
    assert found.filter(trial="a")["t_s"].to_list() == [5.0, 12.0, 14.0, 21.0]  # measured from 0 s
    assert found["qdisc"].unique(maintain_order=True).to_list() == ["PIE", "FIFO"]
    assert found.row(0, named=True)["chunk_bytes"] == 12 * 125_000


def test_a_condition_may_be_called_like_a_bound_of_the_measured_interval():
    results = Results()
    trial = pl.col("trial").replace({"b": "early", "a": "late"}).alias("from")
    results.tables = {name: frame.with_columns(trial) for name, frame in results.tables.items()}
    found = chunks.of(results)
    assert found.filter(trial="b")["t_s"].to_list() == [12.0, 14.0]
    assert found["from"].unique(maintain_order=True).to_list() == ["early", "late"]


def test_medians_of_chunks_have_a_series_for_each_rate():
    rows = draw.chunk_medians("film", {"AR": "ar_mbit", "RR": "rr_mbit"})(Results())
    found = {(row["series"], row["qdisc"]): row["middle"] for row in rows.rows(named=True)}
    assert found == {("AR", "PIE"): 26, ("AR", "FIFO"): 26, ("RR", "PIE"): 13, ("RR", "FIFO"): 13}
    assert rows["qdisc"][0] == "PIE"
