"""Archives have the kernel's format, and equal contents give equal bytes."""

from __future__ import annotations

import stat

from aqmlab.engines.kernel import cpio


def members(data: bytes) -> dict[str, tuple[int, bytes]]:
    """Modes and contents by name, read as the format specifies."""
    found, at = {}, 0
    while True:
        fields = [int(data[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        assert data[at : at + 6] == b"070701"
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = data[at + 110 : at + 110 + name_size - 1].decode()
        at += (110 + name_size + 3) // 4 * 4
        if name == "TRAILER!!!":
            return found
        found[name] = (mode, data[at : at + size])
        at += (size + 3) // 4 * 4


def test_an_archive_holds_what_was_put_in_and_the_folders_before_it() -> None:
    entries = {
        "init": cpio.file(b"program", executable=True),
        "a/b/c.txt": cpio.file(b"x" * 5),
        "dev/console": cpio.device(5, 1),
    }
    found = members(cpio.archive(entries))
    assert list(found) == ["a", "a/b", "a/b/c.txt", "dev", "dev/console", "init"]
    assert stat.S_ISDIR(found["a/b"][0])
    assert stat.S_ISCHR(found["dev/console"][0])
    assert found["a/b/c.txt"][1] == b"xxxxx"
    assert found["init"][0] & 0o111


def test_the_order_of_entries_does_not_matter() -> None:
    one = {"a": cpio.file(b"1"), "b": cpio.file(b"2")}
    other = dict(reversed(one.items()))
    assert cpio.archive(one) == cpio.archive(other)
