"""The manifest of a campaign's folder, as a frozen type.

A folder may come from an untrusted source, and text of its manifest becomes names of files and
columns. A read therefore validates the whole manifest before any part is used.

A member without a default is in every manifest. Another member is omitted if it has its default
value, except that a manifest of written tables has all members with results.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, structs, to_builtins

from aqmlab.base.checksums import FileChecksum, Sha256, is_intact
from aqmlab.base.core_requirement import CoreRequirement
from aqmlab.base.errors import shown
from aqmlab.base.failures import DamagedError, RequestError
from aqmlab.base.files import open_regular
from aqmlab.campaign.store import json_record
from aqmlab.campaign.store.json_record import MalformedError, WrongValueError

FORMAT: Final = 3
"""The version of the layout of a campaign's folder."""

TABLE_NAME = "[A-Za-z][A-Za-z0-9_]{0,63}"
"""The pattern of tables' names, which are also names of folders and files, and SQL identifiers."""

MOST_BYTES = 2**30
"""The largest manifest that is read, in bytes. A manifest of 100,000 trials has about 40 MB."""

# Names of trials are valid file names. Two names that fit the pattern are special folders. `\Z`
# matches only at the end of the text; `$` also matches before a final line break.
_TRIAL_NAME = r"^[A-Za-z0-9._+,=-]+\Z"
_OTHER_FOLDERS = (".", "..")

# Tables and pages hold finite numbers only.
_LARGEST = sys.float_info.max
_Number = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
# Figures show names and conditions. A text of 100,000 characters takes minutes to draw. Scenarios
# permit 100 characters for a name, and paths of files as values of conditions.
_Name = Annotated[str, Meta(max_length=255)]
_Text = Annotated[str, Meta(max_length=10_000)]
_Plain = _Text | bool | _Whole | _Number
_Inner = _Plain | tuple[_Plain, ...] | Mapping[_Text, _Plain]
ConditionValue = _Plain | tuple[_Plain, ...] | Mapping[_Text, _Inner]
"""The value of a varied parameter, in scenario notation."""

_Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]

# A key must not lead out of the campaign's folder.
_FILE = rf"^(tables/{TABLE_NAME}/chunk=[0-9]{{4,6}}/rows\.parquet|catalogue\.sql)\Z"
FilePath = Annotated[str, Meta(pattern=_FILE)]
"""The path of a file in the campaign's folder."""


Direction = Literal["down", "up"]
DIRECTIONS: tuple[Direction, ...] = ("down", "up")


class LinkFacts(Struct, frozen=True):
    """The rate in Mbit/s and the discipline of a link."""

    mbit: _Number
    queue: _Name


class TrialEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A trial in a manifest.

    The members from `apps` to `stated_requirements` are present only if they differ from the
    campaign's.
    """

    id: Annotated[str, Meta(pattern=_TRIAL_NAME, max_length=255)]
    conditions: Mapping[_Text, ConditionValue]
    seed: Count
    condition: _Digest | None = None
    """The digest of the resolved trial without its seed: see `plan.condition_digest`."""
    engine: _Name
    links: Mapping[Direction, LinkFacts]
    """The slowest link of each direction: see `trial_facts.links_of`."""
    rtt_base_ms: Mapping[_Name, _Number]
    """The round-trip time without queues, for each application."""
    apps: Mapping[_Name, _Name] = {}
    """The kind of each application whose kind differs from `CampaignFacts.apps`."""
    duration_s: _Number | None = None
    measure_from_s: _Number | None = None
    measure_to_s: _Number | None = None
    stated_tolerances_ms: Mapping[str, _Number] | None = None
    stated_rates_mbit: Mapping[str, _Number] | None = None
    stated_requirements: Mapping[str, CoreRequirement] | None = None
    spec: _Digest
    """The digest of the resolved trial: see `folder.Trial.spec_digest`."""


class CampaignFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The members of a manifest that are known before any trial runs."""

    name: str
    title: str
    description: str
    source: str
    conditions: tuple[_Text, ...]
    """The names of the varied parameters, outermost loop first."""
    warnings: tuple[str, ...]
    figures: tuple[str, ...]
    notes: str
    scenario: Mapping[str, Any]
    """The scenario after inheritance and overrides."""
    trials: Annotated[tuple[TrialEntry, ...], Meta(min_length=1)]
    apps: Mapping[_Name, _Name]
    """The kind of each application, by name, in the first trial that has the application."""
    app_groups: Mapping[_Name, _Name]
    """The name of each application in figures, by its own name: see `trial_facts.group_apps`."""
    stated_tolerances_ms: Mapping[str, _Number]
    """The largest round-trip times that the scenario tolerates, by application."""
    stated_rates_mbit: Mapping[str, _Number] = {}
    stated_requirements: Mapping[str, CoreRequirement] = {}
    """The requirements for the Quality of Outcome, in the form that the core reads."""
    duration_s: _Number
    measure_from_s: _Number
    measure_to_s: _Number | None = None
    scenario_text: str
    command: str
    qdisc_source: str | None = None
    """The source of the disciplines for the engine `kernel`."""
    run_on: str | None = None
    """The machine on which the engine `kernel` ran: "vm" or "host"."""
    versions: Mapping[str, str]


