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
from aqmlab.studies.claims import Claims

CLAIMS = Claims.of(
    alone.CLAIMS,
    fifo.CLAIMS,
    aqm.CLAIMS,
    households.CLAIMS,
    distance.CLAIMS,
    arithmetic.CLAIMS,
    implications.CLAIMS,
)
