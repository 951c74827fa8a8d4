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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 2**30
"""The maximum memory of a table in bytes. Time series of ten thousand applications need 75 %."""

_HEADER = 2  # the field of a Message that holds its content
_ROWS, _BUFFERS, _PACKED = 0, 2, 3  # fields of a RecordBatch: length, buffers, compression


def read(data: bytes) -> pa.Table:
    """The table of a stream; raises `ValueError` if aqmlab cannot have written the stream."""
    import pyarrow as pa

    # For small tables, threads cost more time than they save.
    options = pa.ipc.IpcReadOptions(use_threads=False)
    with pa.ipc.open_stream(data, options=options) as reader:
        _refuse_nested(reader.schema)
        _refuse_absurd(data)
        table = reader.read_all()
    table.validate(full=True)
    return table


def _refuse_nested(schema: pa.Schema) -> None:
    """Raises `ValueError` for a column that holds neither numbers, truth values nor texts."""
    import pyarrow as pa

    for kind in schema.types:
        if not (pa.types.is_primitive(kind) or pa.types.is_string(kind)):
            raise ValueError(f"a column of {kind}")


def _refuse_absurd(data: bytes) -> None:
    import pyarrow as pa

    left = MOST_BYTES
    for message in pa.ipc.MessageReader.open_stream(data):
        if message.type == "schema":
            continue
        if message.type != "record batch":
            raise ValueError(f"a {message.type}")
        rows, size = _measured(message)
        left -= size
        if left < 0 or not 0 <= rows <= 8 * size:
            raise ValueError(f"{rows} rows in {size} bytes")


def _measured(message: pa.ipc.Message) -> tuple[int, int]:
    """The number of rows and the decompressed size in bytes that a batch states.

    Raises `ValueError` for a malformed message.
    """
    try:
        batch = _Table(message.metadata.to_pybytes()).table(_HEADER)
        starts, sizes = batch.pairs(_BUFFERS)
        if batch.offset(_PACKED) is not None:
            sizes = tuple(_unpacked(message.body, starts, sizes))
        if min(*starts, *sizes, 0) < 0:
            raise ValueError("a buffer of negative size")
        return batch.number(_ROWS), sum(sizes)
    except struct.error as error:
        raise ValueError(f"a message that ends too soon: {error}") from None


def _unpacked(body: pa.Buffer, starts: Sequence[int], sizes: Sequence[int]) -> Iterator[int]:
    """Yields the decompressed size of each buffer of a compressed batch."""
    view = memoryview(body)
    for start, size in zip(starts, sizes, strict=True):
        unpacked = struct.unpack_from("<q", view, start)[0] if start >= 0 and size > 0 else -1
        yield size if unpacked == -1 else unpacked  # -1 marks a buffer that is not compressed


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
