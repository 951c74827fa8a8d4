"""Households: files, values, scenarios and words."""

import io
import tomllib

import aqmlab
import pytest
from aqmlab import _core, cli
from aqmlab.base.errors import ScenarioError
from aqmlab.households import activity, loading
from aqmlab.households.line import lines, name_of
from aqmlab.households.traffic import named_apps, scenario_of
from aqmlab.households.words import ONLY_ONE, PEOPLE, household_of
from aqmlab.planning import planner
from aqmlab.scenario.fields import plain
from aqmlab.scenario.quantities import Rate
from hypothesis import given, settings
from hypothesis import strategies as st

HOMES = loading.builtin_names()


@pytest.mark.parametrize("name", HOMES)
def test_a_built_in_household_survives_its_own_text_and_plans(name) -> None:
    home = loading.load(name)
    assert aqmlab.Household.from_toml(home.to_toml()) == home
    plan = planner.load(name, seeds=1)
    assert plan.trials and not plan.warnings
    assert home.title and home.source


def test_what_the_capability_names_is_built_in() -> None:
    assert {f"boerlage2016-d{number}" for number in range(1, 7)} <= set(HOMES)
    assert sum(name.startswith("telsyte-") for name in HOMES) == 8
    assert sum(name.startswith("home2026-") for name in HOMES) == 5
    assert {"hectic", "hectic-4k", "hectic-iview", "hectic-patient", "telehealth"} <= set(HOMES)


def test_words_of_activities_are_unique_and_each_activity_has_a_source() -> None:
    words = [word for one in activity.activities().values() for word in one.words]
    assert len(words) == len(set(words))
    assert not set(words) & set(PEOPLE)
    assert all(one.source and one.apps for one in activity.activities().values())


def test_a_household_with_a_schedule_is_the_built_in_scenario() -> None:
    made = scenario_of(loading.load("boerlage2016-d6"))
    assert set(made.apps) == {
        "movie",
        "updates",
        "cloud",
        "web",
        "email",
        "game",
        "netflix",
        "voip",
    }
    sources = ("boerlage2016-d6", made)
    assert len({planner.load(one, seeds=1).trials[0].text for one in sources}) == 1


def test_a_household_becomes_the_same_scenario_from_a_name_a_file_and_a_value(tmp_path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text(loading.builtin_text("home2026-couple"))
    home = loading.load("home2026-couple")
    texts = {
        tuple(one.text for one in planner.load(source, seeds=1).trials)
        for source in ("home2026-couple", path, home)
    }
    assert len(texts) == 1


def test_both_gateways_see_the_lines_queue_and_framing() -> None:
    made = scenario_of(loading.load("home2026-family"))
    assert str(made.path.up.rate) == "10 Mbit/s"
    assert made.path.up.overhead == lines()["docsis"].overhead
    # The buffers hold 250 ms at 10 Mbit/s and 100 ms at 100 Mbit/s.
    assert made.path.up.qdisc.params["limit"].bytes == 312_500
    assert made.path.down.qdisc.params["limit"].bytes == 1_250_000


def test_a_queue_in_milliseconds_holds_ten_frames_at_least() -> None:
    assert lines()["docsis"].fifo("up", Rate.parse("64 kbit/s")) == "bfifo limit=15140B"
    assert lines()["vdsl"].fifo("up", Rate.parse("64 kbit/s")) == "pfifo limit=500"


def test_applications_have_names_of_their_own_and_plain_words() -> None:
    home = aqmlab.Household(
        people={"Anna": {"devices": {"notebook": ["game"], "console": ["game", "game"]}}},
        things={"door bell": "camera"},
    )
    named = list(named_apps(home))
    assert len({one.name for one in named}) == 4
    assert named[0].words == "Anna's online game"
    assert named[-1] == ("door-bell-camera", "a security camera", named[-1].table, None)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"line": "adsl", "tier": "50/10 Mbit/s"}, "tier: `50/10 Mbit/s` is too fast for the line"),
        ({"line": "adsl"}, "tier: is missing; the default, 50/20 Mbit/s, is too fast"),
        ({"line": "vdsl", "tier": "500/100 Mbit/s"}, "tier: `500/100 Mbit/s` is too fast"),
    ],
)
def test_a_tier_that_the_line_cannot_carry_is_refused(given, told) -> None:
    with pytest.raises(ScenarioError) as caught:
        aqmlab.Household(things={"door": "camera"}, **given)
    assert str(caught.value).startswith(told)
    assert lines()[given["line"]].fastest in caught.value.hint
    fast = aqmlab.Household(things={"door": "camera"}, line="adsl", tier="24/3.3 Mbit/s")
    assert fast.tier == lines()["adsl"].fastest


