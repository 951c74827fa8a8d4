"""Damage to a stored file never makes a reader return a different result.

The tests combine every reader, every fault and every file. `make test` draws a sample of the
combinations. `make soak` tests all of them, and flips a thousand bits for each reader.
"""

import contextlib
import errno
import io
import os
import random
import shutil
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from aqmlab.base.failures import DamagedError, LabError
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.store import dataset
from aqmlab.cli import status_of
from aqmlab.results.results import load
from support.campaigns import HOME, bytes_of, campaign_of, spec_of

FEW = (HOME[0], HOME[3])


def the_campaign():
    specs = [
        ({"queue": "pie", "rtt": seed}, spec_of("pie", apps=FEW, seed=seed)) for seed in range(1, 5)
    ]
    return campaign_of(specs)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A complete campaign of two chunks."""
    home = tmp_path_factory.mktemp("damage")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset, "CHUNK", 2)
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "support"))
        patch.setenv("FAKE_LOG", str(home / "log"))
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        campaigns.run(the_campaign(), home / "whole", jobs=1)
    return home / "whole"


@pytest.fixture(autouse=True)
def two_trials_a_chunk(monkeypatch):
    monkeypatch.setattr(dataset, "CHUNK", 2)


# Readers. Each returns its data, or raises `LabError` if it refuses the campaign.


def from_python(folder):
    results = load(folder)
    return {
        name: results.table(name).rows() for name in [*results.tables, "verdicts"]
    }, results.digest


def from_show(folder):
    return said(["show", str(folder), "--json"]), said(["show", str(folder), "--all"])


def from_report(folder):
    said(["report", str(folder), "--out", str(folder.parent / "page" / "report.html")])
    return (folder.parent / "page" / "report.html").read_bytes()


def from_query(folder):
    tables = ("flows", "windows", "apps", "trials", "summary")
    rows = (f"SELECT '{name}', CAST({name} AS VARCHAR) FROM {name}" for name in tables)
    return said(["query", str(folder), " UNION ALL ".join(rows), "--format", "csv"])


def from_export(folder):
    out = folder.parent / "export"
    said(["export", str(folder), "--csv", "--force", "--out", str(out)])
    return bytes_of(out)


def from_run(folder):
    assert campaigns.run(the_campaign(), folder, jobs=1).run == 0
    return load(folder).digest, bytes_of(folder)


def from_polars(folder):
    results = load(folder)
    return [
        pl.read_parquet(path, hive_partitioning=False).rows()
        for name in results.tables
        for path in results.files(name)
    ]


def from_verify(folder):
    return said(["verify", str(folder)]).splitlines()[-1]


READERS = {
    read.__name__.removeprefix("from_"): read
    for read in (
        from_python, from_show, from_report, from_query, from_export, from_run, from_polars,
        from_verify,
    )
}  # fmt: skip
SLOW = ("report", "query")
"""Readers that take seconds on an undamaged campaign."""


def said(arguments):
    """The output of a command; raises `LabError` on any status but 0."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("COLUMNS", "200")  # fixes the width of output
        status = status_of(arguments)
    if status:
        assert status in (1, 2) and err.getvalue().startswith("error: "), err.getvalue()
        assert "mistake in aqmlab" not in err.getvalue(), err.getvalue()
        raise LabError(err.getvalue())
    return out.getvalue().replace(str(Path(arguments[1]).parent), "")


# Faults. Each damages a file. `other` is another file of its kind, and `chance` is a random source.


def flip(path, other, chance):
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def truncate(path, other, chance):
    data = path.read_bytes()
    path.write_bytes(data[: chance.randrange(len(data))])


def extend(path, other, chance):
    path.write_bytes(path.read_bytes() + chance.randbytes(chance.randrange(1, 100)))


def swap(path, other, chance):
    data = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(data)


def duplicate(path, other, chance):
    other.write_bytes(path.read_bytes())


def delete(path, other, chance):
    path.unlink()


def add(path, other, chance):
    beside = path.parent.parent / "chunk=0007" / path.name
    beside.parent.mkdir(exist_ok=True)
    shutil.copy(path, beside)


