"""A campaign's folder is consistent: manifest, records and files identify each other."""

import os
import shutil

import polars as pl
import pytest
from aqmlab.base.failures import RequestError
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.store import chunk_record, dataset
from aqmlab.cli import status_of
from aqmlab.results.results import load
from msgspec.structs import replace
from support import fake_engine
from support.campaigns import bytes_of, campaign_of, grid, spec_of
from support.processes import wait_for

from .test_campaign import start_in_another_process

NAMES = [f"trial-{index}" for index in range(12)]


@pytest.fixture
def small_chunks(monkeypatch):
    """Sets the size of chunks to four trials."""
    monkeypatch.setattr(dataset, "CHUNK", 4)


def twelve(**about):
    return campaign_of(grid(seeds=(1, 2, 3, 4)), **about)


class Hook(campaigns.Silence):
    """Calls a function after each trial, with the number of trials that have ended."""

    def __init__(self, call):
        self._call, self._ended = call, 0

    def done(self, trial, problem, busy_s):
        self._ended += 1
        self._call(self._ended)


class Warned(campaigns.Silence):
    """Records each warning of damage."""

    def __init__(self):
        self.said = []

    def damaged(self, problem):
        self.said.append(problem)


# The manifest after changes of the scenario.


@pytest.mark.parametrize(
    "edit",
    [
        {"stated_tolerances_ms": {"call": 1.0}},
        {"stated_rates_mbit": {"call": 9.0}},
        {"stated_requirements": {"call": "draft-example"}},
        {"title": "Another title", "scenario_text": "title = 'Another title'"},
        {"figures": ["rtt"]},
    ],
    ids=lambda edit: next(iter(edit)),
)
def test_an_edit_of_what_a_report_needs_is_in_the_manifest_and_runs_no_trial(tmp_path, edit):
    folder = tmp_path / "out"
    campaigns.run(twelve(), folder, jobs=2)
    report = campaigns.run(twelve(**edit), folder, jobs=2)
    assert report.run == 0 and len(fake_engine.runs()) == 12
    campaigns.run(twelve(**edit), tmp_path / "fresh", jobs=2)
    assert bytes_of(folder) == bytes_of(tmp_path / "fresh")


def test_another_tolerance_gives_another_verdict(tmp_path):
    def verdict(**about):
        campaigns.run(twelve(**about), tmp_path / "out", jobs=2)
        needs = load(tmp_path / "out").judged
        return [one.word for one in needs if one.app == "call"]

    assert verdict() != verdict(stated_tolerances_ms={"call": 1e6})


def test_an_unfinished_campaign_follows_the_file_too(tmp_path):
    specs = grid(seeds=(1,))
    specs.append(({"queue": "pie", "rate": ""}, spec_of("pie", behaviour="refuse once")))
    campaigns.run(campaign_of(specs), tmp_path / "out", jobs=1)
    campaigns.follow(campaign_of(specs, title="Another"), tmp_path / "out")
    found = load(tmp_path / "out")
    assert found.manifest.title == "Another" and found.failed and not found.complete
    assert found.trials.height == 3


def test_how_results_were_asked_for_stays_in_the_manifest(tmp_path):
    folder = tmp_path / "out"
    campaigns.run(twelve(), folder, jobs=2)
    before = bytes_of(folder)
    campaigns.run(twelve(command="aqmlab run home/fake.toml", source="home/fake.toml"), folder)
    assert bytes_of(folder) == before
    other = {"aqmlab": "0", "core": "0", "python": "3.99"}
    campaigns.run(twelve(title="Another", versions=other), folder)
    assert load(folder).manifest.versions == {"aqmlab": "0", "core": "0"}


def test_trials_of_other_conditions_or_engines_are_another_campaign(tmp_path):
    campaigns.run(campaign_of([({"queue": "pie"}, spec_of("pie"))]), tmp_path, jobs=1)
    with pytest.raises(RequestError, match="holds another campaign"):
        campaigns.run(campaign_of([({"aqm": "pie"}, spec_of("pie"))]), tmp_path, jobs=1)


