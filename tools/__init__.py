"""Programs for developers, and the modules of these programs. Tests import `tools.NAME`."""
