"""The parameters of `aqmlab run`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aqmlab.cli.parameters import options


@dataclass(frozen=True, slots=True)
class RunParameters:
    """The parameters of `aqmlab run`."""

    details: ClassVar[str] = (
        "After an interruption, the same command continues and produces the same bytes."
    )

    scenario: options.ScenarioArg
    sets: options.Sets = None
    vary: options.Vary = None
    seeds: options.Seeds = None
    duration: options.Duration = None
    jobs: options.Jobs = None
    cluster: options.Cluster = None
    out: options.Out = None
    engine: options.Engine = "sim"
    qdisc_source: options.QdiscSource = "kernel"
    run_on: options.RunOn = "vm"
    discipline: options.OldDiscipline = None
    place: options.OldPlace = None
    as_json: options.AsJson = False
    brief: options.Brief = False
    baseline: options.Baseline = None
    no_report: options.NoReport = False
    dry_run: options.DryRun = False
