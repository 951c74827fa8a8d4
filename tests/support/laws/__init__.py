"""Laws that the tables of every trial satisfy.

A law takes a run and yields a sentence for each violation. No law contains a measured number:
bounds follow from the trial's spec, and equalities from the definitions in
docs/reference/results.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .. import bounds
from ..trials import Run
from . import apps, conns, flows, form, hosts, queues, series

Law = Callable[[Run], Iterator[str]]

LAWS: tuple[Law, ...] = (
    form.columns_are_those_documented,
    form.numbers_are_finite_where_they_must_be,
    flows.counts_add_up,
    flows.delays_are_no_less_than_the_path,
    flows.quantiles_are_in_order,
    flows.active_time_is_within_the_trial,
    flows.goodput_is_part_of_what_arrived,
    flows.means_are_bytes_over_time,
    flows.throughput_is_within_the_line,
    flows.every_packet_of_the_trial_is_in_a_row,
    hosts.hosts_are_sums_of_their_applications,
    series.windows_add_up_to_the_bytes,
    series.windows_are_within_the_line,
    series.round_trips_over_time_are_those_of_the_flow,
    series.times_rise_within_the_trial,
    queues.packets_are_conserved,
    queues.links_carry_no_more_than_their_rate,
    queues.links_hand_on_what_they_send,
    queues.queues_hold_no_more_than_their_limit,
    queues.waits_are_what_littles_law_says,
    queues.drops_and_marks_have_owners,
    queues.samples_agree_with_totals,
    conns.connections_live_in_order,
    conns.segments_are_packets,
    apps.numbers_are_possible,
    apps.datagrams_are_packets,
)


def violations(run: Run) -> list[str]:
    """Every violation of any law. Each text begins with the law's name.

    A link whose rate an application changes has its highest rate.
    """
    if bounds.adapted_links(run.spec):
        run = replace(run, spec=bounds.with_highest_rates(run.spec))
    if not run.spec["measure"]["enabled"]:
        return [f"{law.__name__}: {text}" for law in UNMEASURED for text in law(run)]
    return [f"{law.__name__}: {text}" for law in LAWS for text in law(run)]


UNMEASURED: tuple[Law, ...] = (form.columns_are_those_documented,)
