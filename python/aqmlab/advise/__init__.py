"""Advice from runs: the tier and the gateway that serve a household, and the settings to paste.

This package runs campaigns through `aqmlab.api`. Public interface: `asking.advice`
for Python programs, and `advice.advise`.
"""
