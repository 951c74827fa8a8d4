"""Verdicts against the judgement of a person at home, stated before any condition ran."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest
from aqmlab import _core
from support.verdicts import judged

ROWS = tomllib.loads(Path(__file__).with_name("common_sense.toml").read_text("utf-8"))["condition"]


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_a_condition_is_judged_as_a_person_at_home_would(row, tmp_path):
    lines = [f'title = "{row["name"]}"', f'duration = "{row.get("seconds", 60)} s"']
    lines += [f"path = {{ {row['line']} }}", f"report = {{ {row.get('report', '')} }}"]
    found = judged("\n".join([*lines, "[apps]", *row["apps"]]), tmp_path)[row["app"]]
    # A verdict that differs from the expectation is stated with its reason.
    assert found["word"] == row.get("verdict", row["expected"]), found["because"]


def test_the_conditions_cover_every_kind_and_every_word():
    # Programs of the gateway have no needs.
    kinds = {kind["name"] for kind in _core.catalogue()["apps"] if not kind["on_gateway"]}
    judged_kinds = {tomllib.loads("\n".join(row["apps"]))[row["app"]]["kind"] for row in ROWS}
    assert judged_kinds == kinds
    words = Counter(row["expected"] for row in ROWS)
    assert len(ROWS) >= 60 and min(words[word] for word in ("good", "tolerable", "bad")) >= 10
    names = [row["name"] for row in ROWS]
    assert len(set(names)) == len(names)


def test_a_differing_verdict_is_argued():
    differing = [row for row in ROWS if "verdict" in row]
    assert all(row["verdict"] != row["expected"] and row["argued"] for row in differing)
    assert len(differing) <= len(ROWS) // 10
