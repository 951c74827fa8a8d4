"""`aqmlab pcap`: the packets of one trial, as captures for Wireshark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional, TypeVar

import typer

from aqmlab.cli import options

if TYPE_CHECKING:
    from aqmlab.api import Request
    from aqmlab.engines.trial_spec import TrialSpec

_T = TypeVar("_T")


def command(
    source: Annotated[
        str,
        typer.Argument(metavar="SCENARIO|DIR", help="A scenario, or the folder of a campaign."),
    ],
    sets: options.Sets = None,
    seeds: options.Seeds = None,
    duration: options.Duration = None,
    engine: options.Engine = "sim",
    qdisc_source: options.QdiscSource = "kernel",
    discipline: options.OldDiscipline = None,
    trial: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="ID", help="The trial; the first if absent."),
    ] = None,
    name: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            parser=options.place,
            metavar="NAME",
            help="Prefix of the file names; may include a folder.",
        ),
    ] = None,
) -> int:
    """Run one trial again and write NAME-home.pcap and NAME-wan.pcap.

    The files hold the packets that `tcpdump` would capture at the home's and the internet's end.
    """
    from aqmlab.api import Request
    from aqmlab.base.failures import RequestError
    from aqmlab.cli import console
    from aqmlab.planning.change_text import assignments
    from aqmlab.results import captures

    qdisc_source, _ = options.kernel_options(qdisc_source, discipline)
    request = Request(source, assignments(sets or ()), (), seeds, duration, engine, qdisc_source)
    is_folder = options.place(source).is_dir()
    chosen, one = _from_folder(Path(source), trial) if is_folder else _planned(request, trial)
    if is_folder and (sets or seeds or duration or engine != "sim"):
        raise RequestError("pcap: a finished trial cannot be changed", "give its scenario")
    for path in captures.write(one.spec, str(name or _file_name(chosen)), one.engine, console.talk):
        print(path)
    return 0


class _Chosen(NamedTuple):
    spec: TrialSpec
    engine: str


def _planned(request: Request, trial: str | None) -> tuple[str, _Chosen]:
    trials = {one.id: _Chosen(one.spec, one.engine) for one in request.plan().trials}
    return _choose(trials, trial)


def _from_folder(folder: Path, trial: str | None) -> tuple[str, _Chosen]:
    from aqmlab.results.results import load

    results = load(folder)
    engines = {one.id: one.engine for one in results.manifest.trials}
    chosen, engine = _choose(engines, trial)
    return chosen, _Chosen(results.spec(chosen), engine)


def _choose(trials: dict[str, _T], trial: str | None) -> tuple[str, _T]:
    from aqmlab.cli import console
    from aqmlab.results.export.trials import unknown_trial

    if trial is None:
        trial = next(iter(trials))
        if len(trials) > 1:
            console.talk(f"trial: {trial}, the first of {len(trials)}; --trial names another")
    if trial not in trials:
        raise unknown_trial(trial, trials)
    return trial, trials[trial]


def _file_name(trial: str) -> str:
    """A trial's name in the form of a file name."""
    return "".join(char if char.isalnum() or char in "._=,-" else "-" for char in trial)
