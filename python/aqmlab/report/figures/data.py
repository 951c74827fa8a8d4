"""Data of figures: rows of flows with their labels, and selections of conditions to show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from aqmlab.campaign.trial_facts import trials_with
from aqmlab.report.figures.looks import Look, condition_looks
from aqmlab.results import spans
from aqmlab.results.labels import Label

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import CampaignResults

T = TypeVar("T")

MOST_RATES = 6
MOST_RTTS = 8
MOST_GROUPS = 12
"""The maximum number of round-trip times in a figure with bars."""
MOST_PANELS = 4
"""The maximum number of conditions in a figure over time if there is only one queue."""
MOST_APPS = 16
MOST_QUEUES = 8
_MOST_NAMES = 12


def spread(values: Sequence[T], most: int) -> list[T]:
    """Up to `most` of the `values`, evenly spaced, with the first and the last.

    >>> spread([1, 2, 3, 4, 5, 6, 7], 3), spread("ab", 3)
    ([1, 4, 7], ['a', 'b'])
    """
    if len(values) <= most:
        return list(values)
    if most == 1:
        return [values[0]]
    return [values[round(n * (len(values) - 1) / (most - 1))] for n in range(most)]


def ordered(frame: pl.DataFrame, column: str) -> list[str]:
    """The distinct values of a column, in the order of the campaign."""
    return frame[column].unique(maintain_order=True).to_list()


def chosen(frame: pl.DataFrame, column: str, most: int, what: str) -> tuple[list[str], list[str]]:
    """Up to `most` values of a column, and a note on the omitted values or their number."""
    values = ordered(frame, column)
    kept = spread(values, most)
    return kept, _left_out(values, kept, what)


def _left_out(values: Sequence[str], kept: Sequence[str], what: str) -> list[str]:
    """At most one note, with the number of omitted values and, if they are few, their names."""
    gone = [value for value in values if value not in kept]
    if not gone:
        return []
    between = "; " if any("," in value for value in gone) else ", "
    names = f", not {between.join(gone)}" if len(gone) <= _MOST_NAMES else ""
    return [f"{len(kept)} of {len(values)} {what} are shown{names}"]


def arranged(results: CampaignResults) -> dict[str, Label]:
    """The labels of trials as figures compare them.

    If there is one queue and there are at most `MOST_QUEUES` places (rates and round-trip times),
    figures compare the places as they would compare queues.
    """
    labels = results.labels
    places = set(labels.values())
    if len({one.queue for one in places}) > 1 or not 1 < len(places) <= MOST_QUEUES:
        return labels
    one_rate, one_rtt = (len(set(parts)) == 1 for parts in zip(*map(_parts, places), strict=True))
    return {
        trial: Label(
            ", ".join(
                part
                for part, is_same in (
                    (f"{label.rate} Mbit/s" if label.rate else "", one_rate),
                    (f"RTT {label.rtt}" if label.rtt else "", one_rtt),
                )
                if part and not is_same
            ),
            "",
            "",
        )
        for trial, label in labels.items()
    }


def _parts(label: Label) -> tuple[str, str]:
    return label.rate, label.rtt


def places_word(labels: Iterable[Label]) -> str:
    """The word in a note for the places of conditions: for what varies among them."""
    rates, rtts = (len(set(parts)) > 1 for parts in zip(*map(_parts, labels), strict=True))
    return {
        (True, False): "rates",
        (False, True): "round-trip times",
    }.get((rates, rtts), "combinations of rate and RTT")


def labelled(results: CampaignResults, name: str) -> pl.DataFrame:
    """A table with the labels that `arranged` gives."""
    import polars as pl

    frame, labels = results.labelled(name), arranged(results)
    if labels is results.labels:
        return frame
    queues = pl.col("trial").replace_strict({one: own.queue for one, own in labels.items()})
    blank = pl.lit("")
    return frame.with_columns(
        queues.alias("queue_label"),
        blank.alias("rate_label"),
        blank.alias("rtt_label"),
        blank.alias("place_label"),
    )


def conditions(results: CampaignResults) -> dict[str, Look]:
    """The look of each queue that figures show, or of each place if they compare places."""
    names = list(dict.fromkeys(label.queue for label in arranged(results).values()))
    return condition_looks(spread(names, MOST_QUEUES))


def chosen_queues(frame: pl.DataFrame, looks: Mapping[str, Look]) -> tuple[list[str], list[str]]:
    """The queues of `frame` with a look, or else its first queue, and a note on omitted queues."""
    values = ordered(frame, "queue_label")
    kept = [value for value in values if value in looks]
    return (kept, _left_out(values, kept, "queues")) if kept else (values[:1], [])


def carrying(results: CampaignResults, name: str) -> pl.DataFrame:
    """The rows of the table `name` for flows that carry data, with labels, `app` and `copy`.

    Copies of an application have the same `app`, and each has its own `copy`. An application that
    carries data in both directions appears as two applications, with arrows in their names.
    """
    key = f"carrying {name}"
    if key not in results.memo:
        results.memo[key] = _carrying(results, name)
    frame: pl.DataFrame = results.memo[key]
    return frame


def _carrying(results: CampaignResults, name: str) -> pl.DataFrame:
    import polars as pl

    keys = ["trial", "flow", "direction"]
    frame = labelled(results, name)
    if name != "flows":
        primary = results.table("flows").filter(pl.col("primary")).select(keys)
        frame = frame.join(primary, on=keys, how="inner", maintain_order="left")
    else:
        frame = frame.filter(pl.col("primary"))
    groups = results.manifest.app_groups
    both = (
        frame.group_by("flow").agg(pl.col("direction").n_unique().alias("_ways"))
        if frame.height
        else pl.DataFrame({"flow": [], "_ways": []}, schema={"flow": pl.String, "_ways": pl.UInt32})
    )
    arrow = pl.col("direction").replace({"up": " ↑", "down": " ↓"})
    way = pl.when(pl.col("_ways") > 1).then(arrow).otherwise(pl.lit(""))
    return frame.join(both, on="flow", how="left", maintain_order="left").with_columns(
        (pl.col("flow").replace(groups) + way).alias("app"), (pl.col("flow") + way).alias("copy")
    )


def examples(results: CampaignResults, most: int) -> tuple[CampaignResults, list[str], list[str]]:
    """The results of each queue's first trial at some places, these places, and notes."""
    import polars as pl

    trials = results.table("trials").select("trial").to_series()
    own = arranged(results)
    labels = pl.DataFrame(
        [(one, own[one].place, own[one].queue) for one in trials],
        schema=["trial", "place_label", "queue_label"],
        orient="row",
    )
    if labels["queue_label"].n_unique() == 1:
        most = MOST_PANELS  # in one drawing
    places, notes = chosen(labels, "place_label", most, places_word(own.values()))
    first = labels.filter(pl.col("place_label").is_in(places)).unique(
        ["place_label", "queue_label"], keep="first", maintain_order=True
    )
    some = results.narrowed(first["trial"].to_list())
    return some, list(dict.fromkeys(label.place for label in arranged(some).values())), notes


