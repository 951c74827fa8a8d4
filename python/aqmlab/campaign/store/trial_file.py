"""One finished trial on disk: a ZIP archive that holds each table as an Arrow stream.

A trial's file appears under its name only when it is whole, so that one that can be read counts,
whatever killed its writer. After a power cut the last few may be torn, which `fault_of` finds. Its
bytes depend on the trial alone.

The head says whose file it is and holds the SHA-256 of each table and of its own text, so that no
byte is used that is not as it was written.
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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from aqmlab.base.checksums import is_intact, with_checksum
from aqmlab.base.files import open_regular, reason_of
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
    "trial": str,
    "engine": str,
    "campaign": str,
    "spec": str,
    "digest": str,
    "events": int,
    "packets": int,
    "form": str,
    "tables": dict,
}

UNREADABLE = (
    OSError,
    KeyError,
    ValueError,
    EOFError,
    MemoryError,
    RuntimeError,
    zipfile.BadZipFile,
)
"""Errors with which `Part` refuses a file that is not as it was written."""

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


@dataclass(frozen=True, slots=True)
class Origin:
    """The trial that a part is the result of."""

    campaign: str
    """The key of the campaign."""
    trial: str
    """The name of the trial."""
    engine: str
    spec: str
    """The `spec_digest` of the resolved trial."""


def encode(outcome: Mapping[str, object], spec: str, origin: Origin) -> bytes:
    """The file that holds `outcome`, as the core returns it, of the trial that `spec` resolves."""
    columns: Mapping[str, Mapping[str, object]] = outcome["tables"]  # type: ignore[assignment]
    tables = {name: table_of(own) for name, own in columns.items()}
    head = {
        "trial": origin.trial,
        "engine": origin.engine,
        "campaign": origin.campaign,
        "spec": spec,
        "form": _form(tables),
        **{key: outcome[key] for key in ("digest", "events", "packets")},
    }
    return archived(head, {name: _stream_of(table) for name, table in tables.items()})


def archived(head: Mapping[str, object], streams_of: Mapping[str, bytes]) -> bytes:
    """The archive of a head and of each table's stream, with their checksums."""
    tables = {name: hashlib.sha256(data).hexdigest() for name, data in streams_of.items()}
    text = json.dumps({**head, "tables": tables}, indent=1) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEAD), with_checksum(text))
        for name, data in streams_of.items():
            archive.writestr(zipfile.ZipInfo(name + _SUFFIX), data)
    return buffer.getvalue()


def _stream_of(table: pa.Table) -> bytes:
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


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
        self.origin = Origin(
            head["campaign"], head["trial"], head["engine"], spec_digest(self.spec)
        )
        """Whose result it is."""
        self.form: str = head["form"]
        """Stands for the columns of all its tables: with the same, they are the same."""
        self._checksums: dict[str, str] = head["tables"]

    def __enter__(self) -> Part:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()
        self._file.close()

    def is_sound(self) -> bool:
        """Whether every table is as it was written and can be read, and there is nothing else."""
        members = [_HEAD, *(name + _SUFFIX for name in self.names())]
        if self._archive.namelist() != members:
            return False
        return self.form == _form({name: self.table(name) for name in self.names()})

    def names(self) -> Iterator[str]:
        """The tables it holds, in the core's order."""
        yield from self._checksums

    def _head(self) -> dict[str, Any]:
        """What it says of the trial; raises `ValueError` for what no writer of ours has left."""
        text = self._archive.read(_HEAD)
        head: Any = json.loads(text) if is_intact(text) else None
        well = isinstance(head, dict) and all(
            type(head.get(key)) is kind for key, kind in _KINDS.items()
        )
        # Tables' names become names of folders.
        if not well or not all(re.fullmatch(TABLE_NAME, name) for name in head["tables"]):
            raise ValueError("is no file of a trial")
        return dict(head)

    def table(self, name: str) -> pa.Table:
        """A table; raises `KeyError` if there is none of that name, `ValueError` if it is false."""
        data = self._archive.read(name + _SUFFIX)
        if hashlib.sha256(data).hexdigest() != self._checksums[name]:
            raise ValueError(f"the table `{name}` is not as it was written")
        return arrow_guard.read(data)


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


def fault_of(path: Path, origin: Origin) -> str | None:
    """How the file at `path` is not the whole result of a trial, if it is not.

    Two trials may be called alike and differ, and two builds may give one trial two results.
    Raises `FileNotFoundError` if there is no file.
    """
    try:
        with Part(path) as part:
            if part.origin != origin:
                return "it holds the result of another trial"
            return None if part.is_sound() else "its contents are not those recorded"
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        is_told = isinstance(error, OSError) and error.strerror is not None
        return reason_of(error) if is_told else "its contents are not those recorded"


def is_whole(path: Path, origin: Origin) -> bool:
    """Whether `path` holds the whole result of a trial."""
    try:
        return fault_of(path, origin) is None
    except FileNotFoundError:
        return False
