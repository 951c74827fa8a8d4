"""Errors in households and in their words say what is allowed and what was probably meant."""

import pytest
from aqmlab.base.errors import BadValueError, ScenarioError
from aqmlab.households import line, loading, tier
from aqmlab.households.words import household_of

GOOD = '[people.anna.devices]\nnotebook = ["game"]\n'


def refusal(tmp_path, text):
    """The place, the problem and the hint of the error in a household's file."""
    path = tmp_path / "home.toml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        loading.find_among_scenarios(path)
    return caught.value


@pytest.mark.parametrize(
    ("text", "where", "hint"),
    [
        ("[people.a.device]\npc = ['game']", "home.toml:1: people.a.device", "devices"),
        (
            "[people.a.devices]\npc = [{does = 'game', strat = '20 s'}]",
            "home.toml:2: people.a.devices.pc.0.strat",
            "start",
        ),
        ("[things]\ntv = {dos = 'game'}", "home.toml:2: things.tv.0.dos", "does"),
    ],
)
def test_a_misspelt_key_of_a_person_or_a_use_is_named_with_what_was_meant(
    tmp_path, text, where, hint
):
    error = refusal(tmp_path, text)
    assert error.where == where
    assert error.hint == f"did you mean `{hint}`?"


@pytest.mark.parametrize(
    ("line", "problem", "hint"),
    [
        ("people.mothr = 'off'", "unknown person `mothr`", "did you mean `mother`?"),
        ("things.dorbell = 'off'", "unknown device `dorbell`", "did you mean `doorbell`?"),
        (
            "people.mother.devices.notebok = 'off'",
            "unknown device `notebok`",
            "did you mean `notebook`?",
        ),
        ("seds = 'off'", "unknown key `seds`", "did you mean `seeds`?"),
    ],
)
def test_the_removal_of_an_unknown_member_of_a_household_is_refused(tmp_path, line, problem, hint):
    error = refusal(tmp_path, f"extends = 'home2026-family'\n{line}\n")
    assert error.where == f"home.toml:2: {line.partition(' ')[0]}"
    assert (error.problem, error.hint) == (problem, hint)


def test_persons_devices_and_stated_keys_of_a_household_can_be_removed(tmp_path):
    path = tmp_path / "home.toml"
    path.write_text(
        "extends = 'home2026-family'\ntier = 'off'\n[people]\nmother = 'off'\n"
        "[things]\ndoorbell = 'off'\n"
    )
    whole, changed = loading.load("home2026-family"), loading.load(path)
    assert set(changed.people) == set(whole.people) - {"mother"}
    assert set(changed.things) == set(whole.things) - {"doorbell"}
    assert "tier" not in changed.model_fields_set


@pytest.mark.parametrize("key", ["tier = '50/20 Mbit/s'", "line = 'cable'"])
def test_a_file_with_a_tier_or_a_line_alone_lacks_people(tmp_path, key):
    error = refusal(tmp_path, key)
    assert str(error).startswith("home.toml:1: people: is missing\n\nhint: add [people], ")


def test_a_scenario_with_a_tier_is_no_household(tmp_path):
    path = tmp_path / "home.toml"
    path.write_text("tier = '50/20 Mbit/s'\n[apps.a]\nkind = 'bulk'")
    assert loading.find_among_scenarios(path) is None


@pytest.mark.parametrize("start", ["'90 s'", "'60 s'", "['1 s', '90 s']"])
def test_an_activity_that_starts_at_or_after_the_end_is_refused(tmp_path, start):
    late = f"[people.a.devices]\npc = ['game', {{does = 'game', start = {start}}}]"
    error = refusal(tmp_path, late)
    at = start.strip("'") if start[0] == "'" else "90 s"
    assert error.where == "home.toml:2: people.a.devices.pc.1.start"
    assert error.problem == f"{at} is not before the end of the trial of 60 s"
    assert error.hint == "start earlier, or state a longer `duration`"


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        (
            'people.a.devices.x = [["camera"]]', "`['camera']` is a list, not a table",
            'write "camera", or { does = "camera" }',
        ),
        (
            "people.a.devices.x = 3", "`3` is a number, not a list",
            'write "video meeting", or a list of activities',
        ),
        (
            "people.a.devices = 3", "`3` is a number, not a table",
            'write devices.notebook = ["video meeting"]',
        ),
        (
            "people.a = 3", "`3` is a number, not a table",
            'write { devices = { notebook = ["video meeting"] } }',
        ),
        ("things.a = 3", "`3` is a number, not a list", 'write "camera", or a list of activities'),
        ("patience = 0\nthings.a = 'camera'", "`0` is not above 0", None),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_said_in_the_words_of_toml(tmp_path, text, problem, hint):
    error = refusal(tmp_path, text)
    assert (error.problem, error.hint) == (problem, hint)


@pytest.mark.parametrize(
    ("words", "problem", "hint"),
    [
        ("1000 kids gaming", "`1000 kids gaming`: 1 to 20 people, not 1000", None),
        ("1000000 adults", "`1000000 adults`: 1 to 20 people, not 1000000", None),
        ("1000 films", "`1000 films`: 1 to 20 of one kind", None),
        ("a couple gaming", "unknown word `couple`", "write `two adults`"),
        ("twins gaming", "unknown word `twins`", "write `two children`"),
        ("grandma on the phone", "unknown word `phone`", "write `phone call`"),
        ("family watching tv", "unknown word `family`", "write `two adults and two children`"),
        (
            "a father working",
            "unknown word `working`",
            "write `video meeting` or `browsing` or `cloud upload`",
        ),
        ("٣ kids gaming", "unknown word `٣`", "write numbers with the digits 0 to 9"),
        ("a kid playing ٣ games", "unknown word `٣`", "write numbers with the digits 0 to 9"),
    ],
)
def test_words_are_refused_with_what_was_probably_meant(words, problem, hint):
    with pytest.raises(ScenarioError) as caught:
        household_of(words)
    assert caught.value.problem.startswith(problem)
    assert caught.value.hint == hint


@pytest.mark.parametrize("text", ["1e999/1", "50/20/10", "1/2/3 Mbit/s", "50/ 20 / 10 Mbit/s"])
def test_a_tier_that_is_no_pair_of_rates_is_not_called_one_rate(text):
    with pytest.raises(BadValueError, match="is not a pair of rates") as caught:
        tier.tier_of(text)
    assert caught.value.hint == 'write "12/1 Mbit/s", down before up'


@pytest.mark.parametrize(("said", "hint"), [("cabel", "did you mean `cable`?"), ("fibr", "fibre")])
def test_a_misspelt_line_suggests_the_words_that_people_say(said, hint):
    with pytest.raises(BadValueError) as caught:
        line.name_of(said)
    assert hint in caught.value.hint


def test_an_unknown_line_lists_the_words_that_people_say():
    with pytest.raises(BadValueError) as caught:
        line.name_of("starlink")
    assert {"cable", "fibre"} <= set(caught.value.hint.removeprefix("there are ").split(", "))


def test_words_in_place_of_a_household_are_answered_with_the_command_that_reads_words():
    with pytest.raises(ScenarioError) as caught:
        loading.load("two adults, one teenager gaming")
    assert caught.value.hint == (
        "write its file from these words with `aqmlab new`, and name that file"
    )
