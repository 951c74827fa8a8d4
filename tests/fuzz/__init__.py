"""Properties of every reader for any text. `fuzz/readers.py` makes the texts."""