def add_link(path, other, chance):
    """Adds a link to a copy of the file's folder, as one more chunk of a table."""
    outside = path.parents[3] / "outside"
    shutil.rmtree(outside, ignore_errors=True)
    shutil.copytree(path.parent, outside / path.parent.name)
    where = path.parents[1] if "tables" in path.parts else path.parent / "tables" / "flows"
    (where / "chunk=0007").symlink_to(outside / path.parent.name)


def hide(path, other, chance):
    """Adds a hidden file, which some readers of a folder would read as a part of a table."""
    where = path if "tables" in path.parts else path.parent / "tables" / "flows" / "x"
    shutil.copy(path, where.with_name(".r.parquet"))


def rewrite(path, other, chance):
    """Writes other bytes of the same size in place, and keeps the modification time."""
    times = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def move(path, other, chance):
    """Renames a file to the name of another file, which is lost."""
    path.replace(other)


def link(path, other, chance):
    """Replaces a file by a link to another file of its kind."""
    path.unlink()
    path.symlink_to(other)


def link_to_itself(path, other, chance):
    path.unlink()
    path.symlink_to(path.name)


def make_folder(path, other, chance):
    path.unlink()
    path.mkdir()


FAULTS = (
    flip, truncate, extend, swap, duplicate, delete, add,
    add_link, hide, rewrite, move, link, link_to_itself, make_folder,
)  # fmt: skip


def files_of(folder):
    """The files of a campaign, each with another file of its kind."""
    tables = sorted(folder.glob("tables/*/*/rows.parquet"))
    others = [path for path in sorted(folder.iterdir()) if path.is_file()]
    pairs = [(one, tables[(at + 1) % len(tables)]) for at, one in enumerate(tables)]
    return pairs + [(one, others[(at + 1) % len(others)]) for at, one in enumerate(others)]


def served(read, folder):
    """The data that a reader returns; `None` if it refuses."""
    try:
        return read(folder)
    except LabError:
        return None