def test_a_stated_tier_stays_stated_in_a_file_even_if_it_is_the_default() -> None:
    stated = aqmlab.Household(things={"door": "camera"}, tier="50/20 Mbit/s")
    assert "tier" in aqmlab.Household.from_toml(stated.to_toml()).model_fields_set
    assert "tier" not in aqmlab.Household(things={"door": "camera"}).to_toml()


def test_each_device_is_a_host_and_its_applications_share_it() -> None:
    home = aqmlab.Household(
        people={
            "Anna": {"devices": {"notebook": ["video meeting", "web"], "console": "game"}},
            "anna tv": {"devices": {"set": "film"}},
            "anna": {"devices": {"TV set": "music"}},
        },
        things={"notebook": "camera", "cameras": {"does": "camera", "count": 2}},
    )
    (trial, *_) = planner.load(home, seeds=1).trials
    hosts = {app.name: app.host for app in trial.spec.apps}
    assert hosts == {
        "anna-meeting": "anna-notebook",
        "anna-web": "anna-notebook",
        "anna-game": "anna-console",
        "anna-tv-film": "anna-tv-set",
        "anna-music": "anna-tv-set-2",
        "notebook-camera": "notebook",
        "cameras-camera-1": "cameras",
        "cameras-camera-2": "cameras",
    }


def test_cake_divides_a_line_among_the_devices_of_a_household() -> None:
    """CAKE gives a device with one download its half of the line beside a device with four.

    The base round-trip time is 20 ms, and CoDel does not drop while packets wait less than 5 ms. So
    the window reaches 25 ms at the flow's rate before a drop. CUBIC then reduces the window to 0.7
    times its size (RFC 9438), 17.5 ms, but only 20 ms fill the line. So a lone flow of CUBIC uses
    at least 87.5 % of its half.
    """
    home = aqmlab.Household(
        people={
            "anna": {"devices": {"notebook": {"does": "game-download", "count": 4}}},
            "ben": {"devices": {"notebook": "game-download"}},
        },
        tier="20/2 Mbit/s",
        line="ip",
        duration="20 s",
    )
    both = {"path.qdisc": ["cake", "fq_codel"]}
    home_of_two = scenario_of(home).but(vary=both, measure={"from": "5 s"})
    found = aqmlab.run(home_of_two, seeds=1, jobs=1)
    down = found.hosts.filter(direction="down")
    shares = {
        (qdisc, host): share
        for qdisc, host, share in down.select("qdisc", "host", "share_percent").iter_rows()
    }
    assert 50 * 0.875 < shares["cake", "ben-notebook"] < 50.5
    assert shares["fq_codel", "ben-notebook"] == pytest.approx(20, abs=2)


@pytest.mark.parametrize("who", ["me", "Me", "I"])
def test_the_activities_of_the_speaker_are_my_own(who) -> None:
    home = aqmlab.Household(people={who: {"devices": {"console": ["game", "music"]}}})
    assert [one.words for one in named_apps(home)] == ["my online game", "my music"]


def test_copies_are_copies_also_of_a_kind_that_counts_something_else() -> None:
    home = aqmlab.Household(things={"telephones": {"does": "photo-sync", "count": 3}})
    (trial, *_) = planner.load(home, seeds=1).trials
    assert len(trial.spec.apps) == 3
    assert all(app.app.params.get("count", 0) == 0 for app in trial.spec.apps)


