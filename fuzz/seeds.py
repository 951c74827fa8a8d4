"""Initial inputs of the fuzzers: small captures in each format, and resolved trials."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aqmlab import _core
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.planning import planner
from aqmlab.scenario import catalogue
from aqmlab.scenario.model import Scenario
from msgspec.structs import replace


def write(target: str, folder: Path) -> None:
    """Writes the seeds of a target to `folder`, one file for each seed."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[target]()):
        (folder / f"seed-{number}").write_bytes(seed)


def _trial(apps: dict[str, Any], **path: Any) -> TrialSpec:
    home = Scenario(duration="300 ms", path={"rate": "2/1 Mbit/s", **path}, apps=apps)
    return planner.load(home).trials[0].spec


def _captures() -> Iterator[bytes]:
    for apps in (
        {"ping": {"kind": "ping", "interval": "40 ms"}},
        {"get": {"kind": "bulk", "size": "2 kB"}},
        {"call": {"kind": "voip", "interval": "60 ms"}, "get": {"kind": "bulk", "size": "1 kB"}},
    ):
        spec = _trial(apps, start_jitter="0 s")
        spec = replace(spec, measure=replace(spec.measure, packets=True))
        with tempfile.TemporaryDirectory() as name:
            paths = [Path(name) / "home", Path(name) / "wan"]
            _core.run(spec.text(), captures=(str(paths[0]), str(paths[1])))
            home, wan = (path.read_bytes() for path in paths)
        for chosen in (0, 1, 8, 16 | 2 << 1, 3 << 1):
            yield _pair(chosen, home, wan)
        yield _pair(8, _blocks(home), _blocks(wan))


def _pair(chosen: int, first: bytes, second: bytes) -> bytes:
    """An input of targets/captures.rs: options, the first capture's length, and both captures."""
    return struct.pack("<BH", chosen, len(first)) + first + second


def _blocks(classic: bytes) -> bytes:
    """Converts a classic capture to pcapng, with one interface and timestamps in nanoseconds."""
    made = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    options = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    made += struct.pack("<IIHHI", 1, 32, 101, 0, 0) + options + struct.pack("<I", 32)
    at = 24
    while at < len(classic):
        seconds, nanos, kept, length = struct.unpack_from("<IIII", classic, at)
        data = classic[at + 16 : at + 16 + kept] + bytes(-kept % 4)
        size = 32 + len(data)
        ticks = seconds * 10**9 + nanos
        head = struct.pack("<IIIIIII", 6, size, 0, ticks >> 32, ticks & 0xFFFFFFFF, kept, length)
        made += head + data + struct.pack("<I", size)
        at += 16 + kept
    return made


def _trials() -> Iterator[bytes]:
    known = catalogue.load()
    for name, kind in known["apps"].items():
        shaped = {"qdisc": "cake", "shaper": "cake"} if kind.on_gateway else {}
        yield _trial({"one": {"kind": name}}, **shaped).text().encode()
    for kind in known["disciplines"]:
        spec = _trial({"one": {"kind": "ping"}}, qdisc=kind, wifi={})
        yield spec.text().encode()


SEEDS = {"captures": _captures, "trial": _trials}


def words() -> str:
    """A libFuzzer dictionary: keys of a trial, names of kinds and parameters, unusual values."""
    spec = _trial({"one": {"kind": "dash"}}, wifi={}, modem={"rate": "1/1 Mbit/s"})
    found: set[str] = set()

    def collect(part: Any) -> None:
        if isinstance(part, dict):
            for key, value in part.items():
                found.add(str(key))
                collect(value)
        elif isinstance(part, list):
            for value in part:
                collect(value)

    collect(spec.members())
    for family in catalogue.load().values():
        for kind in family.values():
            found.update((kind.name, *kind.params))
    numbers = ["0", "-1", "1e308", "18446744073709551615", "4294967296", "null", "true", "[]", "{}"]
    quoted = [json.dumps(json.dumps(word)) for word in sorted(found)]
    return "\n".join([*quoted, *(f'"{number}"' for number in numbers)]) + "\n"
