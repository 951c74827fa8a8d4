"""The grid: the cells of `grid.toml`, which both engines run.

A cell is data. It becomes an ordinary scenario with one trial per seed. A cell therefore contains
only facts that a user's scenario can also state.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from aqmlab.base.errors import suggestion
from aqmlab.base.failures import RequestError
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.planning.lowering import resolve
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.notation import Table
from aqmlab.scenario.quantities import Duration

PATH = Path(__file__).with_name("grid.toml")

_NAMED = ("mix", "rate", "qdisc", "rtt", "cc", "loss", "jitter", "receive_buffer", "send_buffer")
"""The keys of a cell that make up its name, in this order."""

_CLASSES = {
    "pfifo": "fifo", "bfifo": "fifo", "codel": "aqm", "pie": "aqm", "red": "aqm",
    "pfifo_fast": "fifo", "fq_codel": "fq", "fq_pie": "fq", "sfq": "fq", "cake": "fq",
}  # fmt: skip


CellWords = TypedDict(
    "CellWords",
    {
        "mix": str,
        "qdisc": str | dict[str, str],
        "rate": str,
        "rtt": str,
        "cc": str,
        "duration": str,
        "seeds": int,
        "ecn": NotRequired[bool],
        "shaper": NotRequired[str],
        "loss": NotRequired[str],
        "jitter": NotRequired[str],
        "receive_buffer": NotRequired[str],
        "send_buffer": NotRequired[str],
        "from": NotRequired[str],
        "tag": NotRequired[str],
    },
)
"""The values of a cell, as `grid.toml` states them."""


@dataclass(frozen=True)
class Cell:
    """One condition of the grid, which has one trial per seed."""

    name: str
    group: str
    about: str
    words: CellWords
    """The values of the cell, merged over the values of its group and of the grid."""
    apps: Mapping[str, Table]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the cell's trials."""
        return tuple(range(1, int(self.words["seeds"]) + 1))

    @cached_property
    def spec(self) -> TrialSpec:
        """The resolved trial with the seed 0."""
        return resolve(Scenario(**self._scenario())).spec

    def spec_json(self, seed: int) -> str:
        """The trial as JSON, the input of both engines."""
        return self.spec.with_seed(seed).canonical_text()

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that identify the cell's values without its seeds.

        The digest does not depend on the JSON form of a trial, which may change.
        """
        said = {key: value for key, value in self.words.items() if key not in ("seeds", "tag")}
        text = json.dumps([said, self.apps], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def duration_s(self) -> float:
        """The simulated time of a trial, in seconds."""
        return self.spec.duration_s

    @cached_property
    def kin(self) -> str:
        """The group of cells with a comparable spread.

        The group depends on the classes of the disciplines, and on whether a single bulk transfer
        is the only application. It also depends on whether packets are lost or reordered at random.
        """
        classes = {_CLASSES[link.qdisc.kind] for link in self.spec.links}
        bulk = sum(app.app.kind == "bulk" for app in self.spec.apps)
        alone = "alone" if len(self.spec.apps) == bulk == 1 else "shared"
        chance = " by chance" if self.words.keys() & {"loss", "jitter"} else ""
        return f"{'+'.join(sorted(classes))} {alone}{chance}"

    @property
    def condition(self) -> str:
        """The mix, rate, round-trip time, disciplines and congestion control, for tables."""
        words = self.words
        qdisc = words["qdisc"]
        queue = qdisc if isinstance(qdisc, str) else f"{qdisc['down']} down, {qdisc['up']} up"
        return f"{words['mix']}, {words['rate']}, {words['rtt']}, {queue}, {words['cc']}"

    def _scenario(self) -> Table:
        words = self.words
        # Both engines shape with HTB, unless the cell has another shaper.
        shaper = words.get("shaper", "htb")
        path: Table = {"rate": words["rate"], "rtt": words["rtt"], "shaper": shaper}
        if isinstance(words["qdisc"], str):
            path["qdisc"] = words["qdisc"]
        else:
            path |= {way: {"qdisc": qdisc} for way, qdisc in words["qdisc"].items()}
        if "loss" in words:
            path["loss"] = words["loss"]
        if "jitter" in words:
            path |= {"jitter": words["jitter"], "reorder": True}
        host: Table = {"profile": "linux", "cc": words["cc"], "ecn": bool(words.get("ecn", False))}
        if "receive_buffer" in words:
            host["receive_buffer"] = words["receive_buffer"]
        if "send_buffer" in words:
            host["send_buffer"] = words["send_buffer"]
        return {
            "title": self.name,
            "duration": words["duration"],
            "path": path,
            "hosts": {"home": host, "wan": dict(host)},
            "apps": self.apps,
            "measure": {"from": words.get("from", "0 s")},
        }


@dataclass(frozen=True)
class Grid:
    """All cells, in the order of the file."""

    version: int
    cells: tuple[Cell, ...]

    def select(self, patterns: Iterable[str] = ()) -> tuple[Cell, ...]:
        """The cells whose names match one of `patterns`; all cells if there are no patterns.

        Raises `RequestError` with a suggestion for a pattern that matches nothing.
        """
        patterns = tuple(patterns)
        for pattern in patterns:
            if not any(fnmatch.fnmatchcase(cell.name, pattern) for cell in self.cells):
                names = [cell.name for cell in self.cells]
                raise RequestError(f"no cell is called `{pattern}`", suggestion(pattern, names))
        return tuple(
            cell
            for cell in self.cells
            if not patterns or any(fnmatch.fnmatchcase(cell.name, one) for one in patterns)
        )


@lru_cache(maxsize=1)
def load() -> Grid:
    """The grid that ships with the package."""
    return read(PATH.read_text(encoding="utf-8"))


def read(text: str) -> Grid:
    """The grid in `text`; raises `ValueError` if it is invalid."""
    data = tomllib.loads(text)
    cells = tuple(_cells(data))
    names = [cell.name for cell in cells]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two cells are called `{name}`; give one a `tag`")
    return Grid(int(data["version"]), cells)


def _cells(data: Table) -> Iterator[Cell]:
    for group, body in data["groups"].items():
        common = {key: value for key, value in body.items() if key not in ("about", "cells")}
        for own in body["cells"]:
            words = {**data["defaults"], **common, **own}
            unknown = set(words) - set(CellWords.__annotations__)
            if unknown:
                raise ValueError(f"{group}: unknown key `{min(unknown)}`")
            apps = data["mixes"][words["mix"]]
            known = cast(CellWords, words)  # its keys are checked above
            yield Cell(f"{group}.{_slug(own)}", group, body["about"], known, apps)


def _slug(own: Table) -> str:
    """A name made from a cell's own values.

    >>> _slug({"rate": "12/1 Mbit/s", "qdisc": "pie limit=60 target=5ms", "rtt": "10 ms"})
    '12-1.pie-60-target5ms.10ms'
    """
    if "tag" in own:
        return str(own["tag"])
    return ".".join(_word(key, own[key]) for key in _NAMED if key in own)


def _word(key: str, value: Any) -> str:
    if key == "rate":
        return str(value).partition(" ")[0].replace("/", "-")
    if key != "qdisc":
        prefix = {"loss": "loss", "jitter": "jitter", "receive_buffer": "rcv", "send_buffer": "snd"}
        return prefix.get(key, "") + str(value).replace(" ", "").replace("%", "pc")
    kind, *params = str(value).split()
    parts = [kind]
    for param in params:
        name, _, said = param.partition("=")
        parts.append(said if name == "limit" else name + ("" if said == "true" else said))
    return "-".join(parts)


def seconds(cells: Iterable[Cell]) -> float:
    """The virtual duration of all trials of `cells`, in seconds."""
    return sum(Duration.parse(cell.words["duration"]).ns / 1e9 * len(cell.seeds) for cell in cells)
