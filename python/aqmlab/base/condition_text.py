"""Formats the value of a condition identically in labels, tables and messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def condition_text(value: Any) -> str:
    """Formats a varied value as in a scenario, but with a kind and its parameters as one text.

    >>> condition_text({"kind": "codel", "target": "5 ms"}), condition_text(0.5)
    ('codel target=5 ms', '0.5')
    >>> condition_text({"kind": "codel", "params": {}})
    'codel'
    """
    if isinstance(value, Mapping) and isinstance(value.get("kind"), str):
        params = value.get("params", {key: value[key] for key in value if key != "kind"})
        if isinstance(params, Mapping):
            return " ".join([value["kind"], *(f"{key}={params[key]}" for key in params)])
    if isinstance(value, str):
        return value
    if not isinstance(value, float):
        return json.dumps(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
