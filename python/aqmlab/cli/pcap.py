"""`aqmlab pcap`: the packets of one trial, as captures for Wireshark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from aqmlab.api import Request
from aqmlab.base.failures import RequestError
from aqmlab.cli import console
from aqmlab.cli.kernel_options import kernel_options
from aqmlab.cli.parameters.options import place
from aqmlab.cli.parameters.pcap import PcapParameters
from aqmlab.planning.change_text import assignments
from aqmlab.results import captures
from aqmlab.results.export.trials import unknown_trial
from aqmlab.results.results import load

if TYPE_CHECKING:
    from aqmlab.engines.trial_spec import TrialSpec

_T = TypeVar("_T")


def command(given: PcapParameters) -> int:
    """Runs `aqmlab pcap`; returns the exit status."""
    source, _ = kernel_options(given.qdisc_source, given.discipline)
    changes = assignments(given.sets or ())
    request = Request(given.source, changes, (), given.seeds, given.duration, given.engine, source)
    is_folder = place(given.source).is_dir()
    if is_folder:
        chosen, one = _from_folder(Path(given.source), given.trial)
    else:
        chosen, one = _planned(request, given.trial)
    if is_folder and (given.sets or given.seeds or given.duration or given.engine != "sim"):
        raise RequestError("pcap: a finished trial cannot be changed", "give its scenario")
    prefix = str(given.name or _file_name(chosen))
    for path in captures.write(one.spec, prefix, one.engine, console.talk, one.recorded):
        print(path)
    return 0


class _Chosen(NamedTuple):
    spec: TrialSpec
    engine: str
    recorded: captures.RecordedTrial | None = None


def _planned(request: Request, trial: str | None) -> tuple[str, _Chosen]:
    trials = {one.id: _Chosen(one.spec, one.engine) for one in request.plan().trials}
    return _choose(trials, trial)


def _from_folder(folder: Path, trial: str | None) -> tuple[str, _Chosen]:
    results = load(folder)
    engines = {one.id: one.engine for one in results.manifest.trials}
    chosen, engine = _choose(engines, trial)
    spec, trials = results.spec(chosen), results.table("trials")
    digest = str(trials.filter(trials["trial"] == chosen)["digest"][0])
    return chosen, _Chosen(spec, engine, captures.RecordedTrial(chosen, digest))


def _choose(trials: dict[str, _T], trial: str | None) -> tuple[str, _T]:
    if trial is None:
        trial = next(iter(trials))
        if len(trials) > 1:
            console.talk(f"trial: {trial}, the first of {len(trials)}; --trial names another")
    if trial not in trials:
        raise unknown_trial(trial, trials)
    return trial, trials[trial]


def _file_name(trial: str) -> str:
    """A trial's name as a file name: `-` replaces characters except letters, digits and `._=,`."""
    return "".join(char if char.isalnum() or char in "._=,-" else "-" for char in trial)
