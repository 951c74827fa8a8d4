"""Figures of a validation: errors over all cells, and both engines in the worst cases."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from aqmlab.report.figures.drawing import Drawing, canvas, plain_text, stacked, styled
from aqmlab.report.figures.looks import CONDITION_COLOURS
from aqmlab.validation.cases import Case
from aqmlab.validation.compare import RULES, Comparison, Validation
from aqmlab.validation.trial_record import TrialRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SeriesName = Literal["throughput_mbit", "rtt_ms", "cwnd_bytes"]

_SERIES: Mapping[str, tuple[SeriesName, str]] = {
    "throughput": ("throughput_mbit", "throughput (Mbit/s)"),
    "video_rate": ("throughput_mbit", "throughput (Mbit/s)"),
    "rtt_p5": ("rtt_ms", "RTT (ms)"),
    "rtt_p50": ("rtt_ms", "RTT (ms)"),
    "rtt_p95": ("rtt_ms", "RTT (ms)"),
    "rtt_p99": ("rtt_ms", "RTT (ms)"),
}
"""The series over time that is drawn beside a metric.

Other metrics have the congestion window, if any.
"""

_WINDOW: tuple[SeriesName, str] = ("cwnd_bytes", "cwnd (kB)")

_LOOKS = {"kernel": ("o", "-"), "ours": ("s", "--")}
"""The marker and the line of each side, because some readers cannot distinguish colours."""

_LEAST, _MOST = 1e-4, 10.0


def errors(comparison: Comparison) -> Drawing:
    """For each metric with a rule, the distribution of errors, beside the bounds on chance."""
    with styled():
        made, panels = stacked(len(RULES), 1.7)
        for axes, (name, rule) in zip(panels, RULES.items(), strict=True):
            cases = [case for case in comparison.cases if case.metric.name == name]
            own = [case.spread for case in cases if case.spread is not None]
            _steps(axes, [case.error for case in cases], "error", 0, "-")
            _steps(axes, own, "kernel's own spread", 1, "--")
            axes.axvline(rule.within, color="0.5", linewidth=0.8, linestyle=":")
            axes.set_xscale("log")
            axes.set_xlim(_LEAST, _MOST)
            axes.set_ylim(0, 1)
            axes.set_ylabel(name)
        panels[0].legend(loc="upper left")
        panels[-1].set_xlabel("relative difference; the dotted line is the rule's tolerance")
    text = (
        f"Share of flows for which {comparison.engine} differs from the kernel by at most x, and"
        " the difference by which chance separates two such medians of the kernel's own seeds."
    )
    return Drawing(f"validation-errors-{comparison.engine}", made, text)


def _steps(axes: Axes, values: Sequence[float], label: str, index: int, line: str) -> None:
    ordered = sorted(min(max(value, _LEAST), _MOST) for value in values)
    shares = [place / len(ordered) for place in range(1, len(ordered) + 1)]
    axes.step(
        ordered, shares, where="post", label=label, color=CONDITION_COLOURS[index], linestyle=line
    )


def worst(made: Validation, comparison: Comparison, most: int = 12) -> Iterator[Drawing]:
    """Yields a drawing of the values and the series of both sides for each of the worst cases.

    Yields at most `most` drawings.
    """
    for number, case in enumerate(comparison.worst[:most], start=1):
        yield _pair(made, comparison, case, number)


def _pair(made: Validation, comparison: Comparison, case: Case, number: int) -> Drawing:
    with styled():
        picture = canvas(2.6)
        left, right = picture.subplots(1, 2, width_ratios=(1, 3))
        sides = {"kernel": case.kernel, "ours": case.ours}
        for place, (side, values) in enumerate(sides.items()):
            _dots(left, place, values, side)
        left.set_xticks([0, 1], ["kernel", comparison.engine])
        left.set_xlim(-0.5, 1.5)
        left.set_ylabel(plain_text(f"{case.metric.name} ({case.metric.unit})"))
        _from_zero(left)
        engines = {"kernel": "kernel", "ours": comparison.engine}
        for place, (side, engine) in enumerate(engines.items()):
            records = [
                record for (cell, _), record in made.series[engine].items()
                if cell == case.cell.name
            ]  # fmt: skip
            _over_time(right, case, records, (place, side))
        right.set_xlabel("time (s)")
        _from_zero(right)
    spread = "unknown" if case.spread is None else f"{100 * case.spread:.3g} %"
    error = "only one has a value" if math.isinf(case.error) else f"{100 * case.error:.3g} %"
    caption = (
        f"{case.cell.name} ({case.cell.about}; {case.cell.condition}): {case.metric.name} of "
        f"{case.item}. Error {error}, spread {spread}. Each mark and line is a seed."
    )
    return Drawing(f"validation-{comparison.engine}-{number:02}", picture, caption)


def _from_zero(axes: Axes) -> None:
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1])


def _dots(axes: Axes, place: int, values: Sequence[float], side: str) -> None:
    if not values:
        return
    marker, _ = _LOOKS[side]
    width = 0.25 / max(len(values), 1)
    across = [place + width * (index - (len(values) - 1) / 2) for index in range(len(values))]
    axes.plot(across, values, marker, color=CONDITION_COLOURS[place], fillstyle="none")
    median = statistics.median(values)
    axes.hlines(median, place - 0.3, place + 0.3, color=CONDITION_COLOURS[place])


def _over_time(
    axes: Axes, case: Case, records: Sequence[TrialRecord], look: tuple[int, str]
) -> None:
    place, side = look
    wanted = (_SERIES.get(case.metric.name, _WINDOW), _SERIES["rtt_p50"], _SERIES["throughput"])
    drawn = [one for one in wanted if any(_points(record, one[0], case.item) for record in records)]
    if not drawn:
        return
    column, label = drawn[0]
    axes.set_ylabel(label)
    for record in records:
        points = _points(record, column, case.item)
        if not points:
            continue
        times, values = zip(*points, strict=True)
        axes.plot(
            times, values, _LOOKS[side][1], color=CONDITION_COLOURS[place], linewidth=0.8, alpha=0.8
        )


def _points(record: TrialRecord, name: SeriesName, item: str) -> Sequence[Sequence[float]]:
    """The times in seconds and the values of an item's series. Congestion windows are in kB."""
    series = record["series"]
    if name == "cwnd_bytes":
        curve = series["cwnd_bytes"].get(item, ())
        return [(0.5 * (step + 1), value / 1e3) for step, value in enumerate(curve)]
    return series[name].get(item, ())
