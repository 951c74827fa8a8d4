"""The tables of campaigns as Arrow data sets, which can be read and not written.

Of each table there is a data set for each set of columns: one, unless its campaigns vary different
things, or have not finished.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab.failures import RequestError
from aqmlab.store import MANIFEST, Folder

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

CAMPAIGN = "campaign"
"""The column that tells several campaigns apart: the path of each in the folder of all."""

_DEPTHS = ("", "*/", "*/*/", "*/*/*/")
"""How deep in a folder campaigns are found: a study's are two below its own."""


class Sources:
    """The files of the tables of a campaign, or of all campaigns in a folder.

    Raises `RequestError` if there is no campaign, or nothing in its tables.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        manifests = {folder: folder.manifest() for folder in _campaigns(path)}
        self._campaigns = list(manifests)
        self.missing = sum(map(_missing, manifests.values()))
        """Trials that are planned and not in the tables."""
        self.planned = sum(len(manifest["trials"]) for manifest in manifests.values())
        self._files = self._found(manifests)

    @cached_property
    def names(self) -> list[str]:
        """The tables there are."""
        return sorted(self._files)

    def datasets(self, name: str) -> list[ds.Dataset]:
        """A table, in data sets of different columns; raises `RequestError` for a damaged file."""
        import pyarrow.dataset as ds
        import pyarrow.fs as fs

        # Without checksums a flipped bit is most often another number.
        checked = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
        parquet = ds.ParquetFileFormat(default_fragment_scan_options=checked)
        disk, alike = fs.LocalFileSystem(), dict[Any, list[Any]]()
        for folder, file in self._files[name]:
            columns, told = self._told(folder, _columns(folder, file, parquet, disk))
            alike.setdefault(columns, []).append(parquet.make_fragment(str(file), disk, told))
        return [ds.FileSystemDataset(own, schema, parquet, disk) for schema, own in alike.items()]

    def refuse_damaged(self) -> None:
        """Raises `RequestError` for a file that is not as it was written."""
        from aqmlab.dataset import refuse_damaged

        for folder in self._campaigns:
            refuse_damaged(folder)

    def _found(self, manifests: Mapping[Folder, Any]) -> dict[str, list[tuple[Folder, Path]]]:
        found: dict[str, list[tuple[Folder, Path]]] = {}
        for folder, manifest in manifests.items():
            for name in manifest.get("tables") or folder.table_names():
                for file in folder.table_files(name):
                    found.setdefault(name, []).append((folder, _inside(file, self._path)))
        if not found:
            problem = f"{self._path}: no trial of the campaign is in its tables yet"
            hint = "they are written a hundred trials at a time, and at the end"
            raise RequestError(problem, hint)
        return found

    def _told(self, folder: Folder, columns: pa.Schema) -> tuple[pa.Schema, ds.Expression | None]:
        """The columns with the campaign's in front, of several; and what is true of all rows."""
        import pyarrow as pa
        import pyarrow.dataset as ds

        if len(self._campaigns) == 1 or CAMPAIGN in columns.names:
            return columns, None
        path = folder.path.relative_to(self._path).as_posix()
        front = pa.field(CAMPAIGN, pa.string())
        return pa.schema([front, *columns]), ds.field(CAMPAIGN) == path


def _columns(folder: Folder, file: Path, parquet: ds.ParquetFileFormat, disk: Any) -> pa.Schema:
    import pyarrow as pa

    try:
        return parquet.inspect(str(file), disk).remove_metadata()
    except (OSError, pa.ArrowException) as error:
        raise folder.unreadable(file, error) from None


def _campaigns(path: Path) -> list[Folder]:
    for depth in _DEPTHS:
        manifests = sorted(path.glob(f"{depth}{MANIFEST}"))
        if manifests:
            return [Folder(manifest.parent) for manifest in manifests]
    Folder(path).manifest()  # which says what is missing
    return []


def _missing(manifest: Mapping[str, Any]) -> int:
    if manifest["complete"]:
        return 0
    digests = manifest.get("digests", ())
    return len(manifest["trials"]) - sum(digest is not None for digest in digests)


def _inside(file: Path, path: Path) -> Path:
    real = file.resolve()
    if not real.is_relative_to(path.resolve()):
        raise RequestError(f"{file}: leads out of the folder, to {real}")
    return real
