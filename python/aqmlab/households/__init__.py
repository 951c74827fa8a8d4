"""Households: people, devices and what they do at once, as values, files and scenarios.

Activities and access lines are data. A household becomes a scenario by one function, and its demand
is a sum. This package knows scenarios. Door: `household.Household`, `loading`, `demand`, `traffic`.
"""