def copy_of(whole, place):
    folder = place / "copy" / "whole"
    shutil.rmtree(folder.parent, ignore_errors=True)
    shutil.rmtree(place / "outside", ignore_errors=True)
    shutil.copytree(whole, folder)
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder of every copy. One folder for all copies gives all outputs the same width."""
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def right(whole, place):
    """The data that each reader returns from an undamaged campaign."""
    return {name: served(read, copy_of(whole, place)) for name, read in READERS.items()}


def test_every_reader_serves_what_is_whole(right):
    assert None not in right.values()


def spoil(whole, right, place, fault, pairs, readers):
    """Checks the readers with a fault in the first file of each of `pairs`; counts refusals."""
    chance = random.Random(fault.__name__)
    refused = Counter()
    for path, other in pairs:
        for name in readers:
            folder = copy_of(whole, place)
            fault(folder / path.relative_to(whole), folder / other.relative_to(whole), chance)
            if fault is not link_to_itself and bytes_of(folder) == bytes_of(whole):
                continue
            found = served(READERS[name], folder)
            assert found in (None, right[name]), f"{name}: {fault.__name__} {path.name}"
            refused[name] += found is None
    return refused


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_no_reader_serves_another_result(whole, right, place, fault):
    pairs = files_of(whole)
    some = random.Random(fault.__name__).sample(pairs, 3)
    readers = [name for name in READERS if name not in SLOW]
    refused = spoil(whole, right, place, fault, some, readers)
    assert refused["run"] and refused["verify"] and refused["export"]  # they read all files
    of_flows = [pair for pair in pairs if "flows" in pair[0].parts][:1]
    assert all(spoil(whole, right, place, fault, of_flows, SLOW).values())


@pytest.mark.parametrize("code", (errno.ESTALE, errno.EIO, errno.EACCES), ids=errno.errorcode.get)
@pytest.mark.parametrize("reader", [name for name in READERS if name not in SLOW])
def test_a_file_that_cannot_be_read_now_is_not_called_damaged(
    whole, place, monkeypatch, reader, code
):
    """Examples of causes are a network file system that lost the file, and a failing disk."""
    folder = copy_of(whole, place)
    victims = [folder / "manifest.json", *sorted(folder.glob("tables/flows/*/*"))]
    real = os.open
    for victim in victims:

        def refused(path, flags, *more, victim=victim, **named):
            if Path(path) == victim:
                raise OSError(code, os.strerror(code), str(path))
            return real(path, flags, *more, **named)

        with monkeypatch.context() as patch, pytest.raises(LabError) as caught:
            patch.setattr(os, "open", refused)
            READERS[reader](folder)
        text = str(caught.value)
        assert f"{victim}: cannot be read: {os.strerror(code).lower()}" in text
        assert "is damaged" not in text and "remove" not in text


@pytest.mark.soak
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_no_reader_serves_another_result_whatever_the_file(whole, right, place, fault):
    spoil(whole, right, place, fault, files_of(whole), READERS)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize("reader", READERS)
def test_no_flipped_bit_is_served(whole, right, place, reader, part, record_property):
    """A thousand flips, in five parts, cover all files."""
    chance = random.Random(f"{reader} {part}")
    files = [path.relative_to(whole) for path, _ in files_of(whole)]
    folder = copy_of(whole, place)
    tally = Counter()
    for number in range(200 * part, 200 * (part + 1)):
        path = folder / files[number % len(files)]
        before = path.read_bytes()
        flip(path, None, chance)
        found = served(READERS[reader], folder)
        assert found in (None, right[reader]), f"flip {number} in {path}"
        tally[(path.name, "refused" if found is None else "not read")] += 1
        path.write_bytes(before)
    for (name, how), count in sorted(tally.items()):
        record_property(f"{reader} {name} {how}", count)
        print(f"{reader:8} {name:15} {how:9} {count}")


OF_UNFINISHED = (
    flip, truncate, extend, swap, duplicate, delete, rewrite, move, link, link_to_itself,
    make_folder,
)  # fmt: skip


SEALED = (flip, delete, rewrite)
"""The faults that `make test` applies to a campaign whose chunks are all sealed."""


@pytest.mark.parametrize(
    ("fault", "sealed"),
    [
        pytest.param(
            fault,
            sealed,
            id=f"{fault.__name__}-{sealed}",
            marks=[pytest.mark.soak] if sealed == 2 and fault not in SEALED else [],
        )
        for fault in OF_UNFINISHED
        for sealed in (1, 2)
    ],
)
def test_an_unfinished_campaign_ends_with_the_same_bytes_or_says_what_is_damaged(
    whole, tmp_path, fault, sealed, monkeypatch
):
    chance = random.Random(fault.__name__)
    template = tmp_path / "template"
    made = the_campaign()
    with monkeypatch.context() as patch:
        # The trial files remain beside the sealed chunks, and the campaign is never completed.
        patch.setattr(dataset.Dataset, "complete", lambda self: (_ for _ in ()).throw(SystemExit))
        patch.setattr("aqmlab.campaign.store.folder.Folder.remove_parts", lambda *_: None)
        with pytest.raises(SystemExit):
            campaigns.run(made, template, jobs=1)
    for path in [*template.glob("trials/*.trial")] if sealed == 2 else []:
        path.unlink()
    if sealed == 1:
        (template / "trials" / "chunk=0001.json").unlink()
    files = sorted(path for path in template.rglob("*") if path.is_file())
    pairs = [path for path in files if path.suffix != ".parquet"]
    pairs += chance.sample([path for path in files if path.suffix == ".parquet"], 2)
    right = load(whole)
    parts = [path for path in pairs if path.suffix == ".trial"]
    tried = [path for path in pairs if path not in parts[2:]]
    for at, path in enumerate(tried):
        folder = tmp_path / "again"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(template, folder)
        spoiled = folder / path.relative_to(template)
        same = [one for one in pairs if one.suffix == path.suffix and one != path]
        other = folder / (same or pairs)[at % len(same or pairs)].relative_to(template)
        fault(spoiled, other, chance)
        with contextlib.suppress(LabError):
            flows = load(folder).table("flows")
            names = flows["trial"].unique().to_list()
            assert flows.equals(right.flows.filter(pl.col("trial").is_in(names)), null_equal=True)
        try:
            campaigns.run(the_campaign(), folder, jobs=1)
        except LabError as error:
            assert str(folder) in error.problem
        else:
            assert bytes_of(folder) == bytes_of(whole), f"{fault.__name__} {path}"


def make_pipe(path, other, chance):
    """Replaces a file by a named pipe, which an ordinary read would wait for without end."""
    path.unlink()
    os.mkfifo(path)


def unlike_chunks():
    """A campaign of two chunks. Only the second has the column `extra` in the table `summary`.

    At the end, the file of the first chunk is therefore rewritten.
    """
    specs = (spec_of("pie", apps=FEW, seed=seed) for seed in (1, 2))
    more = (spec_of("pie", apps=FEW, seed=seed, extra="yes") for seed in (3, 4))
    return campaign_of([({"rtt": spec.seed}, spec) for spec in (*specs, *more)])


@pytest.mark.parametrize("fault", [flip, truncate, extend, delete, make_folder, make_pipe])
@pytest.mark.parametrize("table", ["flows", "summary"])
def test_a_sealed_table_damaged_while_its_campaign_runs_is_named(
    tmp_path, monkeypatch, fault, table
):
    folder = tmp_path / "out"
    path = folder / "tables" / table / "chunk=0000" / "rows.parquet"
    seal = dataset.Dataset._seal

    def sealed(self, chunk):
        is_new = chunk not in self._records
        seal(self, chunk)
        if is_new and chunk == 0:
            fault(path, None, random.Random(1))

    with monkeypatch.context() as patch, pytest.raises(DamagedError) as caught:
        patch.setattr(dataset.Dataset, "_seal", sealed)
        campaigns.run(unlike_chunks(), folder, jobs=1)
    assert caught.value.status == 2
    assert f"{path}: is damaged: " in caught.value.problem
    assert f"remove {folder / 'tables'}/*/chunk=0000 and run" in caught.value.hint
    for one in folder.glob("tables/*/chunk=0000"):
        shutil.rmtree(one)
    assert campaigns.run(unlike_chunks(), folder, jobs=1).run == 2
    campaigns.run(unlike_chunks(), tmp_path / "undamaged", jobs=1)
    assert bytes_of(folder) == bytes_of(tmp_path / "undamaged")


def test_a_file_that_changes_before_its_rewrite_gets_no_valid_checksum(tmp_path, monkeypatch):
    path = tmp_path / "out" / "tables" / "summary" / "chunk=0000" / "rows.parquet"
    rewrite_table = dataset._rewrite

    def spoiled(file, *more):
        shutil.copy(file.parents[1] / "chunk=0001" / file.name, file)
        rewrite_table(file, *more)

    monkeypatch.setattr(dataset, "_rewrite", spoiled)
    with pytest.raises(DamagedError) as caught:
        campaigns.run(unlike_chunks(), tmp_path / "out", jobs=1)
    assert f"{path}: is damaged: it has " in caught.value.problem


@pytest.mark.parametrize("fault", [make_folder, make_pipe])
@pytest.mark.parametrize("name", ["00001.trial", "chunk=0000.json"])
def test_what_is_in_place_of_a_trial_file_is_named_before_the_trials_run(
    whole, tmp_path, monkeypatch, fault, name
):
    folder = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(dataset.Dataset, "complete", lambda self: (_ for _ in ()).throw(SystemExit))
        patch.setattr("aqmlab.campaign.store.folder.Folder.remove_parts", lambda *_: None)
        with pytest.raises(SystemExit):
            campaigns.run(the_campaign(), folder, jobs=1)
    if name == "00001.trial":  # otherwise the record alone states that its trials are finished
        (folder / "trials" / "chunk=0000.json").unlink()
    path = folder / "trials" / name
    fault(path, None, None)
    for _ in range(2):
        with pytest.raises(DamagedError) as caught:
            campaigns.run(the_campaign(), folder, jobs=1)
        assert f"{path}: is damaged: " in caught.value.problem
        assert caught.value.hint.startswith("remove it, and run the campaign's command again")
    path.rmdir() if path.is_dir() else path.unlink()
    campaigns.run(the_campaign(), folder, jobs=1)
    assert bytes_of(folder) == bytes_of(whole)
