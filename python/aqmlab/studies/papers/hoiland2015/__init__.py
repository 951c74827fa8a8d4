"""Høiland-Jørgensen, Hurtig and Brunstrom (2015): modern AQMs in a residential setting."""
