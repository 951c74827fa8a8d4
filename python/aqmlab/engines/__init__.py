"""Engines: the programs that run one resolved trial and return its tables.

`registry` lists the engines of campaigns, and `engine` states what such an engine must do.
`trial_spec` defines the resolved trial. `kernel` runs Linux in a virtual machine or on this host.
`ns3` runs ns-3, which only the validation uses. This package does not depend on scenarios, except
for the names of kinds. Public interface: `registry`.
"""
