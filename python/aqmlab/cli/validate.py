"""`aqmlab validate`: the differences between the simulator and the Linux kernel."""

from __future__ import annotations

import os
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.base.failures import RequestError
from aqmlab.base.numerals import count_text
from aqmlab.campaign.runner import cores
from aqmlab.cli import console, validation
from aqmlab.cli.parameters.validate import ValidateParameters
from aqmlab.validation import compare, page
from aqmlab.validation import grid as grids
from aqmlab.validation import regenerate as growing
from aqmlab.validation.reference import PACKAGED, Reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aqmlab.validation.compare import Comparison
    from aqmlab.validation.grid import Cell
    from aqmlab.validation.regenerate import Job, Task


def command(given: ValidateParameters) -> int:
    """Runs `aqmlab validate`; returns the exit status."""
    cells = grids.load().select([*(given.names or ()), *(given.globs or ())])
    kept = Reference(given.reference or PACKAGED)
    asked = _TrialOptions(given.seeds, given.missing, given.renew, given.sample, given.draw)
    asked.check(regenerate=given.regenerate)
    if given.listing:
        return _list(cells, kept)
    if given.regenerate:
        return _regenerate(cells, kept, asked, given.jobs)
    return _compare(
        cells,
        kept,
        (given.seeds, given.jobs, given.peer, given.metric),
        given.report,
        as_json=given.as_json,
    )


def _list(cells: Sequence[Cell], reference: Reference) -> int:
    for cell in cells:
        there, wanted = reference.complete([cell])
        print(f"{cell.name:45} {there:2}/{wanted:<2} seeds  {cell.condition}")
    return 0


@dataclass(frozen=True, slots=True)
class _TrialOptions:
    """The options of `--regenerate`, which select the trials that the kernel runs."""

    seeds: int | None
    missing: bool
    renew: bool
    sample: int | None
    draw: int | None

    def check(self, *, regenerate: bool) -> None:
        """Raises `RequestError` for options that exclude each other or lack a needed option."""
        alone = [self.missing, self.renew, self.sample is not None]
        if not regenerate and any(alone):
            raise RequestError("--missing, --renew and --sample need --regenerate")
        if sum(alone) > 1:
            raise RequestError("--missing, --renew and --sample exclude each other")
        if self.draw is not None and self.sample is None:
            raise RequestError("--draw needs --sample")

    def tasks(self, cells: Sequence[Cell], reference: Reference) -> list[Task]:
        """The trials to run on the kernel, each with the agent that runs it.

        Raises `RequestError` if there is no trial to sample.
        """
        if self.renew:
            return growing.renewals(cells, reference, console.talk, self.seeds)
        if self.sample is None:
            jobs = growing.jobs_of(cells, reference, missing=self.missing, seeds=self.seeds)
        else:
            draw = random.randrange(10_000) if self.draw is None else self.draw
            jobs = growing.sample(cells, reference, self.sample, draw, self.seeds)
            if not jobs:
                raise RequestError("the reference set has no trial of these cells to sample")
            console.talk(
                f"{count_text(len(jobs), 'trial')} drawn; `--draw {draw}` draws them again"
            )
        return growing.tasks_of(jobs, reference, console.talk)


def _regenerate(
    cells: Sequence[Cell], reference: Reference, asked: _TrialOptions, jobs: int | None
) -> int:
    tasks = asked.tasks(cells, reference)
    for warning in growing.warnings(tasks, reference):
        console.talk(f"warning: {warning}")
    parallel = jobs or cores()
    trials = count_text(len(tasks), "trial")
    console.talk(f"{trials} on the kernel, {parallel} at a time, into {reference.folder}")
    try:
        growth = growing.grow(tasks, reference, parallel=parallel, progress=_tell)
    except KeyboardInterrupt:
        console.talk("interrupted; finished trials are kept; the same command continues from here")
        sys.stderr.flush()
        # A virtual machine ends with the thread that started it, so this process waits for none of
        # them.
        os._exit(130)
    kinds = ", ".join(f"{len(trials)} {became}" for became, trials in growth.trials.items())
    console.talk(f"{kinds or 'nothing to run'} in {growth.seconds:.0f} s")
    there, wanted = reference.complete(cells)
    console.talk(f"the set has {there} of {count_text(wanted, 'trial')} of these cells")
    for path in reference.strays(grids.load().cells):
        console.talk(f"warning: {path}: the grid has no such cell; the file can be removed")
    return 0 if growth.well else 1


def _tell(job: Job, became: str, why: str, done: int, total: int) -> None:
    cell, seed = job
    console.talk(f"[{done}/{total}] {cell.name} seed {seed}: {became}{': ' + why if why else ''}")


def _compare(
    cells: Sequence[Cell],
    reference: Reference,
    asked: tuple[int | None, int | None, str | None, list[str] | None],
    report: Path | None,
    *,
    as_json: bool,
) -> int:
    seeds, jobs, peer, metrics = asked
    made = compare.run(
        cells, reference, seeds=seeds, jobs=jobs, peer=peer, metrics=metrics, say=console.talk
    )
    comparisons: list[Comparison] = list(made.comparisons)
    if as_json:
        console.print_json(made.to_json())
    else:
        for comparison in comparisons:
            validation.show(made, comparison)
    if report is not None:
        console.talk(f"report: {page.write(made, report)}")
    return 0 if made.accepted else 1
