"""Planning: from a scenario or a TEACUP config to the resolved trials of a campaign.

All trials are planned and checked before the first trial runs. This package depends on scenarios,
households, and the engines' checks of trials. Public interface: `planner.load`.
"""
