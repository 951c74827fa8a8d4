"""The studies, as `aqmlab list` shows them."""

from __future__ import annotations

from aqmlab import studies
from aqmlab.cli.listed import Listed


def entries(topic: str, name: str | None) -> list[Listed]:
    """The built-in studies, or only the study whose name or folder is `name`."""
    found = (studies.load(one) for one in ([name] if name else studies.names()))
    return [
        {
            "name": study.name,
            "title": study.title,
            "source": study.paper,
            "figures": list(study.figures),
            "claims": list(study.claims),
        }
        for study in found
    ]
