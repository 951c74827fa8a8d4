"""Households: people, devices and their simultaneous activities, as values, files and scenarios.

Activities and access lines are data in TOML files. `traffic.scenario_of` converts a household to a
scenario. `demand` sums the rates of a household's activities. This package imports `scenario` and
`base`.
Public interface: `household.Household`, `loading`, `demand`, `traffic`.
"""
