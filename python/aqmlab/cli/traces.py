"""`aqmlab kernel traces`: compares the simulator's and the kernel's disciplines by packet."""

from __future__ import annotations

from aqmlab.cli import console
from aqmlab.cli.parameters.traces import TracesParameters
from aqmlab.engines.kernel import traces
from aqmlab.engines.kernel.settings import SETTINGS
from aqmlab.engines.kernel.traces import TraceComparison


def command(given: TracesParameters) -> int:
    """Runs `aqmlab kernel traces`; returns the exit status."""
    kinds = given.discipline or list(SETTINGS)
    running = traces.run(
        kinds,
        count=given.count,
        packets=given.packets,
        seed=given.seed,
        workers=given.jobs,
        say=console.talk,
    )
    outcomes: list[TraceComparison] = []
    for outcome in running:
        outcomes.append(outcome)
        if not given.as_json:
            print(_line(outcome), flush=True)
    if given.as_json:
        console.print_json([_plain(outcome) for outcome in outcomes])
    differ = sum(outcome.difference is not None for outcome in outcomes)
    console.talk(f"{len(outcomes) - differ} of {len(outcomes)} traces are equal")
    return 1 if differ else 0


def _line(outcome: TraceComparison) -> str:
    """Formats the comparison of one trace as a line.

    >>> from aqmlab.engines.kernel.traces import TraceComparison
    >>> same = {"operations": 6, "offered": 3, "dropped": 1, "marked": 0, "difference": None}
    >>> _line(TraceComparison("pfifo", 0, "limit 2", same, 0, 0))
    'pfifo 0: equal, 3 packets, 1 dropped, 0 marked (limit 2)'
    """
    head = f"{outcome.kind} {outcome.number}"
    if outcome.difference is not None:
        return f"{head}: DIFFERENT ({outcome.options}): {outcome.difference}"
    same = outcome.same
    counts = f"{same['offered']} packets, {same['dropped']} dropped, {same['marked']} marked"
    return f"{head}: equal, {counts} ({outcome.options})"


def _plain(outcome: TraceComparison) -> dict[str, object]:
    return {
        "kind": outcome.kind,
        "number": outcome.number,
        "options": outcome.options,
        "flows_that_share_a_queue": outcome.collisions,
        **outcome.same,
    }
