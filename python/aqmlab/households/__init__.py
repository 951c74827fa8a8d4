"""Households: people, devices and their simultaneous activities, as values, files and scenarios.

Activities and access lines are data. A household becomes a scenario by one function, and its demand
is a sum. This package imports `scenario`. Door: `household.Household`, `loading`, `demand`,
`traffic`.
"""
