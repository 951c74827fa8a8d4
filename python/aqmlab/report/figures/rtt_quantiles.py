"""The distribution of round-trip times, with its tail, per application and queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import (
    Drawing,
    FigureDefinition,
    grid,
    head,
    legend_below,
    log_axis,
    name_axes,
    panel_title,
    plain_text,
)
from aqmlab.report.figures.overlap import rim_covered

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import CampaignResults

_PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
_COLUMNS = tuple(f"rtt_p{p}_ms" for p in _PERCENTILES)
_MOST_FIGURES = 2


def _timed(results: CampaignResults) -> pl.DataFrame:
    """The rows of applications that have round trips."""
    import polars as pl

    frame = data.carrying(results, "flows")
    return frame.filter(pl.col("rtt_p50_ms").is_not_null().any().over("app"))


def _applies(results: CampaignResults) -> bool:
    return _timed(results).height > 0


def _draw(results: CampaignResults) -> Iterator[Drawing]:
    import polars as pl

    frame = _timed(results)
    everyone = data.ordered(data.carrying(results, "flows"), "app")
    word = data.places_word(data.arranged(results).values())
    places, notes = data.chosen(frame, "place_label", _MOST_FIGURES, word)
    apps, more = data.chosen(frame, "app", data.MOST_APPS, "applications")
    looks = data.conditions(results)
    queues, rest = data.chosen_queues(frame, looks)
    rows = data.medians(frame, _COLUMNS, "place_label", "app", "queue_label")
    for place in places:
        here = rows.filter(pl.col("place_label") == place).drop_nulls(_COLUMNS)
        timed = set(here["app"])
        shown = [app for app in apps if app in timed]
        made, panels = grid(len(shown), 3, 2.0)
        head(made, f"{FIGURE.title}{_at(place)}")
        for axes, app in zip(panels, shown, strict=True):
            panel_title(axes, app, columns=3)
            for row in here.filter(pl.col("app") == app).iter_rows(named=True):
                if row["queue_label"] in queues:
                    look = looks[row["queue_label"]]
                    times = [row[column] for column in _COLUMNS]
                    axes.plot(
                        times, _PERCENTILES, look.line, color=look.colour, marker=look.marker,
                        markersize=3.2,
                    )  # fmt: skip
            axes.set_yticks((1, 25, 50, 75, 95), ("1", "25", "50", "75", "95"))
        for axes in panels:
            log_axis(axes.xaxis)
        rims = rim_covered(panels, along="y")
        name_axes(panels, 3, "RTT (ms)", "percentile")
        handles = [looks[queue].handle(marked=True) for queue in queues]
        legend_below(made, handles, [plain_text(queue) for queue in queues])
        caption = (
            f"Share of round trips that take no longer than a time{_at(place)}: percentiles 1, 5, "
            f"25, 50, 75, 95 and 99; {data.span_note(results)}, {data.seeds_note(results)}."
        )
        silent = [app for app in everyone if app not in timed]
        without = [f"there are no round trips of {', '.join(silent)}"] if silent else []
        name = data.file_name("rtt_quantiles", place)
        yield Drawing(name, made, caption, [*notes, *more, *rest, *without, *rims])


def _at(place: str) -> str:
    return f" at {place}" if place else ""


FIGURE = FigureDefinition("Distribution of round-trip times", ("flows",), _draw, _applies)
