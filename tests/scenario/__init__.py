"""Tests of scenarios, and of the trials that are planned from them."""
