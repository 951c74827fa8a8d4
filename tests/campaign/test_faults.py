"""A campaign fails at a change of its folder, and the same command continues it.

Each run takes a second or two, so `make test` draws a few changes and `make soak` tests all of
them.
"""

import errno
import random
import shutil
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

import pytest

from tests.support.faults import Campaigns, Server, bytes_of, library, recorded

KINDS = ("rename", "fsync", "unlink", "rmdir", "mkdir")
"""Calls after which a crash may leave a different folder than before the call."""

TAKES_SPACE = ("rename", "fsync", "write", "open", "mkdir")


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Servers that run campaigns, one for each of two threads."""
    made = library(tmp_path_factory.mktemp("library"))
    found = [Server(made), Server(made)]
    yield found
    for server in found:
        server.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory, servers):
    """A run without a fault: the bytes of its folder, and each call that changed the folder."""
    place = tmp_path_factory.mktemp("whole")
    ended = Campaigns(place, servers[0]).run(place / "out")
    assert ended.status == 0, ended.said
    return bytes_of(place / "out"), ended.calls


def numbers_of(calls, kinds):
    return [int(call.split()[0]) for call in calls if call.split()[1] in kinds]


def goes_on(campaigns, whole, folder):
    """Checks that another run gives the bytes of `whole` and repeats no recorded trial."""
    before = recorded(folder)
    again = campaigns.run(folder)
    assert again.status == 0, again.said
    assert bytes_of(folder) == whole[0]
    assert not {f"trial-{int(run.removeprefix('pie-')) - 1}" for run in again.ran} & before


def crash(campaigns, whole, at):
    folder = campaigns.place / "out"
    killed = campaigns.run(folder, at=at)
    assert killed.status == -9, f"call {at}: {killed.said}"
    goes_on(campaigns, whole, folder)


def refuse(campaigns, whole, at, code):
    folder = campaigns.place / "out"
    refused = campaigns.run(folder, at=at, code=code)
    # Some of the last calls may fail unnoticed, because they only sync names or remove files.
    assert refused.status == 2 or bytes_of(folder) == whole[0], f"call {at}: {refused.said}"
    if refused.status == 2:
        assert str(folder) in refused.said and "Traceback" not in refused.said
    assert not [*folder.rglob(".*.tmp")]
    goes_on(campaigns, whole, folder)


@pytest.fixture
def each(tmp_path, servers):
    """A function that checks many calls, one at a time on each server, each in its own folder."""
    free = Queue()
    for server in servers:
        free.put(server)

    def check_all(points, check):
        def one(point):
            place = tmp_path / "-".join(map(str, point))
            place.mkdir()
            server = free.get()
            try:
                check(Campaigns(place, server), *point)
            finally:
                free.put(server)
            shutil.rmtree(place)

        with ThreadPoolExecutor(len(servers)) as pool:
            list(pool.map(one, points))

    return check_all


def test_a_crash_anywhere_costs_no_byte_and_no_trial(whole, each):
    points = random.Random(1).sample(numbers_of(whole[1], KINDS), 6)
    each([(at,) for at in points], lambda campaigns, at: crash(campaigns, whole, at))


def test_a_full_disk_is_named_and_the_campaign_goes_on(whole, each):
    points = random.Random(2).sample(numbers_of(whole[1], TAKES_SPACE), 4)
    codes = [errno.ENOSPC, errno.EIO] * 2
    each(
        zip(points, codes, strict=True),
        lambda campaigns, at, code: refuse(campaigns, whole, at, code),
    )


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_a_crash_at_every_call_costs_no_byte_and_no_trial(whole, each, kind):
    points = [(at,) for at in numbers_of(whole[1], (kind,))]
    each(points, lambda campaigns, at: crash(campaigns, whole, at))


@pytest.mark.soak
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_error_at_every_call_is_named_and_the_campaign_goes_on(whole, each, code):
    points = [(at,) for at in numbers_of(whole[1], TAKES_SPACE)]
    each(points, lambda campaigns, at: refuse(campaigns, whole, at, code))


@pytest.mark.soak
def test_a_hundred_kills_at_random_times_cost_no_byte_and_no_trial(whole, each):
    chance = random.Random(3)

    def kill(campaigns, after_s):
        folder = campaigns.place / "out"
        campaigns.kill(folder, after_s)
        goes_on(campaigns, whole, folder)

    each([(chance.uniform(0.4, 1.6),) for _ in range(100)], kill)


@pytest.mark.soak
def test_a_small_file_system_is_named_when_it_is_full(tmp_path, whole, each):
    """The sizes of the file systems range from too small for a manifest to sufficient."""
    pages = sum(-(-len(data) // 4096) for data in whole[0].values())
    needed_kb = 4 * 2 * pages  # trial files remain until the tables are written
    mounted = ["unshare", "--mount", "--map-root-user"]
    if subprocess.run([*mounted, "mount", "-t", "tmpfs", "none", tmp_path]).returncode:
        pytest.skip("the test mounts a file system, and this user may not")
    found = Counter()

    def fill(campaigns, size_kb):
        place = campaigns.place
        disk, kept = place / "disk", place / "kept"
        disk.mkdir()
        first, second = campaigns.command(disk / "out"), campaigns.command(disk / "out")
        script = (
            f"mount -t tmpfs -o size={size_kb}k none {disk}; {first} 2> {place}/said; "
            f"echo $? > {place}/status; find {disk} -name '.*.tmp' > {place}/left; "
            f"mount -o remount,size=64m {disk}; {second} && cp -r {disk}/out {kept}"
        )
        subprocess.run(
            [*mounted, "sh", "-c", script], env=campaigns.environment(), check=True, timeout=120
        )
        status = int((place / "status").read_text())
        said = (place / "said").read_text()
        found[status] += 1
        assert status in (0, 2), said
        assert status == 0 or ("the disk is full" in said and str(disk) in said)
        assert not (place / "left").read_text()
        assert bytes_of(kept) == whole[0]

    each([(size,) for size in range(4, 2 * needed_kb, 16)], fill)
    assert found[0] and found[2]
