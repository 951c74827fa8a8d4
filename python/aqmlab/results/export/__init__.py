"""Exports for other programs: plain values, CSV, and the files of Flent and TEACUP."""

from aqmlab.results.export.values import (
    FlowNumbers,
    TrialNumbers,
    number,
    trials_alone,
    trials_as_json,
)

__all__ = ["FlowNumbers", "TrialNumbers", "number", "trials_alone", "trials_as_json"]
