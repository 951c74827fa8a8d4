"""Delay, throughput and verdicts over each quantity that was varied.

The x-axis shows the quantity as a number. A pair of rates is shown by its downstream rate if the
pairs differ in it. Other values that are not single numbers are shown side by side. All other
conditions are curves or drawings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqmlab.base.condition_text import condition_text
from aqmlab.campaign.store.condition_numbers import ENDS, Number, columns
from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import (
    Drawing,
    FigureDefinition,
    canvas,
    head,
    legend_below,
    name_ticks,
    panel_title,
    plain_text,
    show_range,
)
from aqmlab.report.figures.looks import Look, condition_looks
from aqmlab.report.figures.overlap import rim_covered
from aqmlab.results.query.units import unit_of
from aqmlab.results.verdicts.columns import NAME as VERDICTS
from aqmlab.results.verdicts.columns import conditions
from aqmlab.results.verdicts.verdict import GOOD, JUDGED, TOLERABLE

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from aqmlab.campaign.store.manifest import TrialEntry
    from aqmlab.results.results import CampaignResults

_LEAST_VALUES, _MOST_VALUES = 3, 30
_MOST_APPS, _MOST_PLACES, _MOST_TICKS = 6, 2, 8
_DECADES_TO_ZERO = 0.5
"""The width of the section from zero to the least value of a logarithmic axis, in decades."""
_CHARACTER = 0.02
"""The width of a character of a tick's label, as a share of the width of the ticks."""
_DELAY, _RATE = "rtt_p95_ms", "throughput_mean_mbit"
_COVERED = 0.5
"""A curve counts as covered if another curve covers at least this share of its points.

It is less than the usual share, because these curves have few points.
"""
_SERVED = (GOOD, TOLERABLE)
_KEYS = ("place", "curve", "x")


@dataclass(frozen=True, slots=True)
class VariedQuantity:
    """A varied quantity, and the place of each trial in its figure."""

    name: str
    """The name of the condition, as texts show it."""
    axis: str
    """The label of the x-axis: the part of the quantity that it shows, with its unit."""
    x: Mapping[str, float]
    """The x-coordinate of each trial: its value as a number, or the position of its value."""
    names: Sequence[str]
    """The values by position; empty if they are numbers."""
    curve: Mapping[str, str]
    """The values of each trial's other conditions that are not numbers."""
    place: Mapping[str, str]
    """The values of each trial's other conditions that are numbers."""
    places: str
    """The word in a note for the places."""

    def scale(self, axes: Axes) -> None:
        """Sets the scale and the ticks of a panel's x-axis."""
        if self.names:
            name_ticks(axes, self.names, width_share=0.45)
            return
        values = sorted(set(self.x.values()))
        least = min((value for value in values if value > 0), default=0.0)
        if values[0] >= 0 and values[-1] > 20 * least:
            if values[0] > 0:
                axes.set_xscale("log")
            else:
                axes.set_xscale("symlog", linthresh=least, linscale=_DECADES_TO_ZERO)
                # The limits are those of a linear axis, with decades below zero.
                axes.set_xlim(-least / 4, values[-1] * 1.3)
            axes.minorticks_off()
        some = data.spread(_apart(axes, values), _MOST_TICKS)
        axes.set_xticks(some, [f"{value:g}" for value in some])


def _apart(axes: Axes, values: Sequence[float]) -> list[float]:
    """The first, the last and other sorted `values` whose labels do not overlap on the x-axis."""
    places = axes.xaxis.get_transform().transform(values)
    whole = places[-1] - places[0]
    halves = [len(f"{value:g}") * _CHARACTER / 2 for value in values]

    def fit(one: int, other: int) -> bool:
        room = halves[one] + halves[other] + _CHARACTER
        return bool((places[other] - places[one]) >= room * whole)

    last = len(values) - 1
    kept = [0]
    for at in range(1, last):
        if fit(kept[-1], at) and fit(at, last):
            kept.append(at)
    return [values[at] for at in dict.fromkeys([*kept, last])]


