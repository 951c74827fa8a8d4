"""Runs a campaign: all trials of a plan, over all cores, into a folder.

A campaign may be stopped at any time, by Ctrl-C, a crash or a power cut. The same command
goes on with the trials that are missing and ends with the same bytes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from aqmlab.engines import ENGINES, made_by
from aqmlab.failures import DiskError, LabError, RequestError
from aqmlab.parts import is_whole
from aqmlab.store import Folder, Trial, campaign_key, digest_of
from aqmlab.tables import Finished, digests_in_order
from aqmlab.workers import Answer, Order, Pool

_AHEAD = 2
"""Trials handed out per worker, so that none waits for the next."""


class Progress(Protocol):
    """Who wants to know how far a campaign is."""

    def begin(self, trials: Sequence[Trial], missing: Sequence[Trial]) -> None:
        """The campaign is about to run the `missing` ones of its trials."""

    def moved(self, trial: Trial, seconds: float) -> None:
        """So much of a running trial has passed; any thread may say so, and few engines do."""

    def done(self, trial: Trial, problem: str | None) -> None:
        """A trial has ended, well or with a problem."""

    def tables(self) -> None:
        """All trials have ended; the tables are being written."""


class Silence:
    """Nobody wants to know."""

    def begin(self, trials: Sequence[Trial], missing: Sequence[Trial]) -> None:
        """Says nothing."""

    def moved(self, trial: Trial, seconds: float) -> None:
        """Says nothing."""

    def done(self, trial: Trial, problem: str | None) -> None:
        """Says nothing."""

    def tables(self) -> None:
        """Says nothing."""


@dataclass(frozen=True, slots=True)
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

    @property
    def key(self) -> str:
        """What identifies it."""
        return campaign_key(self.trials, self.engine, self.about["versions"])

    def order(self, trial: Trial, path: Path) -> Order:
        """How a worker is told to run `trial`."""
        engine = ENGINES[trial.engine]
        options = self.options.get(engine.name, {})
        return Order(self.runner or engine.runner, trial.spec, path, options, engine.tells)


@dataclass(slots=True)
class Report:
    """How a run of a campaign ended."""

    run: int = 0
    """Trials that were run now; the others were finished before."""
    seconds: float = 0.0
    failed: dict[str, str] = field(default_factory=dict)
    """The problem of each trial that has no result."""


def run(
    campaign: Campaign,
    path: Path,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    only: Collection[str] | None = None,
) -> Report:
    """Runs what is missing of `campaign` in the folder `path`, and completes the folder.

    With `only`, runs nothing but the trials of these names; the folder is complete when none is
    left. Raises `RequestError` if the folder holds another campaign, and `DiskError` if a file
    cannot be written; what was finished is kept.
    """
    folder = Folder(path)
    _refuse_other(campaign, folder)
    progress = progress or Silence()
    if folder.exists() and folder.manifest().get("complete"):
        folder.remove_parts(len(campaign.trials))
        return Report()
    folder.make()
    with folder.locked():
        folder.clear_unfinished()
        if not folder.exists():
            folder.write_manifest(_manifest(campaign, None))
        missing = [
            one
            for one in campaign.trials
            if (only is None or one.id in only) and not is_whole(folder.part_path(one.index))
        ]
        progress.begin(campaign.trials, missing)
        try:
            report = _run_missing(campaign, folder, missing, jobs or cores(), progress)
        finally:  # workers that were ended in the middle of a file
            folder.clear_unfinished()
        progress.tables()
        _complete(campaign, folder, report)
    return report


def cores() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _refuse_other(campaign: Campaign, folder: Folder) -> None:
    if folder.path.exists() and not folder.path.is_dir():
        raise RequestError(
            f"{folder.path}: is a file, not a folder", "give another with `--out DIR`"
        )
    if not folder.exists():
        if folder.path.is_dir() and any(folder.path.glob("*.parquet")):
            raise RequestError(
                f"{folder.path}: holds files that are not from a campaign",
                "give an empty folder with `--out DIR`",
            )
        return
    manifest = folder.manifest()
    if manifest["campaign"] == campaign.key:
        return
    name, engine = manifest.get("name", "?"), str(manifest.get("engine", "sim"))
    raise RequestError(
        f"{folder.path}: holds another campaign: {name}, {len(manifest['trials'])} trials,"
        f" made by `{manifest.get('command', '?')}` with {made_by(engine, manifest['versions'])}",
        "give another folder with `--out DIR`, or remove this one",
    )


def _run_missing(
    campaign: Campaign, folder: Folder, missing: Sequence[Trial], jobs: int, progress: Progress
) -> Report:
    report = Report()
    started = time.monotonic()
    with _threads(min(jobs, len(missing) or 1)) as (threads, pool, ahead):
        waiting = iter(missing)
        running: dict[Future[Answer], Trial] = {}
        while True:
            for trial in _take(waiting, ahead - len(running)):
                order = campaign.order(trial, folder.part_path(trial.index))
                running[threads.submit(pool.run, order, partial(progress.moved, trial))] = trial
            if not running:
                break
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                _note(running.pop(future), future.result(), report, progress)
    report.seconds = time.monotonic() - started
    return report


@contextmanager
def _threads(jobs: int) -> Iterator[tuple[ThreadPoolExecutor, Pool, int]]:
    """Threads that each drive one worker; leaving ends them all, also in the middle of a trial."""
    pool = Pool()
    threads = ThreadPoolExecutor(jobs, thread_name_prefix="aqmlab")
    try:
        yield threads, pool, jobs * _AHEAD
    finally:
        pool.kill()
        threads.shutdown(wait=True, cancel_futures=True)
        pool.close()


def _take(waiting: Iterator[Trial], most: int) -> Iterator[Trial]:
    for _, trial in zip(range(most), waiting, strict=False):
        yield trial


def _note(trial: Trial, answer: Answer, report: Report, progress: Progress) -> None:
    if answer.failed == "disk":
        raise DiskError(answer.problem, answer.hint)
    if answer.failed == "stopped":
        raise LabError(answer.problem)
    if answer.failed == "request":
        raise RequestError(f"trial `{trial.id}`: {answer.problem}", answer.hint)
    report.run += 1
    if answer.failed is not None:
        report.failed[trial.id] = "\n".join(filter(None, (answer.problem, answer.hint)))
    progress.done(trial, report.failed.get(trial.id))


def _complete(campaign: Campaign, folder: Folder, report: Report) -> None:
    """Writes the tables, then the manifest, then removes what both made superfluous."""
    finished = Finished(folder, campaign.trials)
    finished.write()
    digests = digests_in_order(finished, campaign.trials)
    complete = None not in digests
    results = {
        "complete": complete,
        "digest": digest_of(campaign.trials, digests) if complete else None,
        "digests": digests,
        "failed": report.failed,
        "tables": finished.names(),
        "events": finished.events,
        "packets": finished.packets,
    }
    folder.write_manifest(_manifest(campaign, results))
    if complete:
        folder.remove_parts(len(campaign.trials))


def _manifest(campaign: Campaign, results: dict[str, Any] | None) -> dict[str, Any]:
    from aqmlab.store import FORMAT

    return {
        "format": FORMAT,
        **campaign.about,
        "engine": campaign.engine,
        "campaign": campaign.key,
        **(results or {"complete": False}),
    }
