"""Achieved and selected rates of video streams, as Fig. 5 of Kua et al. (2017).

AR is the achieved rate of a segment's download, RR the selected representation rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.boxes import NO_DATA, ShownPart
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
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from aqmlab.results.results import CampaignResults

_AR, _RR = "ar_median_mbit", "rr_median_mbit"


def _streams(results: CampaignResults) -> pl.DataFrame:
    """A row per trial and stream with columns for AR and RR."""
    import polars as pl

    frame = results.labelled("apps").filter(
        pl.col("metric").is_in([_AR, _RR]) & data.of_kind(results, "dash")
    )
    keys = ["trial", "queue_label", "rate_label", "rtt_label", "flow"]
    groups = results.manifest.app_groups
    wide = frame.group_by(keys, maintain_order=True).agg(
        pl.col("value").filter(pl.col("metric") == name).first().alias(name) for name in (_AR, _RR)
    )
    return wide.with_columns(pl.col("flow").replace(groups).alias("app"))


def _applies(results: CampaignResults) -> bool:
    return _streams(results).height > 0


def _draw(results: CampaignResults) -> Iterator[Drawing]:
    import polars as pl
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    frame = _streams(results)
    choice = ShownPart.of(frame)
    rows = data.medians(frame, (_AR, _RR), "rate_label", "queue_label", "rtt_label")
    made, panels = stacked(len(choice.rates), 2.0)
    for axes, rate in zip(panels, choice.rates, strict=True):
        axes.set_title(f"{rate} Mbit/s (down/up)" if rate else "")
        _panel(axes, rows.filter(pl.col("rate_label") == rate), choice)
    handles: list[Artist] = [Patch(color=colour(n)) for n in range(len(choice.queues))]
    labels = [plain_text(queue) for queue in choice.queues]
    handles += [
        Line2D([], [], color="#555555", marker="o", linestyle=""),
        Patch(facecolor="#999999", alpha=0.6),
    ]
    labels += ["achieved rate (AR)", "representation rate (RR)"]
    if any(line.get_label() == NO_DATA for axes in panels for line in axes.lines):
        handles.append(Line2D([], [], color="#555555", marker="x", linestyle=""))
        labels.append(NO_DATA)
    legend_below(made, handles, labels)
    apps = ", ".join(data.ordered(frame, "app"))
    caption = (
        f"Video streams ({apps}) by queue: median achieved rate and median representation rate of "
        f"their segments, {data.seeds_note(results)}."
    )
    yield Drawing("dash", made, caption, choice.notes)


def _panel(axes: Axes, rows: pl.DataFrame, choice: ShownPart) -> None:
    import polars as pl

    width = 0.8 / len(choice.queues)
    for number, queue in enumerate(choice.queues):
        for row in rows.filter(pl.col("queue_label") == queue).iter_rows(named=True):
            if row["rtt_label"] not in choice.rtts:
                continue
            x = choice.rtts.index(row["rtt_label"]) - 0.4 + width * (number + 0.5)
            if row[_RR] is None:
                axes.plot(x, 0, "x", color="#555555", markersize=4, clip_on=False, label=NO_DATA)
                continue
            axes.bar(x, row[_RR], width * 0.9, color=colour(number), alpha=0.6)
            if row[_AR] is not None:
                axes.plot(
                    x, row[_AR], "o", color=colour(number), markeredgecolor="white", markersize=5
                )
    axes.set_ylim(bottom=0)
    axes.set_ylabel("rate (Mbit/s)")
    axes.grid(visible=False, axis="x")
    axes.set_xticks(range(len(choice.rtts)), [f"RTT {rtt}" if rtt else "" for rtt in choice.rtts])
    axes.tick_params(axis="x", length=0)
    beside = 0.6 if len(choice.rtts) == 1 else 0.0
    axes.set_xlim(-0.5 - beside, len(choice.rtts) - 0.5 + beside)


FIGURE = FigureDefinition("Video streams", ("apps",), _draw, _applies)
