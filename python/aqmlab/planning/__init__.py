"""Planning: from a scenario or a TEACUP config to the resolved trials of a campaign.

Everything is planned and checked before the first trial runs. Knows scenarios, and which engine
refuses what. Door: `planner.load`.
"""
