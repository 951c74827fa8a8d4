"""A campaign's manifest, read: what it must say, and where one that says else is damaged.

A folder may come from anybody, and words of its manifest become names of files and columns of
tables. So a manifest is held against one description, whole, before a part of it is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AllowInfNan, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # pydantic's: that of Python 3.11 tells it too little

from aqmlab.base.checksums import is_intact
from aqmlab.base.errors import shown
from aqmlab.base.failures import RequestError
from aqmlab.base.files import open_regular

FORMAT = 3
"""The version of the layout of a campaign's folder."""

TABLE_NAME = "[A-Za-z][A-Za-z0-9_]{0,63}"
"""What a table may be called: its name is that of a folder, of a file, and a word in SQL."""

MOST_BYTES = 2**30
"""The largest manifest that is read; one of 100,000 trials has about 40 MB."""

# Trials are named so that files can be called after them; these two would be other folders.
_NAME = "^[A-Za-z0-9._+,=-]+$"
_OTHER_FOLDERS = (".", "..")

# Numbers as tables and pages can hold them.
_Number = Annotated[float, AllowInfNan(False)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
_Whole = Annotated[int, Field(gt=-(2**63), lt=2**63)]
_Plain = Annotated[str | bool | _Whole | _Number, Field(union_mode="left_to_right")]
_Value = Annotated[
    _Plain | list[_Plain] | dict[str, _Plain | list[_Plain] | dict[str, _Plain]],
    Field(union_mode="left_to_right"),
]

STRICT = ConfigDict(strict=True, extra="allow")

# Keys are paths in the campaign's folder and lead nowhere else.
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
    """Stands for all that the trial was resolved to: see `store.Trial.spec_digest`."""
    conditions: dict[str, _Value]
    seed: Count
    engine: NotRequired[str]
    links: dict[Literal["down", "up"], _Link]
    rtt_base_ms: dict[str, _Number]


@with_config(STRICT)
class _Manifest(TypedDict):
    """What is used of a manifest; it says more."""

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
    trials: Annotated[list[_Trial], Field(min_length=1)]
    digest: NotRequired[str | None]
    digests: NotRequired[list[str | None]]
    failed: NotRequired[dict[str, str]]
    files: NotRequired[Files]
    """Absent while trials run, when each chunk's record holds the checksums."""
    events: NotRequired[Count]
    packets: NotRequired[Count]
    checksum: Sha256


def read(path: Path) -> dict[str, Any]:
    """The manifest at `path`.

    Raises `RequestError` if it cannot be read or is damaged, and `FileNotFoundError` if there is
    none.
    """
    try:
        with open_regular(path) as file:
            # To ask for the most that it may be would set so much memory apart.
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
    """What parts of a manifest that are well by themselves say against each other."""
    names = {trial["id"] for trial in manifest["trials"]}
    count = len(manifest["trials"])
    if len(names) < count:
        yield f"`trials`: {count} trials have {len(names)} names"
    for other in names.intersection(_OTHER_FOLDERS):
        yield f"`trials`: `{other}` is no name of a trial"
    if len(manifest.get("digests", names)) != count:
        yield f"`digests`: {count} are expected, one for each trial"


def _refused(path: Path, error: ValidationError) -> RequestError:
    """What to say of a manifest that is not as it must be: of its format before all else."""
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
    """Where a value is wrong, what is expected there, and what was found."""
    keys, expected = error["loc"], error["msg"]
    if len(keys) > 4 and keys[2] == "conditions":  # one of several things, each with an error
        keys, expected = keys[:4], "expected text, a number, a list or an object"
    where = ".".join(str(key) for key in keys if key != "[key]")
    if error["type"] == "missing":
        return f"`{shown(where)}` is missing"
    expected = expected.replace("Input should be", "expected", 1)
    return f"`{shown(where)}`: {expected[0].lower() + expected[1:]}, not `{shown(error['input'])}`"


def _unreadable(path: Path, reason: str) -> RequestError:
    hint = "put back a copy of it, or give another folder"
    return RequestError(f"{path}: cannot be read: {reason}", hint)


def _damaged(path: Path, problem: str) -> RequestError:
    hint = "put back a copy of it, or remove the folder and run the campaign again"
    return RequestError(f"{path}: is damaged: {problem}", hint)
