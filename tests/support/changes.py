"""Plans scenarios with changes in the notation of the command line."""

from aqmlab.planning import planner
from aqmlab.planning.change_text import assignments, variations


def read(sets=(), vary=(), **others):
    """The arguments of a planner for the texts of `--set` and `--vary`."""
    return {"sets": assignments(sets), "vary": variations(vary), **others}


def load(source, **changes):
    """The plan of `source` with the texts of `--set` and `--vary`."""
    return planner.load(source, **read(**changes))
