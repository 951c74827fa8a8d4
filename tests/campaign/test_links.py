"""Links in place of a campaign's own folders, which would lead writes and removals outside."""

import shutil

import pyarrow as pa
import pytest
from aqmlab.base.failures import RequestError
from aqmlab.base.files import unfinished, write_atomically
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.store.parquet import table_file
from aqmlab.cli import status_of
from aqmlab.results.results import load
from support.campaigns import as_if_running, bytes_of, campaign_of, grid


def a_campaign():
    return campaign_of(grid(queues=("pie",), seeds=(1,)))


@pytest.fixture
def folder(tmp_path):
    campaigns.run(a_campaign(), tmp_path / "out", jobs=1)
    return tmp_path / "out"


def outside(folder, name):
    """Replaces a folder of the campaign by a link; returns where it leads."""
    place = folder.parent / "outside"
    if (folder / name).is_dir():
        shutil.move(folder / name, place)
    else:
        place.mkdir()
    for victim in (".mine.1.tmp", "chunk=0007.json", "throughput.svg"):
        (place / victim).write_text("mine")
    (folder / name).symlink_to(place)
    return place


@pytest.mark.parametrize("name", ["tables", "trials", "figures"])
def test_a_link_in_place_of_a_folder_is_refused_and_nothing_outside_changes(folder, name, capsys):
    before = bytes_of(outside(folder, name))
    problem = f"{folder / name}: is a link, and not one of the campaign's folders"
    for reader in ("show", "report", "verify"):
        assert status_of([reader, str(folder)]) == 2
        assert problem in capsys.readouterr().err
    assert status_of(["query", str(folder), "SELECT count(*) FROM flows"]) == 2
    assert problem in capsys.readouterr().err
    with pytest.raises(RequestError, match="is a link"):
        campaigns.run(a_campaign(), folder, jobs=1)
    assert bytes_of(folder.parent / "outside") == before


@pytest.mark.parametrize("name", ["tables", "trials", "figures", "tables/flows"])
def test_an_unfinished_campaign_is_not_resumed_through_a_link(folder, name):
    as_if_running(folder)
    before = bytes_of(outside(folder, name))
    with pytest.raises(RequestError, match="is a link"):
        campaigns.run(a_campaign(), folder, jobs=1)
    assert bytes_of(folder.parent / "outside") == before


def test_a_campaign_does_not_begin_in_a_folder_with_a_link(tmp_path):
    (tmp_path / "out").mkdir()
    before = bytes_of(outside(tmp_path / "out", "trials"))
    with pytest.raises(RequestError, match="is a link"):
        campaigns.run(a_campaign(), tmp_path / "out", jobs=1)
    assert bytes_of(tmp_path / "outside") == before


@pytest.mark.parametrize("place", ["absent", "present"])
def test_a_link_in_place_of_the_lock_is_refused_and_nothing_outside_changes(tmp_path, place):
    (tmp_path / "out" / "trials").mkdir(parents=True)
    victim = tmp_path / "victim"
    if place == "present":
        victim.write_text("mine")
    (tmp_path / "out" / "trials" / "lock").symlink_to(victim)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RequestError, match="lock: is a link, and not one of the campaign's files"):
        campaigns.run(a_campaign(), tmp_path / "out", jobs=1)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("place", ["absent", "present"])
def test_a_link_in_place_of_the_exports_is_refused_and_nothing_outside_changes(
    folder, place, capsys
):
    victim = folder.parent / "outside"
    if place == "present":
        victim.mkdir()
    (folder / "export").symlink_to(victim)
    assert status_of(["export", str(folder), "--csv"]) == 2
    problem = f"{folder / 'export'}: is a link, and not one of the campaign's folders"
    assert problem in capsys.readouterr().err
    assert victim.exists() == (place == "present")
    assert place == "absent" or not list(victim.iterdir())


def test_a_partial_file_is_not_written_through_a_link(folder, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for path in (folder / "new", folder / "tables/flows/chunk=0009/rows.parquet"):
        path.parent.mkdir(exist_ok=True)
        unfinished(path).symlink_to(victim)
    write_atomically(folder / "new", b"new")
    with table_file(folder / "tables/flows/chunk=0009/rows.parquet", pa.schema([])):
        pass
    assert (folder / "new").read_bytes() == b"new"
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["tables/flows", "tables/flows/chunk=0000"])
def test_a_link_in_place_of_a_table_is_refused(folder, name):
    shutil.move(folder / name, folder.parent / "outside")
    (folder / name).symlink_to(folder.parent / "outside")
    with pytest.raises(RequestError, match="is a link"):
        load(folder).table("flows")


def test_a_link_to_the_whole_folder_is_the_folder(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert campaigns.run(a_campaign(), tmp_path / "link", jobs=1).run == 0
    assert status_of(["verify", str(tmp_path / "link")]) == 0
