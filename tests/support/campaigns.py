import itertools
import json
import os
from pathlib import Path

import pyarrow.parquet
import pytest
from aqmlab.api import load
from aqmlab.base.checksums import with_checksum
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.runner import Campaign
from aqmlab.campaign.store.dataset import write_records
from aqmlab.campaign.store.folder import Folder, Trial
from aqmlab.campaign.store.json_record import text_of
from aqmlab.campaign.store.manifest import CampaignFacts, TrialEntry
from aqmlab.campaign.store.table_files import table_files
from aqmlab.campaign.store.trial_file import TrialIdentity, fault_of, spec_digest
from aqmlab.campaign.trial_facts import group_apps, links_of
from aqmlab.engines.trial_spec import (
    AppSpec,
    KindSpec,
    LinkSpec,
    MeasureSpec,
    RouteSpec,
    TcpSpec,
    TrialSpec,
)
from aqmlab.planning.lowering import rtt_base_ms
from msgspec.structs import replace

from .processes import HERE

MEASURE = MeasureSpec()


def app(
    name, kind="bulk", carries=("down",), rtt_ms=40, *, start_ns=0, stop_ns=None, metrics=(), **told
):
    """One application of a trial.

    The settings of its host in the home instruct the fake engine: `carries` names the directions
    with data, `metrics` are the application's own metrics, and `told` are further instructions.
    """
    half_ns = int(rtt_ms * 5e5)
    own = {f"metric {metric}": value for metric, value in dict(metrics).items()}
    return AppSpec(
        name=name,
        app=KindSpec(kind=kind),
        start_ns=start_ns,
        stop_ns=stop_ns,
        up=RouteSpec(links=(0,), delay_ns=half_ns),
        down=RouteSpec(links=(1,), delay_ns=half_ns),
        home=TcpSpec(settings={"carries": " ".join(carries), **own, **told}),
    )


HOME = (
    app(
        "sensor",
        "iot_high",
        ["up"],
        mbit=0.15,
        delayed=0.1,
        metrics={"missing_percent": 0.0, "delivery_p95_ms": 30.0},
    ),
    app("call", "video_call", ["up", "down"], mbit=0.3),
    app("file", "bulk", mbit=6.0),
    app(
        "film",
        "dash",
        metrics={"ar_median_mbit": 4.5, "rr_median_mbit": 4.2, "stalled_percent": 0.5},
    ),
)


def spec_of(queue, rate=(12, 1), apps=HOME, seed=1, duration_ns=10**10, measure=MEASURE, **told):
    """A trial. The fake engine reads `told`, which are parameters of the uplink's discipline."""
    up, down = (
        LinkSpec(name=name, rate_bps=int(mbit * 1e6), qdisc=KindSpec(kind=queue, params=params))
        for name, mbit, params in (("up", rate[1], told), ("down", rate[0], {}))
    )
    return TrialSpec(
        seed=seed, duration_ns=duration_ns, links=(up, down), apps=tuple(apps), measure=measure
    )


def with_link(spec, number, **changes):
    """A copy of the trial in which some members of one link are changed."""
    links = list(spec.links)
    links[number] = replace(links[number], **changes)
    return replace(spec, links=tuple(links))


def entry_of(conditions, spec, name="trial", **more):
    """The entry of a trial in a manifest."""
    facts = {
        "id": name,
        "conditions": conditions,
        "seed": spec.seed,
        "engine": "sim",
        "links": links_of(spec),
        "rtt_base_ms": rtt_base_ms(spec),
        "spec": spec_digest(spec.text()),
    }
    return TrialEntry(**(facts | more))


