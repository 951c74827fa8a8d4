"""A campaign meets a fault at each change of its folder; the same command always continues.

Each run takes a second or two, so `make test` draws a few points and `make soak` takes them all.
"""

import errno
import random
import shutil
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.faults import Campaigns, bytes_of, recorded

KINDS = ("rename", "fsync", "unlink", "rmdir", "mkdir")
"""Calls at which a crash may leave another folder than a crash before."""

TAKES_SPACE = ("rename", "fsync", "write", "open", "mkdir")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run without a fault: the folder's bytes, and each call that changed it."""
    place = tmp_path_factory.mktemp("whole")
    ended = Campaigns(place).run(place / "out")
    assert ended.status == 0, ended.said
    return bytes_of(place / "out"), ended.calls


def numbers_of(calls, kinds):
    return [int(call.split()[0]) for call in calls if call.split()[1] in kinds]


def goes_on(campaigns, whole, folder):
    """Runs the campaign again: it ends with the same bytes and runs nothing that was recorded."""
    before = recorded(folder)
    again = campaigns.run(folder)
    assert again.status == 0, again.said
    assert bytes_of(folder) == whole[0]
    assert not {f"trial-{int(run.removeprefix('pie-')) - 1}" for run in again.ran} & before


def crash(place, whole, at):
    campaigns = Campaigns(place)
    killed = campaigns.run(place / "out", at=at)
    assert killed.status == -9, f"call {at}: {killed.said}"
    goes_on(campaigns, whole, place / "out")


def refuse(place, whole, at, code):
    campaigns = Campaigns(place)
    folder = place / "out"
    refused = campaigns.run(folder, at=at, code=code)
    # Of the last calls, which only make names durable or tidy up, some may fail unseen.
    assert refused.status == 2 or bytes_of(folder) == whole[0], f"call {at}: {refused.said}"
    if refused.status == 2:
        assert str(folder) in refused.said and "Traceback" not in refused.said
    assert not [*folder.rglob(".*.tmp")]
    goes_on(campaigns, whole, folder)


def each(points, check, tmp_path):
    """Checks many points, two at a time, each in a folder of its own."""

    def one(point):
        place = tmp_path / "-".join(map(str, point))
        place.mkdir()
        check(place, *point)
        shutil.rmtree(place)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, points))


def test_a_crash_anywhere_costs_no_byte_and_no_trial(tmp_path, whole):
    points = random.Random(1).sample(numbers_of(whole[1], KINDS), 6)
    each([(at,) for at in points], lambda place, at: crash(place, whole, at), tmp_path)


def test_a_full_disk_is_named_and_the_campaign_goes_on(tmp_path, whole):
    points = random.Random(2).sample(numbers_of(whole[1], TAKES_SPACE), 4)
    codes = [errno.ENOSPC, errno.EIO] * 2
    each(
        zip(points, codes, strict=True),
        lambda place, at, code: refuse(place, whole, at, code),
        tmp_path,
    )


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_a_crash_at_every_call_costs_no_byte_and_no_trial(tmp_path, whole, kind):
    points = [(at,) for at in numbers_of(whole[1], (kind,))]
    each(points, lambda place, at: crash(place, whole, at), tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_error_at_every_call_is_named_and_the_campaign_goes_on(tmp_path, whole, code):
    points = [(at,) for at in numbers_of(whole[1], TAKES_SPACE)]
    each(points, lambda place, at: refuse(place, whole, at, code), tmp_path)


@pytest.mark.soak
def test_a_hundred_kills_at_random_times_cost_no_byte_and_no_trial(tmp_path, whole):
    chance = random.Random(3)

    def kill(place, after_s):
        campaigns = Campaigns(place)
        campaigns.kill(place / "out", after_s)
        goes_on(campaigns, whole, place / "out")

    each([(chance.uniform(0.4, 1.6),) for _ in range(100)], kill, tmp_path)


@pytest.mark.soak
def test_a_small_file_system_is_named_when_it_is_full(tmp_path, whole):
    """The sizes range from too small for a manifest to sufficient."""
    pages = sum(-(-len(data) // 4096) for data in whole[0].values())
    needed_kb = 4 * 2 * pages  # trials' own files lie beside the tables until these are written
    mounted = ["unshare", "--mount", "--map-root-user"]
    if subprocess.run([*mounted, "mount", "-t", "tmpfs", "none", tmp_path]).returncode:
        pytest.skip("this user may mount no file system")
    found = Counter()

    def fill(place, size_kb):
        disk, kept = place / "disk", place / "kept"
        disk.mkdir()
        campaigns = Campaigns(place)
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

    each([(size,) for size in range(4, 2 * needed_kb, 16)], fill, tmp_path)
    assert found[0] and found[2]
