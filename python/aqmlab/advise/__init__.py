"""Advice: the tier and the gateway that serve a household, from runs, with settings to paste.

This package runs campaigns as other programs do. Door: `advice.advise`.
"""
