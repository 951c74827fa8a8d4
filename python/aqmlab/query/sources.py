"""The tables of campaigns as Arrow data sets, which can be read and not written.

Of each table there is a data set for each set of columns: one, unless its campaigns vary different
things, or have not finished.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

CAMPAIGN = "campaign"
"""The column that tells several campaigns apart: the path of each in the folder of all."""


@dataclass(frozen=True, slots=True)
class Found:
    """Of each table its files, in plain values: each file beside the folder of its campaign."""

    campaigns: list[str]
    files: dict[str, list[tuple[str, str]]]
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
        return sorted(self._found.files)

    def datasets(self, name: str) -> list[ds.Dataset]:
        """A table, in data sets of different columns; raises `RequestError` for a damaged file."""
        import pyarrow.dataset as ds
        import pyarrow.fs as fs

        # Without checksums a flipped bit is most often another number.
        checked = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
        parquet = ds.ParquetFileFormat(default_fragment_scan_options=checked)
        disk, alike = fs.LocalFileSystem(), dict[Any, list[Any]]()
        for folder, file in self._found.files[name]:
            columns, told = self._told(folder, _columns(folder, file, parquet, disk))
            alike.setdefault(columns, []).append(parquet.make_fragment(file, disk, told))
        return [ds.FileSystemDataset(own, schema, parquet, disk) for schema, own in alike.items()]

    def refuse_damaged(self) -> None:
        """Raises `RequestError` for a file that is not as it was written."""
        from aqmlab.dataset import refuse_damaged
        from aqmlab.store import Folder

        for folder in self._found.campaigns:
            refuse_damaged(Folder(Path(folder)))

    def _told(self, folder: str, columns: pa.Schema) -> tuple[pa.Schema, ds.Expression | None]:
        """The columns with the campaign's in front, of several; and what is true of all rows."""
        import pyarrow as pa
        import pyarrow.dataset as ds

        if len(self._found.campaigns) == 1 or CAMPAIGN in columns.names:
            return columns, None
        path = Path(folder).relative_to(self._path).as_posix()
        front = pa.field(CAMPAIGN, pa.string())
        return pa.schema([front, *columns]), ds.field(CAMPAIGN) == path


def _columns(folder: str, file: str, parquet: ds.ParquetFileFormat, disk: Any) -> pa.Schema:
    import pyarrow as pa

    try:
        return parquet.inspect(file, disk).remove_metadata()
    except (OSError, pa.ArrowException) as error:
        from aqmlab.store import Folder

        raise Folder(Path(folder)).unreadable(Path(file), error) from None
