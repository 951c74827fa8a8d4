"""The table of the keys of a direction of the path, made from the model's fields."""

from __future__ import annotations

from aqmlab.scenario import toml_writer
from aqmlab.scenario.fields import plain
from aqmlab.scenario.links import Link
from pydantic.fields import FieldInfo


def directional(_: str) -> str:
    """The keys of `path.down` and `path.up` with their defaults and meanings."""
    rows = (
        f"| `{name}` | {_default(info)} | {info.description} |\n"
        for name, info in Link.model_fields.items()
    )
    return "| Key | Default | Meaning |\n|---|---|---|\n" + "".join(rows)


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = plain(info.get_default(call_default_factory=True, validated_data={}))
    if value is None:
        return "none"
    name = value.get("kind", value) if isinstance(value, dict) else value
    return f"`{toml_writer.value(name)}`"
