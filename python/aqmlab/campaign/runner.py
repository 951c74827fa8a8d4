"""Runs all trials of a campaign on local cores or on a cluster, and stores them in a folder.

A campaign may stop at any time: by Ctrl-C, a crash or a power cut. The same command then runs the
missing trials and produces the same bytes. `store.dataset` determines the finished trials of a
folder.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import structs

from aqmlab.base.failures import DiskError, RequestError
from aqmlab.base.files import special_kind
from aqmlab.base.versions import build
from aqmlab.campaign import speed
from aqmlab.campaign.executor import TrialExecutor, adapted
from aqmlab.campaign.local_executor import Processes
from aqmlab.campaign.same_campaign import refuse_other
from aqmlab.campaign.scheduler import Progress, RunReport, Silence, run_all
from aqmlab.campaign.speed import Lot
from aqmlab.campaign.store.dataset import Dataset, RecordedResults, lost_trials, write_records
from aqmlab.campaign.store.folder import Folder, Trial, campaign_key
from aqmlab.campaign.store.layout import CATALOGUE
from aqmlab.campaign.store.manifest import CampaignFacts, Manifest, before_results, digest_of
from aqmlab.campaign.store.sql_views import catalogue
from aqmlab.campaign.store.table_files import table_files, tables_in
from aqmlab.campaign.task import Order
from aqmlab.engines import registry

__all__ = [
    "Campaign",
    "Progress",
    "RunReport",
    "Silence",
    "cores",
    "follow",
    "lots",
    "missing",
    "run",
]


@dataclass(frozen=True)
class Campaign:
    """The trials of a campaign, the contents of its manifest, and the functions that run trials."""

    trials: Sequence[Trial]
    about: CampaignFacts
    """The facts for the manifest that are known before a run: scenario, versions, request."""
    engine: str = "sim"
    """The engines that run the trials, separated by commas."""
    runner: str | None = None
    """The function that runs a trial, as "module:name"; the engine's own if absent."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options of each engine's runner."""

    @cached_property
    def key(self) -> str:
        """The key that identifies the campaign."""
        return campaign_key(self.trials, self.engine, self.about.versions)

    def order(self, trial: Trial) -> Order:
        """The order for a worker to run `trial`."""
        engine = registry.engine(trial.engine)
        options = self.options.get(engine.name, {})
        return Order(
            self.runner or engine.runner,
            trial.spec,
            self.key,
            trial.id,
            trial.engine,
            options,
            engine.reports_progress,
            build(),
        )


def run(
    campaign: Campaign,
    path: Path,
    *,
    jobs: int | None = None,
    executor: Executor | TrialExecutor | None = None,
    progress: Progress | None = None,
    only: Collection[str] | None = None,
) -> RunReport:
    """Runs the missing trials of `campaign` in the folder `path`, and writes the folder's tables.

    Trials run in `jobs` local processes, by default one for each core, or on `executor`. With
    `only`, the function runs only the missing trials with these names. The folder is complete when
    no trial is missing. Raises `RequestError` if the folder holds another campaign or a damaged
    table, or if another process runs the campaign. Raises `DiskError` if a file cannot be written,
    and `LabError` if the executor fails. Finished trials are kept.
    """
    try:
        return _run(campaign, Folder(path), jobs, executor, progress or Silence(), only)
    except DiskError as error:
        if not error.is_full:
            raise
        raise error.hinting("to continue from here") from error


def _run(
    campaign: Campaign,
    folder: Folder,
    jobs: int | None,
    executor: Executor | TrialExecutor | None,
    progress: Progress,
    only: Collection[str] | None,
) -> RunReport:
    refuse_other(campaign, folder)
    place = None if executor is None else adapted(executor)
    _refuse_far(campaign, place)
    if _is_complete(campaign, folder):
        follow(campaign, folder.path)
        folder.clear_finished()
        return RunReport()
    with folder.locked():
        refuse_other(campaign, folder)  # Another process may have written since the last check.
        folder.clear_unfinished()
        dataset = _reopened(campaign, folder)
        left = [
            one
            for one in campaign.trials
            if (only is None or one.id in only) and not dataset.has(one)
        ]
        for damaged, problem in dataset.damaged.items():
            if special_kind(damaged) is not None:  # the result of the trial could not be stored
                raise folder.damaged(damaged, problem)
            progress.damaged(f"{damaged}: is damaged: {problem}; its trials run again")
        progress.begin(campaign.trials, left)
        with dataset.recording():
            if place is not None:
                report = run_all(left, campaign.order, place, dataset.keep, progress)
            else:
                with Processes(min(jobs or cores(), len(left) or 1)) as own:
                    report = run_all(left, campaign.order, own, dataset.keep, progress)
        progress.tables()
        found = dataset.complete()
        _complete(campaign, folder, found, report)
        _note_speed(campaign, found, report)
    return report


def follow(campaign: Campaign, path: Path) -> None:
    """Updates the scenario in the manifest of the folder `path` to the scenario of `campaign`.

    Finished trials and the versions that made them do not change. The function does nothing if the
    manifest is up to date, or while trials run. Raises `RequestError` if the folder holds another
    campaign, and `DiskError` if the manifest cannot be written.
    """
    folder = Folder(path)
    if not _is_behind(campaign, folder):
        return
    with folder.locked():
        refuse_other(campaign, folder)
        if _is_behind(campaign, folder):
            folder.write_manifest(_manifest(campaign).with_results_of(folder.manifest()))


def _is_behind(campaign: Campaign, folder: Folder) -> bool:
    """Returns whether the manifest has results and another scenario than `campaign`."""
    before = folder.manifest()
    return before.files is not None and before.is_behind(_manifest(campaign))


def missing(campaign: Campaign, path: Path) -> list[Trial]:
    """The trials of `campaign` without a result in the folder `path`.

    Raises `RequestError` if the folder holds another campaign, or a damaged file of a complete
    campaign.
    """
    folder = Folder(path)
    refuse_other(campaign, folder)
    if folder.exists() and (manifest := folder.manifest()).complete:
        return lost_trials(folder, manifest, campaign.trials)
    dataset = Dataset(folder, campaign.trials, campaign.key)
    return [one for one in campaign.trials if not dataset.has(one)]


def _is_complete(campaign: Campaign, folder: Folder) -> bool:
    """Returns whether the folder holds all results; raises `RequestError` for a damaged file."""
    if not folder.exists() or not (manifest := folder.manifest()).complete:
        return False
    return not lost_trials(folder, manifest, campaign.trials)


def _reopened(campaign: Campaign, folder: Folder) -> Dataset:
    """Opens the data set of a folder, after an absent manifest or one with results is replaced.

    If a complete campaign has lost tables, the records of its other chunks are written first.
    Raises `RequestError` for a damaged file.
    """
    before = folder.manifest() if folder.exists() else None
    if before is not None and before.complete:  # a part of its tables has been removed
        files = table_files(folder, before)
        write_records(folder, before, files.without(files.lost_chunks()), campaign.trials)
    if before is None or before.files is not None:
        folder.write_manifest(_manifest(campaign))
    dataset = Dataset(folder, campaign.trials, campaign.key)
    dataset.verify()
    return dataset


def lots(campaign: Campaign, trials: Sequence[Trial]) -> list[Lot]:
    """Groups trials by engine, for predictions of their run time."""
    name = f"{campaign.about.name}: {campaign.about.title}"
    return [
        Lot(
            name,
            engine,
            campaign.about.versions,
            [one for one in trials if one.engine == engine],
        )
        for engine in campaign.engine.split(",")
    ]


def cores() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _refuse_far(campaign: Campaign, place: TrialExecutor | None) -> None:
    """Raises `RequestError` if a cluster would run an engine that only this machine can run."""
    for engine, options in campaign.options.items():
        if options and place is not None and place.is_remote:
            raise RequestError(
                f"--cluster: the engine `{engine}` needs files and programs of this machine",
                "a cluster runs the engine `sim`",
            )


def _note_speed(campaign: Campaign, found: RecordedResults, report: RunReport) -> None:
    """Stores the run times of trials by engine, for later predictions.

    The stored size of tables covers all engines together.
    """
    ran = [one for one in campaign.trials if one.index in report.busy_s]
    stored = [one for one in campaign.trials if one.index in found.digests]
    size = sum(one.size_bytes for one in found.files.values())
    for lot in lots(campaign, ran):
        took_s = sum(report.busy_s[one.index] for one in lot.trials)
        speed.note(lot, took_s, stored, size)


def _complete(
    campaign: Campaign, folder: Folder, found: RecordedResults, report: RunReport
) -> None:
    digests = tuple(found.digests.get(trial.index) for trial in campaign.trials)
    complete = None not in digests
    files = found.files | {CATALOGUE: folder.write_catalogue(catalogue(tables_in(found.files)))}
    names = (trial.id for trial in campaign.trials)
    folder.write_manifest(
        structs.replace(
            _manifest(campaign),
            complete=complete,
            digest=digest_of(names, digests) if complete else None,
            digests=digests,
            failed=report.failed,
            events=found.events,
            packets=found.packets,
            files=dict(sorted(files.items())),
        )
    )
    if complete:
        folder.clear_finished()


def _manifest(campaign: Campaign) -> Manifest:
    """The manifest of `campaign` before it has results."""
    return before_results(campaign.about, campaign.engine, campaign.key)
