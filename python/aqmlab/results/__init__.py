"""Results: a campaign's tables, labels of conditions, summaries, verdicts, exports and SQL.

This package reads campaigns' folders and does not import figures. Public interface: `results.load`.
"""