def _varied(results: CampaignResults) -> Iterator[VariedQuantity]:
    """Yields each numeric condition with enough values.

    A condition that an earlier one determines is left out.
    """
    trials = results.manifest.trials
    numbers = columns(trials)
    texts = {
        name: [condition_text(one.conditions.get(name)) for one in trials]
        for name in results.manifest.conditions
    }
    numeric = {name: _numbers(name, trials, numbers) for name in texts}
    done: list[str] = []
    for name, found in numeric.items():
        count = len(set(texts[name]))
        if found and count >= _LEAST_VALUES and not any(_follows(texts, name, of) for of in done):
            made = _quantity(name, found, trials, texts, numeric, _stated_unit(results, name))
            if made is not None:
                done.append(name)
                yield made


def _numbers(
    name: str, trials: Sequence[TrialEntry], numbers: Mapping[str, Sequence[Number]]
) -> dict[str, Sequence[Number]]:
    """The columns of numbers of a condition; empty if it has none."""
    found = {
        f"{name}_{end}": numbers[f"{name}_{end}"] for end in ENDS if f"{name}_{end}" in numbers
    }
    own = [one.conditions.get(name) for one in trials]
    plain = [float(one) for one in own if isinstance(one, (int, float))]
    return found or ({name: plain} if len(plain) == len(own) else {})


def _follows(texts: Mapping[str, Sequence[str]], name: str, other: str) -> bool:
    """Returns whether each value of the condition `other` determines the value of `name`."""
    return len(set(zip(texts[name], texts[other], strict=True))) == len(set(texts[other]))


def _quantity(
    name: str,
    found: Mapping[str, Sequence[Number]],
    trials: Sequence[TrialEntry],
    texts: Mapping[str, Sequence[str]],
    numeric: Mapping[str, object],
    stated_unit: str,
) -> VariedQuantity | None:
    own = texts[name]
    order = list(dict.fromkeys(own))
    column = next((one for one in found if len(set(zip(own, found[one], strict=True)))
                   == len(set(found[one])) and None not in found[one]), None)  # fmt: skip
    if column is None and len(order) > _MOST_VALUES:
        return None
    xs = found[column] if column is not None else [float(order.index(text)) for text in own]
    others = [one for one in texts if one != name and not _follows(texts, one, name)]
    curves = [one for one in others if not numeric[one]]
    places = [one for one in others if numeric[one]]
    ids = [one.id for one in trials]
    return VariedQuantity(
        _shown_name(name),
        _axis(name, column, found, stated_unit),
        {one: x for one, x in zip(ids, xs, strict=True) if x is not None},
        () if column is not None else order,
        {one: _joined(texts, curves, at) for at, one in enumerate(ids)},
        {
            one: _joined(texts, places, at, [f"{_shown_name(place)} " for place in places])
            for at, one in enumerate(ids)
        },
        _values_word(places),
    )


def _shown_name(name: str) -> str:
    """The name of a condition, as other figures write it."""
    return "RTT" if name == "rtt" else name


def _values_word(names: Sequence[str]) -> str:
    """The word in a note for the values of the conditions `names`."""
    shown = " and ".join(map(_shown_name, names))
    return f"combinations of {shown}" if len(names) > 1 else f"values of {shown}"


_ENDS_OF_PAIRS = {"_down_": "downstream", "_up_": "upstream"}
"""The part of a pair by the middle of the column that holds the part's number."""


def _stated_unit(results: CampaignResults, name: str) -> str:
    """The unit that a TEACUP config gives the plain numbers of a condition, if it is known.

    The manifest may come from an untrusted source, so only the known unit is accepted.
    """
    told = results.manifest.scenario.get("units")
    return "ms" if isinstance(told, Mapping) and told.get(name) == "ms" else ""


