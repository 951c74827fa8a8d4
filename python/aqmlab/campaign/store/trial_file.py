"""One finished trial on disk: a ZIP archive that holds each table as an Arrow stream.

A trial's file appears under its name only when it is whole, so that one that can be read counts,
whatever killed its writer; after a power cut the last few may be torn, which `is_whole` finds. Its
bytes depend on the trial alone.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from aqmlab.base.files import open_regular
from aqmlab.campaign.store import arrow_guard
from aqmlab.campaign.store.manifest import TABLE_NAME

if TYPE_CHECKING:
    import pyarrow as pa

_HEAD = "trial.json"
_SUFFIX = ".arrow"
MOST_BYTES = arrow_guard.MOST_BYTES
"""The largest file of a trial that is read."""

_MOST_MEMBERS, _MOST_LISTED = 100, 2**16
_END = struct.Struct("<4sHHHHIIH")
_LOCATOR = 20  # bytes, of ZIP64's, before the end

_KINDS = {
    "digest": str,
    "events": int,
    "packets": int,
    "spec": str,
    "campaign": str,
    "form": str,
}

NOT_REPEATABLE = frozenset({"cpu_s", "wall_s"})
"""Columns that differ from run to run, so that no result may hold them."""


def table_of(columns: Mapping[str, object]) -> pa.Table:
    """An Arrow table of the core's columns: no-values are nulls, and counts can be subtracted."""
    import pyarrow as pa

    arrays = {}
    for name, values in columns.items():
        if name in NOT_REPEATABLE:
            continue
        words = isinstance(values, list)
        array = pa.array(values, pa.string() if words else None, from_pandas=True)
        if pa.types.is_unsigned_integer(array.type):
            array = array.cast(pa.int64())
        arrays[name] = array
    return pa.table(arrays)


def make_ready() -> None:
    """Loads what `encode` needs."""
    import pyarrow.ipc  # noqa: F401


def spec_digest(spec: str) -> str:
    """Stands for a resolved trial where its text would be too long."""
    return hashlib.sha256(spec.encode()).hexdigest()[:16]


def encode(outcome: Mapping[str, object], spec: str, campaign: str) -> bytes:
    """The file that holds `outcome`, as the core returns it, of the trial that `spec` resolves.

    `campaign` is the key of the campaign that the trial belongs to.
    """
    import pyarrow as pa

    columns: Mapping[str, Mapping[str, object]] = outcome["tables"]  # type: ignore[assignment]
    tables = {name: table_of(own) for name, own in columns.items()}
    head = {key: outcome[key] for key in ("digest", "events", "packets")}
    head |= {"spec": spec, "campaign": campaign}
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEAD), json.dumps(head | {"form": _form(tables)}))
        for name, table in tables.items():
            sink = io.BytesIO()
            with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
                writer.write_table(table)
            archive.writestr(zipfile.ZipInfo(name + _SUFFIX), sink.getbuffer())
    return buffer.getvalue()


def _form(tables: Mapping[str, pa.Table]) -> str:
    """Stands for the columns of all tables."""
    folded = hashlib.sha256()
    for name, table in tables.items():
        folded.update(name.encode() + b"\n" + table.schema.serialize().to_pybytes())
    return folded.hexdigest()[:16]


class Part:
    """A finished trial's file, open for reading."""

    def __init__(self, path: Path) -> None:
        self._file = open_regular(path)
        try:
            _refuse_crowded(self._file)
            self._archive = zipfile.ZipFile(self._file)
            _refuse_packed(self._archive)
            head = self._head()
        except BaseException:
            self._file.close()
            raise
        self.digest: str = head["digest"]
        self.events: int = head["events"]
        self.packets: int = head["packets"]
        self.spec: str = head["spec"]
        """What the engine was given."""
        self.campaign: str = head["campaign"]
        """The key of the campaign that it belongs to."""
        self.form: str = head["form"]
        """Stands for the columns of all its tables: with the same, they are the same."""

    def __enter__(self) -> Part:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()
        self._file.close()

    def is_sound(self) -> bool:
        """Whether every byte is as it was written, and each table one that can be read."""
        if self._archive.testzip() is not None:
            return False
        return self.form == _form({name: self.table(name) for name in self.names()})

    def names(self) -> Iterator[str]:
        """The tables it holds, in the core's order."""
        for entry in self._archive.namelist():
            if entry.endswith(_SUFFIX):
                yield entry.removesuffix(_SUFFIX)

    def _head(self) -> dict[str, Any]:
        """What it says of the trial; raises `ValueError` for what no writer of ours has left."""
        head = json.loads(self._archive.read(_HEAD))
        well = isinstance(head, dict) and all(
            type(head.get(key)) is kind for key, kind in _KINDS.items()
        )
        # Tables' names become names of folders.
        if not well or not all(re.fullmatch(TABLE_NAME, name) for name in self.names()):
            raise ValueError("is no file of a trial")
        return dict(head)

    def schema(self, name: str) -> pa.Schema:
        """The columns of a table."""
        import pyarrow as pa

        with self._archive.open(name + _SUFFIX) as stream, pa.ipc.open_stream(stream) as reader:
            return reader.schema

    def table(self, name: str) -> pa.Table:
        """A table; raises `KeyError` if there is none of that name, `ValueError` if it is false."""
        return arrow_guard.read(self._archive.read(name + _SUFFIX))


def _refuse_crowded(file: BinaryIO) -> None:
    """Raises `ValueError` for an archive of more than can be a trial's, before its list is read."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _LOCATOR - _END.size, 0))
    end = file.read()
    # The list's end, which nothing follows that our writer writes; of ZIP64, the list is elsewhere.
    mark, _, _, _, count, listed, _, note = _END.unpack(end[-_END.size :].rjust(_END.size, b"\0"))
    if mark != b"PK\5\6" or note or count > _MOST_MEMBERS or listed > _MOST_LISTED:
        raise ValueError("is no file of a trial")
    if size > MOST_BYTES or end.startswith(b"PK\6\7"):
        raise ValueError("is no file of a trial")
    file.seek(0)


def _refuse_packed(archive: zipfile.ZipFile) -> None:
    """Raises `ValueError` if unpacking takes more than the file has."""
    for member in archive.infolist():
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError("is no file of a trial")


def is_whole(path: Path, spec: str, campaign: str) -> bool:
    """Whether `path` holds, to the last byte, the trial with this `spec_digest` of a campaign.

    Two trials may be called alike and differ, and two builds may give one trial two results.
    """
    try:
        with Part(path) as part:
            own = (spec_digest(part.spec), part.campaign) == (spec, campaign)
            return own and part.is_sound()
    except (OSError, KeyError, ValueError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile):
        return False
