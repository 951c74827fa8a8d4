"""Throughput of bulk downloads on a linear axis, as in Fig. 4 of Kua et al. (2017)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.bars import bar_panels, share_if_alike
from aqmlab.report.figures.boxes import ShownPart
from aqmlab.report.figures.drawing import Drawing, FigureDefinition, legend_below, plain_text

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import CampaignResults

_COLUMNS = ("throughput_p25_mbit", "throughput_p50_mbit", "throughput_p75_mbit")


def _downloads(results: CampaignResults) -> pl.DataFrame:
    import polars as pl

    frame = data.carrying(results, "flows")
    return frame.filter(data.of_kind(results, "bulk") & (pl.col("direction") == "down"))


def _applies(results: CampaignResults) -> bool:
    frame = _downloads(results)
    return frame.height > 0 and frame["queue_label"].n_unique() > 1


def _draw(results: CampaignResults) -> Iterator[Drawing]:
    from matplotlib.patches import Patch
    from matplotlib.patheffects import withStroke

    frame = _downloads(results)
    choice = ShownPart.of(frame, data.conditions(results), data.MOST_GROUPS)
    rows = data.medians(frame, _COLUMNS, "rate_label", "queue_label", "rtt_label")
    rows = rows.drop_nulls(_COLUMNS[1])
    made, panels, places = bar_panels(FIGURE.title, rows, choice, 1.9)
    halo = [withStroke(linewidth=3, foreground="white")]  # Keeps the line visible on black.
    for axes, x, width, look, row in places:
        low, middle, high = (row[name] for name in _COLUMNS)
        axes.bar(x, middle, width, color=look.colour, alpha=0.7)
        axes.plot([x, x], [low, high], color="#333333", linewidth=1, path_effects=halo)
    copies = data.copies_note(frame)
    notes = [*choice.notes, *copies, *share_if_alike(panels)]
    names = data.ordered(frame, "app")
    per = " per copy" if copies else " per application" if len(names) > 1 else ""
    for axes in panels:
        axes.set_ylabel(f"throughput{per} (Mbit/s)")
    handles = [Patch(color=look.colour, alpha=0.7) for look in choice.queues.values()]
    legend_below(made, handles, [plain_text(queue) for queue in choice.queues])
    caption = (
        f"Throughput{per} of bulk downloads ({', '.join(names)}) by {choice.compared}: medians, "
        f"with lines from the 25th to the 75th percentile; {data.span_note(results)}, "
        f"{data.seeds_note(results)}."
    )
    yield Drawing("bulk_download", made, caption, notes)


FIGURE = FigureDefinition("Throughput of bulk downloads", ("flows",), _draw, _applies)
