"""Trial files from untrusted sources: excessive demands for memory are refused."""

import hashlib
import io
import json
import struct
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from aqmlab._core import Table
from aqmlab.campaign.store import arrow_guard, trial_file
from aqmlab.campaign.store.trial_file import (
    TrialFile,
    TrialIdentity,
    encode,
    joined,
    spec_digest,
)
from support.campaigns import is_whole

OUTCOME = {
    "tables": {
        "words": {
            "word": ["x", "y"],
            "value": np.array([1.5, np.nan]),
            "flag": np.array([True, False]),
        }
    },
    "digest": "0",
    "events": 1,
    "packets": 1,
}


TYPES = {
    "word": pa.string(), "value": pa.float64(), "whole": pa.float64(), "flag": pa.bool_(),
    "count": pa.int64(),
}  # fmt: skip
OURS = TrialIdentity("home", "trial-0", "sim", spec_digest("{}"))
HEAD = {
    "trial": "trial-0", "engine": "sim", "campaign": "home", "spec": "{}", "digest": "0",
    "events": 1, "packets": 1, "form": "",
}  # fmt: skip


def is_ours(path):
    return is_whole(path, OURS)


def stream(table, **options):
    """The bytes of a table as an Arrow stream, compressed with LZ4 by default."""
    options.setdefault("compression", "lz4")
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def with_table(path, data):
    """Writes a trial file with a correct form and checksums, and a table of bytes `data`.

    Returns its path.
    """
    form = hashlib.sha256(b"others\n" + data[: 8 + int.from_bytes(data[4:8], "little")]).hexdigest()
    path.write_bytes(joined(HEAD | {"form": form[:16]}, {"others": data}))
    return path


def patched(data, old, new):
    """A stream in which the 64-bit number `old` is replaced by `new` wherever it occurs."""
    assert data.count(struct.pack("<q", old)) >= 1
    return data.replace(struct.pack("<q", old), struct.pack("<q", new))


def packed_in_secret(size):
    """A stream of an earlier version of the format, whose buffer states `size` unpacked bytes.

    Only the metadata beside the batch say that the buffer is compressed.
    """
    packed = struct.pack("<q", size) + pa.compress(bytes(1000), "lz4", asbytes=True)
    buffers = [None, pa.py_buffer(packed)]
    batch = pa.record_batch([pa.Array.from_buffers(pa.int8(), len(packed), buffers)], names=["a"])
    options = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V4)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch, custom_metadata={"ARROW:experimental_compression": "lz4"})
    return sink.getvalue()


THOUSAND = pa.table({"a": [float(n) for n in range(1009)]})
WORDS = pa.table({"w": ["abc"] * 1009})

HOSTILE = {
    "a buffer of a terabyte": patched(stream(THOUSAND), 8 * 1009, 2**40),
    "a buffer of negative size": patched(stream(THOUSAND), 8 * 1009, -(2**40)),
    "rows without end": patched(stream(THOUSAND), 1009, 2**60),
    "rows of nothing": patched(stream(pa.table({"a": pa.nulls(1009)})), 1009, 2**60),
    "a dictionary": stream(pa.table({"a": pa.array(["x"]).dictionary_encode()})),
    "lists": stream(pa.table({"a": [[1.0]]})),
    "texts that end beyond": stream(pa.table({"w": ["abc", "def"]}), compression=None).replace(
        struct.pack("<3i", 0, 3, 6), struct.pack("<3i", 0, 2**30, 6)
    ),
    "half of it": stream(WORDS)[:-100],
    "two schemas": WORDS.schema.serialize().to_pybytes() + stream(WORDS),
    "no schema": stream(WORDS).removeprefix(WORDS.schema.serialize().to_pybytes()),
    "two batches": stream(pa.concat_tables([WORDS, WORDS])),
    "a terabyte in an earlier form": packed_in_secret(2**40),
    "a name of a megabyte": stream(pa.table({"w" * 2**20: ["abc"]})),
    "nothing": b"",
}


def test_a_sound_stream_makes_a_trial(tmp_path):
    assert is_ours(with_table(tmp_path / "00000.trial", stream(WORDS)))


