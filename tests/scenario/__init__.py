"""Tests of scenarios, plans and TEACUP configs."""
