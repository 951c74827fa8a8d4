"""`aqmlab reproduce`: runs the experiments of a paper and draws its figures."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from aqmlab import studies
from aqmlab.api import complete
from aqmlab.base.failures import RequestError, StoppedError
from aqmlab.base.numerals import count_text
from aqmlab.campaign import dask_executor
from aqmlab.campaign.pace import Pace
from aqmlab.campaign.runner import cores
from aqmlab.cli import console, forecast
from aqmlab.cli.kernel_options import kernel_options
from aqmlab.cli.parameters.reproduce import ReproduceParameters
from aqmlab.cli.progress import Bar
from aqmlab.engines import registry
from aqmlab.studies import page, preflight
from aqmlab.studies.laboratory import Asked, Laboratory

if TYPE_CHECKING:
    from aqmlab.campaign.runner import RunReport
    from aqmlab.studies.trials import Trials


def command(given: ReproduceParameters) -> int:
    """Runs `aqmlab reproduce`; returns the exit status."""
    name = one_engine(given.engine, given.qdisc_source, given.discipline)
    found = studies.load(given.study)
    wanted = found.asked_figures(given.figure or [])
    seeds = found.seeds if given.seeds is None else given.seeds
    asked = Asked(seeds, name, build=not given.dry_run)
    laboratory = Laboratory(found, asked, given.out)
    preflight.of_figures(wanted, laboratory)
    needs = [need for one in wanted for need in one.trials]
    if given.dry_run:
        for one in wanted:
            print(f"figure {one.number}: {count(laboratory, one.trials)}")
        if len(wanted) > 1:
            print(f"all: {count(laboratory, needs)}")
        print_forecast(laboratory, needs, given.jobs)
        print(forecast.drawing("figure", [page.to_draw(laboratory, one) for one in wanted]))
        return 0
    report = execute(laboratory, needs, Workers(given.jobs, given.cluster))
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
    names = registry.named(engine, *kernel_options(qdisc_source, discipline))
    if len(names) != 1:
        raise RequestError("--engine: a study runs on one engine; give `sim` or `kernel`")
    return names[0]


def count(laboratory: Laboratory, needs: Sequence[Trials]) -> str:
    """The number of trials, how many are left to run, and their simulated seconds, as text.

    If the trials left to run are unknown, the text has the simulated seconds of all trials.
    """
    found = laboratory.count(needs)
    if found.missing is None:
        return f"{count_text(found.trials, 'trial')}: {found.simulated_s:.0f} s"
    left = f"{found.missing} to run" if found.missing < found.trials else "all to run"
    return f"{count_text(found.trials, 'trial')}, {left}: {found.simulated_s:.0f} s of them"


def print_forecast(laboratory: Laboratory, needs: Sequence[Trials], jobs: int | None) -> None:
    """Prints the expected run time and size of results for the trials left to run.

    If the engine is not built yet, prints that these facts are unknown.
    """
    found = laboratory.count(needs)
    if found.missing is None:
        print(forecast.unasked([laboratory.asked.engine]))
    elif found.missing:
        print("\n".join(forecast.forecast(found.expected, found.missing, jobs)))


class Workers(NamedTuple):
    """The workers for trials: a number of local processes, or a cluster."""

    jobs: int | None = None
    cluster: str | None = None


def execute(laboratory: Laboratory, needs: Sequence[Trials], place: Workers) -> RunReport:
    """Runs the missing trials with a progress bar. Raises `StoppedError` after Ctrl-C."""
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
        console.talk(f"time: {report.seconds:.1f} s for {count_text(report.run, 'trial')}")
    console.talk(f"folder: {laboratory.folder}")
    return report


def command_line() -> str:
    """The command line of this process."""
    return shlex.join(["aqmlab", *sys.argv[1:]])