# A folder that is removed or replaced while its campaign runs.


def slower():
    """A campaign whose trials have the names of the trials of `half_waiting`, but other rates."""
    rates = {"rates": ((6, 1),), "seeds": range(1, 7)}
    return campaign_of([*grid(queues=("pfifo",), **rates), *grid(queues=("pie",), **rates)])


@pytest.mark.parametrize("restart", [None, "before", "after"])
def test_a_campaign_whose_folder_was_replaced_stops_and_spoils_nothing(tmp_path, restart):
    folder = tmp_path / "out"
    process = start_in_another_process(folder)
    wait_for(lambda: len(list(folder.glob("trials/*.trial"))) == 6)
    shutil.rmtree(folder)
    if restart == "before":
        campaigns.run(slower(), folder, jobs=1)
    (tmp_path / "mended").touch()
    _, said = process.communicate(timeout=60)
    assert process.returncode != 0
    assert b"was removed or replaced while its campaign ran" in said
    if restart is None:
        assert not folder.exists()
        return
    campaigns.run(slower(), folder, jobs=1)
    campaigns.run(slower(), tmp_path / "fresh", jobs=1)
    assert bytes_of(folder) == bytes_of(tmp_path / "fresh")


def test_a_file_of_another_trial_is_not_sealed(tmp_path, small_chunks):
    """Another process may replace a trial file after this process has checked it."""
    foreign, folder = tmp_path / "foreign", tmp_path / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("aqmlab.campaign.store.folder.Folder.remove_parts", lambda *_: None)
        campaigns.run(slower(), foreign, jobs=1)
        (foreign / "trials" / "lock").unlink(missing_ok=True)
    part = "trials/00000.trial"

    def replace(ended):
        if ended == 2:
            shutil.copy(foreign / part, folder / part)

    with pytest.raises(RequestError, match=r"00000\.trial: is damaged: it holds the result of ano"):
        campaigns.run(twelve(), folder, jobs=1, progress=Hook(replace))
    warned = Warned()
    campaigns.run(twelve(), folder, jobs=1, progress=warned)
    assert [text for text in warned.said if "00000.trial: is damaged: it holds the result" in text]
    campaigns.run(twelve(), tmp_path / "fresh", jobs=1)
    assert bytes_of(folder) == bytes_of(tmp_path / "fresh")


# Readers of a campaign while it runs.


def halted(folder, after=6):
    """Runs a campaign of twelve trials, and stops it when `after` trials have ended."""

    def stop(ended):
        if ended == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        campaigns.run(twelve(), folder, jobs=1, progress=Hook(stop))


def test_results_are_of_the_trials_that_had_ended_when_they_were_loaded(tmp_path, small_chunks):
    folder = tmp_path / "out"
    halted(folder)
    early, seen = load(folder), load(folder)
    assert seen.trials["trial"].to_list() == NAMES[:6]
    campaigns.run(twelve(), folder, jobs=1)
    late = load(folder)
    for name in early.tables:
        known = late.table(name).filter(pl.col("trial").is_in(NAMES[:6]))
        assert early.table(name).equals(known, null_equal=True), name
        assert early.height(name) == known.height
        assert early.scan(name).collect().equals(known, null_equal=True), name
    assert seen.flows["trial"].n_unique() == 6
    assert not early.complete and late.complete