def test_a_household_extends_a_built_in_one(tmp_path) -> None:
    path = tmp_path / "home.toml"
    path.write_text('extends = "hectic"\n[people]\nparent-1 = "off"\n')
    home = loading.load(path)
    assert set(home.people) == {"parent-2", "children"}
    found = loading.find_among_scenarios(path)
    assert found is not None and found.household == home


def test_a_file_that_extends_a_scenario_of_the_same_name_stays_a_scenario(tmp_path) -> None:
    path = tmp_path / "home.toml"
    path.write_text('extends = "boerlage2016-d6"\nduration = "5 s"\n')
    assert loading.find_among_scenarios(path) is None
    assert planner.load(path, seeds=1).trials[0].spec.duration_ns == 5_000_000_000


def test_words_make_people_and_things() -> None:
    home = household_of("two adults in meetings, one teenager gaming, 4k film")
    assert [*home.people] == ["adult", "adult-2", "teenager"]
    assert [one.use.does for one in home.uses()] == ["video-meeting"] * 2 + ["game", "film-4k"]


def test_a_person_does_several_things_and_numbers_count_things() -> None:
    home = household_of("3 kids watching films and gaming; 2 cameras")
    assert len(home.people) == 3
    assert {one.use.does for one in home.uses()} == {"film-hd", "game", "camera"}
    assert home.things["camera"][0].count == 2


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("me and my wife in meetings", [("me", "video-meeting"), ("wife", "video-meeting")]),
        ("I'm gaming, my husband on netflix", [("me", "game"), ("husband", "film-hd")]),
        ("my boyfriend playing call of duty", [("boyfriend", "game")]),
        ("kid playing online games", [("child", "game")]),
        ("girlfriend on minecraft", [("girlfriend", "game")]),
        ("partner in a teams meeting, a zoom call", [
            ("partner", "video-meeting"), ("", "video-meeting"),
        ]),
        ("me uploading, me telephoning", [("me", "cloud-backup"), ("me", "telephone-call")]),
        ("dad gaming and uploading, father gaming", [
            ("father", "game"), ("father", "game"), ("father", "cloud-backup"),
        ]),
        ("2 boyfriend gaming, a boyfriend gaming", [
            ("boyfriend", "game"), ("boyfriend-2", "game"), ("boyfriend-3", "game"),
        ]),
        ("a kid gaming, a kid on netflix", [("child", "game"), ("child-2", "film-hd")]),
        ("student streaming 4k, dad streaming a film", [
            ("student", "film-4k"), ("father", "film-hd"),
        ]),
        ("me watching 4k tv on netflix", [("me", "film-4k")]),
        ("netflix 4k", [("", "film-4k")]),
        ("me streaming netflix and watching a 4k film", [("me", "film-hd"), ("me", "film-4k")]),
        ("a parent and two kids gaming", [
            ("parent", "game"), ("child", "game"), ("child-2", "game"),
        ]),
    ],
)  # fmt: skip
def test_people_and_games_have_the_names_that_people_say(text, uses) -> None:
    assert [(one.who, one.use.does) for one in household_of(text).uses()] == uses


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("a man uploading a video", ["cloud-backup"]),
        ("mum uploading photos and videos", ["photo-album"]),
        ("mum uploading 20 photos", ["photo-album"]),
        ("mum uploading a video in 4k to youtube", ["cloud-backup"]),
        ("mum uploading an x-ray", ["medical-images"]),
        ("kid with a video upload", ["cloud-backup"]),
        ("dad downloading a movie", ["game-download"]),
        ("dad downloading two games", ["game-download"]),
        ("I download a game", ["game-download"]),
        ("dad downloads Fortnite", ["game-download"]),
        ("kid with a download of a game", ["game-download"]),
        ("kid with a fortnite update", ["game-download"]),
        ("kid streaming music on spotify", ["music"]),
        ("kid streaming netflix hd", ["boerlage-netflix-hd"]),
        ("a video camera", ["camera"]),
        ("kid watching gaming videos", ["film-hd"]),
        ("kid video calling", ["family-call"]),
    ],
)  # fmt: skip
def test_a_verb_and_its_object_are_one_activity_and_so_is_a_compound_noun(text, uses) -> None:
    assert [one.use.does for one in household_of(text).uses()] == uses
    assert all(one.use.count == 1 for one in household_of(text).uses())


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("me downloading a game and watching a film", ["game-download", "film-hd"]),
        ("me uploading a video while watching a film", ["cloud-backup", "film-hd"]),
        ("me uploading a video watching a film", ["cloud-backup", "film-hd"]),
        ("mum uploading in a meeting", ["cloud-backup", "video-meeting"]),
        ("mum in a meeting uploading a video", ["video-meeting", "cloud-backup"]),
        ("kid on a download and a film", ["game-download", "film-hd"]),
        ("two downloads 3 cameras", ["game-download", "camera"]),
        ("kid gaming downloading", ["game", "game-download"]),
        ("kid streaming and gaming", ["film-hd", "game"]),
    ],
)  # fmt: skip
def test_activities_that_are_not_the_object_of_another_stay_two(text, uses) -> None:
    assert [one.use.does for one in household_of(text).uses()] == uses