class Manifest(CampaignFacts, frozen=True, kw_only=True, omit_defaults=True):
    """The facts of a campaign, and its results as soon as its tables are written."""

    format: Literal[3]
    engine: str
    """The engines of the trials, separated by commas."""
    campaign: str
    """The key of the campaign."""
    complete: bool
    """Whether every trial has a result."""
    digest: _Name | None = None
    """The digest of all trials; absent while trials are missing."""
    digests: tuple[_Name | None, ...] | None = None
    """The digest of each trial; absent while trials run."""
    failed: Mapping[str, str] = {}
    """The error of each trial that failed, by the trial's name."""
    events: Count | None = None
    packets: Count | None = None
    files: Mapping[FilePath, FileChecksum] | None = None
    """The checksums of all files. While trials run, they are in the chunk records."""
    checksum: Sha256 | None = None
    """The checksum of the manifest's own text; absent if it was not read from a file."""

    def digest_by_trial(self) -> dict[str, str | None]:
        """The digest of each trial, by the trial's name; `None` for a trial without a result."""
        digests = self.digests or (None,) * len(self.trials)
        return {one.id: digest for one, digest in zip(self.trials, digests, strict=True)}

    def seeds(self) -> list[int]:
        """The distinct seeds of the trials, in increasing order."""
        return sorted({one.seed for one in self.trials})

    def is_behind(self, other: Manifest) -> bool:
        """Returns whether `other` describes the scenario differently from this manifest.

        A request in another spelling describes the same scenario.
        """
        told = json_record.decoded(other.text().encode(), Manifest)  # as a reader decodes it
        return any(getattr(self, name) != getattr(told, name) for name in _OF_SCENARIO)

    def with_results_of(self, other: Manifest) -> Manifest:
        """This manifest with the results of `other` and the versions that made these results."""
        return structs.replace(self, **{name: getattr(other, name) for name in _FROM_RUN})

    def text(self) -> str:
        """The manifest as JSON without its checksum. The members with results come last."""
        told = to_builtins(self)
        results = {} if self.files is None else {one: getattr(self, one) for one in _RESULTS}
        kept = {one: value for one, value in told.items() if one not in (*_RESULTS, "checksum")}
        return json_record.text_of({"format": FORMAT, **kept, **results})


_RESULTS = ("digest", "digests", "failed", "events", "packets", "files")
_FROM_RUN = ("complete", "versions", *_RESULTS)
_OF_REQUEST = ("command", "source")
_OF_SCENARIO = [
    name
    for name in Manifest.__struct_fields__
    if name not in (*_FROM_RUN, *_OF_REQUEST, "checksum")
]


def before_results(facts: CampaignFacts, engine: str, key: str) -> Manifest:
    """The manifest of a campaign before it has results. `key` is the campaign's key."""
    own = structs.asdict(facts)
    return Manifest(format=FORMAT, engine=engine, campaign=key, complete=False, **own)


def read(path: Path) -> Manifest:
    """Reads the manifest at `path`.

    Raises `RequestError` if it cannot be read or is damaged, and `FileNotFoundError` if there is
    none.
    """
    try:
        with open_regular(path) as file:
            # A read of `MOST_BYTES` bytes would allocate that much memory.
            size_bytes = os.fstat(file.fileno()).st_size
            text = file.read(min(size_bytes, MOST_BYTES))
        if size_bytes > MOST_BYTES:
            raise _unreadable(path, f"it has more than {MOST_BYTES} bytes")
        manifest = json_record.decoded(text, Manifest)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreadable(path, str(error.strerror or error).lower()) from None
    except MalformedError as error:
        raise _unreadable(path, str(error)) from None
    except WrongValueError as error:
        raise _refused(path, text, str(error)) from None
    for problem in _contradictions(manifest):
        raise _damaged(path, problem)
    if not is_intact(text):
        raise _damaged(path, "its text does not match its `checksum`")
    return manifest


def _contradictions(manifest: Manifest) -> Iterator[str]:
    """Yields contradictions between separately valid parts of a manifest."""
    names = {trial.id for trial in manifest.trials}
    count = len(manifest.trials)
    if len(names) < count:
        yield f"`trials`: {count} trials have {len(names)} names"
    for other in names.intersection(_OTHER_FOLDERS):
        yield f"`trials`: `{other}` is not a valid name of a trial"
    for trial in manifest.trials:
        for app in trial.rtt_base_ms.keys() - manifest.apps.keys():
            where = f"the trial `{shown(trial.id)}`"
            yield f"`apps`: the application `{shown(app)}` of {where} is missing"
    if manifest.digests is None:
        return
    if len(manifest.digests) != count:
        yield f"`digests`: {count} are expected, one for each trial"
    elif manifest.digest is not None:
        found = digest_of((trial.id for trial in manifest.trials), manifest.digests)
        if found != manifest.digest:
            yield f"`digest`: it is `{shown(manifest.digest)}`, and {found} over `digests`"


def digest_of(names: Iterable[str], digests: Iterable[str | None]) -> str:
    """The digest of a campaign, over the name and the digest of each trial in order."""
    folded = hashlib.sha256()
    for name, digest in zip(names, digests, strict=True):
        folded.update(f"{name} {digest}\n".encode())
    return folded.hexdigest()[:16]


def _refused(path: Path, text: bytes, problem: str) -> RequestError:
    """The error for an invalid manifest: `problem`, or that its format is not known."""
    found = json_record.parsed_member(text, "format")
    if found == FORMAT and isinstance(found, int):
        return _damaged(path, problem)
    return RequestError(
        f"{path}: format {shown(found)} is not known; this version reads format {FORMAT}",
        "use the version of aqmlab that made it, or give another folder",
    )


def _unreadable(path: Path, reason: str) -> DamagedError:
    hint = "put back a copy of it, or give another folder"
    return DamagedError(f"{path}: cannot be read: {reason}", hint)


def _damaged(path: Path, problem: str) -> DamagedError:
    hint = "put back a copy of it, or remove the folder and run the campaign again"
    return DamagedError(f"{path}: is damaged: {problem}", hint)
