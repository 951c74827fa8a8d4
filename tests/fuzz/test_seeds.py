"""The fuzzers' first inputs exist for every registered kind."""

from __future__ import annotations

import runpy
from pathlib import Path

from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.scenario import catalogue

ROOT = Path(__file__).parents[2]


def test_every_application_and_discipline_has_a_seed_trial():
    # `fuzz` is the name of this package, so the program cannot be imported by its name.
    program = runpy.run_path(str(ROOT / "fuzz/seeds.py"))
    trials = [TrialSpec.read(seed.decode()) for seed in program["SEEDS"]["trial"]()]
    known = catalogue.load()
    assert {app.app.kind for trial in trials for app in trial.apps} == set(known["apps"])
    found = {link.qdisc.kind for trial in trials for link in trial.links}
    assert found == set(known["disciplines"])
