"""Engines: the programs that run one resolved trial and return its tables.

`registry` lists them, and `engine` states what an engine must do. `trial_spec` defines the resolved
trial. `kernel` runs Linux in a virtual machine or on this host. `ns3` runs ns-3. This package does
not depend on scenarios, except for the names of kinds. Public interface: `registry`.
"""
