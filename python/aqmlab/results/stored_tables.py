"""Reads the tables of a campaign from its verified files, also while the campaign runs."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from aqmlab.base.errors import shown
from aqmlab.base.failures import LabError, RequestError
from aqmlab.campaign.store import snapshot, table_form
from aqmlab.campaign.store.folder import Folder
from aqmlab.campaign.store.layout import TABLES, TRIALS
from aqmlab.campaign.store.manifest import Manifest
from aqmlab.campaign.store.snapshot import Snapshot
from aqmlab.campaign.store.table_files import TableFiles
from aqmlab.campaign.store.trial_file import spec_digest
from aqmlab.results.condition_columns import with_numbers
from aqmlab.results.verdicts.columns import COMPUTED

if TYPE_CHECKING:
    import polars as pl


_T = TypeVar("_T")


class StoredTables:
    """The tables of a finished or unfinished campaign, by name.

    The tables of a running campaign cover the trials that had ended at the time of loading.
    """

    _only: frozenset[str] | None = None
    _chunk: str | None = None
    _of_files_only: bool = False
    _had: frozenset[str] | None = None
    """The trials that had ended at the time of loading; `None` until the folder is read again."""

    def __init__(self, path: Path, owned: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self._folder = Folder(path)
        self._owned = owned  # A temporary folder exists as long as its results.
        self._frames: dict[str, pl.DataFrame] = {}
        self.memo: dict[str, pl.DataFrame] = {}
        """Cached frames derived from the tables."""
        self._snapshot: Snapshot = snapshot.take(self._folder)
        self.manifest: Manifest = self._snapshot.manifest
        """The campaign's manifest; in narrowed results, with their trials only."""

    @property
    def path(self) -> Path:
        """The campaign's folder."""
        return self._folder.path

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The names of the stored tables."""
        if self._is_in_files:
            return tuple(self._snapshot.files.names)
        unsealed = [made for made in self._snapshot.unsealed if made is not None]
        names = {name for made in unsealed for name in made.names()}
        return tuple(sorted({*names, *self._snapshot.files.names}))

    def table(self, name: str) -> pl.DataFrame:
        """The table `name`; raises `RequestError` if there is no such table."""
        if name not in self._frames:
            self._frames[name] = self._read(lambda: self.collected(name, self.scan(name)))
        return self._frames[name]

    def height(self, name: str) -> int:
        """The number of rows of a table, counted without reading all columns."""
        import polars as pl

        def count() -> int:
            return int(self.collected(name, self.scan(name).select(pl.len())).item())

        return self._read(count)

    def verify(self) -> None:
        """Raises `RequestError` for the first file that has changed since it was written.

        In an unfinished campaign, it also raises this error for an unusable trial file or record.
        """
        self._read(self._verify)

    def _verify(self) -> None:
        for files in self._opened_files():
            files.verify()
        if TRIALS in self.tables:
            self.collected(TRIALS, self.scan(TRIALS).select("trial", "digest", "spec"))
        for damage in self._damage():
            raise damage

    def _damage(self) -> list[RequestError]:
        """The error for each unusable trial file or record of an unfinished campaign."""
        return self._snapshot.damage

    def files(self, name: str) -> list[Path]:
        """The Parquet files of a table, in the order of trials, for other programs.

        Each file is verified first. Raises `RequestError` for a file that has changed and for an
        unknown table. Narrowed results raise the same error, because the files also hold trials
        outside these results.
        """
        self._refuse_unknown(name)
        if self._only is not None:
            problem = f"the files of `{name}` also hold trials outside the narrowed results"
            raise RequestError(problem, f'`scan("{name}")` reads the rows of these trials')

        def paths() -> list[Path]:
            return [
                path for files in self._opened_files() for path in files.paths(name, self._chunk)
            ]

        return self._read(paths)

    def _read(self, read: Callable[[], _T]) -> _T:
        """Returns the value of `read`.

        Repeats a call that raises `RequestError` if the folder has changed meanwhile.
        """
        for _ in range(snapshot.TRIES - 1):
            try:
                return read()
            except RequestError:
                if not self._renewed():
                    raise
        return read()

    def _renewed(self) -> bool:
        """Reads the folder again if it has changed; returns whether it has changed.

        Raises `RequestError` if the folder now holds another campaign or has lost a trial.
        """
        if not self._snapshot.has_moved():
            return False
        had = self._names() if self._had is None else self._had
        self._snapshot = snapshot.take(self._folder, whole=not self._of_files_only)
        if self._snapshot.manifest.campaign != self.manifest.campaign:
            problem = f"{self.path}: another campaign has run here since these results were loaded"
            raise RequestError(problem, "load them again")
        if lost := sorted(had - self._names()):
            raise RequestError(
                f"{self.path}: the trial `{lost[0]}` was removed since these results were loaded",
                "load them again",
            )
        self._had = had
        return True

    def _opened_files(self) -> Sequence[TableFiles]:
        """The table files of each campaign in these results."""
        return [self._snapshot.files]

    def collected(self, name: str, frame: pl.LazyFrame) -> pl.DataFrame:
        """The collected rows of the table `name`.

        Raises `RequestError` if they cannot be read, or if a file was replaced during the read.
        """
        import polars as pl

        refuse_fork()
        try:
            found = frame.collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            table = self._folder.path / TABLES / name
            raise self._folder.damaged(table, str(error).splitlines()[0]) from None
        for files in self._opened_files():
            files.refuse_replaced(name, self._chunk)
        self.refuse_malformed(name, found)
        if name == TRIALS and "trial" in found.columns:
            self._refuse_fault(TRIALS, self._fault_of_trials(found["trial"].to_list()))
        return found

    def refuse_malformed(self, name: str, rows: pl.DataFrame) -> None:
        """Raises `RequestError` if `rows` cannot be rows of the table `name`.

        They lack a value, have an absurd number, name an application that the manifest lacks, or
        have another specification or digest of a trial than the manifest.
        """
        self._refuse_fault(name, table_form.fault_of_rows(name, rows))
        if "flow" in rows.columns and "flow" in table_form.COLUMNS.get(name, {}):
            self._refuse_fault(name, self._fault_of_apps(rows))
        if name == TRIALS and {"trial", "digest"} <= set(rows.columns):
            self._refuse_fault(TRIALS, self._fault_of_digests(rows))
        if name == TRIALS and {"trial", "spec"} <= set(rows.columns):
            self._refuse_fault(TRIALS, self._fault_of_specs(rows))

    def _refuse_fault(self, name: str, problem: str | None) -> None:
        if problem is not None:
            raise self._folder.damaged(self._folder.path / TABLES / name, problem)

    def _fault_of_apps(self, rows: pl.DataFrame) -> str | None:
        """The reason why `rows` cannot have only applications of the manifest."""
        unknown = set(rows["flow"].unique()) - self.manifest.apps.keys()
        return (
            f"the application `{shown(min(unknown))}` is not in the manifest" if unknown else None
        )

    def _fault_of_digests(self, rows: pl.DataFrame) -> str | None:
        """The reason why `rows` cannot have the digests of the manifest.

        The manifest of a running campaign has no digests.
        """
        known = self.manifest.digest_by_trial()
        for name, digest in rows.select("trial", "digest").iter_rows():
            if (known.get(name) or digest) != digest:
                return (
                    f"the trial `{shown(name)}` has the digest {shown(digest)}, and"
                    f" {shown(known[name])} in the manifest"
                )
        return None

    def _fault_of_specs(self, rows: pl.DataFrame) -> str | None:
        """The reason why `rows` cannot have the resolved trials of the manifest."""
        known = {one.id: one.spec for one in self.manifest.trials}
        for name, spec in rows.select("trial", "spec").iter_rows():
            if known.get(name, made := spec_digest(spec)) != made:
                return (
                    f"the specification of the trial `{shown(name)}` has the digest {made}, and"
                    f" {known[name]} in the manifest"
                )
        return None

    def _fault_of_trials(self, names: Sequence[str]) -> str | None:
        """The reason why the table `trials` cannot hold exactly the trials `names`."""
        known = self.manifest.digest_by_trial()
        for name, count in Counter(names).items():
            if name not in known:
                return f"the trial `{shown(name)}` is not in the manifest"
            if count > 1:
                return f"it has {count} rows of the trial `{name}`; it must have one"
        return None if self._chunk is not None else self._fault_of_lost(names)

    def _fault_of_lost(self, names: Collection[str]) -> str | None:
        """The reason why the table `trials` cannot hold only the trials `names`.

        The manifest of a running campaign does not state which trials are finished.
        """
        known = self.manifest.digest_by_trial()
        names = set(names)
        lost = [name for name, digest in known.items() if digest and name not in names]
        return f"it has no row of the finished trial `{lost[0]}`" if lost else None

    def scan(self, name: str) -> pl.LazyFrame:
        """A table as a lazy query over its files, for tables larger than memory.

        The query gives the rows of the trials in these results. Raises `RequestError` for an
        unknown name.
        """
        import polars as pl

        self._refuse_unknown(name)
        rows = _completed(name, self._stored(name))
        rows = with_numbers(rows, self.manifest, self._columns)
        for wanted in (self._only, self._had):
            if wanted is not None:
                rows = rows.filter(pl.col("trial").is_in(wanted))
        return rows

    def _columns(self) -> Iterator[str]:
        """Yields the names of the columns of all tables."""
        for name in self.tables:
            yield from self._stored(name).collect_schema().names()

    def _refuse_unknown(self, name: str) -> None:
        if name not in self.tables:
            known = ", ".join([*self.tables, *COMPUTED])
            raise RequestError(f"there is no table `{name}`", f"there are {known}")

    def _stored(self, name: str) -> pl.LazyFrame:
        """A stored table, as a lazy query."""
        import polars as pl

        if self._is_in_files:
            return scan_files(self._snapshot.files, name, self._chunk)
        return pl.concat(self._unfinished(name), how="diagonal_relaxed")

    @property
    def _is_in_files(self) -> bool:
        """Whether these results come from the tables' files alone."""
        return self._of_files_only or not self._snapshot.is_running

    def _names(self) -> frozenset[str]:
        """The names of the ended trials that these results can include."""
        return self._snapshot.in_tables if self._of_files_only else self._snapshot.names

    def _unfinished(self, name: str) -> Iterator[pl.LazyFrame]:
        """Yields the chunks of a table of an unfinished campaign, as lazy queries."""
        import polars as pl

        for chunk, made in enumerate(self._snapshot.unsealed):
            if made is None:
                where = self._folder.chunk_path(name, chunk).parent.name
                yield from map(_scanned, self._snapshot.files.paths(name, where))
            elif name in made.names():
                frame = pl.from_arrow(made.table(name))
                assert isinstance(frame, pl.DataFrame)
                yield frame.lazy()


