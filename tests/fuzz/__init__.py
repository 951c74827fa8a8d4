"""What must hold of any text that a reader is given; `fuzz/readers.py` makes the texts."""