def of_kind(results: CampaignResults, kind: str) -> pl.Expr:
    """A mask of the rows of applications of `kind`; an application's kind may differ by trial."""
    import polars as pl

    found = [pl.lit(value=False)]
    for app, trials in trials_with(results.manifest, kind).items():
        found.append((pl.col("flow") == app) & pl.col("trial").is_in(trials))
    return pl.any_horizontal(found)


def seeds_of(frame: pl.DataFrame, queues: Sequence[str]) -> str:
    """The seeds of the trials in the queues' panels, in words."""
    import polars as pl

    firsts = [(queue, frame.filter(pl.col("queue_label") == queue)["seed"]) for queue in queues]
    seeds = {queue: seed[0] for queue, seed in firsts if len(seed)}
    if len(set(seeds.values())) <= 1:
        return f"seed {next(iter(seeds.values()), '?')}"
    return ", ".join(f"seed {seed} ({queue})" for queue, seed in seeds.items())


def medians(frame: pl.DataFrame, columns: Sequence[str], *keys: str) -> pl.DataFrame:
    """The median of each column over seeds and copies, by `keys`."""
    import polars as pl

    return frame.group_by(list(keys), maintain_order=True).agg(
        pl.col(column).median() for column in columns
    )


def copies_note(frame: pl.DataFrame) -> list[str]:
    """At most one note: the applications of `frame` with copies, because numbers are per copy."""
    import polars as pl

    counts = frame.group_by("app", maintain_order=True).agg(pl.col("copy").n_unique())
    several = [f"{count} copies of {app}" for app, count in counts.rows() if count > 1]
    return [f"numbers are per copy ({', '.join(several)})"] if several else []


def seeds_note(results: CampaignResults) -> str:
    """The number of seeds behind a median, in words."""
    counts = Counter(results.labels[trial] for trial in results.table("trials")["trial"]).values()
    least, most = min(counts, default=0), max(counts, default=0)
    if most == 1:
        return "one seed"
    return f"median over {most if least == most else f'{least} to {most}'} seeds"


def span_note(results: CampaignResults) -> str:
    """The interval of a trial that statistics cover, in words."""
    return spans.measured_text(results.manifest)


def place_note(rtts: Sequence[str]) -> str:
    """The round-trip times in the words of a caption."""
    named = [rtt for rtt in rtts if rtt]
    return f"; RTT {', '.join(named)}" if named else ""


def file_name(figure: str, *labels: str) -> str:
    """The name of a drawing of `figure` for conditions with these labels, as a file's name.

    Hyphens replace other characters than letters, digits and dots. Labels without such characters
    are left out.

    >>> file_name("queue_time", "", "10/2 Mbit/s"), file_name("queue_time", "")
    ('queue_time-10-2-Mbit-s', 'queue_time')
    """
    slugs = (re.sub(r"[^A-Za-z0-9.]+", "-", label).strip("-") for label in labels)
    return "-".join([figure, *filter(None, slugs)])
