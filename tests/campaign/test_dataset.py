"""The tables of a campaign in chunks: when a chunk is sealed, and how other programs read it."""

import os
import re
import shutil
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pyarrow.dataset
import pyarrow.parquet
import pytest
from aqmlab.base.failures import RequestError
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.store import dataset, parquet
from aqmlab.cli import status_of
from aqmlab.results.results import load
from support import fake_engine
from support.campaigns import HERE, bytes_of, campaign_of, grid, last_byte_of, spec_of
from support.processes import wait_for

from .test_campaign import half_waiting, start_in_another_process


@pytest.fixture
def small_chunks(monkeypatch):
    """Sets the size of chunks to four trials."""
    monkeypatch.setattr(dataset, "CHUNK", 4)


def twelve():
    return campaign_of(grid(seeds=(1, 2, 3, 4)))


def test_every_table_is_a_partitioned_data_set(tmp_path, small_chunks):
    campaigns.run(twelve(), tmp_path / "out", jobs=2)
    results = load(tmp_path / "out")
    for name in results.tables:
        folder = tmp_path / "out" / "tables" / name
        files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet"))
        assert files == [f"chunk={chunk:04d}/rows.parquet" for chunk in range(3)]
        ours = results.table(name)
        stored = pl.read_parquet(folder).drop("chunk")
        assert stored.equals(ours.select(stored.columns), null_equal=True)
        arrow = pyarrow.dataset.dataset(folder, partitioning="hive").to_table()
        assert arrow.num_rows == len(ours) and arrow["chunk"].unique().to_pylist() == [0, 1, 2]
    assert not (tmp_path / "out" / "trials").exists()
    assert results.scan("flows").select(pl.len()).collect().item() == len(results.flows)


@pytest.mark.parametrize("rows", [1, 2, 3, 1000])
def test_groups_of_rows_of_any_size_give_the_same_tables(tmp_path, monkeypatch, rows):
    campaigns.run(twelve(), tmp_path / "one", jobs=1)
    # With a size of 1, the last trial completes a group, and no rows remain after it.
    monkeypatch.setattr(parquet, "ROWS_PER_GROUP", rows)
    campaigns.run(twelve(), tmp_path / "many", jobs=1)
    one, many = load(tmp_path / "one"), load(tmp_path / "many")
    assert one.tables == many.tables
    for name in one.tables:
        assert one.table(name).equals(many.table(name), null_equal=True)


@pytest.mark.parametrize("kept", [0, 60_000, 2**26])
def test_files_that_memory_does_not_hold_are_read_again(tmp_path, small_chunks, monkeypatch, kept):
    campaigns.run(twelve(), tmp_path / "fresh", jobs=1)
    opened = Counter()

    class Counted(parquet.TrialFile):
        def __init__(self, path):
            opened[path.name] += 1
            super().__init__(path)

    monkeypatch.setattr(parquet, "TrialFile", Counted)
    monkeypatch.setattr(dataset, "KEPT_BYTES", kept)
    campaigns.run(twelve(), tmp_path / "out", jobs=1)
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "fresh")
    expected = {0: {2}, 60_000: {1, 2}, 2**26: {1}}
    assert len(opened) == 12 and set(opened.values()) == expected[kept]


def test_a_trial_file_that_gains_a_table_while_it_is_read_is_refused(tmp_path, monkeypatch):
    opened = Counter()

    class Gaining(parquet.TrialFile):
        def names(self):
            yield from super().names()
            if opened[self.origin.trial] > 1:
                yield "more"

        def __enter__(self):
            opened[self.origin.trial] += 1
            return self

    monkeypatch.setattr(parquet, "TrialFile", Gaining)
    monkeypatch.setattr(dataset, "KEPT_BYTES", 0)
    with pytest.raises(RequestError, match="its contents are not those recorded"):
        campaigns.run(twelve(), tmp_path / "out", jobs=1)


def test_chunks_are_sealed_while_others_run(tmp_path, small_chunks):
    specs = grid(queues=("pfifo",), seeds=range(1, 7))
    specs.insert(4, ({"queue": "pie", "rate": ""}, spec_of("pie", behaviour="crash once", seed=9)))
    folder = tmp_path / "out"
    assert set(campaigns.run(campaign_of(specs), folder, jobs=2).failed) == {"trial-4"}
    names = ["00005.trial", "00006.trial", "chunk=0000.json"]
    assert sorted(path.name for path in folder.glob("trials/*")) == names
    names = [f"trial-{index}" for index in (0, 1, 2, 3, 5, 6)]
    assert load(folder).trials["trial"].to_list() == names
    assert load(folder).flows["trial"].unique(maintain_order=True).to_list() == names

    (tmp_path / "mended").touch()
    assert campaigns.run(campaign_of(specs), folder, jobs=2).run == 1
    campaigns.run(campaign_of(specs), tmp_path / "fresh", jobs=1)
    assert bytes_of(folder) == bytes_of(tmp_path / "fresh")


