"""Reads and validates a campaign's manifest.

A folder may come from an untrusted source, and text of its manifest becomes names of files and
columns. The whole manifest is therefore validated against one schema before any part is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AllowInfNan, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # pydantic needs more than Python 3.11's TypedDict offers

from aqmlab.base.checksums import is_intact
from aqmlab.base.errors import shown
from aqmlab.base.failures import DamagedError, RequestError
from aqmlab.base.files import open_regular

FORMAT = 3
"""The version of the layout of a campaign's folder."""

TABLE_NAME = "[A-Za-z][A-Za-z0-9_]{0,63}"
"""The valid names of tables, which are also names of folders and files, and SQL identifiers."""

MOST_BYTES = 2**30
"""The largest manifest that is read. A manifest of 100,000 trials has about 40 MB."""

# Names of trials are valid file names, and two valid names are special folders.
_NAME = "^[A-Za-z0-9._+,=-]+$"
_OTHER_FOLDERS = (".", "..")

# Tables and pages hold finite numbers only.
_Number = Annotated[float, AllowInfNan(False)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
_Whole = Annotated[int, Field(gt=-(2**63), lt=2**63)]
_Plain = Annotated[str | bool | _Whole | _Number, Field(union_mode="left_to_right")]
_Value = Annotated[
    _Plain | list[_Plain] | dict[str, _Plain | list[_Plain] | dict[str, _Plain]],
    Field(union_mode="left_to_right"),
]

STRICT = ConfigDict(strict=True, extra="allow")

# A key must not lead out of the campaign's folder.
_FILE = rf"^(tables/{TABLE_NAME}/chunk=[0-9]{{4,6}}/rows\.parquet|catalogue\.sql)$"
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
FilePath = Annotated[str, Field(pattern=_FILE)]
Files = dict[FilePath, tuple[Count, Sha256]]
"""The checksum of each file, by its path in the campaign's folder."""


@with_config(STRICT)
class _Link(TypedDict):
    mbit: _Number
    queue: str


@with_config(STRICT)
class _Trial(TypedDict):
    id: Annotated[str, Field(pattern=_NAME, max_length=255)]
    spec: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
    """The digest of the resolved trial: see `folder.Trial.spec_digest`."""
    conditions: dict[str, _Value]
    condition: NotRequired[Annotated[str, Field(pattern="^[0-9a-f]{16}$")]]
    """The digest of the resolved trial without its seed: see `planner.condition_digest`."""
    seed: Count
    engine: NotRequired[str]
    apps: NotRequired[dict[str, str]]
    """The kinds of applications whose kind differs from that in the campaign's first trials."""
    duration_s: NotRequired[_Number]
    measure_from_s: NotRequired[_Number]
    measure_to_s: NotRequired[_Number]
    links: dict[Literal["down", "up"], _Link]
    rtt_base_ms: dict[str, _Number]


@with_config(STRICT)
class _Manifest(TypedDict):
    """The members of a manifest that the code uses; the manifest has more."""

    format: Literal[3]
    name: str
    title: str
    description: str
    source: NotRequired[str]
    notes: str
    command: str
    scenario_text: str
    campaign: str
    engine: NotRequired[str]
    versions: dict[str, str]
    complete: bool
    conditions: list[str]
    warnings: NotRequired[list[str]]
    figures: NotRequired[list[str]]
    apps: dict[str, str]
    app_groups: NotRequired[dict[str, str]]
    stated_tolerances_ms: NotRequired[dict[str, _Number]]
    stated_rates_mbit: NotRequired[dict[str, _Number]]
    duration_s: _Number
    measure_from_s: _Number
    measure_to_s: NotRequired[_Number]
    trials: Annotated[list[_Trial], Field(min_length=1)]
    digest: NotRequired[str | None]
    digests: NotRequired[list[str | None]]
    failed: NotRequired[dict[str, str]]
    files: NotRequired[Files]
    """The checksums of all files. They are absent while trials run, and are in chunk records."""
    events: NotRequired[Count]
    packets: NotRequired[Count]
    checksum: Sha256


def read(path: Path) -> dict[str, Any]:
    """Reads the manifest at `path`.

    Raises `RequestError` if it cannot be read or is damaged, and `FileNotFoundError` if there is
    none.
    """
    try:
        with open_regular(path) as file:
            # A read of the maximum size would allocate that much memory.
            size_bytes = os.fstat(file.fileno()).st_size
            text = file.read(min(size_bytes, MOST_BYTES))
        if size_bytes > MOST_BYTES:
            raise _unreadable(path, f"it has more than {MOST_BYTES} bytes")
        manifest = _adapter().validate_json(text)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreadable(path, str(error.strerror or error).lower()) from None
    except ValidationError as error:
        raise _refused(path, error) from None
    for problem in _contradictions(manifest):
        raise _damaged(path, problem)
    if not is_intact(text):
        raise _damaged(path, "its text does not match its `checksum`")
    return dict(manifest)


@cache
def _adapter() -> TypeAdapter[_Manifest]:
    return TypeAdapter(_Manifest)


def _contradictions(manifest: _Manifest) -> Iterator[str]:
    """Yields contradictions between separately valid parts of a manifest."""
    names = {trial["id"] for trial in manifest["trials"]}
    count = len(manifest["trials"])
    if len(names) < count:
        yield f"`trials`: {count} trials have {len(names)} names"
    for other in names.intersection(_OTHER_FOLDERS):
        yield f"`trials`: `{other}` is not a valid name of a trial"
    if len(manifest.get("digests", names)) != count:
        yield f"`digests`: {count} are expected, one for each trial"


def _refused(path: Path, error: ValidationError) -> RequestError:
    """The error for an invalid manifest. An unknown format takes precedence."""
    found = error.errors(include_url=False)
    first = next((one for one in found if one["loc"] == ("format",)), found[0])
    if first["type"] == "json_invalid":
        return _unreadable(path, first["ctx"]["error"])
    if first["loc"] in ((), ("format",)):
        told = first["input"] if first["type"] == "literal_error" else None
        return RequestError(
            f"{path}: format {shown(told)} is not known; this version reads format {FORMAT}",
            "use the version of aqmlab that made it, or give another folder",
        )
    return _damaged(path, _told(first))


def _told(error: Mapping[str, Any]) -> str:
    """Describes a wrong value: its location, the expected value and the value found."""
    keys, expected = error["loc"], error["msg"]
    if len(keys) > 4 and keys[2] == "conditions":  # a union, whose members each report an error
        keys, expected = keys[:4], "expected text, a number, a list or an object"
    where = ".".join(str(key) for key in keys if key != "[key]")
    if error["type"] == "missing":
        return f"`{shown(where)}` is missing"
    expected = expected.replace("Input should be", "expected", 1)
    return f"`{shown(where)}`: {expected[0].lower() + expected[1:]}, not `{shown(error['input'])}`"


def _unreadable(path: Path, reason: str) -> DamagedError:
    hint = "put back a copy of it, or give another folder"
    return DamagedError(f"{path}: cannot be read: {reason}", hint)


def _damaged(path: Path, problem: str) -> DamagedError:
    hint = "put back a copy of it, or remove the folder and run the campaign again"
    return DamagedError(f"{path}: is damaged: {problem}", hint)
