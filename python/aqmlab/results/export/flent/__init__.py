"""Flent files, format 4: gzip-compressed JSON, one file per trial.

Source: Flent 2.1.1, `resultset.py`. Tests load and draw the files with Flent.

The same trial must give the same bytes, so the date of a file does not come from the clock. The
date is the time at which captures begin, midnight of 1 January 2020, plus one microsecond per unit
of the seed. The names of the files of one condition therefore differ in one number only, and
Flent's combined plots group these files.
"""

from __future__ import annotations

import datetime
import gzip
import json
import math
import re
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from aqmlab import __version__, _core
from aqmlab.base.failures import RequestError
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.results.captures import EPOCH_S
from aqmlab.results.export.flent import calls, sampling
from aqmlab.results.export.flent.form import (
    Document,
    EgressMetadata,
    RunMetadata,
    SeriesMetadata,
    TestMetadata,
    Values,
)
from aqmlab.results.export.flent.series import TABLES, FlentSeries, labels, of_test
from aqmlab.results.export.flent.tests import DELAY_S, GENERIC, Cast, Test, cast_of, choose

if TYPE_CHECKING:
    from aqmlab.results.export.trials import TrialRows
    from aqmlab.results.results import CampaignResults

__all__ = ["SUFFIX", "TABLES", "document", "file_bytes", "file_stem"]

VERSION = 4
SUFFIX = ".flent.gz"

_EPOCH = datetime.datetime.fromtimestamp(EPOCH_S, datetime.UTC)
_LARGEST_SEED = 10**15
"""The largest seed for the date of a file: 10^15 microseconds are 32 years."""

_MOST_CHARACTERS = 230
"""The maximum length of a file name, without its suffix."""


def document(results: CampaignResults, trial: TrialRows) -> Document:
    """A finished trial in Flent's JSON format. `trial` must have the tables `TABLES`.

    A trial with a call runs again for its packets. Raises `RequestError` if it cannot run again, or
    if the seed is too large for a date.
    """
    begins = _begins(trial)
    carrying = {(row["flow"], row["direction"]) for row in trial.of("flows", primary=True)}
    cast = cast_of(trial.spec.apps, carrying)
    test = choose(cast)
    found = {**of_test(trial, test, cast), **calls.series(trial, cast, _EPOCH.timestamp())}
    duration_s = trial.spec.duration_s
    step_s, times_s = sampling.grid(duration_s, _own_step_s(trial))
    sampled = {
        name: sampling.on_grid(one.samples(), times_s, step_s)
        for name, one in found.items()
        if one.samples()
    }
    sampled.update(_summaries(test, sampled, len(times_s)))
    epoch_s = begins.timestamp()
    return {
        "version": VERSION,
        "x_values": times_s,
        "results": sampled,
        "raw_values": {
            name: [{**one, "t": round(epoch_s + one["t"], 6)} for one in series.raw]
            for name, series in found.items()
            if series.raw
        },
        "metadata": {
            **_about(results, trial, f"{begins:%Y-%m-%dT%H:%M:%S.%fZ}"),
            **_test_about(test, cast, trial),
            "LENGTH": _whole(duration_s - (2 * DELAY_S if test.loaded else 0)),
            "TOTAL_LENGTH": _whole(duration_s),
            "STEP_SIZE": step_s,
            "SERIES_META": _series_about(test, found),
        },
    }


def file_bytes(document: Document) -> bytes:
    """The contents of a document's file: compressed JSON, equal for equal documents.

    Raises `RequestError` for an infinite number. Only a damaged table holds such a number.
    """
    try:
        text = json.dumps(document, allow_nan=False, separators=(",", ":"), sort_keys=True)
    except ValueError:
        problem = (
            f"{document['metadata']['TITLE']}: a table is damaged: it holds an infinite number"
        )
        raise RequestError(problem, "remove the folder and run the campaign again") from None
    return gzip.compress(text.encode(), mtime=0)


def file_stem(document: Document) -> str:
    """A file's name without its suffix, made from test, time and title as Flent makes it."""
    about = document["metadata"]
    stem = f"{about['NAME']}-{about['TIME'].replace(':', '').removesuffix('Z')}."
    return (stem + re.sub(r"[^A-Za-z0-9-]", "_", about["TITLE"]))[:_MOST_CHARACTERS]