def _axis(name: str, column: str | None, found: Iterable[str], stated_unit: str) -> str:
    """The label of the x-axis that shows `column`, or the whole values side by side."""
    shown, known = _shown_name(name), [column] if column is not None else list(found)
    ways = [
        word
        for part, word in _ENDS_OF_PAIRS.items()
        if any(part in one[len(name) :] for one in known)
    ]
    if column is None:
        return f"{shown}, down/up" if ways else shown
    words = " ".join([*ways, shown])
    unit = stated_unit if column == name and stated_unit else unit_of(column)
    return f"{words} ({unit})" if unit else words


def _joined(
    texts: Mapping[str, Sequence[str]], names: Sequence[str], at: int, heads: Sequence[str] = ()
) -> str:
    """The values of some conditions of trial number `at`, each after its text in `heads`."""
    words = heads or [""] * len(names)
    return ", ".join(f"{word}{texts[name][at]}" for word, name in zip(words, names, strict=True))


def _applies(results: CampaignResults) -> bool:
    return next(_varied(results), None) is not None


def _draw(results: CampaignResults) -> Iterator[Drawing]:
    for quantity in _varied(results):
        yield from _drawings(results, quantity)


def _drawings(results: CampaignResults, quantity: VariedQuantity) -> Iterator[Drawing]:
    import polars as pl

    frame = _placed(data.carrying(results, "flows"), quantity)
    apps, notes = data.chosen(frame, "app", _MOST_APPS, "applications")
    places, more = data.chosen(frame, "place", _MOST_PLACES, quantity.places)
    curves, rest = data.chosen(frame, "curve", data.MOST_QUEUES, "queues")
    queues = list(dict.fromkeys(quantity.curve.values()))
    looks = condition_looks(queues if len(queues) <= data.MOST_QUEUES else curves)
    shown = {one: looks[one] for one in curves}
    every = data.medians(frame, (_DELAY, _RATE), "app", *_KEYS)
    all_shares = _shares(results, quantity)
    notes = [*notes, *data.copies_note(frame.filter(pl.col("app").is_in(apps)))]
    for place in places:
        here = pl.col("place") == place
        at = f" at {place}" if place else ""
        rows, shares = every.filter(here), all_shares.filter(here)
        known = rows.filter(pl.any_horizontal(pl.col(_DELAY, _RATE).is_not_null()))["app"]
        with_data = [app for app in apps if app in known]
        if not with_data:
            continue
        made = canvas(1.45 * (len(with_data) + (shares.height > 0)) + 1.0)
        head(made, f"Delay and throughput by {quantity.name}{at}")
        rims = _panels(made, quantity, with_data, rows, shares, shown)
        if len(curves) > 1 or curves[0]:
            handles = [look.handle(marked=True) for look in shown.values()]
            legend_below(made, handles, list(map(plain_text, shown)))
        judged = ", and the share of judged applications with each verdict below them"
        caption = (
            f"The 95th percentile of round-trip times (left) and the mean throughput (right) of "
            f"each application over {quantity.name}{at}{judged if shares.height else ''}; "
            f"{data.span_note(results)}, {data.seeds_note(results)}."
        )
        name = data.file_name("varied", quantity.name, place)
        gone = [app for app in apps if app not in with_data]
        without = [f"there are no data of {', '.join(gone)}{at}"] if gone else []
        yield Drawing(name, made, caption, [*notes, *more, *rest, *without, *rims])


def _panels(
    made: Canvas,
    quantity: VariedQuantity,
    apps: Sequence[str],
    rows: pl.DataFrame,
    shares: pl.DataFrame,
    looks: Mapping[str, Look],
) -> list[str]:
    """Draws a row of panels for each of `apps`, and one for the verdicts; returns notes."""
    import polars as pl

    panels = made.subplots(len(apps) + (shares.height > 0), 2, sharex=True, squeeze=False)
    for axes in panels[: len(apps), 0]:
        axes.sharey(panels[0, 0])
    for (delay, rate), app in zip(panels, apps, strict=False):
        own = rows.filter(pl.col("app") == app)
        _curves(delay, own, _DELAY, looks)
        _curves(rate, own, _RATE, looks)
        show_range([rate], [], zeros=True)
        panel_title(delay, app, columns=2)
    _name(panels[: len(apps)].tolist(), rows)
    if shares.height:
        _verdict_panels(panels[-1], shares, looks)
    for axes in panels[-1]:
        axes.set_xlabel(quantity.axis)
    for axes in panels.ravel() if not quantity.names else panels[-1]:
        quantity.scale(axes)
    for delay in panels[:, 0]:
        if not delay.lines:
            _say_why_empty(delay)
    made.align_ylabels()
    return rim_covered(panels.ravel().tolist(), least_share=_COVERED)


