"""Checks the sizes in Arrow streams of a trial's tables before the streams are decompressed.

A folder may come from an untrusted source. A few bytes of a stream can request any amount of
memory: buffers state their decompressed size, and batches state their number of rows. This
module first reads these sizes and numbers from the messages of the stream (`Message.fbs`, encoded
as FlatBuffers). It refuses streams that are larger than a trial can need. It then validates the
decompressed data.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 2**30
"""The maximum memory of a table in bytes. Time series of ten thousand applications need 75 %."""

_MOST_METADATA_BYTES = 2**16
"""The maximum size of the metadata of a message. A table of fifty columns needs 10 kB.

It limits the memory of `_schema_in` and `_stated`, which keep what metadata state.
"""

_VERSION, _HEADER = 0, 2  # fields of a Message: version of the format, content
_V5 = 4  # in earlier versions, compressed buffers are marked elsewhere
_ROWS, _BUFFERS, _PACKED = 0, 2, 3  # fields of a RecordBatch: length, buffers, compression
_PREFIX = struct.Struct("<Ii")
_MARK = 0xFFFFFFFF  # precedes the size of the metadata in a stream


class _Batch(NamedTuple):
    """The numbers that the metadata of a batch state."""

    rows: int
    starts: Sequence[int]
    """The positions of the buffers in the body of the message, in bytes."""
    sizes: Sequence[int]
    """The sizes of the buffers in the stream, in bytes."""
    is_packed: bool
    """Whether the buffers are compressed. Each then begins with its decompressed size."""


def read(data: bytes) -> pa.Table:
    """The table of a stream, which holds a schema and at most one batch of rows.

    Raises `ValueError` or `OSError` if aqmlab cannot have written the stream.
    """
    import pyarrow as pa

    messages = [*islice(pa.ipc.MessageReader.open_stream(data), 3)]
    if not messages:
        raise ValueError("a stream without a schema")
    first, *others = messages
    schema = _schema_in(_metadata(first, "schema"))
    if not others:
        return schema.empty_table()
    if len(others) > 1:
        raise ValueError("more than one batch")
    batch = _stated(_metadata(others[0], "record batch"))
    _refuse_absurd(others[0], batch)
    if batch.is_packed:
        # `read_record_batch` would decompress in threads, which cost more time than they save.
        options = pa.ipc.IpcReadOptions(use_threads=False)
        with pa.ipc.open_stream(data, options=options) as reader:
            rows = reader.read_next_batch()
    else:
        rows = pa.ipc.read_record_batch(others[0], schema)
    rows.validate(full=True)
    return pa.Table.from_batches([rows], schema)


def schema_message(stream: bytes) -> bytes:
    """The message with the schema, which begins a stream.

    Raises `ValueError` if the stream has an earlier form, in which no mark precedes the message.
    """
    mark, size = _PREFIX.unpack_from(stream)
    if mark != _MARK:
        raise ValueError("a stream of an earlier version of Arrow's format")
    return stream[: _PREFIX.size + size]


def _metadata(message: pa.ipc.Message, kind: str) -> bytes:
    """The metadata of a message; raises `ValueError` if the message is not of `kind`."""
    if message.type != kind:
        raise ValueError(f"a {message.type} in place of a {kind}")
    if message.metadata.size > _MOST_METADATA_BYTES:
        raise ValueError(f"a {kind} of {message.metadata.size} bytes")
    metadata: bytes = message.metadata.to_pybytes()
    return metadata


@lru_cache(100)
def _schema_in(metadata: bytes) -> pa.Schema:
    """The schema that the metadata of a message encode. All trials have the same few schemas.

    Raises `ValueError` for a column that holds neither numbers, truth values nor texts.
    """
    import pyarrow as pa

    message = _PREFIX.pack(_MARK, len(metadata)) + metadata
    schema = pa.ipc.read_schema(pa.py_buffer(message))
    for kind in schema.types:
        if not (pa.types.is_primitive(kind) or pa.types.is_string(kind)):
            raise ValueError(f"a column of {kind}")
    return schema


def _refuse_absurd(message: pa.ipc.Message, batch: _Batch) -> None:
    """Raises `ValueError` if a batch states more rows or memory than a trial can need."""
    size = sum(_unpacked(message.body, batch) if batch.is_packed else batch.sizes)
    if size > MOST_BYTES or not 0 <= batch.rows <= 8 * size:
        raise ValueError(f"{batch.rows} rows in {size} bytes")


@lru_cache(128)
def _stated(metadata: bytes) -> _Batch:
    """The numbers of a batch. Many small tables of different trials state the same numbers.

    Raises `ValueError` for a malformed message.
    """
    try:
        message = _Table(metadata)
        if message.short(_VERSION) != _V5:
            raise ValueError("a batch of another version of Arrow's format")
        batch = message.table(_HEADER)
        starts, sizes = batch.pairs(_BUFFERS)
        rows, is_packed = batch.number(_ROWS), batch.offset(_PACKED) is not None
    except struct.error as error:
        raise _cut_short(error) from None
    if min((*starts, *sizes), default=0) < 0:
        raise _negative()
    return _Batch(rows, starts, sizes, is_packed)


def _unpacked(body: pa.Buffer, batch: _Batch) -> Iterator[int]:
    """Yields the decompressed size of each buffer of a compressed batch."""
    view = memoryview(body)
    for start, size in zip(batch.starts, batch.sizes, strict=True):
        try:
            unpacked = struct.unpack_from("<q", view, start)[0] if size else -1
        except struct.error as error:
            raise _cut_short(error) from None
        if unpacked < -1:
            raise _negative()
        yield size if unpacked == -1 else unpacked  # -1 marks a buffer that is not compressed


def _cut_short(error: struct.error) -> ValueError:
    return ValueError(f"a message that ends too soon: {error}")


def _negative() -> ValueError:
    return ValueError("a buffer of negative size")


class _Table:
    """A FlatBuffers table, which lists the positions of its fields by number."""

    def __init__(self, data: bytes, place: int | None = None) -> None:
        self._data = data
        self._place = self._get("I", 0) if place is None else place

    def offset(self, field: int) -> int | None:
        """The position of field number `field`; `None` if the field is absent."""
        fields = self._place - self._get("i", self._place)
        at = 4 + 2 * field
        found = self._get("H", fields + at) if at < self._get("H", fields) else 0
        return self._place + found if found else None

    def number(self, field: int) -> int:
        """The 64-bit integer in a field; 0 if the field is absent."""
        at = self.offset(field)
        return 0 if at is None else self._get("q", at)

    def short(self, field: int) -> int:
        """The 16-bit integer in a field; 0 if the field is absent."""
        at = self.offset(field)
        return 0 if at is None else self._get("h", at)

    def table(self, field: int) -> _Table:
        """The table to which a field refers; raises `ValueError` if the field is absent."""
        return _Table(self._data, self._followed(field))

    def pairs(self, field: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The list of pairs of 64-bit integers to which a field refers, as two lists.

        Raises `ValueError` if the field is absent or the list is too long for the message.
        """
        at = self._followed(field)
        count = self._get("I", at)
        if 16 * count > len(self._data):
            raise ValueError("a list beyond the message")
        numbers = struct.unpack_from(f"<{2 * count}q", self._data, at + 4)
        return numbers[::2], numbers[1::2]

    def _followed(self, field: int) -> int:
        at = self.offset(field)
        if at is None:
            raise ValueError("a field is missing")
        return at + self._get("I", at)

    def _get(self, kind: str, at: int) -> int:
        if at < 0:
            raise ValueError("a position before the message")
        return int(struct.unpack_from("<" + kind, self._data, at)[0])
