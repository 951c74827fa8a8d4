"""The file of one finished trial: a ZIP archive with each table as an Arrow stream.

A trial file is written atomically, so a file is complete even if its writer was killed. After a
power cut the last few files may be truncated, which `fault_of` detects. The bytes depend only on
the campaign's key and the trial.

The head names the trial. It holds the SHA-256 of each table and of the head's text. These checksums
reveal every changed byte.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

from msgspec import Meta, Struct

from aqmlab.base.checksums import is_intact, with_checksum
from aqmlab.base.files import open_regular, reason_of
from aqmlab.campaign.store import arrow_guard, json_record
from aqmlab.campaign.store.manifest import TABLE_NAME

if TYPE_CHECKING:
    import pyarrow as pa

_HEAD = "trial.json"
_SUFFIX = ".arrow"
MOST_BYTES = arrow_guard.MOST_BYTES
"""The maximum size of a trial file that is read, in bytes."""

_MOST_MEMBERS, _MOST_LISTED = 100, 2**16
_END = struct.Struct("<4sHHHHIIH")
_LOCATOR = 20  # the length in bytes of ZIP64's locator before the end record

UNREADABLE = (
    OSError,
    KeyError,
    ValueError,
    EOFError,
    MemoryError,
    RuntimeError,
    zipfile.BadZipFile,
)
"""The errors that `TrialFile` raises for a damaged file."""

NOT_REPEATABLE = frozenset({"cpu_s", "wall_s"})
"""The core's columns whose values differ between runs. Trial files omit them."""


def table_of(columns: Mapping[str, object]) -> pa.Table:
    """An Arrow table of the core's columns, without those in `NOT_REPEATABLE`.

    NaN becomes null, and unsigned integers become signed.
    """
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
    """Imports the modules that `encode` needs, so that their import is not timed."""
    import pyarrow.ipc  # noqa: F401


def spec_digest(spec: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a resolved trial."""
    return hashlib.sha256(spec.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class TrialIdentity:
    """The trial to which a trial file belongs."""

    campaign: str
    """The key of the campaign."""
    trial: str
    """The name of the trial."""
    engine: str
    spec: str
    """The `spec_digest` of the resolved trial."""


class TrialHead(Struct, frozen=True):
    """The head of a trial file."""

    trial: str
    engine: str
    campaign: str
    spec: str
    """The resolved trial."""
    form: str
    """A digest of the names and types of the columns of all tables."""
    digest: str
    events: int
    packets: int
    tables: Mapping[Annotated[str, Meta(pattern=rf"^{TABLE_NAME}\Z")], str]
    """The SHA-256 of each table's stream. Names of tables become names of folders."""


def encode(outcome: Mapping[str, object], spec: str, origin: TrialIdentity) -> bytes:
    """The trial file of the core's `outcome` for the resolved trial `spec`."""
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
    """The archive of a head and of the tables' streams, with their checksums."""
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
    """The first 16 hexadecimal digits of a SHA-256 over the columns of all tables."""
    folded = hashlib.sha256()
    for name, table in tables.items():
        folded.update(name.encode() + b"\n" + table.schema.serialize().to_pybytes())
    return folded.hexdigest()[:16]


class TrialFile:
    """A trial file, open for reading."""

    def __init__(self, path: Path) -> None:
        self._file = open_regular(path)
        try:
            _refuse_crowded(self._file)
            self._archive = zipfile.ZipFile(self._file)
            _refuse_packed(self._archive)
            head = self._read_head()
        except BaseException:
            self._file.close()
            raise
        self.head = head
        self.origin = TrialIdentity(head.campaign, head.trial, head.engine, spec_digest(head.spec))
        """The trial to which the file belongs."""

    def __enter__(self) -> TrialFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()
        self._file.close()

    def is_sound(self) -> bool:
        """Returns whether the file holds the tables that its head lists, and nothing else.

        Raises an error of `UNREADABLE` for a damaged table.
        """
        members = [_HEAD, *(name + _SUFFIX for name in self.names())]
        if self._archive.namelist() != members:
            return False
        return self.head.form == _form({name: self.table(name) for name in self.names()})

    def names(self) -> Iterator[str]:
        """Yields the names of the tables, in the core's order."""
        yield from self.head.tables

    def _read_head(self) -> TrialHead:
        """The head; raises `ValueError` if aqmlab cannot have written it."""
        text = self._archive.read(_HEAD)
        try:
            if is_intact(text):
                return json_record.decoded(text, TrialHead)
        except ValueError:
            pass
        raise ValueError("is no file of a trial")

    def table(self, name: str) -> pa.Table:
        """A table; raises `KeyError` for an unknown name, and `ValueError` for a damaged table."""
        data = self._archive.read(name + _SUFFIX)
        if hashlib.sha256(data).hexdigest() != self.head.tables[name]:
            raise ValueError(f"the table `{name}` is not as it was written")
        return arrow_guard.read(data)


def _refuse_crowded(file: BinaryIO) -> None:
    """Raises `ValueError` for too many bytes or members, before the archive's directory is read.

    The function also refuses an archive without the end record that aqmlab writes.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _LOCATOR - _END.size, 0))
    end = file.read()
    # aqmlab writes nothing after the end of the directory. ZIP64 has its directory elsewhere.
    mark, _, _, _, count, listed, _, note = _END.unpack(end[-_END.size :].rjust(_END.size, b"\0"))
    if mark != b"PK\5\6" or note or count > _MOST_MEMBERS or listed > _MOST_LISTED:
        raise ValueError("is no file of a trial")
    if size > MOST_BYTES or end.startswith(b"PK\6\7"):
        raise ValueError("is no file of a trial")
    file.seek(0)


def _refuse_packed(archive: zipfile.ZipFile) -> None:
    """Raises `ValueError` for compressed members, which could expand to any size."""
    for member in archive.infolist():
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError("is no file of a trial")


def fault_of(path: Path, origin: TrialIdentity) -> str | None:
    """The reason why the file at `path` is not the complete result of a trial, or `None`.

    `origin` is compared as a whole, because different trials may have equal names and two builds
    may give one trial different results. Raises `FileNotFoundError` if there is no file.
    """
    try:
        with TrialFile(path) as part:
            if part.origin != origin:
                return "it holds the result of another trial"
            return None if part.is_sound() else "its contents are not those recorded"
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        is_told = isinstance(error, OSError) and error.strerror is not None
        return reason_of(error) if is_told else "its contents are not those recorded"
