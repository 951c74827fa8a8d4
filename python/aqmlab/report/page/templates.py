"""The environment of the templates of all pages: they escape text and refuse unknown names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aqmlab.base.failures import RequestError
from aqmlab.base.numerals import count_text
from aqmlab.results.verdicts.wording import unbroken

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(*packages: str) -> Environment:
    """The environment whose templates are in the folders of `packages`, in order of precedence."""
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise RequestError("a page needs jinja2", "pip install jinja2") from None
    made = Environment(
        loader=ChoiceLoader([PackageLoader(name, ".") for name in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["unbroken"] = unbroken
    made.filters["count_text"] = count_text
    return made
