"""JSON files of a campaign's folder: their form, and their conversion to frozen types.

`msgspec` converts a file in one step but does not name the keys of objects in its errors. This
module locates the first wrong value in a refused file and describes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from aqmlab.base.errors import shown

_T = TypeVar("_T")

_Place = tuple[str | int, ...]
"""The keys and indices that lead to a value."""


class MalformedError(ValueError):
    """The error for a text that is not JSON."""


class WrongValueError(ValueError):
    """The error for JSON of an unexpected type. The message names the place and the value found."""


def text_of(members: Mapping[str, Any]) -> str:
    """Formats an object as JSON, with one line for each member, list item and file."""
    lines = []
    for key, value in members.items():
        if isinstance(value, (list, tuple)) and value:
            items = ",\n  ".join(json.dumps(one, ensure_ascii=False) for one in value)
            text = f"[\n  {items}\n ]"
        elif key == "files" and value:
            named = (f"{json.dumps(name)}: {json.dumps(one)}" for name, one in value.items())
            text = "{\n  " + ",\n  ".join(named) + "\n }"
        else:
            text = json.dumps(value, ensure_ascii=False)
        lines.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def decoded(text: bytes, kind: type[_T]) -> _T:
    """Converts JSON to the type `kind`; raises `MalformedError` or `WrongValueError`."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        fault = _fault_of(_parsed(text), kind)
        if fault is not None:
            raise WrongValueError(fault) from None
        # The standard library accepts more than JSON, such as another encoding.
        raise MalformedError(str(error)) from None
    except UnicodeDecodeError as error:
        raise MalformedError(f"it is not UTF-8: {error.reason}") from None
    except RecursionError:
        raise MalformedError("its values are nested too deeply") from None


def parsed_member(text: bytes, name: str) -> Any:
    """A member of a JSON object; `None` if there is none. Raises `MalformedError`."""
    found = _parsed(text)
    return found.get(name) if isinstance(found, dict) else None


def _parsed(text: bytes) -> Any:
    """The plain values of a JSON text; raises `MalformedError`. Accepts `Infinity` and `NaN`."""
    try:
        return json.loads(text.decode("utf-8"))  # the parser would guess the encoding of bytes
    except json.JSONDecodeError as error:
        problem = error.msg[0].lower() + error.msg[1:].removesuffix(" at")
        where = f"line {error.lineno} column {error.colno}"
        raise MalformedError(f"{problem} at {where}") from None
    except UnicodeDecodeError as error:
        raise MalformedError(f"it is not UTF-8: {error.reason}") from None
    except RecursionError:
        raise MalformedError("its values are nested too deeply") from None
    except ValueError as error:  # a number with thousands of digits
        raise MalformedError(str(error).partition(";")[0].lower()) from None


def _fault_of(value: Any, kind: Any) -> str | None:
    """Describes the first wrong value, if any: its place, the expected type and the value found."""
    found = next(_faults((), value, kind), None)
    if found is None:
        return None
    place, problem = found
    where = shown(".".join(map(str, place)))
    return f"`{where}`{problem}" if where else problem.removeprefix(": ")


def _faults(place: _Place, value: Any, kind: Any) -> Iterator[tuple[_Place, str]]:
    """Yields the place and the problem of each wrong value, innermost first."""
    for key, part, part_kind in _parts(value, kind):
        yield from _faults((*place, key), part, part_kind)
    for name in _missing(value, kind):
        yield (*place, name), " is missing"
    if isinstance(value, float) and not math.isfinite(value):
        yield place, f": expected a finite number, not `{value}`"
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        yield place, f": {_expected(str(error), kind)}, not `{shown(value)}`"
    except RecursionError:
        yield place, ": it is nested too deeply"


def _expected(message: str, kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "expected " + " or ".join(f"`{one}`" for one in get_args(kind))
    text = message.partition(" - at ")[0].partition(", got ")[0]
    return text[0].lower() + text[1:]


def _missing(value: Any, kind: Any) -> list[str]:
    """The absent required members of an object."""
    if not (_is_struct(kind) and isinstance(value, dict)):
        return []
    fields = msgspec.structs.fields(kind)
    return [one.name for one in fields if one.required and one.name not in value]


def _parts(value: Any, kind: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """Yields the parts of a value that have types of their own: key, part and type."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    kinds = [one for one in get_args(kind) if one is not type(None)]
    if value is not None and type(None) in get_args(kind) and len(kinds) == 1:
        yield from _parts(value, kinds[0])
    elif isinstance(value, dict) and _is_struct(kind):
        for field in msgspec.structs.fields(kind):
            if field.name in value:
                yield field.name, value[field.name], field.type
    elif isinstance(value, dict) and len(kinds) == 2 and get_origin(kind) is not tuple:
        for key, one in value.items():
            yield key, key, kinds[0]
            yield key, one, kinds[1]
    elif isinstance(value, list) and get_origin(kind) is tuple and kinds[-1:] == [...]:
        yield from ((index, one, kinds[0]) for index, one in enumerate(value))
    elif isinstance(value, list) and hasattr(kind, "_fields"):
        hints = get_type_hints(kind, include_extras=True)
        yield from (
            (index, one, hint)
            for index, (one, hint) in enumerate(zip(value, hints.values(), strict=False))
        )


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