def campaign_of(specs, **about):
    """A campaign of `(conditions, spec)` pairs on the fake engine."""
    trials, entries = [], []
    for index, (conditions, spec) in enumerate(specs):
        name = f"trial-{index}"
        entry = entry_of(conditions, spec, name)
        facts = {"links": entry.links, "rtt_base_ms": entry.rtt_base_ms}
        trials.append(Trial(index, name, spec.seed, conditions, spec.text(), **facts))
        entries.append(entry)
    kinds = {one.name: one.app.kind for _, spec in specs for one in spec.apps}
    facts = {
        "name": "fake",
        "title": "A fake home",
        "description": "",
        "source": "fake.toml",
        "command": "aqmlab run fake.toml",
        "conditions": tuple(specs[0][0]),
        "scenario": {},
        "scenario_text": "title = 'fake'",
        "versions": {"aqmlab": "0", "core": "0"},
        "warnings": (),
        "figures": (),
        "notes": "",
        "apps": kinds,
        "app_groups": group_apps(spec for _, spec in specs),
        "stated_tolerances_ms": {},
        "duration_s": 10.0,
        "measure_from_s": 0.0,
        "trials": tuple(entries),
    }
    return Campaign(trials, CampaignFacts(**(facts | about)), runner="fake_engine:run")


def grid(queues=("pfifo", "pie", "fq_codel"), rates=((12, 1),), seeds=(1, 2), apps=HOME, **more):
    """The `(conditions, spec)` pairs of a small grid."""
    return [
        (
            {"queue": queue, "rate": f"{rate[0]}/{rate[1]} Mbit/s"},
            spec_of(queue, rate, apps, seed=seed, **more),
        )
        for queue, rate, seed in itertools.product(queues, rates, seeds)
    ]


@pytest.fixture(autouse=True)
def fake_engine(monkeypatch, tmp_path):
    """Registers the fake engine for workers."""
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.setenv("FAKE_MENDED", str(tmp_path / "mended"))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def complete(home, made, *, jobs=1):
    """Runs a campaign of the fake engine below `home`, for several tests; returns its folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE))
        patch.setenv("FAKE_LOG", str(home / "log"))
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        campaigns.run(made, home / "whole", jobs=jobs)
    return home / "whole"


@pytest.fixture(scope="session")
def home_results(tmp_path_factory):
    """The results of the fake home for three disciplines, two rates and two seeds."""
    made = campaign_of(grid(rates=((25, 5), (12, 1))))
    return load(complete(tmp_path_factory.mktemp("home"), made, jobs=2))


def rewrite_manifest(folder, *, without=(), **changes):
    """Changes and removes members of a campaign's manifest, and updates its checksum."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8")) | changes
    write_members(folder, {key: one for key, one in manifest.items() if key not in without})


def write_members(folder, members):
    """Writes a manifest with any members, and its checksum."""
    text = text_of({key: one for key, one in members.items() if key != "checksum"})
    (folder / "manifest.json").write_bytes(with_checksum(text))


def as_if_running(folder):
    """Turns a complete campaign into a campaign that was killed after its last record."""
    manifest = load(folder).manifest
    files = table_files(Folder(folder), manifest)
    Folder(folder).make()
    write_records(Folder(folder), manifest, files.without(files.lost_chunks()), manifest.trials)
    results = ("files", "digests", "digest", "events", "packets")
    rewrite_manifest(folder, without=results, complete=False)


def bytes_of(folder):
    """The bytes of every file in a folder and its linked folders, by name."""
    places = (Path(place) / name for place, _, names in walk(folder) for name in names)
    return {str(path.relative_to(folder)): path.read_bytes() for path in places}


def walk(folder):
    return os.walk(folder, followlinks=True)


def last_byte_of(path, name):
    """The offset of the last byte of a column of floats. Such a column has no dictionary."""
    group = pyarrow.parquet.ParquetFile(path).metadata.row_group(0)
    columns = (group.column(index) for index in range(group.num_columns))
    (column,) = (column for column in columns if column.path_in_schema == name)
    return column.data_page_offset + column.total_compressed_size - 1


def is_whole(path: Path, origin: TrialIdentity) -> bool:
    """Returns whether `path` holds the complete result of a trial."""
    try:
        return fault_of(path, origin) is None
    except FileNotFoundError:
        return False