def _begins(trial: TrialRows) -> datetime.datetime:
    """The start time in the file, from the seed; raises `RequestError` for too large a seed."""
    if trial.seed > _LARGEST_SEED:
        problem = f"{trial.id}: the seed {trial.seed} is too large for a Flent file"
        raise RequestError(problem, f"at most {_LARGEST_SEED}; `--trial ID` selects others")
    return _EPOCH + datetime.timedelta(microseconds=trial.seed)


def _own_step_s(trial: TrialRows) -> float:
    """The step of the trial's own series, in seconds."""
    measure = trial.spec.measure
    return _core.series_step_ns(measure.step_ns, trial.spec.duration_ns, measure.points) / 1e9


def _summaries(test: Test, series: Mapping[str, Values], length: int) -> dict[str, Values]:
    """The values of each summary of `test`, by its name; all are `None` if no series matches."""
    found: dict[str, Values] = {}
    for name in test.summaries:
        stem, _, kind = name.rpartition(" ")
        members = [values for one, values in series.items() if one.startswith(stem)]
        found[name] = sampling.summary(kind, members) if members else [None] * length
    return found


def _series_about(test: Test, found: Mapping[str, FlentSeries]) -> dict[str, SeriesMetadata]:
    """The metadata of each series and summary.

    For a series, they are the units, the origin and, if known, the mean over the whole trial. For a
    summary, they are the origin only.
    """
    about: dict[str, SeriesMetadata] = {}
    for name, series in found.items():
        about[name] = {"UNITS": series.units, "COMMAND": "aqmlab"}
        mean = series.mean_value()
        if mean is not None and math.isfinite(mean):
            about[name]["MEAN_VALUE"] = mean
    about |= {name: {"COMMAND": "computed"} for name in test.summaries}
    return about


def _about(results: CampaignResults, trial: TrialRows, time: str) -> RunMetadata:
    manifest = results.manifest
    return {
        "TITLE": results.labels[trial.id].brief,
        "NOTE": f"{manifest.title}; trial {trial.id}",
        "TIME": time,
        "T0": time,
        "BATCH_NAME": results.name,
        "BATCH_TIME": time,
        "BATCH_TITLE": manifest.title,
        "BATCH_UUID": str(uuid.uuid5(uuid.NAMESPACE_OID, manifest.campaign)),
        "HOST": "internet",
        "HOSTS": ["internet"],
        "LOCAL_HOST": "home",
        "IP_VERSION": 4,
        "FLENT_VERSION": f"aqmlab-{__version__}",
        "DATA_FILENAME": None,
        "HTTP_GETTER_DNS": None,
        "HTTP_GETTER_WORKERS": None,
        "EGRESS_INFO": _egress(trial.spec),
        "AQMLAB": {
            "trial": trial.id,
            "seed": trial.seed,
            "conditions": trial.conditions,
            "engine": trial.engine,
            "digest": trial.rows["trials"]["digest"][0],
            "versions": manifest.versions,
        },
    }


def _egress(spec: TrialSpec) -> EgressMetadata:
    """The name, discipline and rate of the uplink, as Flent stores the output of `tc`.

    Without an uplink, they are those of the first link.
    """
    link = next((one for one in spec.links if one.name == "up"), spec.links[0])
    return {
        "iface": link.name,
        "qdisc": {"name": link.qdisc.kind, "params": link.qdisc.params},
        "link_params": {"rate_bps": link.rate_bps},
    }


def _test_about(test: Test, cast: Cast, trial: TrialRows) -> TestMetadata:
    """The test's name and the parameters from which Flent derives its series."""
    links = ",".join(dict.fromkeys(row["link"] for row in trial.of("queue_series")))
    parameters: dict[str, str | bool] = {}
    if links:
        parameters |= {"qdisc_stats_hosts": links, "qdisc_stats_interfaces": links}
    if cast.voip:
        parameters["voip_host"] = cast.voip[0]
    if cast.web:
        parameters["include_http"] = True
    if len(cast.dash) == 1:
        parameters["dash_url"] = cast.dash[0]
    if test is GENERIC:
        names = labels(trial)
        parameters |= {test.parameter: str(len(names)), "labels": ",".join(names)}
    elif test.parameter:
        parameters[test.parameter] = str(len(cast.up or cast.down))
    return {
        "NAME": test.name,
        "TEST_PARAMETERS": parameters,
        "HTTP_GETTER_URLLIST": list(cast.web) if len(cast.web) > 1 else None,
    }


def _whole(seconds: float) -> float | int:
    """Seconds in Flent's form: at least 0, and whole numbers without a decimal point."""
    seconds = max(seconds, 0.0)
    return int(seconds) if seconds.is_integer() else round(seconds, 6)
