"""Runs a campaign: all trials of a plan, over all cores or a cluster, into a folder.

A campaign may be stopped at any time, by Ctrl-C, a crash or a power cut. The same command
goes on with the trials that are missing and ends with the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from aqmlab.base.failures import RequestError
from aqmlab.base.versions import build
from aqmlab.campaign import speed
from aqmlab.campaign.identity import refuse_other
from aqmlab.campaign.local_executor import Processes
from aqmlab.campaign.scheduler import Progress, Report, Silence, run_all
from aqmlab.campaign.speed import Lot
from aqmlab.campaign.store.dataset import Dataset, Found, lost_trials, write_records
from aqmlab.campaign.store.folder import CATALOGUE, Folder, Trial, campaign_key, digest_of
from aqmlab.campaign.store.manifest import FORMAT
from aqmlab.campaign.store.sql_views import catalogue
from aqmlab.campaign.store.table_files import table_files, tables_in
from aqmlab.campaign.task import Order
from aqmlab.engines.registry import ENGINES

__all__ = ["Campaign", "Progress", "Report", "Silence", "cores", "lots", "missing", "run"]


@dataclass(frozen=True)
class Campaign:
    """What is to be run, and what its manifest says about it."""

    trials: Sequence[Trial]
    about: dict[str, Any]
    """What the manifest says besides: scenario, versions, how it was asked for."""
    engine: str = "sim"
    """What runs the trials; several engines are separated by commas."""
    runner: str | None = None
    """The function that runs a trial, as "module:name"; the engine's own if absent."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What the runner of each engine is given besides the trial."""

    @cached_property
    def key(self) -> str:
        """What identifies it."""
        return campaign_key(self.trials, self.engine, self.about["versions"])

    def order(self, trial: Trial) -> Order:
        """How a worker is told to run `trial`."""
        engine = ENGINES[trial.engine]
        options = self.options.get(engine.name, {})
        return Order(
            self.runner or engine.runner, trial.spec, self.key, options, engine.tells, build()
        )


def run(
    campaign: Campaign,
    path: Path,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    only: Collection[str] | None = None,
) -> Report:
    """Runs what is missing of `campaign` in the folder `path`, and completes the folder.

    Trials run in `jobs` processes of this machine, one for each core if absent, or wherever
    `executor` runs what it is given. With `only`, runs nothing but the trials of these names; the
    folder is complete when none is left. Raises `RequestError` if the folder holds another
    campaign or a damaged file, and `DiskError` if a file cannot be written; what was finished is
    kept.
    """
    folder = Folder(path)
    refuse_other(campaign, folder)
    _refuse_far(campaign, executor)
    progress = progress or Silence()
    if _is_complete(campaign, folder):
        folder.clear_finished()
        return Report()
    folder.make()
    with folder.locked():
        refuse_other(campaign, folder)  # again, for another may have been quicker
        folder.clear_unfinished()
        dataset = _reopened(campaign, folder)
        left = [
            one
            for one in campaign.trials
            if (only is None or one.id in only) and not dataset.has(one)
        ]
        progress.begin(campaign.trials, left)
        with dataset.recording():
            if executor is not None:
                report = run_all(left, campaign.order, executor, dataset.keep, progress)
            else:
                with Processes(min(jobs or cores(), len(left) or 1)) as own:
                    report = run_all(left, campaign.order, own, dataset.keep, progress)
        progress.tables()
        found = dataset.complete()
        _complete(campaign, folder, found, report)
        _note_speed(campaign, found, report)
    return report


def missing(campaign: Campaign, path: Path) -> list[Trial]:
    """The trials of `campaign` that the folder `path` does not have.

    Raises `RequestError` if it holds another campaign.
    """
    folder = Folder(path)
    refuse_other(campaign, folder)
    if folder.exists() and (manifest := folder.manifest())["complete"]:
        return lost_trials(folder, manifest, campaign.trials)
    dataset = Dataset(folder, campaign.trials, campaign.key)
    return [one for one in campaign.trials if not dataset.has(one)]


def _is_complete(campaign: Campaign, folder: Folder) -> bool:
    """Whether every result is there; raises `RequestError` for a damaged file."""
    if not folder.exists() or not (manifest := folder.manifest())["complete"]:
        return False
    return not lost_trials(folder, manifest, campaign.trials)


def _reopened(campaign: Campaign, folder: Folder) -> Dataset:
    """The data set of a folder, whose manifest says from here on that trials are missing.

    Raises `RequestError` for a damaged file.
    """
    before = folder.manifest() if folder.exists() else None
    if before is not None and before["complete"]:  # and has lost a part of its tables
        files = table_files(folder, before)
        write_records(folder, before, files.without(files.lost_chunks()), campaign.trials)
    if before is None or "files" in before:
        folder.write_manifest(_manifest(campaign, None))
    dataset = Dataset(folder, campaign.trials, campaign.key)
    dataset.verify()
    return dataset


def lots(campaign: Campaign, trials: Sequence[Trial]) -> list[Lot]:
    """The trials of each engine, as their speed is known."""
    name = f"{campaign.about['name']}: {campaign.about['title']}"
    return [
        Lot(
            name,
            engine,
            campaign.about["versions"],
            [one for one in trials if one.engine == engine],
        )
        for engine in campaign.engine.split(",")
    ]


def cores() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _refuse_far(campaign: Campaign, executor: Executor | None) -> None:
    """Raises `RequestError` if a cluster is to run what was made ready on this machine only."""
    for engine, options in campaign.options.items():
        if options and getattr(executor, "remote", False):
            raise RequestError(
                f"--cluster: the engine `{engine}` needs files and programs of this machine",
                "a cluster runs the engine `sim`",
            )


def _note_speed(campaign: Campaign, found: Found, report: Report) -> None:
    """Remembers how long trials took; with several engines, their tables are not told apart."""
    ran = [one for one in campaign.trials if one.index in report.busy_s]
    stored = [one for one in campaign.trials if one.index in found.digests]
    size = sum(one.size_bytes for one in found.files.values())
    for lot in lots(campaign, ran):
        took_s = sum(report.busy_s[one.index] for one in lot.trials)
        speed.note(lot, took_s, stored, size)


def _complete(campaign: Campaign, folder: Folder, found: Found, report: Report) -> None:
    digests = [found.digests.get(trial.index) for trial in campaign.trials]
    complete = None not in digests
    files = found.files | {CATALOGUE: folder.write_catalogue(catalogue(tables_in(found.files)))}
    folder.write_manifest(
        _manifest(
            campaign,
            {
                "complete": complete,
                "digest": digest_of(campaign.trials, digests) if complete else None,
                "digests": digests,
                "failed": report.failed,
                "events": found.events,
                "packets": found.packets,
                "files": dict(sorted(files.items())),
            },
        )
    )
    if complete:
        folder.clear_finished()


def _manifest(campaign: Campaign, results: dict[str, Any] | None) -> dict[str, Any]:
    entries = [
        {**entry, "spec": trial.spec_digest}
        for entry, trial in zip(campaign.about["trials"], campaign.trials, strict=True)
    ]
    return {
        "format": FORMAT,
        **campaign.about,
        "trials": entries,
        "engine": campaign.engine,
        "campaign": campaign.key,
        **(results or {"complete": False}),
    }
