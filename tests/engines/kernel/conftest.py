"""If no machine can boot, deselects the tests that need a machine, and reports the reason."""

from __future__ import annotations

import pytest
from aqmlab.engines import kernel
from aqmlab.engines.kernel import agent
from support import machines

_BOOTS = ("boot", "vm")


def missing() -> str | None:
    """The first missing requirement of a virtual machine with an agent; `None` without any.

    Builds nothing.
    """
    try:
        agent.where()
    except kernel.MissingError as error:
        return f"{error.problem} ({error.hint})"
    return machines.missing()


@pytest.hookimpl(trylast=True)  # after the deselection of tests that were not requested
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects the tests that cannot run on this machine."""
    boots = [item for item in items if any(item.get_closest_marker(mark) for mark in _BOOTS)]
    problem = missing() if boots else None
    if problem is None:
        return
    items[:] = [item for item in items if item not in boots]
    config.hook.pytest_deselected(items=boots)
    config.stash[_LEFT_OUT] = f"{len(boots)} left out, no machine can be booted: {problem}"


_LEFT_OUT = pytest.StashKey[str]()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Reports the deselected tests."""
    said = config.stash.get(_LEFT_OUT, None)
    if said is not None:
        terminalreporter.write_line(said, yellow=True)
