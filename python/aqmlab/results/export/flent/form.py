"""The form of a Flent file of format 4. The names are Flent's own (Flent 2.1.1, `resultset.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from aqmlab.campaign.store.manifest import ConditionValue
from aqmlab.engines.trial_spec import Argument

Values = list[float | None]
"""The values of a series on the common grid. `None` stands for a missing value."""

Sample = dict[str, Any]
"""A sample of a series: its time `t` in seconds, and values by Flent's names."""


class SeriesMetadata(TypedDict):
    """The units of a series, the program that made it, and its mean over the whole trial."""

    UNITS: NotRequired[str]
    COMMAND: str
    MEAN_VALUE: NotRequired[float]


class QdiscMetadata(TypedDict):
    """A discipline, as Flent parses it from the output of `tc`."""

    name: str
    params: Mapping[str, Argument]


class EgressMetadata(TypedDict):
    """A link's name, discipline and rate."""

    iface: str
    qdisc: QdiscMetadata
    link_params: dict[str, int]


class TrialOrigin(TypedDict):
    """The trial from which a file is made."""

    trial: str
    seed: int
    conditions: Mapping[str, ConditionValue]
    engine: str
    digest: str
    versions: Mapping[str, str]


class TestMetadata(TypedDict):
    """The name of the test, and the parameters from which Flent derives the test's series."""

    NAME: str
    TEST_PARAMETERS: dict[str, str | bool]
    HTTP_GETTER_URLLIST: list[str] | None


class RunMetadata(TypedDict):
    """The title, time, batch, hosts and origin of a run."""

    TITLE: str
    NOTE: str
    TIME: str
    T0: str
    BATCH_NAME: str
    BATCH_TIME: str
    BATCH_TITLE: str
    BATCH_UUID: str
    HOST: str
    HOSTS: list[str]
    LOCAL_HOST: str
    IP_VERSION: int
    FLENT_VERSION: str
    DATA_FILENAME: None
    HTTP_GETTER_DNS: None
    HTTP_GETTER_WORKERS: None
    EGRESS_INFO: EgressMetadata
    AQMLAB: TrialOrigin


class Metadata(RunMetadata, TestMetadata):
    """The metadata of a file. Lengths and the step are in seconds."""

    LENGTH: float
    TOTAL_LENGTH: float
    STEP_SIZE: float
    SERIES_META: dict[str, SeriesMetadata]


class Document(TypedDict):
    """A Flent file.

    `x_values` holds times in seconds. Each list in `results` has one value for each of these times.
    """

    version: int
    x_values: list[float]
    results: dict[str, Values]
    raw_values: dict[str, list[Sample]]
    metadata: Metadata
