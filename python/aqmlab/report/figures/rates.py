"""Round-trip times over the line's rates, as Figs 17 to 32 of Boerlage et al. (2016)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import (
    LINES,
    Drawing,
    FigureDefinition,
    colour,
    legend_below,
    log_axis,
    plain_text,
    stacked,
)

if TYPE_CHECKING:
    from aqmlab.results.results import CampaignResults

_COLUMNS = ("rtt_p25_ms", "rtt_p50_ms", "rtt_p75_ms")
_MOST_PANELS = 6
_LEAST_RATES = 5


def _applies(results: CampaignResults) -> bool:
    return data.carrying(results, "flows")["rate_label"].n_unique() >= _LEAST_RATES


def _draw(results: CampaignResults) -> Iterator[Drawing]:
    import polars as pl
    from matplotlib.lines import Line2D

    frame = data.carrying(results, "flows")
    rates = data.ordered(frame, "rate_label")
    apps, notes = data.chosen(frame, "app", _MOST_PANELS, "applications")
    queues, more = data.chosen(frame, "queue_label", data.MOST_QUEUES, "queues")
    rtts, rest = data.chosen(frame, "rtt_label", len(LINES), "round-trip times")
    rows = data.medians(frame, _COLUMNS, "app", "rate_label", "queue_label", "rtt_label")
    made, panels = stacked(len(apps), 1.7)
    place = {rate: x for x, rate in enumerate(rates)}
    for axes, app in zip(panels, apps, strict=True):
        axes.set_title(plain_text(app))
        for number, queue in enumerate(queues):
            for line, rtt in zip(LINES, rtts, strict=False):
                here = rows.filter(
                    (pl.col("app") == app)
                    & (pl.col("queue_label") == queue)
                    & (pl.col("rtt_label") == rtt)
                ).drop_nulls(list(_COLUMNS))
                x = [place[rate] for rate in here["rate_label"]]
                low, middle, high = (here[name].to_list() for name in _COLUMNS)
                axes.plot(x, middle, line, color=colour(number), marker=".", markersize=3)
                if len(rtts) == 1:  # Several areas would hide each other.
                    axes.fill_between(x, low, high, color=colour(number), alpha=0.15, linewidth=0)
        log_axis(axes.yaxis)
        axes.set_ylabel("RTT (ms)")
    panels[-1].set_xticks(range(len(rates)), rates, rotation=90, fontsize=6.5)
    panels[-1].set_xlabel("rate down/up (Mbit/s)")
    handles = [Line2D([], [], color=colour(n)) for n in range(len(queues))]
    labels = [plain_text(queue) for queue in queues]
    if len(rtts) > 1:
        handles += [Line2D([], [], color="#555555", linestyle=line) for line in LINES[: len(rtts)]]
        labels += [f"RTT {rtt}" for rtt in rtts]
    legend_below(made, handles, labels)
    area = ", and from the 25th to the 75th percentile" if len(rtts) == 1 else ""
    caption = (
        f"Round-trip times over the rates of the line: median{area}; "
        f"{data.span_note(results)}, {data.seeds_note(results)}."
    )
    yield Drawing("rates", made, caption, [*notes, *more, *rest])


FIGURE = FigureDefinition("Round-trip times by rate", ("flows",), _draw, _applies)
