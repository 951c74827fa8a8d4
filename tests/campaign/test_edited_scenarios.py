"""A campaign with an edited scenario never returns the old results."""

import json

import pytest
from aqmlab import api
from aqmlab.base.failures import RequestError
from aqmlab.campaign import runner as campaigns
from aqmlab.results.results import load

HOME = 'duration = "1 s"\npath.rate = "12/1 Mbit/s"\napps.p.kind = "ping"\n'
PAIRS = [("α", "β"), ("a/b", "a-b"), ("10 %", "10 ~")]


def scenario(folder, *steps, head=""):
    """Writes a scenario with a linked loop, whose steps have a label and an RTT.

    Returns the path of the scenario.
    """
    path = folder / "home.toml"
    listed = ", ".join(f'{{ label = "{label}", path.rtt = "{rtt}" }}' for label, rtt in steps)
    path.write_text(f"{head}{HOME}[vary]\ns = [{listed}]\n", "utf-8")
    return path


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_labels_that_files_cannot_tell_apart_are_the_campaigns_own(tmp_path, one, other):
    ran = api.run(scenario(tmp_path, (one, "10 ms"), (other, "20 ms")), out=tmp_path / "out")
    before = {entry.id for entry in ran.manifest.trials}
    swapped = scenario(tmp_path, (other, "10 ms"), (one, "20 ms"))
    request = api.Request(swapped)
    assert {trial.id for trial in request.plan().trials} == before, "their names are alike"
    assert api.campaign_for(request, request.plan()).key != ran.manifest.campaign
    with pytest.raises(RequestError, match="the scenario has changed since"):
        api.run(swapped, out=tmp_path / "out")


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_killed_campaign_goes_on_with_none_of_the_old_labels(tmp_path, one, other):
    first = api.Request(scenario(tmp_path, (one, "10 ms"), (other, "20 ms")))
    some = api.campaign_for(first, first.plan())
    campaigns.run(some, tmp_path / "out", jobs=1, only={some.trials[0].id})
    with pytest.raises(RequestError, match="holds another campaign"):
        api.run(scenario(tmp_path, (other, "10 ms"), (one, "20 ms")), out=tmp_path / "out")


def test_what_a_report_says_of_the_same_trials_follows_the_scenario(tmp_path):
    steps = ("a", "10 ms"), ("b", "20 ms")
    told = 'title = "{}"\nreport.notes = "{}"\nreport.tolerances.p = "{} ms"\n'
    before = api.run(
        scenario(tmp_path, *steps, head=told.format("Old", "Old.", 5)), out=tmp_path / "out"
    )
    assert {one.word for one in before.judged} == {"bad"}
    head = told.format("New", "New.", 100)
    after = api.run(scenario(tmp_path, *steps, head=head), out=tmp_path / "out")
    assert {one.word for one in after.judged} == {"good"}
    assert (after.manifest.title, after.manifest.notes) == ("New", "New.")
    assert "100 ms" in after.manifest.scenario_text
    assert (after.digest, after.manifest.files) == (before.digest, before.manifest.files)
    assert load(tmp_path / "out").manifest == after.manifest


def test_the_same_command_leaves_the_manifest_as_it_is(tmp_path):
    path = scenario(tmp_path, ("a", "10 ms"), ("b", "20 ms"))
    manifest = api.run(path, out=tmp_path / "out").path / "manifest.json"
    before = manifest.read_bytes(), manifest.stat().st_mtime_ns
    api.run(path, out=tmp_path / "out")
    assert (manifest.read_bytes(), manifest.stat().st_mtime_ns) == before
    assert "condition" in json.loads(before[0])["trials"][0]