def _placed(frame: pl.DataFrame, quantity: VariedQuantity) -> pl.DataFrame:
    """The rows with the place of their trials in the figure."""
    import polars as pl

    trial = pl.col("trial")
    return frame.filter(trial.is_in(list(quantity.x))).with_columns(
        trial.replace_strict(quantity.x, return_dtype=pl.Float64).alias("x"),
        trial.replace_strict(quantity.curve, return_dtype=pl.String).alias("curve"),
        trial.replace_strict(quantity.place, return_dtype=pl.String).alias("place"),
    )


def _shares(results: CampaignResults, quantity: VariedQuantity) -> pl.DataFrame:
    """The shares of judged applications with the verdict good, and good or tolerable, in %."""
    import polars as pl

    judged = results.table(VERDICTS).filter("decides", pl.col("verdict").is_in(JUDGED))
    trials = results.table("trials")
    named = {old: new for old, new in conditions(trials.columns).items() if new in judged.columns}
    front = trials.select("trial", *(pl.col(old).alias(new) for old, new in named.items()))
    one_of_each = front.unique(list(named.values()), keep="first", maintain_order=True)
    joined = judged.join(one_of_each, on=list(named.values()), nulls_equal=True)
    return (
        _placed(joined, quantity)
        .group_by(_KEYS, maintain_order=True)
        .agg(
            (pl.col("verdict").is_in(words).mean() * 100).alias(name)
            for name, words in (("good", (GOOD,)), ("served", _SERVED))
        )
    )


def _curves(axes: Axes, rows: pl.DataFrame, column: str, looks: Mapping[str, Look]) -> None:
    import polars as pl

    for curve, look in looks.items():
        own = rows.filter(pl.col("curve") == curve, pl.col(column).is_not_null()).sort("x")
        if own.is_empty():
            continue
        axes.plot(
            own["x"].to_numpy(), own[column].to_numpy(), look.line, color=look.colour,
            marker=look.marker, markersize=3,
        )  # fmt: skip


def _say_why_empty(axes: Axes) -> None:
    """Replaces the axes of an empty panel of delays by a text."""
    axes.set_axis_off()
    axes.text(
        0.5, 0.5, "no round trips", transform=axes.transAxes, ha="center", va="center",
        color="#555555",
    )  # fmt: skip


def _name(panels: Sequence[Sequence[Axes]], rows: pl.DataFrame) -> None:
    """Names the y-axes, and gives all delays an axis on which they are visible."""
    delays = [axes for axes, _ in panels]
    known = rows[_DELAY].drop_nulls().drop_nans().to_list()
    show_range(delays, [value for value in known if value > 0], zeros=False)
    for delay, rate in panels:
        delay.set_ylabel("RTT p95 (ms)")
        rate.set_ylabel("throughput\n(Mbit/s)")


def _verdict_panels(
    panels: Sequence[Axes], shares: pl.DataFrame, looks: Mapping[str, Look]
) -> None:
    words = (("good", "good"), ("served", "good or tolerable"))
    for axes, (column, text) in zip(panels, words, strict=True):
        _curves(axes, shares, column, looks)
        axes.set_ylim(-4, 104)
        axes.set_yticks((0, 50, 100))
        axes.set_ylabel("% of apps")
        panel_title(axes, f"verdict {text}", columns=2)


FIGURE = FigureDefinition("Delay and throughput by what was varied", ("flows",), _draw, _applies)
