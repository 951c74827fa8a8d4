"""Rates that vary: their notations, their errors and their trials."""

from __future__ import annotations

import pytest
from aqmlab import Scenario
from aqmlab.base.errors import ScenarioError
from aqmlab.engines.trial_spec import RateStepSpec
from aqmlab.planning import delivery_traces, planner
from aqmlab.scenario import catalogue
from msgspec import UNSET

STEPS = [["0 s", "20/4 Mbit/s"], ["2 s", "5/1 Mbit/s"], ["3 s", "0 bit/s"], ["4 s", "8 Mbit/s"]]
HOME = Scenario(duration="5 s", path={"rate": STEPS}, apps={"file": {"kind": "bulk"}})
TEXT = """
duration = "5 s"
[path]
rtt = "20 ms"
up.rate = "1 Mbit/s"
down.rate = {rate}
[apps.file]
kind = "bulk"
"""


@pytest.fixture(autouse=True)
def real_catalogue(monkeypatch):
    """Restores the simulator's own catalogue."""
    kinds = catalogue.Catalogue(catalogue.raw())
    monkeypatch.setattr(catalogue, "load", lambda: kinds)


def links_of(source):
    return planner.load(source).trials[0].spec.links


def planned(tmp_path, rate):
    path = tmp_path / "home.toml"
    path.write_text(TEXT.format(rate=rate))
    return planner.load(path)


def refusal(tmp_path, rate):
    with pytest.raises(ScenarioError) as caught:
        planned(tmp_path, rate)
    return str(caught.value)


def test_steps_for_both_directions_become_the_steps_of_each():
    up, down = links_of(HOME)
    assert (up.rate_bps, down.rate_bps) == (4_000_000, 20_000_000)
    assert down.rate_steps == tuple(
        RateStepSpec(at_ns=at * 10**9, rate_bps=bps)
        for at, bps in ((2, 5_000_000), (3, 0), (4, 8_000_000))
    )
    assert [step.rate_bps for step in up.rate_steps] == [1_000_000, 0, 8_000_000]


def test_steps_survive_toml_and_dictionaries():
    assert Scenario.from_toml(HOME.to_toml()) == HOME
    assert Scenario.from_dict(HOME.to_dict()) == HOME
    assert HOME.to_dict()["path"]["up"]["rate"][2] == ["3 s", "0 bit/s"]


def test_one_step_is_a_constant_rate():
    one = HOME.set("path.rate", [["0 s", "12/1 Mbit/s"]])
    assert links_of(one) == links_of(HOME.set("path.rate", "12/1 Mbit/s"))


def test_a_constant_rate_replaces_steps_and_steps_may_be_varied():
    assert links_of(HOME.set("path.down.rate", "3 Mbit/s"))[1].rate_steps is UNSET
    varied = HOME.but(
        vary={
            "line": [
                {"label": "steady", "path.rate": "9 Mbit/s"},
                {"label": "varies"} | {"path.rate": STEPS},
            ]
        }
    )
    specs = [trial.spec for trial in planner.load(varied).trials]
    assert [spec.links[1].rate_steps is UNSET for spec in specs] == [True, False]


def test_a_modem_has_steps_and_no_share_of_them():
    home = HOME.but(path={"rate": "4/1 Mbit/s", "modem": {"rate": STEPS}})
    links = {link.name: link for link in links_of(home)}
    assert links["down"].rate_steps is UNSET
    assert len(links["modem-down"].rate_steps) == 3
    with pytest.raises(ScenarioError, match="that rate varies"):
        home.set("path.rate", "90 %")


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ('[["0 s", "5 Mbit/s"], ["2 s", "fast"]]', "home.toml:6: path.down.rate.1: `fast` is not"),
        ('[["1 s", "5 Mbit/s"]]', "path.down.rate.0: the first step is at 1 s"),
        ('[["0 s", "5 Mbit/s"], ["0 s", "1 Mbit/s"]]', "path.down.rate.1: 0 s is not after"),
        ('[["0 s", "0 bit/s"], ["2 s", "1 Mbit/s"]]', "path.down.rate.0: the first rate is zero"),
        ('[["0 s", "1 Mbit/s"], ["2 s", "0 bit/s"]]', "path.down.rate.1: the last rate is zero"),
        ('[["0 s", "1 bit/s"]]', "path.down.rate.0: `1 bit/s` is outside the supported range"),
        ('["0 s", "5 Mbit/s"]', "path.down.rate.0: `0 s` is not a time and a rate"),
        ("[]", "path.down.rate: 0 steps are not 1 to 10000"),
        ('{ file = "x" }', "path.down.rate: `{file = 'x'}` is not a trace"),
        ('{ trace = "/etc/passwd" }', "`/etc/passwd` is outside the scenario's folder"),
        ('{ trace = "../lte.down" }', "`../lte.down` is outside the scenario's folder"),
        ('{ trace = "none.down" }', "path.down.rate.trace: `none.down` cannot be read"),
    ],
)
def test_wrong_rates_are_refused_where_they_stand(tmp_path, rate, message):
    found = refusal(tmp_path, rate)
    assert message in found
    assert found.startswith("home.toml:6: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\nx\n", "lte.down:2: `x` is not a time from 0 to 4294967295"),
        ("1\n\n2\n", "lte.down:2: `` is not a time"),
        ("5\n3\n", "lte.down:2: 3 is before 5"),
        ("-1\n", "lte.down:1: `-1` is not a time"),
        ("99999999999\n", "lte.down:1: `99999999999` is not a time"),
        ("", "lte.down: holds no opportunity"),
        ("0\n0\n", "lte.down:2: the last time is 0"),
    ],
)
def test_wrong_traces_are_refused_with_the_line_in_the_file(tmp_path, text, message):
    (tmp_path / "lte.down").write_text(text)
    assert message in refusal(tmp_path, '{ trace = "lte.down" }')


def test_a_link_out_of_the_folder_and_a_large_file_are_refused(tmp_path, monkeypatch):
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "secret").write_text("1\n")
    (folder / "lte.down").symlink_to(tmp_path / "secret")
    assert "outside the scenario's folder" in refusal(folder, '{ trace = "lte.down" }')
    monkeypatch.setattr(delivery_traces, "MOST_BYTES", 3)
    (folder / "big.down").write_text("1\n2\n")
    assert "larger than 3 bytes" in refusal(folder, '{ trace = "big.down" }')


def test_a_trace_is_cut_after_the_trial_and_its_rate_is_its_mean(tmp_path):
    (tmp_path / "lte.down").write_text("".join(f"{ms}\r\n" for ms in range(0, 60_000, 2)))
    down = planned(tmp_path, '{ trace = "lte.down" }').trials[0].spec.links[1]
    assert down.opportunities_ms[:3] == (0, 2, 2)
    # The trial has the opportunities at 0 to 4998 ms; the next one is after its end.
    assert 5_000 <= sum(down.opportunities_ms) <= 5_004
    assert down.rate_bps == 2_500 * 1_504 * 8 // 5
    (tmp_path / "lte.down").write_text("1\n")
    down = planned(tmp_path, '{ trace = "lte.down" }').trials[0].spec.links[1]
    assert (down.opportunities_ms, down.rate_bps) == ((1,), 4_999 * 1_504 * 8 // 5)
