"""`aqmlab run`: runs a scenario and shows the results of each application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aqmlab.cli import options

if TYPE_CHECKING:
    from aqmlab.api import Request
    from aqmlab.campaign.runner import Campaign, RunReport
    from aqmlab.results.results import CampaignResults


def command(
    scenario: options.ScenarioArg,
    sets: options.Sets = None,
    vary: options.Vary = None,
    seeds: options.Seeds = None,
    duration: options.Duration = None,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
    out: options.Out = None,
    engine: options.Engine = "sim",
    qdisc_source: options.QdiscSource = "kernel",
    run_on: options.RunOn = "vm",
    discipline: options.OldDiscipline = None,
    place: options.OldPlace = None,
    as_json: options.AsJson = False,
    brief: options.Brief = False,
    no_report: options.NoReport = False,
    dry_run: options.DryRun = False,
) -> int:
    """Run a scenario and show the results of each application.

    After an interruption, the same command continues and produces the same bytes.
    """
    from aqmlab.api import Request, complete, default_folder
    from aqmlab.cli import console, forecast, summary
    from aqmlab.cli.progress import drawn
    from aqmlab.engines import registry
    from aqmlab.planning.change_text import assignments, variations
    from aqmlab.report.page import to_draw, write

    request = Request(
        scenario,
        assignments(sets or ()),
        variations(vary or ()),
        seeds,
        duration,
        engine,
        *options.kernel_options(qdisc_source, discipline, run_on, place),
        build=not dry_run,
    )
    unbuilt = registry.unbuilt(request.engine_names()) if dry_run else ()
    if unbuilt:
        print("\n".join(forecast.of_plan(request.plan(), unbuilt)))
        return 0
    campaign, warnings = prepare(request)
    for warning in warnings:
        console.talk(f"warning: {warning}")
    folder = out or default_folder(campaign)
    if dry_run:
        print("\n".join(forecast.lines(campaign, folder, jobs)))
        if not no_report:
            print(forecast.drawing("report", [to_draw(campaign.about)]))
        return 0
    report, results = execute(campaign, folder, jobs, cluster)
    # Without this table no trial has succeeded, and there is nothing to show.
    some = "trials" in results.tables
    if as_json:
        console.print_json(results.to_json() if some else [])
    elif some:
        summary.show(results, brief=brief)
    if some and not no_report:
        path = write(results, results.path / "report.html", watched=drawn)
        console.talk(f"report: {path}")
    summary.close(results, report)
    complete(report)
    return 0


def prepare(request: Request) -> tuple[Campaign, tuple[str, ...]]:
    """The requested campaign, and its warnings."""
    from aqmlab.api import campaign_for
    from aqmlab.cli import console

    plan = request.plan()
    return campaign_for(request, plan, console.talk), plan.warnings


def execute(
    campaign: Campaign, folder: object, jobs: int | None, cluster: str | None = None
) -> tuple[RunReport, CampaignResults]:
    """Runs `campaign` with a progress bar, here or on a cluster."""
    from pathlib import Path

    from aqmlab.base.failures import StoppedError
    from aqmlab.campaign import dask_executor, speed
    from aqmlab.campaign import runner as campaigns
    from aqmlab.campaign.pace import Pace
    from aqmlab.cli.progress import Bar
    from aqmlab.results.results import load

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
