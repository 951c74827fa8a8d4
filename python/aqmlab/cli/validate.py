"""`aqmlab validate`: how far the simulator is from the Linux kernel, and how it is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from aqmlab.cli import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aqmlab.validate.compare import Comparison
    from aqmlab.validate.grid import Cell
    from aqmlab.validate.reference import Reference
    from aqmlab.validate.regenerate import Job

Names = Annotated[
    Optional[list[str]],  # noqa: UP045 (typer reads the annotation)
    typer.Argument(metavar="[CELL]...", help="Which cells, by name or pattern; all if absent."),
]
Globs = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--cells", metavar="GLOB", help="Which cells too; may be given again."),
]
Metrics = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--metric", metavar="NAME", help="Which metric; may be given again."),
]
SeedCount = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=1, metavar="N", help="At most so many seeds of each cell."),
]
Page = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(metavar="FILE", help="Write a report with the worst cells drawn."),
]
Set = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(metavar="DIR", help="The reference set; that of the package if absent."),
]
Peer = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="NAME", help="Another simulator to hold against the kernel too."),
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
        bool, typer.Option(help="Run the cells on the kernel: keep what is new, compare the rest.")
    ] = False,
    missing: Annotated[
        bool, typer.Option(help="With --regenerate: only what the set does not have.")
    ] = False,
    outdated: Annotated[
        bool, typer.Option(help="With --regenerate: also what another kernel, QEMU or agent made.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option(help="With --regenerate: replace what is not reproduced.")
    ] = False,
) -> int:
    """Hold the simulator against what the Linux kernel gave for the same trials.

    Ends with status 1 if the rule of acceptance is not met, or a regenerated trial differs.
    """
    from aqmlab.failures import RequestError
    from aqmlab.validate import grid as grids
    from aqmlab.validate.reference import PACKAGED, Reference

    cells = grids.load().select([*(names or ()), *(globs or ())])
    kept = Reference(reference or PACKAGED)
    if not regenerate and (missing or outdated or overwrite):
        raise RequestError("--missing, --outdated and --overwrite go with --regenerate")
    if listing:
        return _list(cells, kept)
    if regenerate:
        return _regenerate(cells, kept, seeds, jobs, (missing, outdated, overwrite))
    return _compare(cells, kept, (seeds, jobs, peer, metric), report, as_json=as_json)


def _list(cells: Sequence[Cell], reference: Reference) -> int:
    for cell in cells:
        there, wanted = reference.complete([cell])
        print(f"{cell.name:45} {there:2}/{wanted:<2} seeds  {cell.condition}")
    return 0


def _regenerate(
    cells: Sequence[Cell],
    reference: Reference,
    seeds: int | None,
    jobs: int | None,
    flags: tuple[bool, bool, bool],
) -> int:
    import os
    import sys

    from aqmlab.campaign import cores
    from aqmlab.cli import console
    from aqmlab.validate import engines
    from aqmlab.validate import regenerate as growing

    missing, outdated, overwrite = flags
    engine = engines.kernel(cells, console.talk)
    todo = growing.jobs_of(
        cells,
        reference,
        missing=missing,
        seeds=seeds,
        outdated=engine[1] if outdated else None,
    )
    parallel = jobs or cores()
    console.talk(f"{len(todo)} trials on the kernel, {parallel} at a time, into {reference.folder}")
    try:
        growth = growing.grow(
            todo,
            reference,
            engine,
            parallel=parallel,
            progress=_tell,
            overwrite=overwrite or outdated,
        )
    except KeyboardInterrupt:
        console.talk("interrupted; what was finished is kept, and the same command goes on")
        sys.stderr.flush()
        os._exit(130)  # machines end with the threads that started them, and nobody waits
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
    from aqmlab.validate import compare

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
        from aqmlab.validate import page

        console.talk(f"report: {page.write(made, report)}")
    return 0 if made.accepted else 1