def test_copies_are_those_of_the_streams_and_of_a_compounds_last_noun() -> None:
    for text in ("kid streaming two films", "2 video cameras"):
        assert [one.use.count for one in household_of(text).uses()] == [2], text


@pytest.mark.parametrize(
    ("text", "game"),
    [
        ("a man streaming a game", "game"), ("kid streaming fortnite", "fortnite"),
        ("kid game streaming", "game"), ("kid streaming gaming", "gaming"),
    ],
)  # fmt: skip
def test_streaming_with_a_game_asks_who_plays(text, game) -> None:
    with pytest.raises(ScenarioError) as refused:
        household_of(text)
    assert refused.value.problem == f"`streaming` with `{game}` does not say who plays"
    assert refused.value.hint.startswith("do they play, watch another player, or show")


@pytest.mark.parametrize("text", ["two parents and two kids", "me", "my wife, game"])
def test_people_without_activities_are_asked_what_they_do(text) -> None:
    with pytest.raises(ScenarioError, match="does not say what they do") as refused:
        household_of(text)
    assert refused.value.hint.startswith("what do they do? For example: ")


def test_a_second_group_of_people_needs_a_comma() -> None:
    with pytest.raises(ScenarioError, match=r"`kid` in .* begins a second group") as refused:
        household_of("mum in meetings while kid gaming")
    assert refused.value.hint == "put a comma before each group of people"


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 20), st.sampled_from(sorted(PEOPLE)),
            st.lists(st.sampled_from(sorted(activity.by_words())), min_size=1, max_size=3),
        ),
        min_size=1, max_size=2,
    )
)  # fmt: skip
def test_every_word_of_the_vocabulary_is_understood(clauses) -> None:
    text = ", ".join(f"{count} {who} {' and '.join(what)}" for count, who, what in clauses)
    people = sum(count for count, _, _ in clauses)
    named = [PEOPLE[who] for count, who, _ in clauses if count == 1]
    people -= len(named) - len({*named}) if {*named} <= ONLY_ONE else 0
    assert len(household_of(text).people) == people


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_a_household_or_a_sentence(text) -> None:
    try:
        household_of(text)
    except ScenarioError as error:
        assert error.problem and "\n" not in error.problem


ALBUM = {"kind": "bulk", "direction": "up", "host": "mother-notebook"}


def test_holiday_photos_are_sent_as_fast_as_the_line_permits() -> None:
    for said in ("uploading holiday photos", "uploading photos", "uploading an album"):
        apps = scenario_of(household_of(f"a mother {said}")).apps
        assert [plain(app) for app in apps.values()] == [ALBUM], said


