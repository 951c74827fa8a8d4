"""Arrow streams of a trial's tables, measured before they are unpacked.

A folder may come from anybody. In a stream a few bytes can ask for any amount of memory: each
buffer says how large it is unpacked, and each batch how many rows it has. So both are read first,
from the message as Arrow's format describes it (`Message.fbs` in the tables of FlatBuffers), and no
more is unpacked than a trial can need. What is unpacked then is held against its own lengths.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 2**30
"""The most memory of a table: ten thousand applications over time take three quarters of it."""

_HEADER = 2  # of a Message: what it is about
_ROWS, _BUFFERS, _PACKED = 0, 2, 3  # of a RecordBatch: length, buffers, compression


def read(data: bytes) -> pa.Table:
    """The table of a stream; raises `ValueError` for one that no writer of ours has left."""
    import pyarrow as pa

    _refuse_absurd(data)
    # For tables this small, handing work to other threads takes longer than the work.
    options = pa.ipc.IpcReadOptions(use_threads=False)
    with pa.ipc.open_stream(data, options=options) as reader:
        table = reader.read_all()
    table.validate(full=True)
    return table


def _refuse_absurd(data: bytes) -> None:
    import pyarrow as pa

    with pa.ipc.open_stream(data) as reader:
        for field in reader.schema:
            if not (pa.types.is_primitive(field.type) or pa.types.is_string(field.type)):
                raise ValueError(f"a column of {field.type}")
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
    """How many rows a batch says that it has, and how many bytes it has unpacked."""
    body = memoryview(message.body)
    try:
        batch = _Table(message.metadata.to_pybytes()).table(_HEADER)
        packed = batch.offset(_PACKED) is not None
        size = 0
        for start, length in batch.pairs(_BUFFERS):
            unpacked = struct.unpack_from("<q", body, start)[0] if packed and length > 0 else -1
            if min(start, length) < 0 or unpacked < -1:
                raise ValueError("a buffer of less than nothing")
            size += length if unpacked == -1 else unpacked
        return batch.number(_ROWS), size
    except struct.error as error:
        raise ValueError(f"a message that ends too soon: {error}") from None


class _Table:
    """A table of FlatBuffers: its fields, by number, lie where its own list says."""

    def __init__(self, data: bytes, place: int | None = None) -> None:
        self._data = data
        self._place = self._get("I", 0) if place is None else place

    def offset(self, field: int) -> int | None:
        """Where a field is, if it is there."""
        fields = self._place - self._get("i", self._place)
        at = 4 + 2 * field
        found = self._get("H", fields + at) if at < self._get("H", fields) else 0
        return self._place + found if found else None

    def number(self, field: int) -> int:
        """A whole number."""
        at = self.offset(field)
        return 0 if at is None else self._get("q", at)

    def table(self, field: int) -> _Table:
        """A table within."""
        return _Table(self._data, self._followed(field))

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """A list of pairs of whole numbers."""
        at = self._followed(field)
        count = self._get("I", at)
        if 16 * count > len(self._data):
            raise ValueError("a list beyond the message")
        return [struct.unpack_from("<qq", self._data, at + 4 + 16 * one) for one in range(count)]

    def _followed(self, field: int) -> int:
        at = self.offset(field)
        if at is None:
            raise ValueError("a field is missing")
        return at + self._get("I", at)

    def _get(self, kind: str, at: int) -> int:
        if at < 0:
            raise ValueError("a place before the message")
        return int(struct.unpack_from("<" + kind, self._data, at)[0])
