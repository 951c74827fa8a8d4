"""The report of a validation: one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.base.files import write_atomically
from aqmlab.base.numerals import percent
from aqmlab.campaign.store import own_files
from aqmlab.report.page import image
from aqmlab.report.page.templates import environment
from aqmlab.validation import drawing
from aqmlab.validation.metrics import METRICS
from aqmlab.validation.wording import amount, rule

if TYPE_CHECKING:
    from aqmlab.validation.compare import Validation

_MOST_ROWS = 200


def write(made: Validation, path: Path) -> Path:
    """Writes the report of the validation `made` to `path`; returns `path`."""
    own_files.refuse(path)
    write_atomically(path, page(made).encode())
    return path


def page(made: Validation) -> str:
    """The report of the validation `made` as HTML, with figures of errors and worst cases."""
    parts = [
        {
            "comparison": one,
            "worst": one.worst[:_MOST_ROWS],
            "errors": image(drawing.errors(one)),
            "pairs": [image(pair) for pair in drawing.worst(made, one)],
        }
        for one in made.comparisons
    ]
    template = environment("aqmlab").get_template("validation/page.html.j2")
    return template.render(
        made=made, parts=parts, metrics=METRICS, percent=percent, amount=amount, rule=rule
    )
