"""A damaged or malicious manifest is refused with the reason."""

import json
import os
import random
import shutil
from dataclasses import replace

import pytest
from aqmlab.base.checksums import with_checksum
from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.manifest import digest_of, read
from aqmlab.campaign.store.trial_file import TrialIdentity, encode, spec_digest
from aqmlab.cli import status_of
from aqmlab.results.results import load
from support.campaigns import is_whole, rewrite_manifest, write_members

GONE = object()
OURS = TrialIdentity("home", "trial-0", "sim", spec_digest("{}"))


@pytest.fixture
def damaged(home_results, tmp_path):
    """A function that copies a campaign, and sets a member of the copy's manifest to `value`."""

    def make(*keys, value):
        folder = tmp_path / "damaged"
        shutil.copytree(home_results.path, folder)
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        place = manifest
        for key in keys[:-1]:
            place = place[key]
        if value is GONE:
            del place[keys[-1]]
        else:
            place[keys[-1]] = value
        write_members(folder, manifest)
        return folder

    return make


FIRST = ("trials", 0)

EDITS = [
    (("trials",), 5, "`trials`: expected `array`, not `5`"),
    (("trials",), [1], "`trials.0`: expected `object`, not `1`"),
    (("trials",), [], "`trials`: expected `array` of length >= 1, not `[]`"),
    (("apps",), {}, "`apps`: the application `"),
    (("digest",), "0" * 16, "`digest`: it is `0000000000000000`, and "),
    (
        (*FIRST, "links", "up", "queue"),
        "x" * 256,
        "`trials.0.links.up.queue`: expected `str` of length <= 255, not",
    ),
    (
        (*FIRST, "conditions", "queue"),
        "x" * 10_001,
        "`trials.0.conditions.queue`: expected `str` of length <= 10000, not",
    ),
    (FIRST, GONE, "`digests`: 11 are expected, one for each trial"),
    ((*FIRST, "conditions"), GONE, "`trials.0.conditions` is missing"),
    ((*FIRST, "conditions"), [1], "`trials.0.conditions`: expected `object`, not `[1]`"),
    (
        (*FIRST, "conditions", "queue"),
        None,
        "`trials.0.conditions.queue`: expected `bool | int | float | str | object | array`, not",
    ),
    (
        (*FIRST, "conditions", "queue"),
        float("inf"),
        "`trials.0.conditions.queue`: expected a finite number, not `inf`",
    ),
    ((*FIRST, "seed"), "x", "`trials.0.seed`: expected `int`, not `x`"),
    ((*FIRST, "seed"), True, "`trials.0.seed`: expected `int`, not `true`"),
    ((*FIRST, "seed"), 10**30, "`trials.0.seed`: expected `int` <= 9223372036854775807, not `10"),
    ((*FIRST, "links"), {"sideways": {}}, "`trials.0.links.sideways`: expected `down` or `up`"),
    ((*FIRST, "links", "up"), {"mbit": 1}, "`trials.0.links.up.queue` is missing"),
    ((*FIRST, "rtt_base_ms", "call"), None, "`trials.0.rtt_base_ms.call`: expected `float`, not"),
    (
        (*FIRST, "rtt_base_ms", "call"),
        float("nan"),
        "`trials.0.rtt_base_ms.call`: expected a finite number, not `nan`",
    ),
    ((*FIRST, "id"), "../../../trial", "`trials.0.id`: expected `str` matching regex"),
    ((*FIRST, "id"), "/tmp/trial", "`trials.0.id`: expected `str` matching regex"),
    ((*FIRST, "id"), "trial-0\n", "`trials.0.id`: expected `str` matching regex"),
    ((*FIRST, "id"), "x" * 10_000, "`trials.0.id`: expected `str` of length <= 255"),
    ((*FIRST, "id"), "..", "`trials`: `..` is not a valid name of a trial"),
    ((*FIRST, "id"), "trial-1", "`trials`: 12 trials have 11 names"),
    ((*FIRST, "spec"), "x", "`trials.0.spec`: expected `str` matching regex"),
    (("digests", 3), 7, "`digests.3`: expected `str | null`, not `7`"),
    (("files",), [1], "`files`: expected `object | null`, not `[1]`"),
    (("files",), {"../flows": [1, "0" * 64]}, "`files.../flows`: expected `str` matching regex"),
    (("files",), {"/tmp/flows": [1, "0" * 64]}, "`files./tmp/flows`: expected `str` matching"),
    (("files",), {"catalogue.sql": [-1, "0" * 64]}, "`files.catalogue.sql.0`: expected `int` >= 0"),
    (("files",), {"catalogue.sql": [1, "0"]}, "`files.catalogue.sql.1`: expected `str` matching"),
    (("files",), {"catalogue.sql": [1]}, "`files.catalogue.sql`: expected `array` of length 2"),
    (("versions",), ["1"], "`versions`: expected `object`, not `['1']`"),
    (("complete",), 1, "`complete`: expected `bool`, not `1`"),
    (("title",), GONE, "`title` is missing"),
]


@pytest.mark.parametrize(("keys", "value", "problem"), EDITS)
def test_what_is_wrong_is_said_with_where_it_stands(damaged, keys, value, problem):
    path = damaged(*keys, value=value) / "manifest.json"
    with pytest.raises(RequestError) as raised:
        read(path)
    assert raised.value.problem.startswith(f"{path}: is damaged: {problem}")
    assert len(raised.value.problem) < 300 + len(str(path))


