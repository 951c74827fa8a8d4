"""Workers find the fake engine in every test here."""

from support.campaigns import fake_engine as fake_engine
