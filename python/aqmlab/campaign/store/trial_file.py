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
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from io import BufferedIOBase, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from aqmlab.base.checksums import FileChecksum, is_intact, with_checksum
from aqmlab.base.files import open_regular, reason_of
from aqmlab.campaign.store import arrow_guard, json_record
from aqmlab.campaign.store.manifest import TABLE_NAME

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_START = struct.Struct("<8sQ")
_FORM = b"aqmtrial"
MOST_BYTES = arrow_guard.MOST_BYTES
"""The maximum size of a trial file that is read, in bytes."""

_SMALL = 2**13
"""The number of values below which a table is not compressed.

A small table has many short buffers. Their compression saves no bytes, because each compressed
buffer also holds its size.
"""

_END = b"\xff\xff\xff\xff\0\0\0\0"
"""The end of a stream: the mark before a message, and a size of 0."""

UNREADABLE = (OSError, KeyError, ValueError, EOFError, MemoryError, RuntimeError)
"""The errors that `TrialFile` raises for a damaged file."""

NOT_REPEATABLE = frozenset({"cpu_s", "wall_s"})
"""The core's columns whose values differ between runs. Trial files omit them."""


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
    tables: Mapping[Annotated[str, Meta(pattern=rf"^{TABLE_NAME}\Z")], FileChecksum]
    """The checksum of each table's stream, in the file's order. Names become names of folders."""


def encode(outcome: Mapping[str, object], spec: str, origin: TrialIdentity) -> bytes:
    """The trial file of the core's `outcome` for the resolved trial `spec`."""
    columns: Mapping[str, Mapping[str, Any]] = outcome["tables"]  # type: ignore[assignment]
    tables = {name: _encoded(own) for name, own in columns.items()}
    head = {
        "trial": origin.trial,
        "engine": origin.engine,
        "campaign": origin.campaign,
        "spec": spec,
        "form": _form({name: schema for name, (schema, _) in tables.items()}),
        **{key: outcome[key] for key in ("digest", "events", "packets")},
    }
    return joined(head, {name: stream for name, (_, stream) in tables.items()})


def _encoded(columns: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """The schema of a table of the core's columns, as a message, and the table's stream.

    NaN becomes null, and unsigned integers become signed.
    """
    import pyarrow as pa

    kept = {name: values for name, values in columns.items() if name not in NOT_REPEATABLE}
    kinds = [None if isinstance(values, list) else values.dtype for values in kept.values()]
    schema = _schema_of(tuple(kept), tuple(kinds))
    if not any(map(len, kept.values())):
        return schema, schema + _END
    batch = pa.RecordBatch.from_arrays(_arrays(kept.values()), names=list(kept))
    if batch.num_rows * batch.num_columns >= _SMALL:
        return schema, _compressed(batch)
    return schema, b"".join((schema, batch.serialize(), _END))


@lru_cache(1000)
def _schema_of(names: tuple[str, ...], kinds: tuple[np.dtype | None, ...]) -> bytes:
    """The schema of a table of the core's columns, as the message that begins a stream.

    `kinds` are the types of the columns; words have no type. Only a few combinations exist.
    """
    import numpy as np
    import pyarrow as pa

    arrays = _arrays([] if kind is None else np.empty(0, kind) for kind in kinds)
    schema = pa.schema(list(zip(names, (array.type for array in arrays), strict=True)))
    message: bytes = schema.serialize().to_pybytes()
    return message


def _arrays(columns: Iterable[Any]) -> list[pa.Array]:
    """Arrow's arrays of the core's columns."""
    import numpy as np
    import pyarrow as pa

    arrays = []
    for values in columns:
        if isinstance(values, list):
            array = pa.array(values, pa.string())
        elif values.dtype.kind == "u":
            # No count reaches 2**63. numpy's cast takes an eighth of the time of Arrow's.
            array = pa.array(values.astype(np.int64))
        else:
            array = pa.array(values, from_pandas=True)
        arrays.append(array)
    return arrays


def _compressed(batch: pa.RecordBatch) -> bytes:
    """A stream of a batch whose buffers are compressed."""
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    sink = pa.BufferOutputStream()  # Arrow writes to it without calls of Python.
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


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

    def is_sound(self) -> bool:
        """Returns whether the file holds the tables that its head lists.

        Raises an error of `UNREADABLE` for a damaged table.
        """
        return self.head.form == _form(
            {name: self.table(name).schema.serialize().to_pybytes() for name in self.names()}
        )

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
        expected = self.head.tables[name]
        self._file.seek(self._places[name])
        data = self._file.read(expected.size_bytes)
        if hashlib.sha256(data).hexdigest() != expected.sha256:
            raise ValueError(f"the table `{name}` is not as it was written")
        return arrow_guard.read(data)


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
