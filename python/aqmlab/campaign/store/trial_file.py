"""The file of one finished trial: a head, and each table as an Arrow stream.

A trial file is written atomically, so a file is complete even if its writer was killed. After a
power cut the last few files may be truncated, which `fault_of` detects. The bytes depend only on
the campaign's key and the trial.

The file begins with eight bytes that name its form, and with the length of the head. The head and
the streams follow without gaps. The head names the trial. It holds the size and the SHA-256 of each
stream and the SHA-256 of the head's text. These checksums reveal every changed byte.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from io import BufferedIOBase, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from aqmlab._core import Table
from aqmlab.base.checksums import FileChecksum, is_intact, with_checksum
from aqmlab.base.files import open_regular, reason_of
from aqmlab.campaign.store import arrow_guard, json_record
from aqmlab.campaign.store.manifest import TABLE_NAME
from aqmlab.campaign.store.table_form import fault_of_trial

if TYPE_CHECKING:
    import pyarrow as pa

_START = struct.Struct("<8sQ")
_FORM = b"aqmtrial"
MOST_BYTES = arrow_guard.MOST_BYTES
"""The maximum size of a trial file that is read, in bytes."""

_CHANGED = "its contents are not those recorded"

UNREADABLE = (OSError, KeyError, ValueError, EOFError, MemoryError, RuntimeError)
"""The errors that `TrialFile` raises for a damaged file."""


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
    tables: Mapping[Annotated[str, Meta(pattern=rf"^{TABLE_NAME}\Z")], FileChecksum]
    """The checksum of each table's stream, in the file's order. Names become names of folders."""


def encode(outcome: Mapping[str, object], spec: str, origin: TrialIdentity) -> bytes:
    """The trial file of an engine's `outcome` for the resolved trial `spec`."""
    tables: Mapping[str, Mapping[str, Any]] = outcome["tables"]  # type: ignore[assignment]
    streams = {name: _stream_of(columns) for name, columns in tables.items()}
    head = {
        "trial": origin.trial,
        "engine": origin.engine,
        "campaign": origin.campaign,
        "spec": spec,
        "form": _form(
            {name: arrow_guard.schema_message(stream) for name, stream in streams.items()}
        ),
        **{key: outcome[key] for key in ("digest", "events", "packets")},
    }
    return joined(head, streams)


def _stream_of(columns: Mapping[str, Any]) -> bytes:
    """The stream of a table."""
    table = columns if isinstance(columns, Table) else Table(columns)
    return table.arrow_stream()


def joined(head: Mapping[str, object], streams_of: Mapping[str, bytes]) -> bytes:
    """The trial file of a head and of the tables' streams, with their checksums."""
    tables = {
        name: FileChecksum(len(data), hashlib.sha256(data).hexdigest())
        for name, data in streams_of.items()
    }
    text = with_checksum(json_record.text_of({**head, "tables": tables}))
    return b"".join((_START.pack(_FORM, len(text)), text, *streams_of.values()))


def _form(schemas: Mapping[str, bytes]) -> str:
    """The first 16 hexadecimal digits of a SHA-256 over the schemas of all tables, as messages."""
    folded = hashlib.sha256()
    for name, schema in schemas.items():
        folded.update(name.encode() + b"\n" + schema)
    return folded.hexdigest()[:16]


class TrialFile:
    """A trial file, open for reading."""

    def __init__(self, path: Path) -> None:
        self._file: BufferedIOBase = open_regular(path)
        self.size_bytes = os.fstat(self._file.fileno()).st_size
        """The size of the file when it was opened."""
        try:
            self.head = self._read_head()
        except BaseException:
            self._file.close()
            raise
        head, place = self.head, self._file.tell()
        self._places: dict[str, int] = {}
        for name, stream in head.tables.items():
            self._places[name] = place
            place += stream.size_bytes
        self.origin = TrialIdentity(head.campaign, head.trial, head.engine, spec_digest(head.spec))
        """The trial to which the file belongs."""

    def __enter__(self) -> TrialFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def in_memory(self) -> TrialFile:
        """A copy of this file in memory, whose tables can be read after this file is closed."""
        copied = copy(self)
        self._file.seek(0)
        copied._file = BytesIO(self._file.read(self.size_bytes))
        return copied

    def fault(self) -> str | None:
        """The reason why the file does not hold the tables that its head lists, or `None`.

        Raises an error of `UNREADABLE` for a damaged table.
        """
        schemas = {}
        for name in self.names():
            stream = self._stream(name)
            problem = fault_of_trial(name, arrow_guard.read(stream))
            if problem is not None:
                return f"in the table `{name}`, {problem}"
            schemas[name] = arrow_guard.schema_message(stream)
        return None if self.head.form == _form(schemas) else _CHANGED

    def names(self) -> Iterator[str]:
        """Yields the names of the tables, in the core's order."""
        yield from self.head.tables

    def _read_head(self) -> TrialHead:
        """The head; raises `ValueError` if aqmlab cannot have written the file."""
        start = self._file.read(_START.size)
        if len(start) == _START.size and self.size_bytes <= MOST_BYTES:
            form, length = _START.unpack(start)
            is_possible = form == _FORM and length <= self.size_bytes
            if is_possible and is_intact(text := self._file.read(length)):
                head = json_record.decoded(text, TrialHead)
                streams = sum(one.size_bytes for one in head.tables.values())
                if _START.size + length + streams == self.size_bytes:
                    return head
        raise ValueError("is no file of a trial")

    def table(self, name: str) -> pa.Table:
        """A table; raises `KeyError` for an unknown name, and `ValueError` for a damaged table."""
        return arrow_guard.read(self._stream(name))

    def _stream(self, name: str) -> bytes:
        """The stream of a table; raises as `table` does."""
        expected = self.head.tables[name]
        self._file.seek(self._places[name])
        data = self._file.read(expected.size_bytes)
        if hashlib.sha256(data).hexdigest() != expected.sha256:
            raise ValueError(f"the table `{name}` is not as it was written")
        return data


def fault_of(path: Path, origin: TrialIdentity) -> str | None:
    """The reason why the file at `path` is not the complete result of a trial, or `None`.

    `origin` is compared as a whole, because different trials may have equal names and two builds
    may give one trial different results. Raises `FileNotFoundError` if there is no file.
    """
    try:
        with TrialFile(path) as part:
            if part.origin != origin:
                return "it holds the result of another trial"
            return part.fault()
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        is_told = isinstance(error, OSError) and error.strerror is not None
        return reason_of(error) if is_told else _CHANGED