def _completed(name: str, rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows with all documented columns of numbers.

    Columns that the table may lack are null. Columns of text become numbers: their table is empty.
    """
    import polars as pl

    types = rows.collect_schema()
    added = [
        pl.lit(None, pl.Float64).alias(column)
        for column in table_form.ABSENT.get(name, ())
        if column not in types
    ]
    changed = [
        pl.col(column).cast(pl.Float64)
        for column, kind in table_form.COLUMNS.get(name, {}).items()
        if kind == table_form.NUMBER and types.get(column) == pl.String
    ]
    return rows.with_columns(*added, *changed) if added or changed else rows


_READ_BY: set[int] = set()
"""The id of the process that has read a table; in a fork, also the fork's own id."""


def refuse_fork() -> None:
    """Records that this process reads tables.

    Raises `LabError` in a fork of a process that has read tables. A fork does not have the threads
    of polars, so polars would wait forever.
    """
    _READ_BY.add(os.getpid())
    if len(_READ_BY) > 1:
        raise LabError(
            "this process is a fork of one that has read tables, so polars cannot read here",
            'start processes with multiprocessing.get_context("spawn")',
        )


def scan_files(files: TableFiles, name: str, chunk: str | None = None) -> pl.LazyFrame:
    """A table, or its `chunk`, as a lazy query over verified files.

    Columns that a file lacks are null. Raises `RequestError` if a file has changed since it was
    written.
    """
    import polars as pl

    frames = [_scanned(path) for path in files.paths(name, chunk)]
    return pl.concat(frames, how="diagonal_relaxed")


def _scanned(path: Path) -> pl.LazyFrame:
    import polars as pl

    return pl.scan_parquet(path, hive_partitioning=False)
