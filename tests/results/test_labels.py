import pytest
from aqmlab.base.condition_text import condition_text
from aqmlab.campaign.trial_facts import group_apps
from aqmlab.engines.trial_spec import KindSpec, RouteSpec, TcpSpec
from aqmlab.results.labels import Label, label_trials
from msgspec.structs import replace
from support.campaigns import app, entry_of, spec_of, with_link


def labels(*trials):
    """The labels of `(conditions, spec)` pairs."""
    return label_trials([entry_of(conditions, spec) for conditions, spec in trials])


def test_queue_and_rate_are_read_from_the_trial():
    found = labels(({}, spec_of("pie", (25, 5))), ({}, spec_of("pfifo", (1.5, 0.5))))
    assert found == [Label("pie", "25/5", ""), Label("pfifo", "1.5/0.5", "")]
    assert str(found[0]) == "pie, 25/5 Mbit/s" and found[1].place == "1.5/0.5 Mbit/s"


def test_only_the_rtt_that_varies_is_named():
    def at(rtt_ms):
        return spec_of("pie", apps=[app("near", rtt_ms=10), app("far", rtt_ms=rtt_ms)])

    found = labels(({"far.rtt": "40 ms"}, at(40)), ({"far.rtt": "140 ms"}, at(140)))
    assert [label.rtt for label in found] == ["40 ms", "140 ms"]
    assert found[1].place == "12/1 Mbit/s, RTT 140 ms"


def at_rtts(name, *values):
    """The RTTs in labels of trials at 10, 50 and 100 ms, whose condition `name` has `values`."""
    specs = [spec_of("pie", apps=[app("near", rtt_ms=rtt_ms)]) for rtt_ms in (10, 50, 100)]
    trials = [({name: value}, spec) for value, spec in zip(values, specs, strict=True)]
    return [label.rtt for label in labels(*trials)]


def test_another_number_behind_the_rtt_is_named_with_it():
    named = ["10 ms (delay=5)", "50 ms (delay=25)", "100 ms (delay=50)"]
    assert at_rtts("delay", 5, 25, 50) == named
    assert at_rtts("path.delay", "5", "25", "50") == named
    assert at_rtts("delay", "5 ms", "0.025 s", "50 ms")[1] == "50 ms (delay=0.025 s)"


@pytest.mark.parametrize(
    "values",
    [("10 ms", "50ms", "0.1 s"), ("near", "far", "farther"), ("1mbit", "2mbit", "3mbit")],
)
def test_what_cannot_be_taken_for_the_rtt_is_not_named_with_it(values):
    assert at_rtts("what", *values) == ["10 ms", "50 ms", "100 ms"]


def test_a_condition_that_names_the_queues_gives_them_their_names():
    found = labels(({"scheme": "FIFO"}, spec_of("pfifo")), ({"scheme": "PIE"}, spec_of("pie")))
    assert [label.queue for label in found] == ["FIFO", "PIE"]


@pytest.mark.parametrize("rates", [((12, 1), (25, 5)), ((12, 1), (12, 1))])
def test_no_two_conditions_share_a_label(rates):
    trials = [
        ({"target": target, "rate": str(rate)}, spec_of("pie", rate))
        for rate, target in zip(rates, ("5 ms", "20 ms"), strict=True)
    ]
    found = labels(*trials, *[({**one, "target": "9 ms"}, spec) for one, spec in trials[:1]])
    assert len(set(found)) == 3
    if rates[0] == rates[1]:
        assert found[0].queue == "pie target=5 ms"


def test_what_follows_from_the_rate_is_not_said_again():
    trials = [
        ({"tier": name, "queue": queue}, spec_of(queue, rate))
        for name, rate in (("small", (12, 1)), ("large", (100, 40)))
        for queue in ("pfifo", "pie")
    ]
    assert {label.queue for label in labels(*trials)} == {"pfifo", "pie"}


def test_two_disciplines_are_told_apart_by_direction():
    spec = with_link(spec_of("pie"), 0, qdisc=KindSpec(kind="fq_codel"))
    assert labels(({}, spec))[0].queue == "pie down, fq_codel up"


