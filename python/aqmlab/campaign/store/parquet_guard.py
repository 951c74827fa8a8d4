"""Checks, before the rows of Parquet files are read, the sizes that the files state.

A folder may come from an untrusted source, and a checksum shows only that nobody changed a file
since it was recorded. A few bytes can state any number of rows, and compressed pages can expand
without limit. This module reads the footers, within the limits that Arrow offers, and those texts
whose memory the footers leave open. It refuses files with a form that aqmlab does not write, and
tables that grow in memory far beyond their files.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from aqmlab.base.files import open_regular
from aqmlab.campaign.store.table_form import fault_of_file

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MOST_FOOTER_BYTES = 2**22
"""The largest footer that is read, in bytes. That of a hundred trials has a few kilobytes."""

MOST_COLUMNS = 1000
"""The maximum number of columns of a file. The table `flows` has about fifty."""

FREE_BYTES = 2**29
"""The memory, in bytes, that a table may always take, whatever its size on the disk."""

MOST_GROWTH = 1000
"""The maximum bytes of memory for each byte on the disk, for tables beyond `FREE_BYTES`.

Tables of idle queues grow by a factor of 200.
"""

_END = struct.Struct("<I4s")
_THRIFT_STRING_BYTES = MOST_FOOTER_BYTES
_THRIFT_ITEMS = 10**5
_PRE_BUFFER = False
"""Disables Arrow's read-ahead, which uses threads.

Such a thread aborts the process if it still holds the Python file object when the interpreter ends.
"""
_TEXT_BYTES = 16
"""The memory of a text in a column in bytes, without its characters."""


class FileSize(NamedTuple):
    """The number of rows of a Parquet file, and its sizes on the disk and in memory."""

    rows: int
    disk_bytes: int
    memory_bytes: int
    """The memory of all columns, computed from the footer and, if necessary, from long texts."""


def size_of(path: Path, table: str | None = None) -> FileSize:
    """The sizes of the file at `path`.

    Raises `ValueError` if the file cannot be read, or if aqmlab cannot have written it. If the name
    of its `table` is given, the file must also have this table's columns.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open_regular(path) as file:
            disk_bytes = _refuse_footer(file.fileno())
            plain = pq.ParquetFile(
                file,
                pre_buffer=_PRE_BUFFER,
                thrift_string_size_limit=_THRIFT_STRING_BYTES,
                thrift_container_size_limit=_THRIFT_ITEMS,
            )
            _refuse_columns(plain)
            if table is not None and (problem := fault_of_file(table, plain)) is not None:
                raise ValueError(problem)
            texts = [field.name for field in plain.schema_arrow if _is_text(field)]
            found = pq.ParquetFile(
                file, metadata=plain.metadata, read_dictionary=texts, pre_buffer=_PRE_BUFFER
            )
            return FileSize(found.metadata.num_rows, disk_bytes, _memory_bytes(found, disk_bytes))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"its footer cannot be read: {str(error).splitlines()[0]}") from None


def growth(sizes: Iterable[FileSize]) -> str | None:
    """The reason why a table with files of these `sizes` is too large for memory, or `None`."""
    sizes = tuple(sizes)
    disk_bytes = sum(one.disk_bytes for one in sizes)
    memory_bytes = sum(one.memory_bytes for one in sizes)
    if memory_bytes <= max(FREE_BYTES, MOST_GROWTH * disk_bytes):
        return None
    return f"{disk_bytes} bytes would take {memory_bytes} bytes of memory"


def _refuse_footer(descriptor: int) -> int:
    """The size of a file in bytes; raises `ValueError` if its footer is too large to be read."""
    size = os.fstat(descriptor).st_size
    end = os.pread(descriptor, _END.size, max(0, size - _END.size))
    footer_bytes, _ = _END.unpack(end.rjust(_END.size, b"\0"))
    if footer_bytes > MOST_FOOTER_BYTES:
        raise ValueError(f"its footer has {footer_bytes} bytes; the limit is {MOST_FOOTER_BYTES}")
    return size


def _refuse_columns(file: pq.ParquetFile) -> None:
    """Raises `ValueError` for too many columns, and for a type of column that is never written."""
    import pyarrow as pa

    if file.metadata.num_columns > MOST_COLUMNS:
        raise ValueError(f"it has {file.metadata.num_columns} columns")
    for field in file.schema_arrow:
        # polars writes texts with 64-bit positions.
        if not (pa.types.is_primitive(field.type) or _is_string(field.type)):
            raise ValueError(f"the column `{field.name}` is of type {field.type}"[:200])


def _memory_bytes(file: pq.ParquetFile, disk_bytes: int) -> int:
    """The memory of all rows in bytes; raises `ValueError` for sizes that contradict each other."""
    metadata = file.metadata
    fields = list(file.schema_arrow)
    rows = stored_bytes = unpacked_bytes = 0
    repeated_bytes = dict.fromkeys((field.name for field in fields if _is_text(field)), 0)
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        rows += group.num_rows
        for at, field in enumerate(fields):
            column = group.column(at)
            unpacked, stored = column.total_uncompressed_size, column.total_compressed_size
            if column.num_values != group.num_rows or min(unpacked, stored, group.num_rows) < 0:
                raise ValueError("the sizes in its footer contradict each other")
            unpacked_bytes += unpacked
            stored_bytes += stored
            if field.name in repeated_bytes:
                repeated_bytes[field.name] += group.num_rows * unpacked
    if rows != metadata.num_rows or stored_bytes > disk_bytes:
        raise ValueError("the sizes in its footer contradict each other")
    memory_bytes = rows * sum(map(_width, fields)) + unpacked_bytes
    # A dictionary holds a text once for all rows. Only the content of the dictionary shows the
    # lengths of the texts.
    suspects = [name for name, most in repeated_bytes.items() if most > FREE_BYTES]
    if memory_bytes <= max(FREE_BYTES, MOST_GROWTH * disk_bytes) and suspects:
        memory_bytes += _text_bytes(file, suspects)
    return memory_bytes


def _text_bytes(file: pq.ParquetFile, columns: list[str]) -> int:
    """The number of bytes of the texts in all rows of these columns, read as dictionaries."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = 0
    for batch in file.iter_batches(columns=columns, use_threads=False):
        for column in batch.columns:
            assert isinstance(column, pa.DictionaryArray)
            lengths = pc.binary_length(column.dictionary)
            found += pc.sum(lengths.cast(pa.int64()).take(column.indices)).as_py() or 0
    return found


def _is_text(field: pa.Field) -> bool:
    """Returns whether a column holds texts, which this module reads as dictionaries."""
    import pyarrow as pa

    is_dictionary = pa.types.is_dictionary(field.type)
    return _is_string(field.type.value_type if is_dictionary else field.type)


def _is_string(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _width(field: pa.Field) -> int:
    """The memory of a value in bytes, without the characters of a text."""
    return _TEXT_BYTES if _is_text(field) else -(-int(field.type.bit_width) // 8)
