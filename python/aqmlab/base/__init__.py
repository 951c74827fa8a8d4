"""General tools: errors, files, number formatting, processes, versions.

This package knows nothing of scenarios, trials or campaigns.
"""