@pytest.mark.parametrize(
    "command",
    [["show"], ["report"], ["export", "--csv"], ["query"], ["pcap"], ["export", "--teacup"]],
    ids=" ".join,
)
def test_every_command_that_reads_results_refuses_it(damaged, capsys, command):
    folder = damaged(*FIRST, "seed", value="x")
    assert status_of([command[0], str(folder), *command[1:]]) == 2
    assert "manifest.json: is damaged: `trials.0.seed`" in capsys.readouterr().err


def test_digests_that_the_trials_do_not_have_are_refused(home_results, tmp_path, capsys):
    folder = tmp_path / "forged"
    shutil.copytree(home_results.path, folder)
    manifest = home_results.manifest
    digests = ["0" * 16, *manifest.digests[1:]]
    digest = digest_of((trial.id for trial in manifest.trials), digests)
    rewrite_manifest(folder, digests=digests, digest=digest)
    for command in (["verify"], ["show"], ["report"], ["export", "--csv"]):
        assert status_of([command[0], str(folder), *command[1:]]) == 2
        problem = f"has the digest {manifest.digests[0]}, and 0000000000000000 in the manifest"
        assert problem in capsys.readouterr().err, command


def test_an_application_of_the_tables_that_the_manifest_lacks_is_refused(
    home_results, tmp_path, capsys
):
    folder = tmp_path / "forged"
    shutil.copytree(home_results.path, folder)
    members = json.loads((folder / "manifest.json").read_text("utf-8"))
    for trial in members["trials"]:
        trial["rtt_base_ms"] = {}
    write_members(folder, members | {"apps": {}})
    for command in ("show", "report"):
        assert status_of([command, str(folder)]) == 2
        told = capsys.readouterr().err
        assert "is damaged: the application `" in told and "is not in the manifest" in told


def test_a_manifest_is_written_as_it_was_read(home_results):
    path = home_results.path / "manifest.json"
    assert with_checksum(read(path).text()) == path.read_bytes()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{"format": 3,\n "name": }', "expecting value at line 2 column 10"),
        (b'{"name": "\xff"}', "it is not UTF-8: invalid start byte"),
        (b'{"scenario": ' + b"[" * 10**5 + b"]" * 10**5 + b"}", "its values are nested too deeply"),
        (b'{"seed": 1' + b"0" * 5000 + b"}", "exceeds the limit"),
        (b'{"name": "a\x00b"}', "invalid control character at line 1 column 12"),
        ('{"format": 3}'.encode("utf-16"), "it is not UTF-8"),
    ],
    ids=["syntax", "encoding", "depth", "digits", "control", "utf-16"],
)
def test_a_text_that_is_no_json_is_refused_with_its_place(tmp_path, text, problem):
    (tmp_path / "manifest.json").write_bytes(text)
    with pytest.raises(RequestError, match=f"manifest.json: cannot be read: .*{problem}"):
        read(tmp_path / "manifest.json")


def test_an_earlier_layout_is_refused_with_what_reads_it(home_results, tmp_path, capsys):
    text = (home_results.path / "manifest.json").read_text()
    (tmp_path / "manifest.json").write_text(text.replace('"format": 3', '"format": 2'))
    assert status_of(["show", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "format 2 is not known; this version reads format 3" in said
    assert "use the version of aqmlab that made it" in said


@pytest.mark.parametrize("seed", range(200))
def test_a_manifest_with_a_flipped_bit_is_refused(home_results, tmp_path, seed):
    data = bytearray((home_results.path / "manifest.json").read_bytes())
    chance = random.Random(seed)
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    (tmp_path / "manifest.json").write_bytes(data)
    with pytest.raises(RequestError, match=r"manifest\.json"):
        load(tmp_path)


def test_what_never_ends_is_no_manifest(tmp_path):
    path = tmp_path / "manifest.json"
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero"), os.mkdir):
        make(path)
        with pytest.raises(RequestError, match=r"cannot be read: (it is not a reg|is a directory)"):
            load(tmp_path)
        path.rmdir() if path.is_dir() else path.unlink()


def test_a_manifest_beyond_all_measure_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("aqmlab.campaign.store.manifest.MOST_BYTES", 1000)
    (tmp_path / "manifest.json").write_text(" " * 1001)
    with pytest.raises(RequestError, match="cannot be read: it has more than 1000 bytes"):
        load(tmp_path)


def test_what_never_ends_is_no_trial(tmp_path):
    os.mkfifo(tmp_path / "00000.trial")
    (tmp_path / "00001.trial").symlink_to("/dev/zero")
    assert not is_whole(tmp_path / "00000.trial", OURS)
    assert not is_whole(tmp_path / "00001.trial", OURS)


@pytest.mark.parametrize("name", ["../flows", "/tmp/flows", "a b"])
def test_a_trial_with_a_table_that_would_be_another_folders_does_not_count(tmp_path, name):
    path = tmp_path / "00000.trial"
    columns = {"word": ["x"]}
    outcome = {"tables": {"words": columns}, "digest": "0", "events": 1, "packets": 1}
    path.write_bytes(encode(outcome, "{}", OURS))
    assert is_whole(path, OURS)
    others = {"campaign": "other", "trial": "other", "engine": "kernel", "spec": spec_digest("")}
    assert not any(is_whole(path, replace(OURS, **{key: one})) for key, one in others.items())
    path.write_bytes(encode(outcome | {"tables": {name: columns}}, "{}", OURS))
    assert not is_whole(path, OURS)
