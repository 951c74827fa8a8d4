"""Helpers that tests in several folders share."""
