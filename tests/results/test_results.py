import gc
import json
import shutil
import tempfile
from pathlib import Path

import polars as pl
import pytest
from aqmlab.api import Results, load
from aqmlab.base.failures import RequestError
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.store import dataset, snapshot
from aqmlab.results.summary import lines
from support.campaigns import campaign_of, grid


def test_tables_are_attributes_and_are_read_once(home_results):
    assert home_results.flows is home_results.table("flows")
    assert isinstance(home_results.rtt, pl.DataFrame)
    assert "windows" in dir(home_results)
    with pytest.raises(AttributeError):
        _ = home_results.flow
    with pytest.raises(RequestError, match="no table `flow`"):
        home_results.table("flow")


def test_json_has_what_was_promised_and_no_nan(home_results):
    trials = json.loads(json.dumps(home_results.to_json(), allow_nan=False))
    assert len(trials) == 12
    trial = trials[0]
    assert set(trial) == {"id", "conditions", "seed", "digest", "flows", "verdicts"}
    assert trial["conditions"] == {"queue": "pfifo", "rate": "25/5 Mbit/s"}
    call = trial["verdicts"]["call"]
    assert call["verdict"] == "bad" and call["because"].startswith("one-way delay 3")
    delay, loss = call["needs"]
    assert delay["margin"] < -1 and len(delay["interval"]) == 2 and loss["value"] == 0.0
    assert delay["difference"] is None, "it is the first condition"
    other = trials[-1]["verdicts"]["call"]["needs"][0]["difference"]
    assert other["least"] <= other["median"] <= other["most"] < 0
    flow = next(one for one in trial["flows"] if one["name"] == "film")
    assert set(flow["throughput_mbit"]) == {"mean", "p5", "p25", "p50", "p75", "p95"}
    assert set(flow["rtt_ms"]) == {"p5", "p25", "p50", "p75", "p95", "p99"}
    assert flow["direction"] == "down" and flow["loss_percent"] == 0.0
    assert flow["app"] == {"ar_median_mbit": 4.5, "rr_median_mbit": 4.2, "stalled_percent": 0.5}


def test_a_folder_that_changes_all_the_time_is_read_as_often_as_stated(home_results, monkeypatch):
    results = load(home_results.path)
    reads = []

    def read():
        reads.append(1)
        raise RequestError("it has changed")

    monkeypatch.setattr(results, "_renewed", lambda: True)
    with pytest.raises(RequestError, match="it has changed"):
        results._read(read)
    assert len(reads) == snapshot.TRIES


def test_lines_are_medians_over_seeds(home_results):
    found = list(lines(home_results))
    assert len(found) == 3 * 2 * 5 and {line.seeds for line in found} == {2}
    first = home_results.flows.filter(pl.col("trial").is_in(["trial-0", "trial-1"]))
    expected = first.filter(pl.col("flow") == "sensor")["rtt_p95_ms"].median()
    assert found[0].rtt_p95_ms == pytest.approx(expected)


def test_the_range_over_seeds_is_told_beside_the_median(home_results, tmp_path):
    first = next(lines(home_results))
    own = home_results.flows.filter(pl.col("trial").is_in(["trial-0", "trial-1"]))
    seen = own.filter((pl.col("flow") == first.app) & pl.col("primary"))["rtt_p95_ms"]
    assert first.ranges["rtt_p95_ms"] == (seen.min(), seen.max())
    assert seen.min() < seen.max()
    flows = home_results.to_json()[0]["flows"]
    told = next(one for one in flows if one["name"] == first.app and one["primary"])["over_seeds"]
    assert told["seeds"] == 2
    assert told["rtt_p95_ms"] == {
        "median": first.rtt_p95_ms, "least": seen.min(), "most": seen.max()
    }  # fmt: skip
    assert all(one["primary"] == ("over_seeds" in one) for one in flows)


def test_what_is_not_a_campaign_is_refused(tmp_path):
    with pytest.raises(RequestError, match="not the folder of a campaign"):
        load(tmp_path)
    for text in ("{", "[]", '{"format": 99}'):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(RequestError, match=r"manifest\.json"):
            load(tmp_path)


def test_the_spec_of_a_trial_can_be_run_again(home_results):
    spec = home_results.spec("trial-3")
    assert spec.seed == 2 and spec.links[0].name == "up"
    with pytest.raises(RequestError, match="no finished trial `x`"):
        home_results.spec("x")


