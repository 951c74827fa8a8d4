"""What RFC 7928 says to check, and what the disciplines' own RFCs claim, as functions.

The RFC states no results: it says what to look at, and where a discipline should do no harm. What
is held against a discipline is the sentence of the RFC that defines it.
"""

from aqmlab.studies.claims import Claims
from aqmlab.studies.papers.rfc7928.claims import disciplines, guidelines

CLAIMS = Claims.of(disciplines.CLAIMS, guidelines.CLAIMS)
