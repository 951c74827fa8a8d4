"""The errors of a scenario: location, problem, allowed values and suggestion."""

import os
import pickle

import pytest
from aqmlab.base.errors import ScenarioError
from aqmlab.planning import planner
from aqmlab.scenario.model import Scenario
from support import changes as changes_of

HOME = """\
[path]
rate = "12/1 Mbit/s"
rtt = "40 ms"

[apps.up]
kind = "bulk"
direction = "up"
"""


@pytest.fixture
def refusal(tmp_path):
    """A function that loads a text as home.toml and returns the message of its refusal."""

    def load(text, **changes):
        path = tmp_path / "home.toml"
        path.write_text(text)
        with pytest.raises(ScenarioError) as caught:
            changes_of.load(path, **changes)
        return str(caught.value)

    return load


def third(line):
    """HOME with a different third line."""
    return HOME.replace('rtt = "40 ms"', line)


UNIT = "\n\nhint: write a number and a unit, such as"
TOO = "\n\nhint: write the unit, too:"


def test_a_hint_names_each_key_once(refusal):
    hint = refusal(HOME + "zzzzz = 1\n").partition("hint: ")[2]
    names = hint.removeprefix("there are ").split(", ")
    assert "duration" in names and len(names) == len(set(names))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            third('up.qdisc = "fq_code"'),
            "home.toml:3: path.up.qdisc: unknown discipline `fq_code`\n\n"
            "hint: did you mean `fq_codel`?",
        ),
        (
            third('qdisc = "Drop-Tail"'),
            "home.toml:3: path.qdisc: unknown discipline `Drop-Tail`\n\n"
            "hint: did you mean `pfifo`?",
        ),
        (
            third('qdisc = "docsis_pie"'),
            "home.toml:3: path.qdisc: unknown discipline `docsis_pie`\n\n"
            "hint: docsis_pie is not modelled; `pie` is the nearest to it",
        ),
        (
            third('qdisc = "fq_codel,limit=3"'),
            "home.toml:3: path.qdisc: unknown discipline `fq_codel,limit=3`\n\n"
            "hint: write a space before parameters: `fq_codel limit=3`",
        ),
        (
            third('qdisc = "sfb limit 20"'),
            "home.toml:3: path.qdisc: unknown discipline `sfb`\n\n"
            "hint: sfb is not modelled; `red` is the nearest to it",
        ),
        (
            third('qdisc = "fq_codel target=5 ms"'),
            "home.toml:3: path.qdisc: `ms` is not a parameter\n\n"
            "hint: write `target=5ms`, without a space",
        ),
        (
            third('up.qdisc = "codel noecn"'),
            "home.toml:3: path.up.qdisc: `noecn` is not a parameter\n\nhint: write `ecn=false`",
        ),
        (
            third('qdisc = "fq_codel lmit=3"'),
            "home.toml:3: path.qdisc.lmit: unknown parameter `lmit` of `fq_codel`\n\n"
            "hint: did you mean `limit`?",
        ),
        (
            third('up.qdisc = { kind = "codel", target = 5 }'),
            f'home.toml:3: path.up.qdisc.target: `5` is not a duration{TOO} "5 ms" or "5 s"',
        ),
        (
            third('bandwidth = "12/1 Mbit/s"').replace('rate = "12/1 Mbit/s"\n', ""),
            "home.toml:2: path.bandwidth: unknown key `bandwidth`\n\nhint: did you mean `rate`?",
        ),
        (
            third('delay = "40 ms"'),
            "home.toml:3: path.delay: unknown key `delay`\n\nhint: did you mean `rtt`?",
        ),
        (
            'rate = "12/1 Mbit/s"\n' + HOME,
            "home.toml:1: rate: unknown key `rate`\n\n"
            "hint: did you mean `path.rate`, in the table [path]?",
        ),
        (
            HOME.replace('"12/1 Mbit/s"', '"12/1"'),
            'home.toml:2: path.rate: `12/1` has no unit\n\nhint: write it, too: "12/1 Mbit/s"',
        ),
        (
            HOME.replace('"12/1 Mbit/s"', "12"),
            "home.toml:2: path.rate: `12` is not a rate\n\n"
            'hint: write the unit, too: "12 Mbit/s", or down before up: "12/1 Mbit/s"',
        ),
        (
            HOME.replace('kind = "bulk"', 'type = "bulk"'),
            "home.toml:6: apps.up.type: unknown key `type`\n\nhint: did you mean `kind`?",
        ),
        (
            HOME.replace('kind = "bulk"', 'knd = "bulk"'),
            "home.toml:6: apps.up.knd: unknown key `knd`\n\nhint: did you mean `kind`?",
        ),
        (
            HOME + 'start = "23:00"',
            "home.toml:8: apps.up.start: `23:00` is not a duration\n\nhint: times count from the "
            'start of the trial: write a number and a unit, such as "40 ms"',
        ),
        (
            HOME.replace('kind = "bulk"', 'kind = "upload"'),
            "home.toml:6: apps.up.kind: unknown kind of application `upload`\n\n"
            'hint: did you mean `bulk` with direction = "up"?',
        ),
        (
            third('qdisc = "codel limit 5"'),
            "home.toml:3: path.qdisc: `limit` is not a parameter\n\n"
            'hint: write "codel limit=…", as in "fq_codel limit=1000 target=5ms"',
        ),
        (
            third('qdisc = "pie alpha=-1"'),
            "home.toml:3: path.qdisc.alpha: `-1` is out of bounds: alpha goes from 0 to 1",
        ),
        (
            third('qdisc = "pie alpha=5"'),
            "home.toml:3: path.qdisc.alpha: `5` is out of bounds: alpha goes from 0 to 1\n\n"
            'hint: for 5 in a hundred write "5 %"',
        ),
        (
            third('up.qdisc = "fq_codel flows=0"'),
            "home.toml:3: path.up.qdisc.flows: `0` is out of bounds: flows goes from 1 to 65536",
        ),
        (
            third("rtt = 40"),
            f'home.toml:3: path.rtt: `40` is not a duration{TOO} "40 ms" or "40 s"',
        ),
        (
            third('rtt = "-40 ms"'),
            "home.toml:3: path.rtt: `-40 ms` is negative\n\nhint: a duration cannot be below zero",
        ),
        (
            third('rt = "40 ms"'),
            "home.toml:3: path.rt: unknown key `rt`\n\nhint: did you mean `rtt`?",
        ),
        (
            third("loss = 5"),
            "home.toml:3: path.loss: `5` is not between 0 and 1\n\n"
            'hint: for five in a hundred write "5 %"',
        ),
        (
            third('overhead = "ethernett"'),
            "home.toml:3: path.overhead: unknown overhead `ethernett`\n\n"
            "hint: did you mean `ethernet`?",
        ),
        (
            HOME.replace("12/1", "12/0"),
            "home.toml:2: path.rate: `0 Mbit/s` is a rate of zero, at which a queue never drains"
            '\n\nhint: write a rate above zero, such as "64 kbit/s"',
        ),
        (
            HOME.replace('rate = "12/1 Mbit/s"', 'down.rate = "12 Mbit/s"'),
            "home.toml:1: path.up: is missing\n\n"
            'hint: add rate = "12/1 Mbit/s", down before up, to [path]',
        ),
        (
            HOME + 'strt = "3 s"',
            "home.toml:8: apps.up.strt: unknown parameter `strt` of `bulk`\n\n"
            "hint: did you mean `start`?",
        ),
        (
            HOME + 'start = "3 s"\nstop = "2 s"',
            "home.toml:9: apps.up.stop: `2 s` is not after the start, 3 s",
        ),
        (
            HOME + 'stop = "9 s"\nduration = "2 s"',
            "home.toml:8: apps.up.stop: given together with `duration`\n\n"
            "hint: write one of the two",
        ),
        (
            HOME.replace('"bulk"', '"bulkk"'),
            "home.toml:6: apps.up.kind: unknown kind of application `bulkk`\n\n"
            "hint: did you mean `bulk`?",
        ),
        (
            HOME.replace('kind = "bulk"', ""),
            "home.toml:5: apps.up.kind: is missing\n\nhint: there are bulk, cbr, ping",
        ),
        (
            HOME.replace("[apps.up]", '[[apps]]\nname = "a"') + '[[apps]]\nname = "a"',
            "home.toml:9: apps.1: there are two applications called `a`\n\n"
            "hint: rename one of them",
        ),
        (
            HOME + 'count = 2\n[apps.up-2]\nkind = "ping"',
            "home.toml:9: apps.up-2: there are two applications called `up-2`\n\nhint: rename one",
        ),
        (
            HOME + 'home = "kitchen"\n[hosts.kichen]',
            "home.toml:8: apps.up.home: unknown host `kitchen`\n\nhint: did you mean `kichen`?",
        ),
        (
            HOME + 'home = { profile = "linus" }',
            "home.toml:8: apps.up.home.profile: unknown host profile `linus`\n\n"
            "hint: did you mean `linux`?",
        ),
        (
            HOME + 'home = { cc = "cubik" }',
            "home.toml:8: apps.up.home.cc: unknown congestion control `cubik`\n\n"
            "hint: did you mean `cubic`?",
        ),
        (
            HOME + '[measure]\nfrom = "40 s"',
            "home.toml:9: measure.from: `40 s` is not before the end of the trial, 30 s\n\n"
            "hint: make the trial longer, or set measure.from",
        ),
        (
            HOME + '[measure]\nstep = "300 ms"',
            "home.toml:8: measure.window: `1 s` is not a whole multiple of the step, `300 ms`\n\n"
            'hint: write, for instance, window = "1 s" and step = "250 ms"',
        ),
        (
            HOME + "tcp.rack = false\n[hosts.home]\nprofile = 'freebsd'\n",
            "home.toml:5: apps.up.home: a host of profile `freebsd` has no setting `rack`\n\n"
            "hint: docs/reference/tcp.md lists which host has which",
        ),
        (
            HOME + "[hosts.home]\nprofile = 'freebsd'\nrack = false\n",
            "home.toml:10: hosts.home.rack: a host of profile `freebsd` has no setting `rack`\n\n"
            "hint: docs/reference/tcp.md lists which host has which",
        ),
        (
            HOME + '[vary]\npath.rt = ["1 ms"]',
            "home.toml:9: path.rt: unknown key `rt`\n\nhint: did you mean `rtt`?",
        ),
        (
            HOME + '[vary]\npath.rtt = ["1 ms", "2 m"]',
            f'home.toml:9: path.rtt: `2 m` is not a duration{UNIT} "40 ms"',
        ),
        (
            HOME + "[vary]\npath.rtt = []",
            "home.toml:9: vary.path.rtt: there are no values\n\nhint: write them in brackets",
        ),
        (
            HOME + '[vary]\npath.rt-t = ["1 ms"]\nrtt = ["1 ms"]',
            "home.toml:10: vary.rtt: neither the address of a parameter nor a list of tables\n\n"
            "hint: there are path.down.rate, path.qdisc, path.rate, path.rtt, path.up.rate",
        ),
        (
            HOME + '[vary]\napps.u.start = ["1 s"]',
            "home.toml:9: apps.u.start: unknown application `u`\n\nhint: did you mean `up`?",
        ),
        (
            "seeds = 0\n" + HOME,
            "home.toml:1: seeds: `0` is not between 1 and 100000 seeds\n\n"
            'hint: write how many, such as 5, or which, such as "3-7", "1,4,9" or "7-7"',
        ),
        (
            'duration = "0 s"\n' + HOME,
            "home.toml:1: duration: `0 s` is zero\n\n"
            'hint: write a duration above zero, such as "30 s"',
        ),
        (
            "[path\n" + HOME,
            "home.toml:1: this is not TOML: expected ']' at the end of a table declaration",
        ),
        (
            third("rate = 20/2 Mbit/s  # down/up").replace('rate = "12/1 Mbit/s"\n', "\n"),
            "home.toml:3: this is not TOML: expected newline or end of document after a statement"
            '\n\nhint: put text in quotes: "20/2 Mbit/s"',
        ),
        (
            third('up = { qdisc = "pie limit=9", rate = 20/2 }'),
            "home.toml:3: this is not TOML: unclosed inline table\n\n"
            'hint: put text in quotes: "20/2"',
        ),
        (
            third("qdisc = fq_codel limit=3"),
            "home.toml:3: this is not TOML: invalid value\n\n"
            'hint: put text in quotes: "fq_codel limit=3"',
        ),
        (
            HOME + "[vary]\npath.rtt = [20ms, 40ms]",
            'home.toml:9: this is not TOML: unclosed array\n\nhint: put text in quotes: "20ms"',
        ),
        (
            third('qdisc = "pie'),
            "home.toml:3: this is not TOML: illegal character '\\n'",
        ),
        (
            HOME.split("[apps")[0],
            "home.toml:1: apps: is missing\n\nhint: add a table such as [apps.upload]",
        ),
        (
            HOME.replace("[apps.up]", '[apps."a\\nb"]'),
            "home.toml:5: apps.a?b: a name is one line of at most 100 characters",
        ),
        (
            HOME.replace("[apps.up]", '[apps.""]'),
            "home.toml:5: apps.: a name is one line of at most 100 characters",
        ),
        (
            HOME + '[report]\nfigures = ["rtt_tme"]',
            "home.toml:9: report.figures.0: unknown figure `rtt_tme`\n\n"
            "hint: did you mean `rtt_time`?",
        ),
    ],
)
def test_files(refusal, text, message):
    assert refusal(text) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"sets": ["path.rtt=20"]},
            f'--set: path.rtt: `20` is not a duration{TOO} "20 ms" or "20 s"',
        ),
        (
            {"sets": ["pth.rtt=20 ms"]},
            "--set: unknown parameter `pth.rtt`\n\nhint: did you mean `path.rtt`?",
        ),
        (
            {"sets": ["path.rtt"]},
            '--set: `path.rtt` assigns nothing\n\nhint: write --set "path.rtt=20 ms"',
        ),
        (
            {"sets": ["apps.upp.start=1 s"]},
            "--set: apps.upp.start: unknown application `upp`\n\nhint: did you mean `up`?",
        ),
        (
            {"sets": ["apps.zoom.kind=video_call"]},
            "--set: apps.zoom.kind: unknown application `zoom`\n\n"
            "hint: there are up; only a scenario's file can add an application: [apps.zoom]",
        ),
        (
            {"sets": ["path.rtt=1 ms"], "vary": ["path.rtt=2 ms"]},
            "--vary: `path.rtt` is both set and varied\n\nhint: choose one",
        ),
        (
            {"vary": ["path.rtt="]},
            '--vary path.rtt: no value is given\n\nhint: write --vary "path.rtt=A,B"',
        ),
        (
            {"vary": ["path.rtt=1 ms,2"]},
            f'--vary: path.rtt: `2` is not a duration{TOO} "2 ms" or "2 s"',
        ),
        (
            {"seeds": "x"},
            "--seeds: `x` is not a number of seeds\n\n"
            'hint: write how many, such as 5, or which, such as "3-7", "1,4,9" or "7-7"',
        ),
        ({"duration": "5"}, f'--duration: duration: `5` is not a duration{TOO} "5 ms" or "5 s"'),
    ],
)
def test_command_lines(refusal, changes, message):
    assert refusal(HOME, **changes) == message


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("../x.toml", "`../x.toml` is outside the scenario's folder"),
        ("/etc/passwd.toml", "`/etc/passwd.toml` is outside the scenario's folder"),
        ("sub/../../x.toml", "`sub/../../x.toml` is outside the scenario's folder"),
        ("link.toml", "`link.toml` is outside the scenario's folder"),
        ("folder.toml", "`folder.toml` is a folder, not a file"),
        ("pipe.toml", "`pipe.toml` is a pipe or a device, not a file"),
        ("a\\u0000b.toml", "`a?b.toml` is not the name of a file"),
        ("nope.toml", "there is no file `nope.toml`"),
        ("nope", "there is no scenario `nope`"),
        ("home.toml", "more than 10 scenarios extend each other"),
    ],
)
def test_what_may_be_extended(refusal, tmp_path, name, problem):
    (tmp_path.parent / "x.toml").write_text(HOME)
    (tmp_path / "link.toml").symlink_to(tmp_path.parent / "x.toml")
    (tmp_path / "folder.toml").mkdir()
    os.mkfifo(tmp_path / "pipe.toml")
    assert refusal(f'extends = "{name}"\n{HOME}').startswith(f"home.toml:1: extends: {problem}")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("rrull", "rrull: there is no such scenario\n\nhint: did you mean `rrul`?"),
        ("/no/such.toml", "/no/such.toml: cannot be read: no such file or directory"),
        ("/no/such.py", "/no/such.py: cannot be read: no such file or directory"),
    ],
)
def test_sources(source, message):
    with pytest.raises(ScenarioError) as caught:
        planner.load(source)
    assert str(caught.value) == message


