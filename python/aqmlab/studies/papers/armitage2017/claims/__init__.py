"""The claims of the report, each as a small function over results."""

from aqmlab.studies.claims import Claims
from aqmlab.studies.papers.armitage2017.claims import (
    body,
    bulk,
    download,
    household,
    iot,
    sharing,
    streams,
)

CLAIMS = Claims.of(
    body.CLAIMS,
    household.CLAIMS,
    bulk.CLAIMS,
    sharing.CLAIMS,
    iot.CLAIMS,
    streams.CLAIMS,
    download.CLAIMS,
)
"""The claims of all modules, sorted by number."""
