"""The checks that RFC 7928 recommends."""

from __future__ import annotations

from aqmlab.studies.claims import (
    Check,
    Claims,
    about,
    above,
    alike,
    below,
    more,
    mostly,
    not_less,
    total,
)
from aqmlab.studies.numbers import Numbers
from aqmlab.studies.papers.rfc7928.claims.conditions import (
    BESIDE,
    BURSTS,
    CODEL,
    FIFO,
    FQ,
    LEVELS,
    LINE_MBIT,
    LOAD,
    LOSS_PERCENT,
    MANAGED,
    MIX,
    NO_LOSS_OF_USE,
    PAIR,
    PIE,
    QUEUES,
    SENDERS,
    SINGLE,
    congested,
    flows,
    ratio,
    sojourn,
)
from aqmlab.studies.trials import Trials

CLAIMS = Claims()


@CLAIMS("R-09", "RFC 7928, 1", "A discipline that manages its queue reduces its delay.", SINGLE,
        LOAD, given="buffer", rule="The median sojourn is below half of drop-tail's.")  # fmt: skip
def _(single: Numbers, load: Numbers) -> list[Check]:
    found = []
    for queue in MANAGED:
        for sender in SENDERS:
            those, these = (
                sojourn(single, {"sender": sender, "qdisc": one}) for one in (FIFO, queue)
            )
            found.append(more(f"drop-tail over {queue}, {sender}", those, these, times=2))
        for level in LEVELS:
            those, these = (sojourn(load, congested(level, one)) for one in (FIFO, queue))
            found.append(more(f"drop-tail over {queue}, {level}", those, these, times=2))
    return found


