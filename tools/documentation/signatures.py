"""Signatures for the reference for the Python interface."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

from aqmlab.scenario.quantities import Quantity
from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation


def model_signature(
    app: Sphinx, what: str, name: str, found: Any, *_: object
) -> tuple[str, str] | None:
    """The signature of a pydantic model, with types as a caller writes them.

    Sphinx calls this function for each object, and keeps the signature if the function returns
    `None`. Pydantic's own signature shows validators.
    """
    if not (inspect.isclass(found) and issubclass(found, BaseModel)):
        return None
    hints = get_type_hints(found)
    members = (
        f"{member}: {stringify_annotation(hints[member], 'smart')}{_default(field)}"
        for member, field in found.model_fields.items()
    )
    return f"(*, {', '.join(members)})", ""


def _default(field: Any) -> str:
    """The default value of a member after an equals sign; empty without a default."""
    if field.is_required():
        return ""
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return f" = {type(value).__name__}()"
    return f" = {str(value) if isinstance(value, Quantity) else value!r}"
