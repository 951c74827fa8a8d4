"""General tools: errors, files, number formatting, processes, versions.

This package does not depend on scenarios, trials or campaigns.
"""
