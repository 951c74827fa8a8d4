"""studies.papers."""
