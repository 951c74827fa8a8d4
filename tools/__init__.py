"""Programs for developers. Tests import them as `tools.NAME`, and each also runs as a file."""
