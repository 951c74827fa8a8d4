"""`aqmlab demand`: adds up what a household needs, by category and direction."""

from __future__ import annotations

from typing import Any

from aqmlab.cli import console
from aqmlab.cli.parameters.demand import DemandParameters
from aqmlab.households import loading
from aqmlab.households.activity import CATEGORIES
from aqmlab.households.demand import WAYS, HouseholdDemand, demand_of
from aqmlab.households.household import Household

_NAMES = {
    "streaming": "streams",
    "tolerant": "tolerant of delay",
    "sensitive": "sensitive to delay",
}


def command(given: DemandParameters) -> int:
    """Runs `aqmlab demand`; returns the exit status."""
    household = loading.load(given.household)
    demand = demand_of(household)
    if given.as_json:
        console.print_json(as_json(household, demand))
        return 0
    print(household.title or given.household)
    _show(demand)
    print(f"\nAcknowledgements: as the source states them, or {household.ack_share} of TCP's data.")
    for slip in household.slips:
        print(f"A slip of the source: {slip}")
    return 0


def as_json(household: Household, demand: HouseholdDemand) -> dict[str, Any]:
    """The household's demand as a JSON object: the sums and the parts, in Mbit/s."""
    sums = {way: {one: demand.data_mbit(way, one) for one in CATEGORIES} for way in WAYS}
    parts = [
        {
            "what": one.what,
            "category": one.category,
            "copies": one.copies,
            "source": one.source,
            **{f"{way}_mbit": float(one.data_bps[way]) / 1e6 for way in WAYS},
            **{f"acks_{way}_mbit": float(one.acks_bps[way]) / 1e6 for way in WAYS},
        }
        for one in demand.parts
    ]
    return {
        "title": household.title,
        "source": household.source,
        "ack_share": household.ack_share,
        **{
            way: {
                **{f"{name}_mbit": value for name, value in sums[way].items()},
                "acks_mbit": demand.acks_mbit(way),
                "total_mbit": demand.total_mbit(way),
            }
            for way in WAYS
        },
        "rounded_up_mbit": dict(zip(WAYS, demand.rounded_up(), strict=True)),
        "parts": parts,
        "slips": list(household.slips),
    }


def _show(demand: HouseholdDemand) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("Mbit/s")
    for way in WAYS:
        table.add_column(way, justify="right")
    for part in demand.parts:
        label = part.what if part.copies == 1 else f"{part.copies} × {part.what}"
        table.add_row(f"  {label}", *(_number(float(part.data_bps[way]) / 1e6) for way in WAYS))
    table.add_section()
    for one in CATEGORIES:
        table.add_row(_NAMES[one], *(_number(demand.data_mbit(way, one)) for way in WAYS))
    table.add_row("acknowledgements", *(_number(demand.acks_mbit(way)) for way in WAYS))
    table.add_row("in all", *(_number(demand.total_mbit(way)) for way in WAYS))
    console.stdout().print(table)


def _number(mbit: float) -> str:
    """Formats a rate with two decimals, or with one significant digit below 0.01.

    Zero gives an empty text.

    >>> _number(16.8925), _number(0.4065), _number(0.00012), _number(0)
    ('16.89', '0.41', '0.0001', '')
    """
    if not mbit:
        return ""
    return f"{mbit:.2f}" if mbit >= 0.01 else f"{mbit:.1g}"
