"""Every random trial satisfies the laws of its tables."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from aqmlab.scenario import catalogue
from support import laws, scenarios, trials
from support.laws import conns, form

CHUNK = 25
"""The number of scenarios in a test.

It is small enough to spread the tests over several processes. It is large enough that the start of
a test takes little of the test's time.
"""
QUICK = range(0, 300, CHUNK)
SOAK = range(1_000, 11_000, 100)


def broken(numbers: range) -> list[str]:
    """The violations in the random scenarios of these numbers, each with its number."""
    return [
        f"scenario {number}: {text}"
        for number in numbers
        for text in laws.violations(trials.run_number(number))
    ]


@pytest.mark.parametrize("first", QUICK)
def test_a_random_trial_obeys_every_law(first: int) -> None:
    assert broken(range(first, first + CHUNK)) == []


@pytest.mark.soak
@pytest.mark.parametrize("first", SOAK)
def test_ten_thousand_random_trials_obey_every_law(first: int) -> None:
    assert broken(range(first, first + 100)) == []


def test_a_number_is_a_scenario() -> None:
    for number in range(20):
        assert scenarios.toml(number) == scenarios.toml(number)
    assert len({scenarios.toml(number) for number in range(20)}) == 20


def test_random_scenarios_name_every_kind() -> None:
    drawn = {family: set() for family in ("disciplines", "apps", "tcp", "profiles")}
    for number in range(600):
        table = scenarios.table(number)
        hosts = table["hosts"].values()
        drawn["profiles"] |= {host["profile"] for host in hosts}
        drawn["tcp"] |= {host["cc"]["kind"] for host in hosts if "cc" in host}
        drawn["apps"] |= {app["kind"] for app in table["apps"].values()}
        drawn["disciplines"] |= {table["path"][way]["qdisc"]["kind"] for way in ("up", "down")}
    assert drawn == {family: set(catalogue.load()[family]) for family in drawn}


# --- The laws can fail ---------------------------------------------------------------------------

LOOSE = {
    # A doubled or halved value in one of these columns need not break a law.
    "flows.jitter_ms",
    *(f"queues.sojourn_{quantile}_ms" for quantile in ("p5", "p50", "p95")),
    "rtt.t_s",
    "app_series.value",
    "queue_series.backlog_bytes",
    "queue_gauges.value",
    "conns.conn",
    "conns.established_s",
    "conns.closed_s",
    *(f"conns.{count}" for count in conns.COUNTS),
    *(f"tcp_series.{state}" for state in form.documented("tcp_series")),
}


@pytest.fixture(scope="module")
def home() -> trials.Run:
    """A trial that has rows in every table."""
    apps = {
        "call": {"kind": "voip", "host": "anna"},
        "save": {"kind": "bulk", "direction": "up"},
        "load": {"kind": "bulk", "tcp": {"ecn": True}},
        "film": {"kind": "dash", "host": "anna"},
    }
    path = {"rate": "10/2 Mbit/s", "rtt": "20 ms", "qdisc": "fq_codel"}
    made = trials.run_table({"duration": "10 s", "path": path, "apps": apps})
    assert laws.violations(made) == []
    assert all(made.tables.values()), "a table is empty"
    return made


def changed(
    run: trials.Run, table: str, column: str, change: Callable[[float], float]
) -> trials.Run:
    """The run with one column of a table changed."""
    rows = [row | {column: change(row[column])} for row in run.tables[table]]
    other = trials.Run(run.spec, run.result)
    other.__dict__["tables"] = {**run.tables, table: rows}
    return other


def test_a_column_that_is_doubled_or_halved_breaks_a_law(home: trials.Run) -> None:
    unnoticed = set()
    for table, rows in home.tables.items():
        for column, value in rows[0].items():
            if isinstance(value, (str, bool)):
                continue
            found = [
                laws.violations(changed(home, table, column, change))
                for change in (lambda one: 2 * one + 1, lambda one: one / 2)
            ]
            if not any(found):
                unnoticed.add(f"{table}.{column}")
    assert unnoticed <= LOOSE


def test_a_number_that_is_not_finite_breaks_a_law(home: trials.Run) -> None:
    for bad in (math.inf, -math.inf, math.nan):
        for table, column in (("flows", "rtt_p50_ms"), ("queues", "sojourn_p50_ms")):
            spoiled = changed(home, table, column, lambda _, bad=bad: bad)
            assert any(column in text for text in laws.violations(spoiled))
