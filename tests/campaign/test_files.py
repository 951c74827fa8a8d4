"""Atomic writes, and the table files of a campaign."""

from pathlib import Path

import pytest
from aqmlab.base import files
from aqmlab.base.failures import DiskError
from aqmlab.base.files import write_atomically
from aqmlab.campaign.store.folder import Folder
from aqmlab.campaign.store.layout import damaged
from aqmlab.campaign.store.table_files import TableFiles


def test_a_failed_write_leaves_the_file_unchanged(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    monkeypatch.setattr(files.os, "fsync", _fail)
    with pytest.raises(DiskError):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_a_failed_sync_of_the_folder_is_an_error_and_leaves_the_new_file(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    monkeypatch.setattr(files, "sync_folder", _fail)
    with pytest.raises(DiskError):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]


def _fail(_):
    raise OSError(5, "Input/output error")


def test_the_name_of_a_campaigns_folder_does_not_decide_which_files_remain():
    listed = ["catalogue.sql", "tables/flows/chunk=0000/rows.parquet"]
    for name in ("chunk=0000", "home"):
        made = TableFiles(Folder(Path(name)), dict.fromkeys(listed, ("",)), all_listed=True)
        kept = made.without(["chunk=0000"])
        assert list(kept._files) == ["catalogue.sql"], name


@pytest.mark.parametrize("name", ["home", "trials", "chunk=0000"])
def test_the_name_of_a_campaigns_folder_does_not_decide_the_remedy(name):
    folder = Path(name)
    hints = [
        damaged(folder, folder / file, "it is missing").hint
        for file in ("manifest.json", "trials/0.arrow", "tables/flows/chunk=0000/rows.parquet")
    ]
    assert ["remove the folder" in hint for hint in hints] == [True, False, False]
    assert ["that file" in hint for hint in hints] == [False, True, False]
    assert ["of that part" in hint for hint in hints] == [False, False, True]