def test_a_stream_of_an_earlier_form_makes_no_trial(tmp_path):
    earlier = stream(WORDS, use_legacy_format=True)
    assert not is_ours(with_table(tmp_path / "00000.trial", earlier))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_stream_that_asks_for_too_much_makes_no_trial(tmp_path, name):
    path = with_table(tmp_path / "00000.trial", HOSTILE[name])
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    assert not is_ours(path)
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()
    assert pa.total_allocated_bytes() - before < 10**7
    with TrialFile(path) as part, pytest.raises((ValueError, OSError)):
        part.table("others")


def test_what_unpacks_to_more_than_a_trial_needs_is_refused_unpacked(monkeypatch):
    data = stream(pa.table({"a": [0.0] * 100_000}))
    assert len(data) < 10_000
    assert arrow_guard.read(data).num_rows == 100_000
    monkeypatch.setattr(arrow_guard, "MOST_BYTES", 700_000)
    monkeypatch.setattr(pa.ipc, "open_stream", lambda *_, **__: pytest.fail("it was unpacked"))
    with pytest.raises(ValueError, match="100000 rows in 8"):
        arrow_guard.read(data)


def test_a_file_of_another_size_than_its_head_says_is_no_trial(tmp_path):
    path = tmp_path / "00000.trial"
    whole = encode(OUTCOME, "{}", OURS)
    long = whole[:8] + struct.pack("<Q", 2**62) + whole[16:]
    for data in (b"", whole[:12], whole[:-1], whole + b"x", b"x" + whole, long):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="is no file of a trial"):
            TrialFile(path)
        assert not is_ours(path)


def test_a_head_is_read_only_if_the_file_is_not_too_large(tmp_path, monkeypatch):
    path = tmp_path / "00000.trial"
    path.write_bytes(encode(OUTCOME, "{}", OURS))
    monkeypatch.setattr(trial_file, "MOST_BYTES", path.stat().st_size)
    assert is_ours(path)
    monkeypatch.setattr(trial_file, "MOST_BYTES", path.stat().st_size - 1)
    monkeypatch.setattr(trial_file, "is_intact", lambda _: pytest.fail("it was read"))
    assert not is_ours(path)


def test_tables_keep_their_types_without_rows(tmp_path):
    path = tmp_path / "00000.trial"
    some = {"word": ["x"], "value": np.array([1.5]), "flag": np.array([True]),
            "count": np.array([7], np.uint64)}  # fmt: skip
    none = {name: values[:0] for name, values in some.items()}
    path.write_bytes(encode({**OUTCOME, "tables": {"some": some, "none": none}}, "{}", OURS))
    assert is_ours(path)
    with TrialFile(path) as part:
        assert part.table("some").to_pylist() == [
            {"word": "x", "value": 1.5, "flag": True, "count": 7}
        ]
        assert part.table("none").num_rows == 0
        assert part.table("none").schema.equals(part.table("some").schema)


def columns_of(rows):
    """Columns of each type, with values that an encoder could confuse."""
    numbers = np.arange(float(rows)) % 7
    for place, odd in enumerate((np.nan, np.inf, -np.inf, -0.0)):
        numbers[place::9] = odd
    return {
        "word": [("", "ü", "word")[row % 3] for row in range(rows)],
        "value": numbers,
        "whole": np.ones(rows),
        "flag": np.arange(rows) % 2 == 0,
        "count": np.arange(rows, dtype=np.uint64) * 2**33 + 2**31,
    }


@pytest.mark.parametrize("rows", [0, 1, 20, 3000])
def test_a_stream_holds_the_columns(rows):
    columns = columns_of(rows)
    data = Table(columns).arrow_stream()
    made = pa.table(columns | {"value": pa.array(columns["value"], from_pandas=True)})
    expected = made.cast(pa.schema(list(TYPES.items())))
    for read in (pa.ipc.open_stream(data).read_all(), arrow_guard.read(data)):
        assert read.equals(expected)
        np.testing.assert_array_equal(
            np.signbit(read["value"].to_numpy()), np.signbit(expected["value"].to_numpy())
        )
    if 5 * rows < 2**13:
        theirs = stream(expected.combine_chunks(), compression=None)
        assert len(data) <= len(theirs) + 16


