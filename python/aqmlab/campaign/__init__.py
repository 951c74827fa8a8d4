"""Campaigns: runs planned trials on processes or a cluster, into a folder that can be resumed.

`store` manages the folder. This package depends on engines and planned trials, and not on verdicts
or figures. Public interface: `runner.run`.
"""
