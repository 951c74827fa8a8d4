"""The backlog and the sojourn times at the gateway over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import (
    Drawing,
    FigureDefinition,
    canvas,
    head,
    legend_below,
    plain_text,
    shortened,
    show_range,
)
from aqmlab.report.figures.looks import Look
from aqmlab.report.figures.overlap import calmest_above, rim_covered
from aqmlab.report.figures.series import MOST_PLACES

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from aqmlab.results.results import CampaignResults

_COLUMNS = (
    ("backlog_packets", "mean backlog (packets)"),
    ("sojourn_max_ms", "longest sojourn time (ms)"),
)
_LEAST = {"backlog_packets": 1.0, "sojourn_max_ms": 0.1}
"""The threshold below which values do not determine the axis."""
_MOST_POINTS = 100
_MOST_LINKS = 6


def _draw(results: CampaignResults) -> Iterator[Drawing]:
    import polars as pl

    shown, places, notes = data.examples(results, MOST_PLACES)
    frame = data.labelled(shown, "queue_series")
    looks = data.conditions(shown if places == [""] else results)
    queues, more = data.chosen_queues(frame, looks)
    every = data.ordered(frame, "link")
    links = every[:_MOST_LINKS]
    if len(links) < len(every):
        more = [*more, f"{len(links)} of {len(every)} links are shown"]
    for place in places:
        here = frame.filter(pl.col("place_label") == place)
        made = canvas(2.1 * len(links) + 0.8)
        head(made, f"{FIGURE.title}{' at ' + place if place else ''}")
        panels = made.subplots(len(links), 2, sharex=True, sharey="col", squeeze=False)
        for column, (quantity, text) in enumerate(_COLUMNS):
            _column(
                panels[:, column].tolist(),
                here,
                links,
                quantity,
                {one: looks[one] for one in queues},
            )
            panels[0, column].set_title(text)
        for row, link in zip(panels, links, strict=True):
            row[0].set_ylabel(plain_text(shortened(link, 24)))
        for axes in panels[-1]:
            axes.set_xlabel("time (s)")
        rims = rim_covered(panels.ravel().tolist())
        handles = [looks[queue].handle() for queue in queues]
        legend_below(made, handles, [plain_text(queue) for queue in queues])
        caption = (
            f"Mean backlog and longest sojourn of each 100th of the trial, in the queue of each "
            f"link{' at ' + place if place else ''}, {data.seeds_of(here, queues)}."
        )
        name = data.file_name("queue_time", place)
        yield Drawing(name, made, caption, [*notes, *more, *rims])


def _column(
    panels: Sequence[Axes],
    frame: pl.DataFrame,
    links: Sequence[str],
    quantity: str,
    looks: Mapping[str, Look],
) -> None:
    """Draws a quantity of each link in the panels of a column, which share their axes."""
    import numpy as np
    import polars as pl

    sizes = []
    for axes, link in zip(panels, links, strict=True):
        for queue, look in looks.items():
            line = frame.filter((pl.col("link") == link) & (pl.col("queue_label") == queue))
            if line.height:
                line = _coarse(line.filter(line["trial"] == line["trial"][0]))
                values = line[quantity].to_numpy()
                sizes.append(float(np.nanquantile(values, 0.95)) if line.height else 0.0)
                axes.plot(
                    line["t_s"].to_numpy(), values, look.line, color=look.colour, linewidth=0.9
                )
    visible = [max(size, _LEAST[quantity]) for size in sizes if size > 0]
    show_range(panels, visible, zeros=True)
    for axes in panels:
        calmest_above(axes)


def _coarse(line: pl.DataFrame) -> pl.DataFrame:
    """Mean backlog and longest sojourn over intervals long enough to be visible."""
    import polars as pl

    span_s = max(float(line["t_s"].to_numpy().max()) / _MOST_POINTS, 1e-9)
    return (
        line.group_by((pl.col("t_s") / span_s).ceil().alias("span"), maintain_order=True)
        .agg(pl.col("t_s").mean(), pl.col("backlog_packets").mean(), pl.col("sojourn_max_ms").max())
        .sort("t_s")
    )


FIGURE = FigureDefinition("Queues over time", ("queue_series",), _draw)
