"""The results of a campaign, as tables.

Tables are polars frames, read on first use. Every row of every stored table contains its trial, the
varied conditions and the seed. Units are in the column names.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.base.errors import nearest
from aqmlab.base.failures import RequestError
from aqmlab.base.numerals import count_text
from aqmlab.base.python_words import of_arguments
from aqmlab.campaign.store.layout import TRIALS
from aqmlab.campaign.store.manifest import TrialEntry
from aqmlab.campaign.trial_facts import stored_spec
from aqmlab.engines import registry
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.results.export import TrialNumbers, trials_as_json
from aqmlab.results.grouping import labels_of
from aqmlab.results.labels import Label
from aqmlab.results.narrowing import of_trials, trials_named
from aqmlab.results.stored_tables import StoredTables, scan_files
from aqmlab.results.verdicts.columns import NAME as VERDICTS
from aqmlab.results.verdicts.columns import QUALITY
from aqmlab.results.verdicts.comparison import baseline_called
from aqmlab.results.verdicts.judge import judge
from aqmlab.results.verdicts.table import frame_of, quality_of
from aqmlab.results.verdicts.verdict import Verdict

if TYPE_CHECKING:
    import polars as pl


class CampaignResults(StoredTables):
    """The results of a finished or unfinished campaign.

    The results of a running campaign cover the trials that had ended at the time of loading.

    Each table is an attribute with its name: the stored tables, such as `flows` or `queues`, and
    `verdicts` and `quality`, which are computed from the stored tables. All are polars frames, and
    `table(name)` returns any of them. `judged` holds the verdicts as values.
    """

    _verdicts: list[Verdict] | None = None
    app_order: Sequence[str] = ()
    """The applications in the order in which they get colours, if several results share colours.

    If empty, the order of the manifest applies."""

    if TYPE_CHECKING:  # The tables. Some are absent if nothing was measured for them.
        flows: pl.DataFrame
        windows: pl.DataFrame
        rtt: pl.DataFrame
        apps: pl.DataFrame
        app_series: pl.DataFrame
        hosts: pl.DataFrame
        queues: pl.DataFrame
        queue_drops: pl.DataFrame
        queue_series: pl.DataFrame
        queue_gauges: pl.DataFrame
        conns: pl.DataFrame
        tcp_series: pl.DataFrame
        summary: pl.DataFrame
        trials: pl.DataFrame
        links: pl.DataFrame
    else:

        def __getattr__(self, name):
            """The table `name`; raises `AttributeError` if there is no such stored table."""
            if name.startswith("_") or name in ("manifest", "memo"):
                raise AttributeError(name)  # also while a copy has no members yet
            if name not in self.tables:
                # With `name`, Python does not add a suggestion of its own.
                raise AttributeError(self._unknown(name), name=name)
            return self.table(name)

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.manifest.name

    @property
    def engine(self) -> str:
        """The engine of the trials; several engines are separated by commas."""
        return self.manifest.engine

    @property
    def made_by(self) -> str:
        """The engine in words, with the versions that the results depend on."""
        return registry.made_by(self.engine, self.manifest.versions)

    @property
    def digest(self) -> str | None:
        """A digest over the name and the packets of each trial; `None` while trials are missing."""
        return self.manifest.digest

    @property
    def complete(self) -> bool:
        """Whether every trial has a result."""
        return self.manifest.complete

    @property
    def failed(self) -> dict[str, str]:
        """The error of each trial that failed, by the trial's name."""
        return dict(self.manifest.failed)

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the results: the manifest's warnings, and damaged files."""
        damage = [one.problem for one in self._damage()]
        return [*self.manifest.warnings, *damage]

    def narrowed(self, trials: Collection[str]) -> CampaignResults:
        """The results of the named trials only.

        Raises `RequestError` for a name that no trial has, and for a text instead of a collection.
        """
        own = trials_named(self.manifest.trials, trials)
        some = self._with(own)
        some._only = frozenset(one.id for one in own)
        return some

    def _with(self, own: Sequence[TrialEntry]) -> CampaignResults:
        """A copy whose manifest holds only the trials `own`, with their present labels."""
        some = copy.copy(self)
        some._frames, some.memo, some._verdicts = {}, {}, None
        some.manifest = of_trials(self.manifest, own)
        some.labels = {one.id: self.labels[one.id] for one in own}
        return some

    def in_files(self) -> CampaignResults:
        """The results of the trials that are already in the tables' files."""
        some = copy.copy(self)
        some._frames, some.memo, some._verdicts = {}, {}, None
        some._of_files_only, some.tables = True, tuple(self._snapshot.files.names)
        return some

    def by_chunk(self) -> Iterator[CampaignResults]:
        """Yields the results of one chunk of trials at a time, for results larger than memory.

        Yields these results themselves if they have fewer than two chunks, or if some trials are
        not yet in the tables' files.
        """
        import polars as pl

        files = self._snapshot.files
        chunks = files.chunks() if self._is_in_files else []
        if len(chunks) < 2:
            yield self
            return
        trials = {trial.id: trial for trial in self.manifest.trials}
        seen: set[str] = set()
        for chunk in chunks:
            if not files.has(TRIALS, chunk):
                continue  # A reader of the whole table refuses rows without trials.
            part = copy.copy(self)
            part._chunk = chunk
            frame = scan_files(files, TRIALS, chunk).select("trial")
            frame = frame.filter(pl.col("trial").is_in(list(trials)))
            names = part.collected(TRIALS, frame)["trial"]
            seen.update(names)
            part = part._with([trials[name] for name in names])
            part.tables = tuple(name for name in self.tables if files.has(name, chunk))
            yield part
        self._refuse_fault(TRIALS, self._fault_of_lost(seen))

    def scan(self, name: str) -> pl.LazyFrame:
        """A table as a lazy query, for tables larger than memory.

        Computed tables are computed at once. Raises `RequestError` for an unknown name.
        """
        made = _COMPUTED.get(name)
        return made(self).lazy() if made else super().scan(name)

    def __dir__(self) -> list[str]:
        """The attributes for users, including the tables."""
        own = (name for name in super().__dir__() if name not in _INNER)
        return [*own, *self.tables]

    def _unknown(self, name: str) -> str:
        """The text of the error for an attribute that does not exist."""
        known = [*self.tables, *(one for one in dir(type(self)) if not one.startswith("_"))]
        close = nearest(name, known)
        meant = f"; did you mean `{close}`?" if close else ""
        return f"results have no table or attribute `{name}`{meant}"

    def __repr__(self) -> str:
        """A summary in one line."""
        count = len(self.manifest.trials)
        trials = count_text(count, "trial")
        state = f"digest {self.digest}" if self.complete else "incomplete"
        return f"Results({self.name}: {trials}, {state}, {str(self.path)!r})"

    @cached_property
    def labels(self) -> dict[str, Label]:
        """The label of each trial, by the trial's name; seeds of one condition share a label."""
        return labels_of(self.manifest.trials)

    def labelled(self, name: str) -> pl.DataFrame:
        """The table `name` with the labels of each row's trial.

        The added columns are `queue_label`, `rate_label`, `rtt_label` and `place_label`.
        """
        import polars as pl

        frame = self.table(name)
        labels = pl.DataFrame(
            {
                "trial": list(self.labels),
                "queue_label": [label.queue for label in self.labels.values()],
                "rate_label": [label.rate for label in self.labels.values()],
                "rtt_label": [label.rtt for label in self.labels.values()],
                "place_label": [label.place for label in self.labels.values()],
            }
        )
        # A condition may have the name of a label column. The label column then replaces it.
        frame = frame.drop(name for name in labels.columns[1:] if name in frame.columns)
        joined = frame.join(labels, on="trial", how="left", maintain_order="left")
        if joined["queue_label"].null_count():
            self._refuse_fault(name, "it has rows of a trial that is not in the manifest")
        return joined

    @property
    def judged(self) -> list[Verdict]:
        """The verdict on each application in each condition."""
        if self._verdicts is None:
            self._verdicts = judge(self)
        return self._verdicts

    @property
    def verdicts(self) -> pl.DataFrame:
        """The verdicts as a frame, with a row for each measured need of an application.

        Each condition has its own rows. An application without a measured need has a row for each
        of its needs, and an application without needs has one row. The time of a transfer that is
        not judged by its time also has a row.
        """
        return self.table(VERDICTS)

    @property
    def quality(self) -> pl.DataFrame:
        """The Quality of Outcome as a frame: a row for each condition and application.

        Applications without a requirement have no row.
        """
        return self.table(QUALITY)

    def verdicts_against(self, baseline: str) -> pl.DataFrame:
        """The verdicts as a frame whose differences are from `baseline`.

        `baseline` is the label of a condition, such as "pfifo 12/1", or a word of one label only.
        It may also be a queue, a rate or a round-trip time that several conditions share: with
        "pfifo" and several rates, each condition is compared with "pfifo" at its own rate. The
        differences of `verdicts` are from the first queue with all else equal if queues vary beside
        rates or round-trip times and each of these has the first queue, or else from the first
        condition. Raises `RequestError` for any other text.
        """
        with of_arguments((), ()):
            return frame_of(self, baseline_called(baseline, self.labels.values()))

    def to_json(self, baseline: str | None = None) -> list[TrialNumbers]:
        """One object per finished trial: its conditions, seed, digest, flows' numbers and verdicts.

        Differences are from `baseline`, as in `verdicts_against`, or as in `verdicts`.
        """
        if baseline is None:
            return trials_as_json(self)
        with of_arguments((), ()):
            return trials_as_json(self, baseline_called(baseline, self.labels.values()))

    def spec(self, trial: str) -> TrialSpec:
        """The specification that the engine received for `trial`.

        Raises `RequestError` if no finished trial has this name, or if this version cannot read the
        specification.
        """
        frame = self.table("trials")
        rows = frame.filter(frame["trial"] == trial)
        if rows.is_empty():
            raise RequestError(f"{self.path}: there is no finished trial `{trial}`")
        return stored_spec(rows["spec"][0], trial)


_COMPUTED = {VERDICTS: frame_of, QUALITY: quality_of}
"""The functions that compute the tables without files, by the tables' names."""

_INNER = frozenset(
    (
        "app_order",
        "by_chunk",
        "collected",
        "in_files",
        "memo",
        "narrowed",
        "refuse_malformed",
        "scan",
    )
)
"""The attributes for this package only, which completion in a notebook omits."""


def load(path: Path | str) -> CampaignResults:
    """The results of the finished or unfinished campaign in the folder `path`."""
    return CampaignResults(Path(path))
