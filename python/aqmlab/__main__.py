"""`python -m aqmlab` is the command `aqmlab`."""

from aqmlab.cli import main

main()
