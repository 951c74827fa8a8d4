"""The tables of campaigns as read-only Arrow data sets.

Each table has one data set per set of columns. A table has several data sets if campaigns vary
different parameters or have not finished. Verdicts and the Quality of Outcome are in no file. They
are computed from the tables on demand, as for the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from aqmlab.base.checksums import FileChecksum, mismatch
from aqmlab.base.failures import RequestError
from aqmlab.campaign.store import layout
from aqmlab.campaign.store.parquet_guard import FileSize, growth, size_of
from aqmlab.results.verdicts.columns import COMPUTED

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

CAMPAIGN = "campaign"
"""The column that identifies each row's campaign by its path within the queried folder."""

_JUDGED = "flows"

_LOAD = "aqmlab.results.results:load"
"""The function that loads a campaign for its computed tables.

Only queries of computed tables import it, by this name.
"""


class File(NamedTuple):
    """A file of a table, as plain values."""

    campaign: str
    """The folder of the file's campaign."""
    path: str
    checksums: Sequence[tuple[int, str]]
    """The allowed pairs of size and SHA-256: one, or two while the file is being replaced."""


@dataclass(frozen=True, slots=True)
class CampaignTables:
    """The campaigns that a query covers and the files of their tables, as plain values."""

    campaigns: list[str]
    files: dict[str, list[File]]
    missing: int
    """The number of planned trials that are not in the tables."""
    planned: int
    deeper: list[str]
    """Folders with campaigns that the query leaves out, because they are below its depth."""


class Sources:
    """The tables of the campaigns found in a folder."""

    def __init__(self, path: Path, found: CampaignTables) -> None:
        self._path, self._found = path, found
        self._loaded = dict[str, Any]()

    @property
    def names(self) -> list[str]:
        """The names of the available tables, sorted; computed tables need the table `flows`."""
        made = set(COMPUTED) if _JUDGED in self._found.files else set()
        return sorted(made.union(self._found.files))

    def datasets(self, name: str) -> list[ds.Dataset]:
        """The data sets of a table.

        A stored table has one for each set of columns, and a computed table one for each campaign.
        Raises `RequestError` for a damaged file.
        """
        return self._made(name) if name in COMPUTED else self._read(name)

    def _made(self, name: str) -> list[ds.Dataset]:
        """The data sets of a computed table, one for each campaign with the table `flows`."""
        import pyarrow as pa
        import pyarrow.dataset as ds

        load = resolve_name(_LOAD)
        made = []
        for folder in dict.fromkeys(File(*one).campaign for one in self._found.files[_JUDGED]):
            if folder not in self._loaded:
                self._loaded[folder] = load(folder).in_files()
            table = self._loaded[folder].table(name).to_arrow()
            if (campaign := self._campaign(folder)) and CAMPAIGN not in table.column_names:
                names = pa.repeat(campaign, table.num_rows)
                table = table.add_column(0, pa.field(CAMPAIGN, pa.string()), names)
            made.append(ds.dataset(table))
        return made

    def _read(self, name: str) -> list[ds.Dataset]:
        import pyarrow.dataset as ds
        import pyarrow.fs as fs

        parquet, disk = ds.ParquetFileFormat(), fs.LocalFileSystem()
        alike = dict[Any, list[Any]]()
        sizes = []
        for file in (File(*one) for one in self._found.files[name]):
            sizes.append(_verify(file, name))
            if (problem := growth(sizes)) is not None:
                raise _damaged(file, f"with the files before it, {problem}")
            columns, told = self._told(file.campaign, _columns(file, parquet, disk))
            alike.setdefault(columns, []).append(parquet.make_fragment(file.path, disk, told))
        return [ds.FileSystemDataset(own, schema, parquet, disk) for schema, own in alike.items()]

    def _told(self, folder: str, columns: pa.Schema) -> tuple[pa.Schema, ds.Expression | None]:
        """The columns of a file, and an expression that gives the value of the column `campaign`.

        No column is added and the expression is `None` if there is a single campaign, or if the
        file itself has a column of this name.
        """
        import pyarrow as pa
        import pyarrow.dataset as ds

        campaign = self._campaign(folder)
        if campaign is None or CAMPAIGN in columns.names:
            return columns, None
        front = pa.field(CAMPAIGN, pa.string())
        return pa.schema([front, *columns]), ds.field(CAMPAIGN) == campaign

    def _campaign(self, folder: str) -> str | None:
        """The value of the column `campaign`; `None` if there is a single campaign."""
        several = len(self._found.campaigns) > 1
        return Path(folder).relative_to(self._path).as_posix() if several else None


def _verify(file: File, table: str) -> FileSize:
    """The sizes of a file of `table`.

    Raises `RequestError` if the file has changed since it was written, or if aqmlab did not write
    it.
    """
    problem = mismatch(Path(file.path), [FileChecksum(*one) for one in file.checksums])
    if problem is not None:
        raise _damaged(file, problem)
    try:
        return size_of(Path(file.path), table)
    except ValueError as error:
        raise _damaged(file, str(error)) from None


def _columns(file: File, parquet: ds.ParquetFileFormat, disk: Any) -> pa.Schema:
    import pyarrow as pa

    try:
        return parquet.inspect(file.path, disk).remove_metadata()
    except (OSError, pa.ArrowException) as error:
        raise _damaged(file, str(error).splitlines()[0]) from None


def _damaged(file: File, problem: str) -> RequestError:
    return layout.damaged(Path(file.campaign), Path(file.path), problem)
