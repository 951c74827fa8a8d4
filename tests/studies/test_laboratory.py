"""The laboratory runs each trial that a study needs exactly once."""

import shutil

import pytest
from aqmlab import studies
from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.folder import Folder
from aqmlab.studies import selection
from aqmlab.studies.laboratory import Asked, Laboratory
from aqmlab.studies.trials import Trials
from msgspec import structs

SHORT = Trials("home", {"rtt": "20 ms"})
ALL = Trials("home")


def laboratory(tiny, out, seeds=1, **more):
    return Laboratory(studies.load(tiny), Asked(seeds, **more), out)


def test_trials_that_several_ask_for_are_run_once(tiny, tmp_path):
    first = laboratory(tiny, tmp_path / "out")
    assert first.count([SHORT, ALL, SHORT]).trials == 4
    assert first.run([SHORT], jobs=1).run == 2
    assert first.run([SHORT, ALL], jobs=1).run == 2
    assert laboratory(tiny, tmp_path / "out").run([ALL, SHORT]).run == 0


def test_more_seeds_add_to_what_is_there(tiny, tmp_path):
    laboratory(tiny, tmp_path / "out").run([SHORT], jobs=1)
    more = laboratory(tiny, tmp_path / "out", 3)
    count = more.count([SHORT])
    assert (count.trials, count.missing, count.simulated_s) == (6, 4, 8.0)
    assert more.run([SHORT], jobs=1).run == 4
    assert more.results(SHORT).table("flows")["seed"].unique().sort().to_list() == [1, 2, 3]


def test_trials_of_two_scenarios_are_counted_even_if_they_are_called_alike(tiny, tmp_path):
    (tiny / "office.toml").write_text((tiny / "home.toml").read_text(encoding="utf-8"))
    count = laboratory(tiny, tmp_path / "out").count([SHORT, Trials("office", SHORT.where)])
    assert (count.trials, count.missing, count.simulated_s) == (4, 4, 8.0)


def test_a_digest_is_of_the_trials_that_are_asked_for_only(tiny, tmp_path):
    alone, grown = (laboratory(tiny, tmp_path / name) for name in ("alone", "grown"))
    alone.run([SHORT], jobs=1)
    grown.run([ALL], jobs=1)
    assert alone.results(SHORT).digest == grown.results(SHORT).digest
    assert grown.results(ALL).digest != grown.results(SHORT).digest
    assert grown.results(SHORT).table("trials").height == 2


def test_figures_share_a_snapshot_until_the_manifest_changes(tiny, tmp_path):
    shared = laboratory(tiny, tmp_path / "out")
    shared.run([ALL], jobs=1)
    (first,), (second,) = (shared.results(need)._opened_files() for need in (ALL, SHORT))
    assert first is second
    folder = Folder(tmp_path / "out" / "home" / "seed-1")
    folder.write_manifest(structs.replace(folder.manifest(), warnings=("changed",)))
    (third,) = shared.results(SHORT)._opened_files()
    assert third is not second
    assert shared.results(SHORT).manifest.warnings == ("changed",)


@pytest.mark.parametrize("most_bytes", [0, 2**20])
def test_figures_share_the_rows_of_small_tables(tiny, tmp_path, monkeypatch, most_bytes):
    monkeypatch.setattr(selection, "_MOST_KEPT_BYTES", most_bytes)
    shared = laboratory(tiny, tmp_path / "out")
    shared.run([ALL], jobs=1)
    first, *others = (shared.results(need).table("flows") for need in (ALL, ALL, SHORT))
    assert others[0].equals(first)
    assert others[1].equals(first.filter(first["rtt"] == "20 ms"))
    assert 0 < others[1].height < first.height
    (kept,) = shared._snapshots._kept.values()
    assert (kept.rows is not None) == bool(most_bytes)


def test_only_the_present_rows_of_a_table_take_memory(tiny, tmp_path):
    shared = laboratory(tiny, tmp_path / "out")
    for need in (SHORT, ALL):  # the second run writes the table again
        shared.run([need], jobs=1)
        found = shared.results(need).table("flows")
    (kept,) = shared._snapshots._kept.values()
    assert kept.rows.height == found.height
    assert shared._snapshots._left_bytes == selection._MOST_KEPT_BYTES - kept.size_bytes


def test_rows_in_memory_are_not_those_of_a_file_that_was_replaced(tiny, tmp_path):
    shared = laboratory(tiny, tmp_path / "out")
    shared.run([SHORT], jobs=1)
    assert shared.results(SHORT).table("flows").height
    (file,) = (tmp_path / "out").rglob("tables/flows/*/*.parquet")
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(RequestError, match="flows"):
        shared.results(SHORT).table("flows")


