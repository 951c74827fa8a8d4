"""`aqmlab reproduce`: runs the experiments of a paper and draws its figures."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from aqmlab.cli import options

if TYPE_CHECKING:
    from aqmlab.campaign.runner import RunReport
    from aqmlab.studies.laboratory import Laboratory
    from aqmlab.studies.trials import Trials

StudyArg = Annotated[
    str, typer.Argument(metavar="STUDY", help="A study's name, or the folder of one.")
]
Figures = Annotated[
    Optional[list[str]],  # noqa: UP045 (typer reads the annotation)
    typer.Option("--figure", metavar="N", help="A figure such as 3 or 3b; may be repeated."),
]
OneEngine = Annotated[
    str, typer.Option(metavar="ENGINE", help="Engine for the trials: sim or kernel.")
]
Folder = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        parser=options.place,
        metavar="DIR",
        help="Folder for results; results/STUDY-ENGINE-HASH if absent.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only show the number of trials for each figure.")
]


def command(
    study: StudyArg,
    figure: Figures = None,
    engine: OneEngine = "sim",
    qdisc_source: options.QdiscSource = "kernel",
    discipline: options.OldDiscipline = None,
    seeds: options.Seeds = None,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
    out: Folder = None,
    dry_run: DryRun = False,
) -> int:
    """Run the experiments of a paper and draw its figures.

    Each trial runs once, even if several figures need it. After an interruption, the same command
    continues.
    """
    from aqmlab import studies
    from aqmlab.api import complete
    from aqmlab.cli import forecast
    from aqmlab.studies import page, preflight
    from aqmlab.studies.laboratory import Asked, Laboratory

    name = one_engine(engine, qdisc_source, discipline)
    found = studies.load(study)
    wanted = found.asked_figures(figure or [])
    asked = Asked(found.seeds if seeds is None else seeds, name, build=not dry_run)
    laboratory = Laboratory(found, asked, out)
    preflight.of_figures(wanted, laboratory)
    needs = [need for one in wanted for need in one.trials]
    if dry_run:
        for one in wanted:
            print(f"figure {one.number}: {count(laboratory, one.trials)}")
        print(f"all: {count(laboratory, needs)}")
        print_forecast(laboratory, needs, jobs)
        print(forecast.drawing("figure", [page.to_draw(laboratory, one) for one in wanted]))
        return 0
    report = execute(laboratory, needs, Workers(jobs, cluster))
    shown = []
    for drawn in page.draw(laboratory, wanted):
        shown.append(drawn)
        for path in drawn.paths:
            print(path)
    print(page.write(laboratory, shown, command_line()))
    complete(report)
    return 0


def one_engine(engine: str, qdisc_source: str, discipline: str | None = None) -> str:
    """The engine that the options select; raises `RequestError` for several engines."""
    from aqmlab.base.failures import RequestError
    from aqmlab.engines import registry

    names = registry.named(engine, *options.kernel_options(qdisc_source, discipline))
    if len(names) != 1:
        raise RequestError("--engine: a study runs on one engine; give `sim` or `kernel`")
    return names[0]


def count(laboratory: Laboratory, needs: Sequence[Trials]) -> str:
    """The number of trials, and of those left to run."""
    found = laboratory.count(needs)
    if found.missing is None:
        return f"{found.trials} trials: {found.simulated_s:.0f} s"
    left = f"{found.missing} to run" if found.missing < found.trials else "all to run"
    return f"{found.trials} trials, {left}: {found.simulated_s:.0f} s of them"


def print_forecast(laboratory: Laboratory, needs: Sequence[Trials], jobs: int | None) -> None:
    """Prints the expected time of the remaining trials."""
    from aqmlab.cli import forecast

    found = laboratory.count(needs)
    if found.missing is None:
        print(forecast.unasked([laboratory.asked.engine]))
    elif found.missing:
        print("\n".join(forecast.forecast(found.expected, found.missing, jobs)))


class Workers(NamedTuple):
    """The place for trials: a number of local processes, or a cluster."""

    jobs: int | None = None
    cluster: str | None = None


def execute(laboratory: Laboratory, needs: Sequence[Trials], place: Workers) -> RunReport:
    """Runs the missing trials with a progress bar."""
    from aqmlab.base.failures import StoppedError
    from aqmlab.campaign import dask_executor
    from aqmlab.campaign.pace import Pace
    from aqmlab.campaign.runner import cores
    from aqmlab.cli import console
    from aqmlab.cli.progress import Bar

    processes = None if place.cluster else place.jobs or cores()
    bar = Bar(Pace(laboratory.paces(needs), processes))
    try:
        with dask_executor.opened(place.cluster) as executor:
            report = laboratory.run(
                needs, jobs=place.jobs, executor=executor, progress=bar, say=console.talk
            )
    except KeyboardInterrupt:
        raise StoppedError(
            f"interrupted; finished trials are kept in {laboratory.folder}",
            "the same command continues from here",
        ) from None
    finally:
        bar.stop()
    if report.run:
        console.talk(f"time: {report.seconds:.1f} s for {report.run} trials")
    console.talk(f"folder: {laboratory.folder}")
    return report


def command_line() -> str:
    """The command line of this process."""
    return shlex.join(["aqmlab", *sys.argv[1:]])