RATES = ["rate_down_mbit", "rate_up_mbit"]


def test_files_of_a_table_have_the_same_columns_in_the_end(tmp_path, small_chunks):
    specs = [
        *(({"flow": str(seed)}, spec_of("pie", seed=seed)) for seed in (1, 2, 3, 4)),
        *(({"share": seed / 2}, spec_of("pie", seed=seed, extra="yes")) for seed in (5, 6)),
    ]
    campaigns.run(campaign_of(specs), tmp_path / "out", jobs=2)
    for name in ("flows", "summary"):
        files = (tmp_path / "out" / "tables" / name).rglob("*.parquet")
        first, second = (pl.read_parquet_schema(path) for path in sorted(files))
        assert first == second
        front = [*RATES, "rtt_base_ms"] if name == "summary" else RATES
        assert list(first)[: len(front) + 4] == ["trial", "condition.flow", "share", *front, "seed"]
    extra = load(tmp_path / "out").summary["extra"].to_list()
    assert extra == [None] * 4 + ["yes"] * 2


def test_a_killed_campaign_runs_no_trial_again_that_was_recorded(tmp_path):
    folder = tmp_path / "out"
    process = start_in_another_process(folder, session=True)
    wait_for(lambda: len(list(folder.glob("trials/*.trial"))) == 6 and len(fake_engine.runs()) == 8)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (tmp_path / "mended").touch()
    assert campaigns.run(half_waiting(), folder, jobs=2).run == 6
    begun = Counter(fake_engine.runs())
    assert {name for name, count in begun.items() if count == 2} == {"pie-1", "pie-2"}
    assert len(begun) == 12 and sum(begun.values()) == 12 + 2
    campaigns.run(half_waiting(), tmp_path / "fresh", jobs=1)
    assert bytes_of(folder) == bytes_of(tmp_path / "fresh")


def test_a_trial_whose_worker_dies_is_run_again(tmp_path):
    specs = grid(queues=("pie",), seeds=(1, 2))
    specs.append(({"queue": "pie", "rate": ""}, spec_of("pie", behaviour="crash twice", seed=7)))
    assert not campaigns.run(campaign_of(specs), tmp_path / "out", jobs=2).failed
    assert Counter(fake_engine.runs()) == {"pie-1": 1, "pie-2": 1, "pie-7": 3}


def test_a_trial_that_kills_its_workers_fails_alone(tmp_path):
    specs = grid(queues=("pie",), seeds=(1, 2))
    specs.append(({"queue": "pie", "rate": ""}, spec_of("pie", behaviour="crash", seed=7)))
    report = campaigns.run(campaign_of(specs), tmp_path / "out", jobs=2)
    assert report.failed == {"trial-2": "the process that ran it was killed by SIGKILL"}
    assert Counter(fake_engine.runs()) == {"pie-1": 1, "pie-2": 1, "pie-7": 3}


def test_any_executor_will_do(tmp_path):
    with ThreadPoolExecutor(2) as executor, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        assert campaigns.run(twelve(), tmp_path / "threads", executor=executor).run == 12
    campaigns.run(twelve(), tmp_path / "out", jobs=2)
    assert bytes_of(tmp_path / "threads") == bytes_of(tmp_path / "out")


def damaged(folder, table="flows", chunk=1):
    """Completes a campaign of three chunks, and truncates a file. Returns the path of the file."""
    campaigns.run(twelve(), folder, jobs=2)
    path = folder / "tables" / table / f"chunk={chunk:04d}" / "rows.parquet"
    path.write_bytes(path.read_bytes()[:300])
    return path


