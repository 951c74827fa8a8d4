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

PARTS = (body, household, bulk, sharing, iot, streams, download)
CLAIMS = Claims(
    sorted((claim for part in PARTS for claim in part.CLAIMS), key=lambda claim: claim.number)
)
