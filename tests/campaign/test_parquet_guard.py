"""Table files from untrusted sources, with correct checksums.

The author of a folder can also compute its checksums. Each reader refuses a hostile file with a
message, within limits of memory and time.
"""

import io
import json
import os
import shutil
import struct
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from aqmlab.base.checksums import checksum_of
from aqmlab.base.failures import DamagedError
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.store import dataset, parquet_guard
from aqmlab.results.results import load
from support.campaigns import campaign_of, complete, grid, rewrite_manifest

MEMORY_BYTES = 2**30
SECONDS = 10


def a_campaign():
    return campaign_of(grid(queues=("pie",), seeds=(1, 2, 3, 4)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a complete campaign, which tests copy."""
    return complete(tmp_path_factory.mktemp("guard"), a_campaign())


@pytest.fixture
def folder(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "out")
    return tmp_path / "out"


# Hostile files. Each function replaces a table file.


def written(path, table, **options):
    """Writes a table `times` times, each time as one row group."""
    times = options.pop("times", 1)
    with pq.ParquetWriter(path, table.schema, compression="zstd", **options) as writer:
        for _ in range(times):
            writer.write_table(table, row_group_size=table.num_rows)


def columns_of(path):
    """The first row of a file, whose columns the hostile file copies."""
    return pq.read_table(path, partitioning=None).slice(0, 1)


def repeated(table, rows):
    return table.take(pa.array(np.zeros(rows, np.int64)))


def many_constant_rows(path):
    own = columns_of(path)
    rows = pa.table({own.column_names[-1]: np.zeros(10**6)})
    written(path, rows, times=100, write_statistics=False)


def pages_of_a_gigabyte(path):
    own = columns_of(path)
    page = 2**23
    written(
        path, pa.table({own.column_names[-1]: np.zeros(page)}), times=16, use_dictionary=False,
        data_page_size=2**30, max_rows_per_page=page, write_statistics=False,
    )  # fmt: skip


def a_long_text_in_a_dictionary(path):
    text = pa.DictionaryArray.from_arrays(np.zeros(2**17, np.int32), ["x" * 2**20])
    rows = repeated(columns_of(path), 2**17).set_column(0, "trial", text)
    written(path, rows, write_statistics=False, store_schema=False)


def a_footer_of_megabytes(path):
    own = columns_of(path)
    written(path, own.replace_schema_metadata({"x": "x" * 2**26}))


def a_footer_as_large_as_its_file(path):
    data = path.read_bytes()
    with path.open("wb") as file:  # The file is sparse.
        file.write(data[:-8])
        file.seek(2**28)
        file.write(struct.pack("<I4s", 2**28 - 2**20, b"PAR1"))


def many_columns(path):
    own = columns_of(path)
    written(path, pa.table({f"c{n}": own.column(0) for n in range(5000)}), write_statistics=False)


def deep_nesting(path):
    own = columns_of(path)
    kind, value = pa.int64(), 1
    for _ in range(90):
        kind, value = pa.list_(kind), [value]
    written(path, own.append_column("deep", pa.array([value], kind)))


def a_list(path):
    written(path, columns_of(path).append_column("list", pa.array([[1.0] * 10])))


HOSTILE = (
    many_constant_rows, pages_of_a_gigabyte, a_long_text_in_a_dictionary,
    a_footer_of_megabytes, a_footer_as_large_as_its_file, many_columns, deep_nesting, a_list,
)  # fmt: skip


def seal(folder, *names):
    """Records the present checksums of files, as the author of the folder could."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    files = manifest["files"] | {name: list(checksum_of(folder / name)) for name in names}
    rewrite_manifest(folder, files=files)


def spoil(folder, make, table="flows"):
    path = folder / "tables" / table / "chunk=0000" / "rows.parquet"
    make(path)
    seal(folder, str(path.relative_to(folder)))
    return path


MEASURED = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
used_s = used.ru_utime + used.ru_stime
print(json.dumps([done.returncode, done.stderr, used.ru_maxrss * 1024, used_s]))
"""
"""Runs a command from a small process, because a fork's peak memory begins at its parent's."""


def bounded(*arguments):
    """The status and the messages of a command that must stay within the limits."""
    command = [sys.executable, "-m", "aqmlab", *map(str, arguments)]
    told = subprocess.run(
        [sys.executable, "-c", MEASURED, *command], capture_output=True, text=True, check=True,
        env={**os.environ, "COLUMNS": "400"},
    ).stdout  # fmt: skip
    status, said, memory_bytes, used_s = json.loads(told)
    assert memory_bytes < MEMORY_BYTES and used_s < SECONDS, f"{memory_bytes} bytes, {used_s} s"
    return status, said


READERS = (
    ("show", "DIR"), ("query", "DIR", "SELECT count(*), max(flow) FROM flows"),
    ("report", "DIR"), ("export", "DIR", "--csv", "--out", "OUT"), ("verify", "DIR"),
)  # fmt: skip


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_every_reader_refuses_a_hostile_file_within_bounds(folder, tmp_path, make):
    path = spoil(folder, make)
    for reader in READERS:
        places = {"DIR": str(folder), "OUT": str(tmp_path / "csv")}
        status, said = bounded(*(places.get(word, word) for word in reader))
        assert status == 2, f"{reader} {said}"
        assert said.startswith("error: ") and "is damaged" in said, said
        assert str(path) in said or str(path.parents[1]) in said, said
        assert "mistake in aqmlab" not in said, said


@pytest.mark.parametrize("make", [many_constant_rows, deep_nesting], ids=lambda one: one.__name__)
def test_a_run_refuses_a_hostile_file_of_a_complete_and_of_a_stopped_campaign(folder, make):
    path = spoil(folder, make, "trials")
    with pytest.raises(DamagedError, match="is damaged") as caught:
        campaigns.run(a_campaign(), folder, jobs=1)
    assert str(path) in caught.value.problem


def test_a_hundred_files_together_are_refused_though_each_alone_is_not(folder, monkeypatch):
    monkeypatch.setattr(dataset, "CHUNK", 1)
    path = folder / "tables" / "flows" / "chunk=0000" / "rows.parquet"
    written(path, repeated(columns_of(path), 10**5))
    names = [f"tables/flows/chunk={n:04d}/rows.parquet" for n in range(100)]
    for name in names[1:]:
        (folder / name).parent.mkdir()
        shutil.copy(path, folder / name)
    seal(folder, names[0])
    assert load(folder).in_files().files("trials")
    seal(folder, *names)
    size = parquet_guard.size_of(path)
    assert parquet_guard.growth([size]) is None and parquet_guard.growth([size] * 100)
    for reader in (("show", folder), ("query", folder, "FROM flows"), ("verify", folder)):
        status, said = bounded(*reader)
        assert status == 2 and "bytes would take" in said and "of memory" in said, said


def test_what_a_campaign_writes_is_far_from_every_limit(whole):
    for path in whole.rglob("*.parquet"):
        size = parquet_guard.size_of(path)
        assert size.rows == pq.read_metadata(path).num_rows
        assert size.memory_bytes < 200 * size.disk_bytes


@pytest.mark.parametrize("text", [pa.string(), pa.large_string()])
def test_the_stated_memory_is_that_of_the_rows(tmp_path, text):
    words = pa.array(["xy"] * 1000, text)
    table = pa.table({"a": np.arange(1000.0), "b": np.arange(1000), "c": words})
    pq.write_table(table, tmp_path / "rows.parquet", use_dictionary=False)
    found = parquet_guard.size_of(tmp_path / "rows.parquet")
    assert found.rows == 1000
    assert 1000 * (8 + 8 + 16 + 2) <= found.memory_bytes < 80_000


class Observed(io.FileIO):
    """A file that records the threads that read it."""

    def __init__(self, path):
        super().__init__(path)
        self.threads = set()

    def readinto(self, buffer):
        self.threads.add(threading.get_ident())
        return super().readinto(buffer)

    def read(self, size=-1):
        self.threads.add(threading.get_ident())
        return super().read(size)


def test_only_the_calling_thread_reads_a_file(tmp_path, monkeypatch):
    # If an Arrow thread holds a Python file while the interpreter ends, the process aborts.
    path = tmp_path / "rows.parquet"
    text = pa.DictionaryArray.from_arrays(np.zeros(2**12, np.int32), ["x" * 2**20])
    written(path, pa.table({"trial": text}), write_statistics=False, store_schema=False)
    opened = []

    def open_observed(path):
        opened.append(Observed(path))
        return opened[-1]

    monkeypatch.setattr(parquet_guard, "open_regular", open_observed)
    assert parquet_guard.size_of(path).memory_bytes > 2**32
    assert opened[0].threads == {threading.get_ident()}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/task lists threads on Linux only")
@pytest.mark.parametrize("source", ["path", "path.read_bytes()"])
def test_a_table_is_read_without_threads(tmp_path, source):
    path = tmp_path / "rows.parquet"
    written(path, pa.table({"trial": ["a"] * 4, "digest": ["b"] * 4, "spec": ["c" * 3000] * 4}))
    script = f"""
import os, pathlib, pyarrow.parquet
from aqmlab.campaign.store.parquet import read_table
path = pathlib.Path({str(path)!r})
before = os.listdir("/proc/self/task")
assert read_table({source}, ["spec", "trial"]).column_names == ["spec", "trial"]
assert os.listdir("/proc/self/task") == before
"""
    subprocess.run([sys.executable, "-c", script], check=True)
