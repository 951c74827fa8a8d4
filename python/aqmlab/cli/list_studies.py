"""The studies, as `aqmlab list` shows them."""

from __future__ import annotations

from aqmlab import studies
from aqmlab.cli.listed import Listed


def entries(topic: str, name: str | None) -> list[Listed]:
    """The studies of this package, or the one study that `name` names or whose folder it is."""
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
