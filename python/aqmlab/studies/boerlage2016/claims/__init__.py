"""The claims of the paper, by topic, each as a small function over results."""

from aqmlab.studies.boerlage2016.claims import (
    alone,
    aqm,
    arithmetic,
    distance,
    fifo,
    households,
    implications,
)

CLAIMS = sorted(
    (claim for topic in (alone, fifo, aqm, households, distance, arithmetic, implications)
     for claim in topic.CLAIMS),
    key=lambda claim: claim.number,
)  # fmt: skip
