"""The checks that RFC 7928 recommends, and the claims of the disciplines' own RFCs.

RFC 7928 states no results. It lists properties to examine, and conditions in which a discipline
must do no harm. A discipline is judged by the sentences of the RFC that defines it.
"""

from aqmlab.studies.claims import Claims
from aqmlab.studies.papers.rfc7928.claims import disciplines, guidelines

CLAIMS = Claims.of(disciplines.CLAIMS, guidelines.CLAIMS)
