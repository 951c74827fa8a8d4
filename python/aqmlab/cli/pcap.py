"""`aqmlab pcap`: the packets of one trial, as captures that Wireshark opens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from aqmlab.cli import options

if TYPE_CHECKING:
    from aqmlab.api import Request


def command(
    source: Annotated[
        str,
        typer.Argument(metavar="SCENARIO|DIR", help="A scenario, or the folder of a campaign."),
    ],
    sets: options.Sets = None,
    seeds: options.Seeds = None,
    duration: options.Duration = None,
    trial: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="ID", help="Which trial; the first if absent."),
    ] = None,
    name: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="How the files' names begin."),
    ] = None,
) -> int:
    """Run one trial again and write NAME-home.pcap and NAME-wan.pcap.

    They are what `tcpdump` would have seen at the home's and at the internet's end.
    """
    from aqmlab.api import Request
    from aqmlab.failures import RequestError

    request = Request(source, tuple(sets or ()), (), seeds, duration)
    chosen, spec = (
        _from_folder(Path(source), trial) if Path(source).is_dir() else _planned(request, trial)
    )
    if Path(source).is_dir() and (sets or seeds or duration):
        raise RequestError("pcap: a finished trial cannot be changed", "name its scenario instead")
    for path in write(spec, name or _file_name(chosen)):
        print(path)
    return 0


def write(spec: dict[str, Any], name: str) -> tuple[Path, Path]:
    """Runs `spec` and writes its two captures."""
    from aqmlab import _core
    from aqmlab.failures import DiskError, RequestError

    spec = {**spec, "measure": {**spec.get("measure", {}), "enabled": True, "packets": True}}
    paths = Path(f"{name}-home.pcap"), Path(f"{name}-wan.pcap")
    try:
        _core.run(json.dumps(spec), (str(paths[0]), str(paths[1])))
    except ValueError as error:
        raise RequestError(str(error)) from None
    except OSError as error:  # the core's own, which has a text and nothing else
        place, _, reason = str(error).rpartition(": ")
        reason = reason.partition(" (os error")[0]
        raise DiskError(f"{place}: cannot be written: {reason}") from None
    return paths


def _planned(request: Request, trial: str | None) -> tuple[str, dict[str, Any]]:
    trials = {one.id: one.spec for one in request.plan().trials}
    return _choose(trials, trial)


def _from_folder(folder: Path, trial: str | None) -> tuple[str, dict[str, Any]]:
    from aqmlab.failures import RequestError
    from aqmlab.results import load

    results = load(folder)
    trials = results.manifest["trials"]
    chosen, _ = _choose({one["id"]: {} for one in trials}, trial)
    engine = {one["id"]: one.get("engine", "sim") for one in trials}[chosen]
    if engine != "sim":
        raise RequestError(
            f"{folder}: trial `{chosen}` was run by the engine {engine}",
            "only packets of the simulator can be captured: name the scenario instead",
        )
    return chosen, results.spec(chosen)


def _choose(trials: dict[str, dict[str, Any]], trial: str | None) -> tuple[str, dict[str, Any]]:
    from aqmlab.errors import suggestion
    from aqmlab.failures import RequestError

    if trial is None:
        trial = next(iter(trials))
    if trial not in trials:
        raise RequestError(
            f"--trial: unknown trial `{trial}`", suggestion(trial, list(trials)[:50])
        )
    return trial, trials[trial]


def _file_name(trial: str) -> str:
    """A trial's name as a file's name."""
    return "".join(char if char.isalnum() or char in "._=,-" else "-" for char in trial)
