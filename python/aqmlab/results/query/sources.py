"""The tables of campaigns as Arrow data sets, which can be read and not written.

Of each table there is a data set for each set of columns: one, unless its campaigns vary different
things, or have not finished. The verdicts are in no file: they are made of the tables, as for the
report, when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from aqmlab.base.checksums import FileChecksum, mismatch
from aqmlab.base.failures import RequestError
from aqmlab.results.verdicts.table import NAME as VERDICTS

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

CAMPAIGN = "campaign"
"""The column that tells several campaigns apart: the path of each in the folder of all."""

_JUDGED = "flows"


class File(NamedTuple):
    """A file of a table, in plain values."""

    campaign: str
    """The folder of its campaign."""
    path: str
    checksums: Sequence[tuple[int, str]]
    """The size and SHA-256 that it must have, or either of two."""


@dataclass(frozen=True, slots=True)
class Found:
    """Of each table its files, in plain values."""

    campaigns: list[str]
    files: dict[str, list[File]]
    missing: int
    """Trials that are planned and not in the tables."""
    planned: int
    deeper: list[str]
    """Folders with campaigns that are none of these, for they lie deeper."""


class Sources:
    """The tables of the campaigns that were found in a folder."""

    def __init__(self, path: Path, found: Found) -> None:
        self._path, self._found = path, found

    @property
    def names(self) -> list[str]:
        """The tables there are."""
        made = {VERDICTS} if _JUDGED in self._found.files else set()
        return sorted(made.union(self._found.files))

    def datasets(self, name: str) -> list[ds.Dataset]:
        """A table, in data sets of different columns; raises `RequestError` for a damaged file."""
        return self._made() if name == VERDICTS else self._read(name)

    def _made(self) -> list[ds.Dataset]:
        """The verdicts of each campaign of which there is something to judge."""
        import pyarrow as pa
        import pyarrow.dataset as ds

        from aqmlab.results.results import load

        made = []
        for folder in dict.fromkeys(File(*one).campaign for one in self._found.files[_JUDGED]):
            table = load(folder).in_files().table(VERDICTS).to_arrow()
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
        for file in (File(*one) for one in self._found.files[name]):
            _verify(file)
            columns, told = self._told(file.campaign, _columns(file, parquet, disk))
            alike.setdefault(columns, []).append(parquet.make_fragment(file.path, disk, told))
        return [ds.FileSystemDataset(own, schema, parquet, disk) for schema, own in alike.items()]

    def _told(self, folder: str, columns: pa.Schema) -> tuple[pa.Schema, ds.Expression | None]:
        """The columns with the campaign's in front, of several; and what is true of all rows."""
        import pyarrow as pa
        import pyarrow.dataset as ds

        campaign = self._campaign(folder)
        if campaign is None or CAMPAIGN in columns.names:
            return columns, None
        front = pa.field(CAMPAIGN, pa.string())
        return pa.schema([front, *columns]), ds.field(CAMPAIGN) == campaign

    def _campaign(self, folder: str) -> str | None:
        """What tells a campaign from the others, if there are any."""
        several = len(self._found.campaigns) > 1
        return Path(folder).relative_to(self._path).as_posix() if several else None


def _verify(file: File) -> None:
    """Raises `RequestError` if a file is not as it was written."""
    problem = mismatch(Path(file.path), [FileChecksum(*one) for one in file.checksums])
    if problem is not None:
        raise _damaged(file, problem)


def _columns(file: File, parquet: ds.ParquetFileFormat, disk: Any) -> pa.Schema:
    import pyarrow as pa

    try:
        return parquet.inspect(file.path, disk).remove_metadata()
    except (OSError, pa.ArrowException) as error:
        raise _damaged(file, str(error).splitlines()[0]) from None


def _damaged(file: File, problem: str) -> RequestError:
    from aqmlab.campaign.store.folder import Folder

    return Folder(Path(file.campaign)).damaged(Path(file.path), problem)
