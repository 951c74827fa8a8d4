"""Verdicts: the needs of applications, and the comparison of measured values with them."""
