"""Throughput of bulk downloads on a linear axis, as Fig. 4 of Kua et al. (2017)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.boxes import ShownPart
from aqmlab.report.figures.drawing import (
    Drawing,
    FigureDefinition,
    colour,
    legend_below,
    plain_text,
    stacked,
)

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
    import polars as pl
    from matplotlib.lines import Line2D
    from matplotlib.patheffects import withStroke

    frame = _downloads(results)
    choice = ShownPart.of(frame)
    rows = data.medians(frame, _COLUMNS, "rate_label", "queue_label", "rtt_label")
    made, panels = stacked(len(choice.rates), 1.9)
    width = 0.8 / len(choice.queues)
    for axes, rate in zip(panels, choice.rates, strict=True):
        axes.set_title(f"{rate} Mbit/s (down/up)")
        here = rows.filter(pl.col("rate_label") == rate)
        for number, queue in enumerate(choice.queues):
            for row in here.filter(pl.col("queue_label") == queue).iter_rows(named=True):
                if row["rtt_label"] in choice.rtts and row[_COLUMNS[1]] is not None:
                    x = choice.rtts.index(row["rtt_label"]) - 0.4 + width * (number + 0.5)
                    low, middle, high = (row[name] for name in _COLUMNS)
                    axes.bar(x, middle, width * 0.9, color=colour(number), alpha=0.6)
                    # Makes the text legible on a black bar.
                    halo = [withStroke(linewidth=3, foreground="white")]
                    axes.plot([x, x], [low, high], color="#333333", linewidth=1, path_effects=halo)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("throughput (Mbit/s)")
        axes.grid(visible=False, axis="x")
        axes.set_xticks(
            range(len(choice.rtts)), [f"RTT {rtt}" if rtt else "" for rtt in choice.rtts]
        )
        axes.tick_params(axis="x", length=0)
        beside = 0.6 if len(choice.rtts) == 1 else 0.0
        axes.set_xlim(-0.5 - beside, len(choice.rtts) - 0.5 + beside)
    handles = [Line2D([], [], color=colour(n), linewidth=5) for n in range(len(choice.queues))]
    legend_below(made, handles, [plain_text(queue) for queue in choice.queues])
    apps = ", ".join(data.ordered(frame, "app"))
    caption = (
        f"Throughput of bulk downloads ({apps}) by queue: medians, with bars from the 25th to the "
        f"75th percentile; {data.span_note(results)}, {data.seeds_note(results)}."
    )
    yield Drawing("bulk_download", made, caption, choice.notes)


FIGURE = FigureDefinition("Bulk downloads", ("flows",), _draw, _applies)
