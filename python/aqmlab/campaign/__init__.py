"""Campaigns: runs planned trials on processes or a cluster, into a folder that can be resumed.

`store` is the folder. Knows engines and planned trials, and nothing of verdicts or figures. Door:
`runner.run`.
"""
