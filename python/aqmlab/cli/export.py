"""`aqmlab export`: results in the file formats of other programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.layout import EXPORT, linked
from aqmlab.cli import console
from aqmlab.cli.parameters.export import ExportParameters
from aqmlab.cli.progress import counted
from aqmlab.results.export import csvs, flent, teacup, teacup_addresses, trials
from aqmlab.results.export.target import Target
from aqmlab.results.results import load

if TYPE_CHECKING:
    from aqmlab.results.export.trials import TrialRows
    from aqmlab.results.results import CampaignResults


def command(given: ExportParameters) -> int:
    """Runs `aqmlab export`; returns the exit status."""
    choices = ((_flent, given.flent), (_teacup, given.teacup), (_csv, given.csv))
    formats = [one for one, wanted in choices if wanted]
    if not formats:
        raise RequestError("export: no format given", "give --csv, --flent or --teacup")
    if given.csv and given.trial:
        raise RequestError("--trial: CSV files hold all trials", "leave out `--trial` or `--csv`")
    results = load(given.folder)
    results.verify()
    target = Target(given.out or _own_place(given.folder), given.force)
    if not results.complete:
        console.talk("warning: the campaign is not complete")
    for one in formats:
        for path in one(results, target, given.trial or ()):
            print(path)
    return 0


def _own_place(folder: Path) -> Path:
    """The folder for exports in a campaign's folder; raises `RequestError` if it is a link."""
    place = folder / EXPORT
    if place.is_symlink():
        raise linked(place)
    return place


def _csv(results: CampaignResults, target: Target, _: Sequence[str]) -> Iterator[Path]:
    yield from csvs.write(results, target)


def _flent(results: CampaignResults, target: Target, ids: Sequence[str]) -> Iterator[Path]:
    if "windows" not in results.tables or results.table("windows").is_empty():
        hint = "run the scenario without `measure.enabled = false` and `measure.series = false`"
        raise RequestError(f"{results.path}: has no time series", hint)
    for one in _each(results, flent.TABLES, ids):
        document = flent.document(results, one)
        name = target.free_name(flent.file_stem(document), flent.SUFFIX)
        yield target.write(name, flent.file_bytes(document))


def _teacup(results: CampaignResults, target: Target, ids: Sequence[str]) -> Iterator[Path]:
    wanted = trials.wanted_trials(results, ids)
    every = teacup.experiments(results.manifest.trials)
    names = {entry.id: every[entry.id] for entry in wanted}
    target.refuse_present(teacup.COMPLETED)
    completed = []
    ends = teacup_addresses.of_manifest(results.manifest)
    for one in _each(results, teacup.TABLES, ids):
        for name, data in teacup.files(one, names[one.id].id, ends, console.talk):
            target.write(f"{names[one.id].prefix}/{name}", data)
        completed.append(names[one.id].id)
    yield from (target.folder / prefix for prefix in {one.prefix: None for one in names.values()})
    yield target.write(teacup.COMPLETED, "".join(f"{name}\n" for name in completed).encode())


def _each(
    results: CampaignResults, tables: Sequence[str], ids: Sequence[str]
) -> Iterator[TrialRows]:
    """Yields the trials that can be exported, and shows the progress.

    At the end, warns if some trials cannot be exported yet. Raises `RequestError` if none can.
    """
    wanted, done = len(trials.wanted_trials(results, ids)), 0
    for one in counted(trials.read(results, tables, ids), wanted):
        yield one
        done += 1
    hint = "to finish the campaign, run the command that started it"
    if not done:
        raise RequestError(f"{results.path}: no trial can be exported yet", hint)
    if done < wanted:
        # `wanted` is at least two: neither none nor all of the trials are exported.
        console.talk(f"warning: {done} of {wanted} trials are exported; {hint}")
