"""Høiland-Jørgensen, Hurtig and Brunstrom (2015)."""
