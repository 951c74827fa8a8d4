"""A laboratory for the queue in a home gateway.

>>> import aqmlab
>>> results = aqmlab.run("household", duration="10 s")  # doctest: +SKIP
>>> results.flows.select("flow", "direction", "rtt_p95_ms")  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aqmlab.advise.asking import advice
    from aqmlab.api import Results, load, run
    from aqmlab.base.errors import ScenarioError
    from aqmlab.base.failures import LabError, RequestError, TrialsError
    from aqmlab.campaign.dask_executor import Cluster
    from aqmlab.engines.kernel.errors import MissingError
    from aqmlab.households.activity import Activity
    from aqmlab.households.household import Household, Person, Use
    from aqmlab.scenario.model import Scenario
    from aqmlab.scenario.quantities import Duration, Rate, Share, Size
    from aqmlab.studies.asking import reproduce

__version__ = "0.1.0"

__all__ = [
    "Activity",
    "Cluster",
    "Duration",
    "Household",
    "LabError",
    "MissingError",
    "Person",
    "Rate",
    "RequestError",
    "Results",
    "Scenario",
    "ScenarioError",
    "Share",
    "Size",
    "TrialsError",
    "Use",
    "__version__",
    "advice",
    "load",
    "reproduce",
    "run",
]

_HOMES = {
    "Activity": "aqmlab.households.activity",
    "Cluster": "aqmlab.campaign.dask_executor",
    "Duration": "aqmlab.scenario.quantities",
    "Household": "aqmlab.households.household",
    "LabError": "aqmlab.base.failures",
    "MissingError": "aqmlab.engines.kernel.errors",
    "Person": "aqmlab.households.household",
    "Rate": "aqmlab.scenario.quantities",
    "RequestError": "aqmlab.base.failures",
    "Results": "aqmlab.api",
    "Scenario": "aqmlab.scenario.model",
    "ScenarioError": "aqmlab.base.errors",
    "Share": "aqmlab.scenario.quantities",
    "Size": "aqmlab.scenario.quantities",
    "TrialsError": "aqmlab.base.failures",
    "Use": "aqmlab.households.household",
    "advice": "aqmlab.advise.asking",
    "load": "aqmlab.api",
    "reproduce": "aqmlab.studies.asking",
    "run": "aqmlab.api",
}


if not TYPE_CHECKING:  # Type checkers have the imports above, and refuse any other name.

    def __getattr__(name: str) -> object:
        """Imports a public name on first access."""
        if name not in _HOMES:
            nearest = import_module("aqmlab.base.errors").nearest
            close = nearest(name, __all__) if not name.startswith("_") else None
            meant = f"; did you mean `{close}`?" if close else ""
            # With `name`, Python does not add a suggestion of its own.
            raise AttributeError(f"module `aqmlab` has no attribute `{name}`{meant}", name=name)
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names of this package."""
    return sorted(__all__)