def test_values_made_in_python_name_their_place():
    with pytest.raises(ScenarioError) as caught:
        Scenario(path={"rate": "1/1 Mbit/s"}, apps={"x": {"kind": "bulc"}})
    assert str(caught.value) == (
        'Scenario(apps={"x": {"kind": …}}): unknown kind of application `bulc`\n\n'
        "hint: did you mean `bulk`?"
    )


def test_errors_cross_to_other_processes():
    error = ScenarioError("a", "b", "c")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    with pytest.raises(ScenarioError) as caught:
        Scenario(path={"rate": "1/1 Mbit/s"}, apps={})
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_byte_order_mark_is_no_part_of_a_scenario(tmp_path):
    (tmp_path / "home.toml").write_bytes(b"\xef\xbb\xbf" + HOME.encode())
    assert len(planner.load(tmp_path / "home.toml").trials) == 1


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("gaming", "game"),
        ("zoom", "webrtc_call"),
        ("call", "voip"),
        ("music", "audio_stream"),
        ("speedtest", "rpm"),
    ],
)
def test_what_people_at_home_call_things_is_understood(said, meant) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario(path={"rate": "25/5 Mbit/s"}, apps={"x": {"kind": said}})
    assert caught.value.hint == f"did you mean `{meant}`?"


