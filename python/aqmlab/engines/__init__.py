"""Engines: the programs that run one resolved trial and return its tables.

`registry` lists them. `kernel` runs Linux in a virtual machine or on this host. `ns3` runs ns-3.
This package knows scenarios only by the names of their kinds. Door: `registry`.
"""