def test_new_writes_a_file_that_demand_and_run_read(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["new", "a mother in meetings, kid gaming", "--tier", "25/5 Mbit/s", "--line", "vdsl"]
    assert cli.status_of(words) == 0
    assert tomllib.loads((tmp_path / "household.toml").read_text())["line"] == "vdsl"
    assert cli.status_of(words) == 2
    assert "household.toml exists" in capsys.readouterr().err
    assert cli.status_of([*words, "--force"]) == 0
    assert cli.status_of(["demand", "household.toml"]) == 0
    assert cli.status_of(["run", "household.toml", "--dry-run"]) == 0


def test_new_asks_again_after_a_wrong_answer(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    answers = io.StringIO("two dogs\nkid gaming\ndsl\nvdsl\n\n")
    answers.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", answers)
    assert cli.status_of(["new"]) == 0
    told = capsys.readouterr().err
    assert "unknown word `dogs`" in told and "`dsl` is either of two" in told
    home = loading.load(tmp_path / "household.toml")
    assert (home.line, home.tier) == ("vdsl", "50/20 Mbit/s")


@pytest.mark.parametrize(
    ("said", "name"),
    [("cable", "docsis"), ("Fibre", "gpon"), ("fiber", "gpon"), ("ftth", "gpon"), ("vdsl", "vdsl")],
)
def test_a_line_has_the_names_that_people_say(said, name) -> None:
    assert name_of(said) == name
    assert aqmlab.Household(things={"door": "camera"}, line=said).line == name


def test_new_takes_a_tier_without_a_unit_in_mbit(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["new", "kid gaming", "--tier", "25/5", "--line", "cable"]
    assert cli.status_of(words) == 0
    home = loading.load(tmp_path / "household.toml")
    assert (home.tier, home.line) == ("25/5 Mbit/s", "docsis")


@pytest.mark.parametrize("tier", ["50 Mbit/s", "50", "50Mbit", "49.5 mbps"])
def test_one_rate_is_not_a_tier(tier, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (
        ["new", "kid gaming", "--tier", tier],
        ["advise", "home2026-single", "--tiers", tier],
    ):
        assert cli.status_of(words) == 2
        told = capsys.readouterr().err
        assert "is one rate; a tier has two, down and up" in told
        assert 'hint: write both, as in "50/20 Mbit/s"' in told
    with pytest.raises(ScenarioError, match="is one rate"):
        aqmlab.Household(things={"door": "camera"}, tier=tier)


def test_an_end_of_input_interrupts_the_questions(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    answers = io.StringIO("")
    answers.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", answers)
    assert cli.status_of(["new"]) == 130
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["video-meeting", "family-call"])
def test_an_activity_that_calls_needs_what_its_call_sends(name) -> None:
    """In each direction, a call on a fast line sends the demand that the activity states."""
    one = activity.activities()[name]
    scenario = aqmlab.Scenario.from_dict(
        {
            "duration": "60 s",
            "path": {"rate": "100 Mbit/s", "rtt": "20 ms"},
            "measure": {"from": "10 s"},
            "apps": {key: plain(app) for key, app in one.apps.items()},
        }
    )
    flows = _core.run(planner.load(scenario).trials[0].text)["tables"]["flows"]
    needs = {"up": one.needs.up, "down": one.needs.down}
    for way, mbit in zip(flows["direction"], flows["throughput_mean_mbit"], strict=True):
        assert mbit == pytest.approx(needs[way].bps / 1e6, rel=0.03), way


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("a kid on the game console", "game"),
        ("two teenagers on the playstation", "game"),
        ("a son on the xbox", "game"),
        ("a daughter playing xbox", "game"),
        ("console update", "game-download"),
        ("an xbox update", "game-download"),
        ("a child in an online lesson", "video-meeting"),
        ("a teenager watching twitch", "film-hd"),
        ("a girl on snapchat", "messages"),
    ],
)
def test_everyday_words_name_activities(words, key) -> None:
    assert {one.use.does for one in household_of(words).uses()} == {key}