def test_a_chunk_that_is_sealed_while_it_is_looked_at_is_served_whole(
    tmp_path, small_chunks, monkeypatch
):
    for moment in ("_has_part", "unsealed", "_read_records"):
        folder = tmp_path / moment
        halted(folder)
        looked = iter([True])
        before = getattr(dataset.Dataset, moment)

        def look(self, *arguments, before=before, looked=looked, folder=folder):
            if next(looked, False):
                campaigns.run(twelve(), folder, jobs=1)
            return before(self, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(dataset.Dataset, moment, look)
            found = load(folder)
        assert found.trials["trial"].to_list() == NAMES and found.complete, moment


def test_results_whose_folder_holds_another_campaign_now_say_so(tmp_path, small_chunks):
    folder = tmp_path / "out"
    halted(folder)
    early = load(folder)
    shutil.rmtree(folder)
    campaigns.run(slower(), folder, jobs=1)
    with pytest.raises(RequestError, match="another campaign has run here since"):
        _ = early.flows


def test_readers_beside_a_campaign_that_runs_are_served(tmp_path, small_chunks):
    """Reads the campaign after each trial, and reads the same results again at the end."""
    folder, seen = tmp_path / "out", []

    def look(ended):
        found = load(folder)
        flows, trials = found.flows["trial"].unique().len(), found.trials.height
        assert flows == trials and trials >= ended - 1
        seen.append(found)

    campaigns.run(twelve(), folder, jobs=1, progress=Hook(look))
    assert [one.rtt["trial"].n_unique() for one in seen] == [one.trials.height for one in seen]


# Records and trial files are identified by their contents.


@pytest.mark.parametrize("name", ["chunk=0000.json", "00005.trial"])
def test_what_is_damaged_is_run_again_and_everybody_says_its_name(
    tmp_path, small_chunks, capsys, name
):
    folder = tmp_path / "out"
    halted(folder)
    path = folder / "trials" / name
    path.write_bytes(path.read_bytes()[:-9] + b"x" + path.read_bytes()[-8:])
    said = f"{path}: is damaged: "
    assert status_of(["verify", str(folder)]) == 2
    caught = capsys.readouterr().err
    assert said in caught and "it repeats the trials of that file" in caught
    assert status_of(["show", str(folder)]) == 0
    assert f"warning: {said}" in capsys.readouterr().err
    warned = Warned()
    lost = 4 if name.startswith("chunk") else 1
    assert campaigns.run(twelve(), folder, jobs=1, progress=warned).run == 6 + lost
    (text,) = warned.said
    assert text.startswith(said) and text.endswith("its trials run again")
    campaigns.run(twelve(), tmp_path / "fresh", jobs=1)
    assert bytes_of(folder) == bytes_of(tmp_path / "fresh")
    assert status_of(["verify", str(folder)]) == 0


def test_a_record_that_says_other_digests_than_its_table_is_not_sealed(tmp_path, small_chunks):
    folder = tmp_path / "out"
    halted(folder)
    path = folder / "trials" / "chunk=0000.json"
    record = chunk_record.read(path)
    replace(record, digests=(record.digests[0],) * 4).write(path)
    with pytest.raises(RequestError, match="it holds other trials than its record says") as caught:
        campaigns.run(twelve(), folder, jobs=1)
    assert "tables/*/chunk=0000" in caught.value.hint
    assert not load(folder).complete
    for table in folder.glob("tables/*/chunk=0000"):
        shutil.rmtree(table)
    campaigns.run(twelve(), folder, jobs=1)
    campaigns.run(twelve(), tmp_path / "fresh", jobs=1)
    assert bytes_of(folder) == bytes_of(tmp_path / "fresh")


def test_a_folder_is_listed_once_however_many_chunks_there_are(tmp_path, small_chunks, monkeypatch):
    folder = tmp_path / "out"
    campaigns.run(twelve(), folder, jobs=1)
    results, listed, before = load(folder), [], os.scandir

    def scandir(path):
        listed.append(str(path))
        return before(path)

    monkeypatch.setattr(os, "scandir", scandir)
    for part in results.by_chunk():
        for name in part.tables:
            _ = part.table(name)
    results.verify()
    assert len(listed) == len(set(listed)) == 1 + 4 * len(results.tables)
