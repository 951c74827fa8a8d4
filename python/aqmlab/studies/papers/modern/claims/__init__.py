"""Claims of the sources of L4S, of CAKE and of BBRv3."""

from aqmlab.studies.claims import Claims
from aqmlab.studies.papers.modern.claims import bbr, cake, coexistence, l4s, shaper

CLAIMS = Claims.of(l4s.CLAIMS, coexistence.CLAIMS, cake.CLAIMS, shaper.CLAIMS, bbr.CLAIMS)