@pytest.mark.parametrize(("rows", "is_packed"), [(8191, False), (8192, True)])
def test_a_large_table_is_compressed(rows, is_packed):
    assert (len(Table({"value": np.zeros(rows)}).arrow_stream()) < 8 * rows) == is_packed


def test_a_stream_begins_with_its_schema():
    stream_of, end = (lambda rows: Table(columns_of(rows)).arrow_stream()), b"\xff" * 4 + bytes(4)
    assert stream_of(0) == arrow_guard.schema_message(stream_of(20)) + end


def form_of(tables):
    """The form of a trial file with these tables."""
    return encoded_head({**OUTCOME, "tables": tables})["form"]


def encoded_head(outcome):
    """The head of a trial file."""
    whole = encode(outcome, "{}", OURS)
    return json.loads(whole[16 : 16 + struct.unpack_from("<Q", whole, 8)[0]])


def test_the_form_depends_on_the_names_and_types_of_columns_alone():
    form = form_of({"words": columns_of(3)})
    assert form == form_of({"words": columns_of(0)})
    others = [
        {"queues": columns_of(3)},
        {"words": columns_of(3), "queues": {}},
        {"words": columns_of(3) | {"value": ["x"] * 3}},
        {"words": columns_of(3) | {"other": ["x"] * 3}},
        {"words": dict(reversed(columns_of(3).items()))},
    ]
    assert len({form, *map(form_of, others)}) == 6


def test_a_file_whose_form_is_not_that_of_its_tables_is_no_trial(tmp_path):
    path, data = tmp_path / "00000.trial", Table(columns_of(3)).arrow_stream()
    path.write_bytes(joined(HEAD | {"form": form_of({"others": columns_of(3)})}, {"others": data}))
    assert is_ours(path)
    path.write_bytes(joined(HEAD | {"form": form_of({"others": columns_of(3)})}, {"words": data}))
    assert not is_ours(path)


def test_a_copy_in_memory_outlasts_its_file(tmp_path):
    path = tmp_path / "00000.trial"
    path.write_bytes(encode(OUTCOME, "{}", OURS))
    with TrialFile(path) as part:
        table, copied = part.table("words"), part.in_memory()
    path.unlink()
    assert copied.table("words").equals(table)


def test_a_copy_in_memory_has_the_size_that_was_checked(tmp_path):
    path = tmp_path / "00000.trial"
    path.write_bytes(encode(OUTCOME, "{}", OURS))
    with TrialFile(path) as part:
        size = path.stat().st_size
        with path.open("ab") as file:
            file.write(b"x" * 10_000)
        assert part.in_memory()._file.getbuffer().nbytes == size


def test_a_copy_in_memory_of_a_damaged_table_is_refused(tmp_path):
    path = tmp_path / "00000.trial"
    data = bytearray(encode(OUTCOME, "{}", OURS))
    data[-20] ^= 1
    path.write_bytes(data)
    with TrialFile(path) as part:
        copied = part.in_memory()
    with pytest.raises(ValueError, match="is not as it was written"):
        copied.table("words")


def test_what_we_write_is_read(tmp_path):
    path = tmp_path / "00000.trial"
    path.write_bytes(encode(OUTCOME, "{}", OURS))
    assert is_ours(path)
    with TrialFile(path) as part:
        assert part.table("words").to_pylist() == [
            {"word": "x", "value": 1.5, "flag": True},
            {"word": "y", "value": None, "flag": False},
        ]
    with TrialFile(with_table(path, stream(WORDS))) as part:
        assert part.table("others").equals(WORDS)
    for table in (THOUSAND, WORDS, THOUSAND.slice(0, 0)):
        assert arrow_guard.read(stream(table)).equals(table)
        assert arrow_guard.read(stream(table, compression=None)).equals(table)


def test_a_batch_without_columns_is_an_empty_table():
    schema = pa.schema([])
    batch = pa.RecordBatch.from_pylist([], schema)
    data = schema.serialize().to_pybytes() + batch.serialize().to_pybytes()
    assert arrow_guard.read(data).num_columns == 0


def test_streams_of_equal_columns_keep_their_own_rows():
    for words in (["abc", "def"], ["ghi", "jkl"], ["m", "n"], [None, "o"]):
        table = pa.table({"w": words})
        assert arrow_guard.read(stream(table, compression=None)).equals(table)
