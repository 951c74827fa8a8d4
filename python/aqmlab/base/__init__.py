"""Tools without a subject: errors, files, numbers as text, processes, versions.

Knows nothing of scenarios, trials or campaigns.
"""
