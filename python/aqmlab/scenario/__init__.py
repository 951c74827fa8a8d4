"""Scenarios: their values, their file format, their checks and their defaults.

A scenario says everything on which a run depends except the seed. Quantities have units here and
base units nowhere. Knows the core's catalogue of kinds. Door: `model.Scenario`, `loading`.
"""