@pytest.mark.parametrize(
    ("line", "problem", "hint"),
    [
        (
            "path = 3", "path: `3` is a number, not a table",
            'write path = { rate = "12/1 Mbit/s", rtt = "40 ms" }',
        ),
        (
            'apps = "off"', "apps: `off` is text, not a table",
            'write apps.NAME = { kind = "bulk" }, or "off" to leave one out',
        ),
        (
            "hosts = [1]", "hosts: `[1]` is a list, not a table",
            'write hosts.NAME = { profile = "linux" }',
        ),
        (
            "measure = 3", "measure: `3` is a number, not a table",
            'write measure = { from = "5 s" }',
        ),
        (
            "defaults = true", "defaults: `true` is a switch, not a table",
            'write defaults = { start = "1 s" }',
        ),
        ("title = 3", "title: `3` is a number, not text", "put it in quotes"),
        (
            'report.figures = "rates"', "report.figures: `rates` is text, not a list",
            'write figures = ["rtt_time"]',
        ),
        (
            "report.figures = [3]", "report.figures.0: `3` is a number, not text",
            'write "rtt_time"',
        ),
        ("report.rates = 3", "report.rates: `3` is a number, not a table", None),
        ("measure.points = 1.5", "measure.points: `1.5` is not a whole number", None),
        ('measure.points = "x"', "measure.points: `x` is not a whole number", None),
        (
            "measure.points = true", "measure.points: `true` is a switch, not a number",
            "write a whole number",
        ),
        ("measure.points = 0", "measure.points: `0` is not at least 1", None),
        ("measure.points = 2e6", "measure.points: `2000000.0` is not at most 1000000", None),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_said_in_the_words_of_toml(refusal, line, problem, hint):
    path, apps = HOME.split("\n\n")
    home = {"path": apps, "apps": path}.get(line.partition(" ")[0], HOME)
    error = refusal(f"{line}\n{home}")
    ending = f"\n\nhint: {hint}" if hint else ""
    assert error == f"home.toml:1: {problem}{ending}"


REMOVALS = [
    ("", {"sets": ["apps.upp=off"]}, "--set: apps.upp"),
    ("", {"sets": ["apps.upp=false"]}, "--set: apps.upp"),
    ("", {"sets": ['apps={upp = "off"}']}, "--set: apps.upp"),
    ("", {"vary": ["apps.upp=off"]}, "--vary: apps.upp"),
    ('[vary]\nwho = [{label = "all"}, {apps.upp = "off"}]\n', {}, "home.toml:9: apps.upp"),
]


@pytest.mark.parametrize(("loops", "changes", "where"), REMOVALS)
def test_the_removal_of_an_unknown_application_is_refused(refusal, loops, changes, where):
    message = refusal(HOME + loops, **changes)
    assert message == f"{where}: unknown application `upp`\n\nhint: did you mean `up`?"


def test_a_file_that_removes_an_unknown_application_is_refused(refusal):
    message = refusal('extends = "bufferbloat"\n[apps]\npign = "off"\n')
    said = "home.toml:3: apps.pign: unknown application `pign`\n\nhint: did you mean `ping`?"
    assert message == said


def test_a_file_without_a_scenario_below_it_removes_nothing(refusal):
    message = refusal(HOME.replace("[apps.up]", '[apps]\nping = "off"\n[apps.up]'))
    said = '"off" removes nothing, because the file extends no scenario'
    assert message == f"home.toml:6: apps.ping: {said}\n\nhint: leave the line out"


@pytest.mark.parametrize("change", [lambda one: one.set("apps.upp", "off"),
                                    lambda one: one.but(apps={"upp": False})])  # fmt: skip
def test_python_refuses_the_removal_of_an_unknown_application(change):
    with pytest.raises(ScenarioError, match=r"apps\.upp: unknown application `upp`"):
        change(Scenario.from_toml(HOME))


@pytest.mark.parametrize("option", [{}, {"sets": ["apps.b=off"]}])
def test_an_application_that_its_loop_adds_may_be_off_there_and_by_an_option(tmp_path, option):
    path = tmp_path / "home.toml"
    path.write_text(HOME + '[vary]\napps.b = ["off", {kind = "ping"}]\n')
    trials = changes_of.load(path, **option).trials
    assert [len(one.spec.apps) for one in trials] == ([1] if option else [1, 2])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('hosts.hom = "off"', "home.toml:2: hosts.hom: `off` is not a table"),
        ('vary."path.rtx" = "off"', "home.toml:2: vary.path.rtx: `off` is not a list"),
        ('path.modme = "off"', "home.toml:2: path.modme: unknown key `modme`"),
    ],
)
def test_no_other_table_removes_a_member_by_off(refusal, line, message):
    assert refusal(f'extends = "bufferbloat"\n{line}\n').startswith(message)


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ('qdisc = "pie"\nqueue = "codel"', "home.toml:4: path.queue"),
        ('up.queue = "pie"\nup.qdisc = "codel"', "home.toml:3: path.up.queue"),
        ('down = {queue = "pie", qdisc = "pie"}', "home.toml:3: path.down.queue"),
        ('modem = {rate = "2/1 Mbit/s", queue = "pie", qdisc = "pie"}', ":3: path.modem.queue"),
    ],
)
def test_a_discipline_under_both_of_its_names_is_refused(refusal, line, where):
    message = refusal(third(line))
    said = "`queue` and `qdisc` are two names of one key, and both are given"
    assert message.endswith(f"{where}: {said}\n\nhint: write `qdisc` alone")


