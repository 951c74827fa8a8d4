"""`aqmlab kernel traces`: compares disciplines with the kernel's, packet by packet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from aqmlab.cli import options

if TYPE_CHECKING:
    from aqmlab.engines.kernel.traces import TraceComparison


def command(
    discipline: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer reads the annotation)
        typer.Option(metavar="NAME", help="A discipline; may be repeated; all if absent."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of traces of each discipline.")] = 20,
    packets: Annotated[int, typer.Option(min=1, help="Number of packets in each trace.")] = 10_000,
    seed: Annotated[int, typer.Option(min=1, help="Seed of the random packets.")] = 1,
    jobs: options.Jobs = None,
    as_json: options.AsJson = False,
) -> int:
    """Compare disciplines with the kernel's, packet by packet."""
    from aqmlab.cli import console
    from aqmlab.engines.kernel import traces
    from aqmlab.engines.kernel.settings import SETTINGS

    kinds = discipline or list(SETTINGS)
    running = traces.run(
        kinds, count=count, packets=packets, seed=seed, workers=jobs, say=console.talk
    )
    outcomes: list[TraceComparison] = []
    for outcome in running:
        outcomes.append(outcome)
        if not as_json:
            print(_line(outcome), flush=True)
    if as_json:
        console.print_json([_plain(outcome) for outcome in outcomes])
    differ = sum(outcome.difference is not None for outcome in outcomes)
    console.talk(f"{len(outcomes) - differ} of {len(outcomes)} traces are equal")
    return 1 if differ else 0


def _line(outcome: TraceComparison) -> str:
    """One trace as a line.

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