def test_parameters_of_a_discipline_that_is_varied_are_said_once():
    texts = ["fq_codel limit=1000", "fq_codel limit=100", "pie"]
    found = labels(*(({"qdisc": text}, spec_of(text.split()[0])) for text in texts))
    assert [label.queue for label in found] == texts
    texts = ["pie", "pie target=5ms"]
    found = labels(*(({"up.qdisc": text}, spec_of("pie")) for text in texts))
    assert [label.queue for label in found] == texts
    found = labels(*(({"up": text}, spec_of("pie")) for text in texts))
    assert [label.queue for label in found] == ["pie up=pie", "pie up=pie target=5ms"]


def test_a_line_without_a_bottleneck_has_a_label():
    route = RouteSpec(links=(), delay_ns=20_000_000)
    spec = spec_of("pie", apps=[replace(app("near"), up=route, down=route)])
    assert labels(({}, spec)) == [Label("no queue", "", "")]


def test_conditions_are_said_as_people_write_them():
    for value, text in [
        ("20 ms", "20 ms"),
        (3, "3"),
        (0.5, "0.5"),
        (True, "true"),
        ({"kind": "codel", "target": "5 ms"}, "codel target=5 ms"),
    ]:
        assert condition_text(value) == text


def test_copies_are_one_group_and_what_only_shares_a_name_is_not():
    short = {"stop_ns": 10**9}
    apps = [
        app("iperf-1"),
        *(app(f"iperf-{n}", start_ns=n * 10**9, stop_ns=(n + 1) * 10**9) for n in (2, 3, 4)),
        app("web-1", "web", **short),
        app("web-2", "web", **short),
        app("game-1", "game"),
        app("cam"),
    ]
    assert group_apps([spec_of("pie", apps=apps)]) == {
        "iperf-1": "iperf-1",
        "iperf-2": "iperf-2 to 4",
        "iperf-3": "iperf-2 to 4",
        "iperf-4": "iperf-2 to 4",
        "web-1": "web",
        "web-2": "web",
        "game-1": "game-1",
        "cam": "cam",
    }


def groups(*trials):
    """The groups of the applications of trials; each trial is given as its applications."""
    return group_apps([spec_of("pie", apps=apps) for apps in trials])


@pytest.mark.parametrize(
    "other",
    [
        app("web-2", "web", rtt_ms=140),
        app("web-2", "web", profile="freebsd"),
        replace(app("web-2", "web"), priority=1),
        replace(app("web-2", "web"), home=TcpSpec(profile="windows")),
        replace(app("web-2", "web"), up=RouteSpec(links=(1,), delay_ns=20_000_000)),
        replace(app("web-2", "web"), up=RouteSpec(links=(0,), delay_ns=20_000_000, loss=0.1)),
    ],
)
def test_applications_with_another_path_or_host_are_no_copies(other):
    assert groups([app("web-1", "web"), other]) == {"web-1": "web-1", "web-2": "web-2"}


def test_copies_with_links_of_their_own_are_copies():
    spec = spec_of("pie", apps=[app("web-1", "web"), app("web-2", "web")])
    own = replace(spec.links[0], name="wifi-2-up")
    moved = replace(spec.apps[1], up=replace(spec.apps[1].up, links=(2,)))
    spec = replace(spec, links=(*spec.links, own), apps=(spec.apps[0], moved))
    assert group_apps([spec]) == {"web-1": "web", "web-2": "web"}


def test_copies_stay_copies_where_all_of_them_change_from_trial_to_trial():
    at = [[app(f"web-{n}", "web", rtt_ms=rtt) for n in (1, 2)] for rtt in (20, 140)]
    assert groups(*at) == {"web-1": "web", "web-2": "web"}
    assert groups(at[0], [at[0][0], at[1][1]]) == {"web-1": "web-1", "web-2": "web-2"}
    assert groups(at[0], at[0][:1]) == {"web-1": "web", "web-2": "web"}
    assert groups(at[0][:1], at[0][1:]) == {"web-1": "web", "web-2": "web"}
    assert groups(at[0][:1], at[1][1:]) == {"web-1": "web-1", "web-2": "web-2"}
