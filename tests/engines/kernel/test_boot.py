"""Every `make test` boots one machine, if possible."""

from __future__ import annotations

import numpy as np
import pytest
from aqmlab import _core
from aqmlab.engines.kernel import engine

from .trials import app, text, trial


@pytest.mark.boot
def test_a_machine_boots_and_its_flow_fills_the_line_as_the_simulators_does() -> None:
    spec = text(trial(app("bulk", "bulk"), kind="fq_codel", seconds=2))
    told: list[float] = []
    real, model = engine.run(spec, progress=told.append), _core.run(spec)
    assert told and told == sorted(told)
    assert [*real["tables"]["flows"]] == [*model["tables"]["flows"]]
    rates = (run["tables"]["flows"]["throughput_p95_mbit"] for run in (real, model))
    assert np.nanmax(next(rates)) == pytest.approx(np.nanmax(next(rates)), rel=0.02)
    assert np.nanmin(real["tables"]["flows"]["rtt_min_ms"]) == pytest.approx(41, abs=2)