def test_a_damaged_file_is_named_with_what_to_remove_and_only_its_trials_run_again(
    tmp_path, small_chunks, capsys
):
    folder = tmp_path / "out"
    path = damaged(folder)
    hint = f"remove {folder}/tables/*/chunk=0001 and run the campaign's command again"
    for ask in (lambda one: one.flows, lambda one: one.height("flows")):
        with pytest.raises(RequestError, match=r"chunk=0001/rows\.parquet: is damaged") as caught:
            ask(load(folder))
        assert hint in caught.value.hint
    for question in ("SELECT count(*) FROM flows", "SELECT flow FROM flows"):
        assert status_of(["query", str(folder), question]) == 2
        said = capsys.readouterr().err
        assert f"error: {path}: is damaged: it has 300 bytes" in said and hint in said
    assert status_of(["query", str(folder)]) == 2
    assert hint in capsys.readouterr().err

    for part in folder.glob("tables/*/chunk=0001"):
        shutil.rmtree(part)
    assert [one.id for one in campaigns.missing(twelve(), folder)] == [
        f"trial-{index}" for index in range(4, 8)
    ]
    assert campaigns.run(twelve(), folder, jobs=2).run == 4
    campaigns.run(twelve(), tmp_path / "fresh", jobs=1)
    assert bytes_of(folder) == bytes_of(tmp_path / "fresh")


def test_a_single_bit_that_is_another_is_found_by_every_reader(tmp_path, small_chunks):
    folder = tmp_path / "out"
    campaigns.run(twelve(), folder, jobs=2)
    path = folder / "tables" / "flows" / "chunk=0001" / "rows.parquet"
    whole = path.read_bytes()
    at = last_byte_of(path, "throughput_mean_mbit")
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    said = r"flows/chunk=0001/rows\.parquet: is damaged: its contents are not those recorded"
    for read in (lambda: load(folder).flows, lambda: campaigns.run(twelve(), folder)):
        with pytest.raises(RequestError, match=said):
            read()
    path.write_bytes(whole)
    assert campaigns.run(twelve(), folder).run == 0


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_named_and_not_waited_for(tmp_path, small_chunks, capsys, make):
    folder = tmp_path / "out"
    campaigns.run(twelve(), folder, jobs=2)
    for name in ("flows", "trials"):
        path = folder / "tables" / name / "chunk=0001" / "rows.parquet"
        path.unlink()
        make(path)
    said = r"chunk=0001/rows\.parquet: is damaged: (it is not a regular file|is a directory)"
    for read in (lambda: load(folder).flows, lambda: campaigns.run(twelve(), folder)):
        with pytest.raises(RequestError, match=said):
            read()
    for command in (["show", str(folder)], ["query", str(folder), "SELECT count(*) FROM flows"]):
        assert status_of(command) == 2
        assert re.search(said, capsys.readouterr().err)


def test_values_that_cannot_be_read_are_found_in_their_file(tmp_path, small_chunks):
    campaigns.run(twelve(), tmp_path / "out", jobs=2)
    path = tmp_path / "out" / "tables" / "rtt" / "chunk=0002" / "rows.parquet"
    data = bytearray(path.read_bytes())
    data[4:1000] = bytes(996)  # the footer remains valid
    path.write_bytes(data)
    with pytest.raises(RequestError, match=r"rtt/chunk=0002/rows.parquet: is damaged"):
        _ = load(tmp_path / "out").rtt


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"format": 9}', "(?s)format 9 is not known.*the version of aqmlab that made it"),
        ('{"format": 2', r"(?s)manifest\.json: cannot be read.*give another folder"),
    ],
)
def test_a_manifest_that_says_nothing_to_us_is_refused_with_what_to_do(tmp_path, text, said):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(RequestError, match=said):
        campaigns.run(twelve(), tmp_path)


def test_a_chunk_whose_trials_were_half_removed_is_whole(tmp_path, small_chunks, monkeypatch):
    specs = grid(queues=("pfifo",), seeds=range(1, 7))
    specs.append(({"queue": "pie", "rate": ""}, spec_of("pie", behaviour="crash once", seed=9)))
    folder = tmp_path / "out"

    def remove_one(self, indices):
        self.part_path(next(iter(indices))).unlink(missing_ok=True)

    with monkeypatch.context() as patch:
        patch.setattr("aqmlab.campaign.store.folder.Folder.remove_parts", remove_one)
        campaigns.run(campaign_of(specs), folder, jobs=1)
    assert len(list(folder.glob("trials/*.trial"))) == 3 + 2
    assert [path.name for path in folder.glob("trials/*.json")] == ["chunk=0000.json"]
    assert load(folder).trials.height == 6

    (tmp_path / "mended").touch()
    assert campaigns.run(campaign_of(specs), folder, jobs=1).run == 1
    campaigns.run(campaign_of(specs), tmp_path / "fresh", jobs=1)
    assert bytes_of(folder) == bytes_of(tmp_path / "fresh")