def test_a_step_of_a_linked_loop_with_both_names_is_refused(refusal):
    loop = '[vary]\nx = [{path.up.queue = "pie", path.up.qdisc = "codel"}]\n'
    said = "home.toml:9: vary.x: `queue` and `qdisc` are two names of one key"
    assert refusal(HOME + loop).startswith(said)


def test_either_name_of_the_discipline_changes_the_extended_scenario(tmp_path):
    path = tmp_path / "home.toml"
    path.write_text('extends = "bufferbloat"\npath.queue = "pie"\n')
    for address in ("path.up.qdisc", "path.up.queue"):
        (trial,) = changes_of.load(path, sets=[f"{address}=codel"]).trials
        assert [link.qdisc.kind for link in trial.spec.links] == ["codel", "pie"]


@pytest.mark.parametrize(
    ("text", "number"), [("pfifo,,pie", 2), ("pfifo,pie,", 3), (",pie", 1), (" , ", 1)]
)
def test_an_empty_value_of_vary_is_refused(refusal, text, number):
    for address in ("path.qdisc", "V_aqm"):
        message = refusal(HOME, vary=[f"{address}={text}"])
        said = (
            f"--vary {address}: value {number} of `{text.strip()}` is empty\n\nhint: write a value"
        )
        assert message.startswith(said)


@pytest.mark.parametrize(
    ("said", "meant"), [("upload", "up"), ("download", "down"), ("Upstream", "up")]
)
def test_common_words_for_a_direction_are_answered_with_its_word(refusal, said, meant):
    text = HOME.replace('direction = "up"', f'direction = "{said}"')
    problem = f"home.toml:7: apps.up.direction: unknown word `{said}`"
    assert refusal(text) == f"{problem}\n\nhint: did you mean `{meant}`?"


def test_an_unknown_kind_of_application_is_not_called_an_unknown_application(refusal):
    message = refusal(HOME, sets=["apps.up.kind=bulkk"])
    said = "--set: apps.up.kind: unknown kind of application `bulkk`"
    assert message == f"{said}\n\nhint: did you mean `bulk`?"
