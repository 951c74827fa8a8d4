"""Declarations of papers' figures, with their trials, numbers and form.

A `Figure` has a form, and most forms draw rows of numbers:

| Form       | Draws                                          | Of rows such as               |
|------------|------------------------------------------------|-------------------------------|
| `Boxes`    | markers, and bars between quartiles, in groups | `flow_quantiles`              |
| `BoxPlots` | boxes with whiskers, in groups                 | `flow_quantiles`              |
| `Bars`     | bars in groups                                 | `flow_numbers`, `app_numbers` |
| `Stacked`  | several forms with groups, below one another   |                               |
| `Lines`    | medians over the values of a condition         | `flow_quantiles`              |
| `OverTime` | values over time, in panels                    | `rtt_over_time`               |
| `Shares`   | cumulative distributions, in panels            | `rtt_shares`, `sample_shares` |
| `Lab`      | a figure that campaign reports also have       |                               |
"""

from aqmlab.studies.draw.figure import Figure, Form, Lab
from aqmlab.studies.draw.grouped import Bars, Boxes, BoxPlots, Stacked
from aqmlab.studies.draw.lines import Lines, OverTime, Shares
from aqmlab.studies.draw.rows import (
    Rows,
    app_numbers,
    chunk_medians,
    chunks_over_time,
    flow_numbers,
    flow_quantiles,
    link_numbers,
    rate_over_time,
    rtt_over_time,
    rtt_shares,
    sample_shares,
)

__all__ = [
    "Bars",
    "BoxPlots",
    "Boxes",
    "Figure",
    "Form",
    "Lab",
    "Lines",
    "OverTime",
    "Rows",
    "Shares",
    "Stacked",
    "app_numbers",
    "chunk_medians",
    "chunks_over_time",
    "flow_numbers",
    "flow_quantiles",
    "link_numbers",
    "rate_over_time",
    "rtt_over_time",
    "rtt_shares",
    "sample_shares",
]
