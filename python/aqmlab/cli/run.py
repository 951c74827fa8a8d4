"""`aqmlab run`: runs a scenario and shows the results of each application."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.api import Request, campaign_for, complete, default_folder
from aqmlab.base.failures import RequestError, StoppedError
from aqmlab.campaign import dask_executor, speed
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.pace import Pace
from aqmlab.cli import console, forecast, summary
from aqmlab.cli.kernel_options import kernel_options
from aqmlab.cli.parameters.run import RunParameters
from aqmlab.cli.progress import Bar, drawn
from aqmlab.engines import registry
from aqmlab.planning.change_text import assignments, variations
from aqmlab.report.page import to_draw, write
from aqmlab.results.export.values import trials_as_json
from aqmlab.results.results import load

if TYPE_CHECKING:
    from aqmlab.campaign.runner import Campaign, RunReport
    from aqmlab.results.results import CampaignResults


def command(given: RunParameters) -> int:
    """Runs `aqmlab run`; returns the exit status."""
    if given.dry_run and given.as_json:
        problem = "--dry-run: no trial runs, so `--json` has no results to print"
        raise RequestError(problem, "leave one of the two out")
    request = Request(
        given.scenario,
        assignments(given.sets or ()),
        variations(given.vary or ()),
        given.seeds,
        given.duration,
        given.engine,
        *kernel_options(given.qdisc_source, given.discipline, given.run_on, given.place),
        build=not given.dry_run,
    )
    unbuilt = registry.unbuilt(request.engine_names()) if given.dry_run else ()
    if unbuilt:
        print("\n".join(forecast.of_plan(request.plan(), unbuilt)))
        return 0
    campaign, warnings = prepare(request)
    for warning in warnings:
        console.talk(f"warning: {warning}")
    baseline = summary.baseline_asked(campaign.about.trials, given.baseline, brief=given.brief)
    folder = given.out or default_folder(campaign)
    if given.dry_run:
        print("\n".join(forecast.lines(campaign, folder, given.jobs)))
        if not given.no_report:
            print(forecast.drawing("report", [to_draw(campaign.about)]))
        return 0
    report, results = execute(campaign, folder, given.jobs, given.cluster)
    # If this table is absent, no trial has succeeded, and there is nothing to show.
    some = "trials" in results.tables
    if given.as_json:
        console.print_json(trials_as_json(results, baseline) if some else [])
    elif some:
        summary.show(results, brief=given.brief, baseline=baseline)
    if some and not given.no_report:
        path = write(results, results.path / "report.html", watched=drawn, baseline=baseline)
        console.talk(f"report: {path}")
    summary.close(results, report)
    complete(report)
    return 0


def prepare(request: Request) -> tuple[Campaign, tuple[str, ...]]:
    """The requested campaign, and the warnings of its plan."""
    plan = request.plan()
    return campaign_for(request, plan, console.talk), plan.warnings


def execute(
    campaign: Campaign, folder: object, jobs: int | None, cluster: str | None = None
) -> tuple[RunReport, CampaignResults]:
    """Runs `campaign` in `folder` with a progress bar, on this machine or on a cluster.

    Raises `StoppedError` after Ctrl-C.
    """
    path = Path(str(folder))
    known = speed.paces(campaigns.lots(campaign, campaign.trials))
    bar = Bar(Pace(known, None if cluster else jobs or campaigns.cores()))
    try:
        with dask_executor.opened(cluster) as executor:
            report = campaigns.run(campaign, path, jobs=jobs, executor=executor, progress=bar)
    except KeyboardInterrupt:
        raise StoppedError(
            f"interrupted; finished trials are kept in {path}",
            "the same command continues from here",
        ) from None
    finally:
        bar.stop()
    return report, load(path)
