"""`aqmlab validate`: the differences between the simulator and the Linux kernel."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from aqmlab.cli import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aqmlab.validation.compare import Comparison
    from aqmlab.validation.grid import Cell
    from aqmlab.validation.reference import Reference
    from aqmlab.validation.regenerate import Job, Task

Names = Annotated[
    Optional[list[str]],  # noqa: UP045 (typer reads the annotation)
    typer.Argument(metavar="[CELL]...", help="Cells by name or pattern; all if absent."),
]
Globs = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--cells", metavar="GLOB", help="More cells; may be repeated."),
]
Metrics = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--metric", metavar="NAME", help="A metric; may be repeated."),
]
SeedCount = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=1, metavar="N", help="At most N seeds of each cell."),
]
Page = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        parser=options.place, metavar="FILE", help="Write a report with figures of the worst cells."
    ),
]
Set = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        parser=options.place,
        metavar="DIR",
        help="The reference set; the packaged one if absent.",
    ),
]
Peer = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="NAME", help="Another simulator to compare with the kernel."),
]


def command(
    names: Names = None,
    globs: Globs = None,
    metric: Metrics = None,
    seeds: SeedCount = None,
    jobs: options.Jobs = None,
    as_json: options.AsJson = False,
    report: Page = None,
    reference: Set = None,
    peer: Peer = None,
    listing: Annotated[bool, typer.Option("--list", help="Only list the cells.")] = False,
    regenerate: Annotated[
        bool, typer.Option(help="Run the cells on the kernel; compare them, and keep new trials.")
    ] = False,
    missing: Annotated[
        bool, typer.Option(help="With --regenerate: only trials that the set lacks.")
    ] = False,
    renew: Annotated[
        bool,
        typer.Option(help="With --regenerate: replace trials that another agent made."),
    ] = False,
    sample: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, metavar="N", help="With --regenerate: N random cells, one trial each."),
    ] = None,
    draw: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="SEED", help="With --sample: seed of the random choice."),
    ] = None,
) -> int:
    """Compare the simulator with the Linux kernel's results for the same trials.

    The exit status is 1 if the acceptance rule is not met. With --regenerate the kernel runs the
    trials again, with the agent that made the set. The exit status is then 1 unless every trial is
    the same to the byte.
    """
    from aqmlab.validation import grid as grids
    from aqmlab.validation.reference import PACKAGED, Reference

    cells = grids.load().select([*(names or ()), *(globs or ())])
    kept = Reference(reference or PACKAGED)
    asked = _TrialOptions(seeds, missing, renew, sample, draw)
    asked.check(regenerate=regenerate)
    if listing:
        return _list(cells, kept)
    if regenerate:
        return _regenerate(cells, kept, asked, jobs)
    return _compare(cells, kept, (seeds, jobs, peer, metric), report, as_json=as_json)


def _list(cells: Sequence[Cell], reference: Reference) -> int:
    for cell in cells:
        there, wanted = reference.complete([cell])
        print(f"{cell.name:45} {there:2}/{wanted:<2} seeds  {cell.condition}")
    return 0


@dataclass(frozen=True, slots=True)
class _TrialOptions:
    """The options that select trials for the kernel."""

    seeds: int | None
    missing: bool
    renew: bool
    sample: int | None
    draw: int | None

    def check(self, *, regenerate: bool) -> None:
        """Raises `RequestError` for options that exclude each other."""
        from aqmlab.base.failures import RequestError

        alone = [self.missing, self.renew, self.sample is not None]
        if not regenerate and any(alone):
            raise RequestError("--missing, --renew and --sample need --regenerate")
        if sum(alone) > 1:
            raise RequestError("--missing, --renew and --sample exclude each other")
        if self.draw is not None and self.sample is None:
            raise RequestError("--draw needs --sample")

    def tasks(self, cells: Sequence[Cell], reference: Reference) -> list[Task]:
        """The trials to run, each with its agent."""
        from aqmlab.base.failures import RequestError
        from aqmlab.cli import console
        from aqmlab.validation import regenerate as growing

        if self.renew:
            return growing.renewals(cells, reference, console.talk, self.seeds)
        if self.sample is None:
            jobs = growing.jobs_of(cells, reference, missing=self.missing, seeds=self.seeds)
        else:
            draw = random.randrange(10_000) if self.draw is None else self.draw
            jobs = growing.sample(cells, reference, self.sample, draw, self.seeds)
            if not jobs:
                raise RequestError("the reference set has no trial of these cells to sample")
            console.talk(f"{len(jobs)} trials drawn; `--draw {draw}` draws them again")
        return growing.tasks_of(jobs, reference, console.talk)


def _regenerate(
    cells: Sequence[Cell], reference: Reference, asked: _TrialOptions, jobs: int | None
) -> int:
    import os
    import sys

    from aqmlab.campaign.runner import cores
    from aqmlab.cli import console
    from aqmlab.validation import regenerate as growing

    tasks = asked.tasks(cells, reference)
    for warning in growing.warnings(tasks, reference):
        console.talk(f"warning: {warning}")
    parallel = jobs or cores()
    console.talk(
        f"{len(tasks)} trials on the kernel, {parallel} at a time, into {reference.folder}"
    )
    try:
        growth = growing.grow(tasks, reference, parallel=parallel, progress=_tell)
    except KeyboardInterrupt:
        console.talk("interrupted; finished trials are kept; the same command continues from here")
        sys.stderr.flush()
        # Machines end with the threads that started them, so there is no need to wait.
        os._exit(130)
    kinds = ", ".join(f"{len(trials)} {became}" for became, trials in growth.trials.items())
    console.talk(f"{kinds or 'nothing to run'} in {growth.seconds:.0f} s")
    there, wanted = reference.complete(cells)
    console.talk(f"the set has {there} of {wanted} trials of these cells")
    return 0 if growth.well else 1


def _tell(job: Job, became: str, why: str, done: int, total: int) -> None:
    from aqmlab.cli import console

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
    from aqmlab.cli import console, validation
    from aqmlab.validation import compare

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
        from aqmlab.validation import page

        console.talk(f"report: {page.write(made, report)}")
    return 0 if made.accepted else 1