def test_a_finished_trial_whose_tables_were_never_written_is_not_run_again(tiny, tmp_path):
    first = laboratory(tiny, tmp_path / "out")
    first.run([SHORT], jobs=1)
    folder = Folder(tmp_path / "out" / "home" / "seed-1")
    # The manifest is in the state before the tables were written.
    folder.write_manifest(structs.replace(folder.manifest(), digests=None, files=None))
    again = laboratory(tiny, tmp_path / "out")
    assert again.count([SHORT]).missing == 0
    assert again.run([SHORT], jobs=1).run == 0
    assert again.results(SHORT).digest


def edited(tiny, old, new):
    path = tiny / "home.toml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_results_of_a_scenario_as_it_was_before_an_edit_are_not_given_for_it(tiny, tmp_path):
    laboratory(tiny, tmp_path / "out").run([ALL], jobs=1)
    edited(tiny, 'rate = "4/1 Mbit/s"', 'rate = "8/2 Mbit/s"')
    for ask in (
        lambda one: one.count([SHORT]),
        lambda one: one.run([SHORT], jobs=1),
        lambda one: one.results(SHORT),
    ):
        with pytest.raises(RequestError, match=r"home/seed-1: .* has changed since") as caught:
            ask(laboratory(tiny, tmp_path / "out"))
        assert "give another folder with `--out DIR`" in caught.value.hint
    fresh = laboratory(tiny, tmp_path / "fresh")
    fresh.run([SHORT], jobs=1)
    assert fresh.results(SHORT).table("trials")["spec"].str.contains("8000000").all()


def test_results_of_a_scenario_of_which_only_words_were_edited_stay(tiny, tmp_path):
    laboratory(tiny, tmp_path / "out").run([SHORT], jobs=1)
    edited(tiny, "A call beside an upload", "An upload beside a call")
    assert laboratory(tiny, tmp_path / "out").run([SHORT], jobs=1).run == 0


def test_what_was_removed_of_the_tables_is_run_again(tiny, tmp_path):
    laboratory(tiny, tmp_path / "out").run([ALL], jobs=1)
    for part in (tmp_path / "out" / "home" / "seed-1").glob("tables/*/chunk=0000"):
        shutil.rmtree(part)
    assert laboratory(tiny, tmp_path / "out").count([SHORT]).missing == 2
    assert laboratory(tiny, tmp_path / "out").run([SHORT], jobs=1).run == 2
    assert laboratory(tiny, tmp_path / "out").results(SHORT).digest


def test_progress_hears_of_all_campaigns_as_one(tiny, tmp_path):
    heard = []

    class Listener:
        def begin(self, trials, missing):
            heard.append(("begin", len(trials), len(missing)))

        def moved(self, trial, seconds):
            pass

        def done(self, trial, problem, busy_s):
            heard.append(("done", problem))

        def tables(self):
            heard.append(("tables",))

    laboratory(tiny, tmp_path / "out", 2).run([SHORT], jobs=1, progress=Listener())
    assert heard == [("begin", 4, 4), *[("done", None)] * 4, ("tables",)]


def test_what_no_trial_has_is_named(tiny, tmp_path):
    own = laboratory(tiny, tmp_path / "out")
    with pytest.raises(RequestError, match=r"(?s)no value `30 ms`.*there are 20 ms, 60 ms"):
        own.count([Trials("home", {"rtt": "30 ms"})])
    with pytest.raises(RequestError, match=r"(?s)`qdics` does not vary.*did you mean `qdisc`"):
        own.count([Trials("home", {"qdics": "FQ"})])
    with pytest.raises(RequestError, match=r"(?s)no scenario `hom`.*did you mean `home`"):
        own.count([Trials("hom")])


def test_an_engine_may_have_a_scenario_of_its_own(tiny):
    study = studies.load(tiny)
    (tiny / "home.kernel.toml").write_text("", encoding="utf-8")
    assert study.scenario("home", "sim").name == "home.toml"
    assert study.scenario("home", "kernel").name == "home.kernel.toml"
    with pytest.raises(RequestError, match="a study runs on one engine"):
        Laboratory(study, Asked(engine="sim,kernel"))


@pytest.mark.parametrize("name", ["figures", "home", "home/seed-1"])
def test_a_link_in_place_of_a_folder_of_the_study_is_refused(tiny, tmp_path, name):
    place, outside = tmp_path / "out" / name, tmp_path / "outside"
    place.parent.mkdir(parents=True)
    outside.mkdir()
    place.symlink_to(outside)
    with pytest.raises(
        RequestError, match=f"{name}: is a link, and not one of the study's folders"
    ):
        laboratory(tiny, tmp_path / "out")
    assert not list(outside.iterdir())
