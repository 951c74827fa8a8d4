"""Runs the command `aqmlab` as `python -m aqmlab`."""

from aqmlab.cli import main

main()
