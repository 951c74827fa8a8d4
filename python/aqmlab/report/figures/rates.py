"""Round-trip times over the line's rates, as in Figs. 17 to 32 of Boerlage and Collom (2016)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import (
    LINES,
    Drawing,
    FigureDefinition,
    head,
    legend_below,
    log_axis,
    panel_title,
    plain_text,
    stacked,
)

if TYPE_CHECKING:
    from aqmlab.results.results import CampaignResults

_COLUMNS = ("rtt_p25_ms", "rtt_p50_ms", "rtt_p75_ms")
_MOST_PANELS = 8
_LEAST_RATES = 5


def _applies(results: CampaignResults) -> bool:
    return data.carrying(results, "flows")["rate_label"].n_unique() >= _LEAST_RATES


def _draw(results: CampaignResults) -> Iterator[Drawing]:
    import polars as pl
    from matplotlib.lines import Line2D

    frame = data.carrying(results, "flows")
    rates = data.ordered(frame, "rate_label")
    apps, notes = data.chosen(frame, "app", _MOST_PANELS, "applications")
    looks = data.conditions(results)
    queues, more = data.chosen_queues(frame, looks)
    rtts, rest = data.chosen(frame, "rtt_label", len(LINES), "round-trip times")
    rows = data.medians(frame, _COLUMNS, "app", "rate_label", "queue_label", "rtt_label")
    made, panels = stacked(len(apps), 1.7, sharey=True)
    head(made, FIGURE.title)
    place = {rate: x for x, rate in enumerate(rates)}
    for axes, app in zip(panels, apps, strict=True):
        panel_title(axes, app)
        for queue in queues:
            look = looks[queue]
            for line, rtt in zip(LINES, rtts, strict=False):
                here = rows.filter(
                    (pl.col("app") == app)
                    & (pl.col("queue_label") == queue)
                    & (pl.col("rtt_label") == rtt)
                ).drop_nulls(list(_COLUMNS))
                x = [place[rate] for rate in here["rate_label"]]
                low, middle, high = (here[name].to_list() for name in _COLUMNS)
                axes.plot(x, middle, line, color=look.colour, marker=look.marker, markersize=2.5)
                if len(rtts) == 1:  # Several areas would hide each other.
                    axes.fill_between(x, low, high, color=look.colour, alpha=0.15, linewidth=0)
        axes.set_ylabel("RTT (ms)")
    log_axis(panels[0].yaxis)
    panels[-1].set_xticks(range(len(rates)), rates, rotation=90, fontsize=6.5)
    panels[-1].set_xlabel("rate down/up (Mbit/s)")
    handles = [looks[queue].handle(marked=True) for queue in queues]
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
