"""The claims of the paper, each as a small function over results."""

from aqmlab.studies.claims import Claims
from aqmlab.studies.papers.kua2017.claims import (
    compared,
    conclusions,
    dash,
    fast,
    method,
    middle,
    slow,
)

CLAIMS = Claims.of(
    method.CLAIMS,
    fast.CLAIMS,
    middle.CLAIMS,
    slow.CLAIMS,
    compared.CLAIMS,
    dash.CLAIMS,
    conclusions.CLAIMS,
)
"""The claims of all modules, sorted by number."""
