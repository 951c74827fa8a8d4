"""Checks the sizes in Arrow streams of a trial's tables before the streams are decompressed.

A folder may come from an untrusted source. A few bytes of a stream can request any amount of
memory: buffers state their decompressed size, and batches state their number of rows. This
module first reads these sizes and numbers from the messages of the stream (`Message.fbs`, encoded
as FlatBuffers). It refuses streams that are larger than a trial can need. It then validates the
decompressed data.
"""

from __future__ import annotations

import struct
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

    _refuse_absurd(data)
    # For small tables, threads cost more time than they save.
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
    """The number of rows and the decompressed size in bytes that a batch states.

    Raises `ValueError` for a malformed message.
    """
    body = memoryview(message.body)
    try:
        batch = _Table(message.metadata.to_pybytes()).table(_HEADER)
        packed = batch.offset(_PACKED) is not None
        size = 0
        for start, length in batch.pairs(_BUFFERS):
            unpacked = struct.unpack_from("<q", body, start)[0] if packed and length > 0 else -1
            if min(start, length) < 0 or unpacked < -1:
                raise ValueError("a buffer of negative size")
            size += length if unpacked == -1 else unpacked
        return batch.number(_ROWS), size
    except struct.error as error:
        raise ValueError(f"a message that ends too soon: {error}") from None


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

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """The list of pairs of 64-bit integers to which a field refers.

        Raises `ValueError` if the field is absent or the list is too long for the message.
        """
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
            raise ValueError("a position before the message")
        return int(struct.unpack_from("<" + kind, self._data, at)[0])
