"""Results: tables of a campaign's folder, labels of conditions, summaries, verdicts, exports, SQL.

Knows campaigns' folders, and nothing of figures. Door: `results.load`.
"""
