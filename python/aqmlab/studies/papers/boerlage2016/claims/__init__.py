"""The claims of the paper, by topic, each as a small function over results."""

from aqmlab.studies.claims import Claims
from aqmlab.studies.papers.boerlage2016.claims import (
    alone,
    aqm,
    arithmetic,
    distance,
    fifo,
    households,
    implications,
)

CLAIMS = Claims.of(
    alone.CLAIMS,
    fifo.CLAIMS,
    aqm.CLAIMS,
    households.CLAIMS,
    distance.CLAIMS,
    arithmetic.CLAIMS,
    implications.CLAIMS,
)
