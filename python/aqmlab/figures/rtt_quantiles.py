"""The distribution of round-trip times, with its tail, per application and queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aqmlab.figures import data
from aqmlab.figures.drawing import (
    Drawing,
    Figure,
    colour,
    grid,
    legend_below,
    line_style,
    log_axis,
    name_axes,
    plain_text,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist

    from aqmlab.results import Results

_PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
_COLUMNS = tuple(f"rtt_p{p}_ms" for p in _PERCENTILES)
_MOST_FIGURES = 2


def _draw(results: Results) -> Iterator[Drawing]:
    import polars as pl

    frame = data.carrying(results, "flows")
    places, notes = data.chosen(frame, "place_label", _MOST_FIGURES, "conditions")
    apps, more = data.chosen(frame, "app", data.MOST_APPS, "applications")
    queues, rest = data.chosen(frame, "queue_label", data.MOST_QUEUES, "queues")
    rows = data.medians(frame, _COLUMNS, "place_label", "app", "queue_label")
    for place in places:
        made, panels = grid(len(apps), 3, 2.0)
        here = rows.filter(pl.col("place_label") == place)
        for axes, app in zip(panels, apps, strict=True):
            axes.set_title(plain_text(app))
            for row in here.filter(pl.col("app") == app).iter_rows(named=True):
                if row["queue_label"] in queues:
                    number = queues.index(row["queue_label"])
                    axes.plot(
                        [row[column] for column in _COLUMNS],
                        _PERCENTILES,
                        line_style(number),
                        color=colour(number),
                        marker=".",
                    )
            log_axis(axes.xaxis)
            axes.set_yticks((1, 25, 50, 75, 95), ("1", "25", "50", "75", "95"))
        name_axes(panels, 3, "RTT (ms)", "percentile")
        handles = [_line(number) for number in range(len(queues))]
        legend_below(made, handles, [plain_text(queue) for queue in queues])
        caption = (
            f"Share of round trips that take no longer than a time{_at(place)}: percentiles 1, 5, "
            f"25, 50, 75, 95 and 99; {data.span_note(results)}, {data.seeds_note(results)}."
        )
        yield Drawing(f"rtt_quantiles-{data.slug(place)}", made, caption, [*notes, *more, *rest])


def _at(place: str) -> str:
    return f" at {place}" if place else ""


def _line(number: int) -> Artist:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour(number), linestyle=line_style(number))


FIGURE = Figure("Distribution of round-trip times", ("flows",), _draw)