@CLAIMS("R-10", "RFC 7928, 5.1.2", "A short transfer that begins with a larger window completes"
        " beside a long-lived flow as soon as under drop-tail, or sooner.", Trials("windows"),
        given="buffer", rule="In three of four transfers, each at most a tenth later.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    found = []
    for queue in MANAGED:
        for number in (1, 2, 3, 4):
            those, these = (
                n.app(f"short-{number}", "completion_time_s", {"qdisc": one})
                for one in (FIFO, queue)
            )
            found.append(not_less(f"drop-tail over {queue}, {number}.", those, these, slack=0.1))
    return mostly("", found, share=0.75)


@CLAIMS("R-11", "RFC 7928, 5.2", "An aggressive sender's flow waits longer than a friendly one's"
        " under drop-tail; what a discipline makes of both differs less.", SINGLE,
        given="buffer", rule="In the median sojourn.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    aggression = {
        queue: ratio(*(sojourn(n, {"sender": sender, "qdisc": queue})
                        for sender in reversed(SENDERS)))
        for queue in QUEUES
    }  # fmt: skip
    longer = [above("CUBIC over NewReno, drop-tail", aggression[FIFO], 1.0, "×")]
    return longer + [
        more(f"drop-tail's ratio over {queue}'s", aggression[FIFO], aggression[queue])
        for queue in MANAGED
    ]


@CLAIMS("R-12", "RFC 7928, 5.3", "Datagrams beyond the line's rate keep it full; the delay is then"
        " that of the buffer, unless a discipline holds it down.", Trials("flood"), given="buffer",
        rule="Utilisation of 0.98; drop-tail's median sojourn within a tenth of its buffer's, a"
        " managed queue's below half of it.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    full_ms = 83 * 1228 * 8e-3 / LINE_MBIT
    delays = {queue: sojourn(n, {"qdisc": queue}) for queue in QUEUES}
    return [
        *(above(f"{queue}, utilisation", n.queue("down", "utilisation", {"qdisc": queue}), 0.98)
          for queue in QUEUES),
        about("drop-tail, sojourn", delays[FIFO], full_ms, "ms", within=0.1),
        *(below(f"{queue}, sojourn", delays[queue], full_ms / 2, "ms") for queue in MANAGED),
    ]  # fmt: skip


@CLAIMS("R-13", "RFC 7928, 5.3, and RFC 8290, 1", "Only a discipline that parts flows protects a"
        " responsive flow from datagrams that no drop slows.", BESIDE, given="buffer",
        rule="Protected is a goodput of nine tenths of half the line's payload; the others' flows"
        " get less than half of that.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    half_mbit = 0.9 * LINE_MBIT / 2 * 1448 / 1500
    goodput = {queue: n.flow("flow", "goodput_mbit", {"qdisc": queue}) for queue in QUEUES}
    return [
        above("FQ-CoDel", goodput[FQ], half_mbit, "Mbit/s"),
        *(below(queue, goodput[queue], half_mbit / 2, "Mbit/s") for queue in (FIFO, CODEL, PIE)),
    ]


@CLAIMS("R-14", "RFC 7928, 6.1", "A discipline may make flows of different round-trip times share"
        " more fairly than drop-tail does.", PAIR, given="buffer",
        rule="Jain's index is greater than drop-tail's at 20, 200 and 560 ms, for one discipline at"
        " least; judged of FQ-CoDel.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        more(f"FQ-CoDel over drop-tail, {rtt}",
             *(n.summary("jain_down", {"rtt": rtt, "qdisc": queue}) for queue in (FQ, FIFO)))
        for rtt in ("20 ms", "200 ms", "560 ms")
    ]  # fmt: skip


@CLAIMS("R-15", "RFC 7928, 6.1", "A discipline might make flows share unfairly though their"
        " round-trip times are equal; it should not.", PAIR, given="buffer",
        rule="Jain's index of two flows of 100 ms is 0.95 at least.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        above(
            f"{queue}, Jain's index",
            n.summary("jain_down", {"rtt": "100 ms", "qdisc": queue}),
            0.95,
        )
        for queue in MANAGED
    ]


@CLAIMS("R-16", "RFC 7928, 7.1 and 7.2", "A discipline absorbs bursts: pages and a video's frames"
        " arrive no later than under drop-tail.", BURSTS, given=("buffer", "bursts"),
        rule="Medians of page load and completion times, at most a tenth longer.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    metrics = {"web": "page_load_p50_ms", "video": "completion_p50_ms"}
    return [
        not_less(f"drop-tail over {queue}, {app}",
                 *(n.app(app, metric, {"qdisc": one}) for one in (FIFO, queue)), slack=0.1)
        for queue in MANAGED
        for app, metric in metrics.items()
    ]  # fmt: skip


@CLAIMS("R-17", "RFC 7928, 8.2.1 to 8.2.4", "So many flows as section 8.2 counts lose 0.1, 0.5 and"
        " 1 % under drop-tail.", LOAD, given=("buffer", "flows"),
        rule="Of the packets sent to B after slow start.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    found = []
    for level, percent in LOSS_PERCENT.items():
        at = congested(level, FIFO)
        lost, sent = (
            total(*(n.flow(flow, column, at) for flow in flows(level)))
            for column in ("lost", "packets_sent")
        )
        share = {seed: 100 * lost[seed] / sent[seed] for seed in lost}
        found.append(about(f"{level}, loss", share, percent, "%"))
    return found


@CLAIMS("R-18", "RFC 7928, 8.1", "A discipline is stable: its delay does not grow without bound as"
        " congestion does.", LOAD, given=("buffer", "flows"),
        rule="From mild to heavy congestion the 95th percentile of the sojourn grows at most"
        " twofold, and stays below drop-tail's.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    found = []
    for queue in MANAGED:
        mild, heavy = (
            sojourn(n, congested(one, queue), "sojourn_p95_ms") for one in ("mild", "heavy")
        )
        worst = sojourn(n, congested("heavy", FIFO), "sojourn_p95_ms")
        found.append(below(f"{queue}, heavy over mild", ratio(heavy, mild), 2.0, "×"))
        found.append(more(f"drop-tail over {queue}, heavy", worst, heavy))
    return found


@CLAIMS("R-19", "RFC 7928, 8.2.5", "When heavy congestion gives way to mild, the delay is again"
        " what it was.", Trials("varying"), given=("buffer", "flows"),
        rule="The median RTT of a ping from 65 to 80 s is within a fifth of that from 5 to 20 s, or"
        " less, and below that from 40 to 60 s.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    found = []
    for queue in MANAGED:
        at = {"qdisc": queue}
        before, heavy, after = (
            n.rtt("ping", at, span, direction="up", take=0.5)
            for span in ((5.0, 20.0), (40.0, 60.0), (65.0, 80.0))
        )
        found.append(not_less(f"{queue}, before over after", before, after, slack=0.2))
        found.append(more(f"{queue}, heavy over after", heavy, after))
    return found


@CLAIMS("R-20", "RFC 7928, 1 and 9.1", "In a mix, a discipline lowers the delay of what is"
        " sensitive to it, and the goodput of all is not less.", MIX, given=("buffer", "bursts"),
        rule="The call's median induced RTT is below half of drop-tail's; what the line carries is"
        " at most a twentieth less.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    call = {one: n.flow("voip", "induced_p50_ms", {"qdisc": one}, "down") for one in QUEUES}
    line = {one: n.queue("down", "throughput_mbit", {"qdisc": one}) for one in QUEUES}
    return [
        *(more(f"drop-tail over {one}, call", call[FIFO], call[one], times=2) for one in MANAGED),
        *(not_less(f"{one} over drop-tail, line", line[one], line[FIFO], slack=NO_LOSS_OF_USE)
          for one in MANAGED),
    ]  # fmt: skip


@CLAIMS("R-21", "RFC 7928, 9.2", "With a flow each way both get the same from a discipline, though"
        " acknowledgements wait with data.", Trials("both"), given="buffer",
        rule="Goodputs within a tenth.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        alike(f"{queue}, down over up",
              *(n.flow(flow, "goodput_mbit", {"qdisc": queue}) for flow in ("down", "up")),
              within=0.1)
        for queue in MANAGED
    ]  # fmt: skip
