"""Achieved and selected rates of video streams, as in Fig. 5 of Kua et al. (2017).

AR is the achieved rate of a segment's download, RR the selected representation rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.bars import BarPlace, bar_panels, share_if_alike
from aqmlab.report.figures.boxes import NO_DATA, ShownPart
from aqmlab.report.figures.drawing import Drawing, FigureDefinition, legend_below, plain_text

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.artist import Artist

    from aqmlab.results.results import CampaignResults

_AR, _RR = "ar_median_mbit", "rr_median_mbit"


def _streams(results: CampaignResults) -> pl.DataFrame:
    """A row per trial and stream with columns for AR and RR."""
    import polars as pl

    frame = data.labelled(results, "apps").filter(
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
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    frame = _streams(results)
    choice = ShownPart.of(frame, data.conditions(results), data.MOST_GROUPS)
    rows = data.medians(frame, (_AR, _RR), "rate_label", "queue_label", "rtt_label")
    made, panels, places = bar_panels(FIGURE.title, rows, choice, 2.0)
    for place in places:
        _bar(place)
    notes = [*choice.notes, *share_if_alike(panels)]
    for axes in panels:
        axes.set_ylabel("rate (Mbit/s)")
    handles: list[Artist] = [Patch(color=look.colour) for look in choice.queues.values()]
    labels = [plain_text(queue) for queue in choice.queues]
    handles += [
        Line2D([], [], color="#555555", marker="o", linestyle=""),
        Patch(facecolor="#999999", alpha=0.6),
    ]
    labels += ["achieved rate of downloads (AR)", "selected rate of the video (RR)"]
    if any(line.get_label() == NO_DATA for axes in panels for line in axes.lines):
        handles.append(Line2D([], [], color="#555555", marker="x", linestyle=""))
        labels.append(NO_DATA)
    legend_below(made, handles, labels)
    apps = ", ".join(data.ordered(frame, "app"))
    caption = (
        f"Video streams ({apps}) by {choice.compared}: medians over their segments, "
        f"{data.seeds_note(results)}. RR, the representation rate, is the bit rate of the video "
        "that the player selected: the higher, the better the picture. AR, the achieved rate, is a "
        "segment's size divided by the time of its download: if it falls below RR, playback "
        "outruns the downloads."
    )
    yield Drawing("dash", made, caption, notes)


def _bar(place: BarPlace) -> None:
    axes, x, width, look, row = place
    if row[_RR] is None:
        axes.plot(x, 0, "x", color="#555555", markersize=4, clip_on=False, label=NO_DATA)
        return
    axes.bar(x, row[_RR], width, color=look.colour, alpha=0.6)
    if row[_AR] is not None:
        axes.plot(x, row[_AR], "o", color=look.colour, markeredgecolor="white", markersize=6)


FIGURE = FigureDefinition("Rates of video streams", ("apps",), _draw, _applies)
