"""Registers the fake engine for the workers of every test in this folder."""

from support.campaigns import fake_engine as fake_engine
