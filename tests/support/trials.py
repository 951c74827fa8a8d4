"""Runs trials in this process, and returns their tables by rows."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab import _core
from aqmlab.planning import planner

from . import scenarios

Row = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A trial in the core's form, and its results."""

    spec: dict[str, Any]
    result: dict[str, Any]

    @property
    def digest(self) -> str:
        """The digest of the trial's packets."""
        return str(self.result["digest"])

    @functools.cached_property
    def tables(self) -> dict[str, list[Row]]:
        """The rows of every table, as plain Python values."""
        return {name: rows_of(columns) for name, columns in self.result["tables"].items()}

    def columns(self, table: str) -> list[str]:
        """The names of the columns of a table, in order."""
        return list(self.result["tables"][table])

    @property
    def duration_s(self) -> float:
        """The simulated time of the trial, in seconds."""
        return float(self.spec["duration_ns"]) / 1e9

    @property
    def interval_ns(self) -> tuple[int, int]:
        """The begin and the end of the interval of the statistics, in ns."""
        measure = self.spec["measure"]
        to_ns = measure["to_ns"]
        return measure["from_ns"], self.spec["duration_ns"] if to_ns is None else to_ns

    @property
    def whole(self) -> bool:
        """Whether the statistics cover the whole trial."""
        return self.interval_ns == (0, self.spec["duration_ns"])

    @functools.cached_property
    def apps(self) -> dict[str, dict[str, Any]]:
        """The applications of the trial by name."""
        return {app["name"]: app for app in self.spec["apps"]}

    def links(self, app: str, direction: str) -> list[dict[str, Any]]:
        """The links that packets of an application cross in a direction."""
        return [self.spec["links"][number] for number in self.apps[app][direction]["links"]]

    def flow(self, app: str, direction: str) -> Row | None:
        """The row of an application's direction in the table `flows`; `None` if there is none."""
        return next((row for row in self.tables["flows"] if is_of(row, app, direction)), None)


def is_of(row: Row, app: str, direction: str) -> bool:
    """Returns whether a row belongs to a direction of an application."""
    return bool(row["flow"] == app and row["direction"] == direction)


def rows_of(columns: dict[str, Any]) -> list[Row]:
    """The rows of a table that is given by its columns."""
    plain = [column if isinstance(column, list) else column.tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True)]


def run(spec: dict[str, Any], captures: tuple[Path, Path] | None = None) -> Run:
    """Runs a trial. `captures` names the files of its packets in the home and on the internet."""
    files = None if captures is None else (str(captures[0]), str(captures[1]))
    return Run(spec, _core.run(json.dumps(spec), captures=files))


def run_table(tables: scenarios.Table) -> Run:
    """Runs the first trial of a scenario."""
    return run(scenarios.specs(tables)[0])


def run_number(number: int) -> Run:
    """Runs the random scenario of this number."""
    return run_table(scenarios.table(number))


def trial_of(source: str) -> dict[str, Any]:
    """The first trial of a built-in scenario."""
    return planner.load(source).trials[0].spec.members()
