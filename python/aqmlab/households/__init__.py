"""Households: people, devices and their simultaneous activities, as values, files and scenarios.

Activities and access lines are data. One function converts a household to a scenario, and the
demand of a household is a sum. This package imports `scenario`. Door: `household.Household`,
`loading`, `demand`, `traffic`.
"""