def test_results_without_a_folder_of_their_own_clean_up(tmp_path):
    owned = tempfile.TemporaryDirectory(dir=tmp_path)
    path = Path(owned.name)
    campaigns.run(campaign_of(grid(("pie",), seeds=(1,))), path, jobs=1)
    results = Results(path, owned)
    assert results.figure("throughput") and path.exists()
    del results, owned
    gc.collect()
    assert not path.exists()


@pytest.mark.parametrize("text", ['{"format": 3}', '{"format": 3, "campaign": 5}', "[" * 100_000])
def test_a_damaged_manifest_is_said_in_words(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(RequestError, match=r"manifest\.json: (cannot be read|is damaged)"):
        load(tmp_path)


def test_a_damaged_table_is_said_in_words(home_results, tmp_path):
    shutil.copytree(home_results.path, tmp_path / "copy")
    (file,) = (tmp_path / "copy" / "tables" / "flows").glob("*/*.parquet")
    file.write_bytes(b"PAR1")
    with pytest.raises(RequestError, match=r"rows\.parquet: is damaged: it has 4 bytes, not"):
        load(tmp_path / "copy").table("flows")
    file.unlink()
    with pytest.raises(RequestError, match=r"rows\.parquet: is damaged: it is missing"):
        load(tmp_path / "copy").table("flows")


def test_verdicts_are_the_same_a_chunk_at_a_time(home_results, tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "CHUNK", 5)
    campaigns.run(campaign_of(grid(rates=((25, 5), (12, 1)))), tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    parts = list(results.by_chunk())
    assert [len(one.manifest.trials) for one in parts] == [5, 5, 2]
    assert [one.height("flows") for one in parts] == [25, 25, 10]
    assert results.table("verdicts").equals(home_results.table("verdicts"))


def test_verdicts_of_some_trials_are_theirs(home_results):
    assert {one.seeds for one in home_results.judged} == {2}
    some = home_results.narrowed(["trial-0", "trial-4"])
    assert {one.seeds for one in some.judged} == {1}
    table = some.table("verdicts")
    assert table["queue"].unique(maintain_order=True).to_list() == ["pfifo", "pie"]
    assert some.height("verdicts") == len(table)


def test_narrowed_results_say_nothing_of_other_trials(home_results):
    names = ["trial-4", "trial-0"]
    some = home_results.narrowed(names)
    for table in home_results.tables:
        assert set(some.scan(table).collect()["trial"]) <= set(names), table
    assert [one.id for one in some.manifest.trials] == ["trial-0", "trial-4"]
    assert some.labels == {name: home_results.labels[name] for name in ("trial-0", "trial-4")}
    assert some.complete and some.digest not in (None, home_results.digest)
    assert {one.seeds for one in some.judged} == {1}
    assert some.narrowed(["trial-4"]).flows["trial"].unique().to_list() == ["trial-4"]
    with pytest.raises(RequestError, match=r"(?s)files.*scan"):
        some.files("flows")


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["trial-0", "trail-1"], "unknown trial `trail-1`.*did you mean `trial-1`"),
        ("trial-1", r"`trial-1` is a text.*\[\"trial-1\"\]"),
        (["x"], "unknown trial `x`.*there are trial-0"),
        ([3], "unknown trial `3`"),
    ],
)
def test_names_of_no_trials_are_refused_with_those_there_are(home_results, names, told):
    with pytest.raises(RequestError, match=f"(?s){told}"):
        home_results.narrowed(names)


def test_a_narrowed_campaign_has_only_its_own_trials_to_narrow(home_results):
    with pytest.raises(RequestError, match="unknown trial `trial-1`"):
        home_results.narrowed(["trial-0"]).narrowed(["trial-1"])


def test_the_files_of_a_part_are_those_of_its_trials(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "CHUNK", 4)
    campaigns.run(campaign_of(grid()), tmp_path, jobs=1)
    whole = load(tmp_path)
    parts = list(whole.by_chunk())
    assert len(parts) == 2
    for part in parts:
        names = [one.id for one in part.manifest.trials]
        for path in part.files("flows"):
            assert set(pl.read_parquet(path)["trial"]) <= set(names)
        assert part.labels == {name: whole.labels[name] for name in names}
        assert len(part.manifest.digests) == len(names)
    assert [one for part in parts for one in part.files("flows")] == whole.files("flows")
