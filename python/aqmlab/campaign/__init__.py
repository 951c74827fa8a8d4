"""Campaigns: runs planned trials on processes or a cluster, into a folder that can be resumed.

`store` manages the folder. This package knows engines and planned trials, but neither verdicts nor
figures. Door: `runner.run`.
"""
