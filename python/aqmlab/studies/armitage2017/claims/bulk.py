"""Appendix C: bulk transfers that compete."""

from __future__ import annotations

from aqmlab.studies.claims import Claims

CLAIMS = Claims()
