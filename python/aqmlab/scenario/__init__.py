"""Scenarios: their values, their file format, their checks and their defaults.

A scenario states everything on which its trials depend, except the engine. Its quantities have
units. This package depends on the core's catalogue of kinds. Public interface: `model.Scenario`,
`loading`.
"""
