"""Claims of section VI about the Hectic Household, and of other sections about arithmetic."""

from __future__ import annotations

from aqmlab.studies.claims import Check, Claims, Evidence, about, above, below, more
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.papers.armitage2017 import household
from aqmlab.studies.papers.armitage2017.claims.common import each
from aqmlab.studies.papers.armitage2017.household import PEAK
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

PLAY_MS = 100.0
"""IV-E: the largest round-trip time that players of fast games prefer."""

USELESS_MS = 200.0
"""The limit of ITU-T G.1010 on the delay of games."""

FRUSTRATION_MS = 500.0
"""IV-E: the time after which users who look something up become impatient."""

TALK_MS = 150.0
"""Table VII: the limit on the one-way delay of a conversation."""

EXACT = 0.01
"""The tolerance for rounding of numbers that are only computed."""


def trials(*rates: str) -> Trials:
    """The household's trials at these `rates`."""
    return Trials("hectic", {"rate": rates})


def at(rate: str, queue: str) -> At:
    """The condition of the household with a rate and a queue."""
    return {"rate": rate, "qdisc": queue}


def game(n: Numbers, where: At, part: int = 50) -> BySeed:
    """A percentile of the game's round-trip time, in ms."""
    return n.flow("game", f"rtt_p{part}_ms", where, "up")


def talk(n: Numbers, where: At) -> BySeed:
    """The worse direction's 95th percentile of the call's one-way delay, in ms."""
    ways = (n.app(f"call_{way}", f"owd_{way}_p95_ms", where) for way in ("up", "down"))
    return each(max, *ways)


def page(n: Numbers, where: At) -> BySeed:
    """The median time that a page takes to load, in ms."""
    return n.app("web", "page_load_p50_ms", where)


def notified(n: Numbers, where: At) -> BySeed:
    """The median time to send a notification, in ms: the lower median over four senders."""
    times = [n.app(f"sent-{one}", "completion_p50_ms", where) for one in range(1, 5)]
    return each(lambda *values: sorted(values)[1], *times)


@CLAIMS("2-21", "VI-D", "The household needs 16.9 Mbit/s down and 2.0 up, which 18/2 has; with "
        "FIFOs its game and call suffer there, and 5 Mbit/s up bound their delay.",
        trials("18/2 Mbit/s", "18/5 Mbit/s"))  # fmt: skip
def _(n: Numbers) -> Evidence:
    narrow, wide = at("18/2 Mbit/s", "FIFO"), at("18/5 Mbit/s", "FIFO")
    return Evidence([
        about("down", household.down(PEAK), 16.9, "Mbit/s", within=EXACT),
        about("up", household.up(PEAK), 2.0, "Mbit/s", within=0.05),
        above("game at 18/2, median RTT", game(n, narrow), PLAY_MS, "ms"),
        above("call at 18/2, p95 one way", talk(n, narrow), TALK_MS, "ms"),
        more("game: 18/2 over 18/5", game(n, narrow), game(n, wide)),
        below("game at 18/5, median RTT", game(n, wide), FRUSTRATION_MS, "ms"),
    ], note="suffer: beyond what players prefer; bound: what people put up with")  # fmt: skip


@CLAIMS("2-21a", "VI-D", "By class that is 7.46, 8.8 and 0.6 Mbit/s down; 0.4, 1.3 and 0.3 up.")
def _() -> list[Check]:
    expected: dict[household.Class, float] = {"streaming": 7.46, "tolerant": 8.8, "sensitive": 0.6}
    sent: dict[household.Class, float] = {"tolerant": 1.3, "sensitive": 0.3}
    return [
        *(about(f"{kind} down", household.down(PEAK, kind), value, "Mbit/s", within=EXACT)
          for kind, value in expected.items()),
        *(about(f"{kind} up", household.data_up(PEAK, kind), value, "Mbit/s", within=EXACT)
          for kind, value in sent.items()),
        about("acknowledgements up", household.acks(PEAK, household.ACK_ALLOWANCE), 0.4,
              "Mbit/s", within=0.05),
    ]  # fmt: skip


@CLAIMS("2-21b", "VI-C, fns 21 to 23", "10 MB in 16 s, 2 MB in 30 s and 100 kB in 4 s are 5, 0.5 "
        "and 0.2 Mbit/s.")  # fmt: skip
def _() -> list[Check]:
    goals = ((10e6, 16, 5.0), (2e6, 30, 0.5), (100e3, 4, 0.2))
    return [
        about(f"{size / 1e6:g} MB in {time} s", household.rate_mbit(size, time), rate, "Mbit/s",
              within=0.1)
        for size, time, rate in goals
    ]  # fmt: skip


def protected(n: Numbers, rate: str) -> list[Check]:
    """Checks that the game and the call perform well under FQ-CoDel at a rate."""
    where = at(rate, "FQ-CoDel")
    lost = [n.app(f"call_{way}", f"loss_{way}_percent", where) for way in ("up", "down")]
    return [
        below(f"game at {rate}, p95 RTT", game(n, where, 95), PLAY_MS, "ms"),
        below(f"call at {rate}, p95 one way", talk(n, where), TALK_MS, "ms"),
        below(f"call at {rate}, loss", each(max, *lost), 3, "%"),
    ]


@CLAIMS("2-22", "VI-E", "With FQ-CoDel 18/2 becomes acceptable, and even 12/1 to those who bear "
        "with slower transfers and a lesser picture.",
        trials("12/1 Mbit/s", "18/2 Mbit/s"))  # fmt: skip
def _(n: Numbers) -> Evidence:
    slow, fast = (at(rate, "FQ-CoDel") for rate in ("12/1 Mbit/s", "18/2 Mbit/s"))
    pictures = (n.app("tv", "rr_mean_mbit", one) for one in (fast, slow))
    return Evidence([
        *protected(n, "18/2 Mbit/s"),
        *protected(n, "12/1 Mbit/s"),
        more("a page: 12/1 over 18/2", page(n, slow), page(n, fast)),
        more("the picture: 18/2 over 12/1", *pictures),
    ], note="acceptable: a game within 100 ms, a call within 150 ms one way, 3 % lost")  # fmt: skip


@CLAIMS("2-23", "VI-D", "With FIFOs at 12/1 streams remain acceptable, the web and notifications "
        "take noticeably longer, and interactive applications are useless.",
        trials("12/1 Mbit/s", "25/5 Mbit/s"))  # fmt: skip
def _(n: Numbers) -> Evidence:
    slow, fast = (at(rate, "FIFO") for rate in ("12/1 Mbit/s", "25/5 Mbit/s"))
    stalled = each(max, *(n.app(one, "stalled_percent", slow) for one in ("tv", "iview")))
    return Evidence([
        below("streams at 12/1, time stalled", stalled, 5, "%"),
        more("a page: 12/1 over 25/5", page(n, slow), page(n, fast), times=1.5),
        more("a notification: 12/1 over 25/5", notified(n, slow), notified(n, fast), times=1.5),
        above("game at 12/1, median RTT", game(n, slow), USELESS_MS, "ms"),
    ], note="acceptable: stalled 5 % at most; noticeably: by half; useless: 200 ms")  # fmt: skip


@CLAIMS("2-24", "VI-F", "Streams of 25 and 7.5 Mbit/s instead need 26 Mbit/s more down, and about "
        "0.65 more up for acknowledgements.")  # fmt: skip
def _() -> list[Check]:
    heavy = household.with_streams(PEAK, 25, 7.5)
    share = household.ACK_ALLOWANCE
    return [
        about("more down", household.down(heavy) - household.down(PEAK), 26, "Mbit/s",
              within=EXACT),
        about("more up", household.acks(heavy, share) - household.acks(PEAK, share), 0.65,
              "Mbit/s", within=EXACT),
    ]  # fmt: skip


@CLAIMS("2-24a", "VI-F", "Three iView streams instead need less both ways, and twice the patience "
        "halves what transfers need.")  # fmt: skip
def _() -> list[Check]:
    light, patient = household.with_streams(PEAK, 1.5, 1.5, 1.5), household.with_patience(PEAK, 2)
    half = household.down(patient, "tolerant") / household.down(PEAK, "tolerant")
    return [
        below("down", household.down(light), household.down(PEAK), "Mbit/s"),
        below("up", household.up(light), household.up(PEAK), "Mbit/s"),
        about("of transfers", half, 0.5, within=EXACT),
    ]


@CLAIMS("2-25", "VI-C, fn 24", "The acknowledgements of a download are about 1/47 of it, of 64 B "
        "for two packets; allow 1/40 to 1/50.", Trials("download1", {"rate": "12/1 Mbit/s",
        "rtt": "40 ms", "qdisc": "FIFO 180", "tcp": "NewReno"}))  # fmt: skip
def _(n: Numbers) -> Evidence:
    import polars as pl

    flows = n.results.table("flows").filter(
        (pl.col("flow") == "down") & (pl.col("qdisc") == "FIFO 180") & (pl.col("rtt") == "40 ms")
        & (pl.col("rate") == "12/1 Mbit/s") & (pl.col("tcp") == "NewReno")
    )  # fmt: skip
    sent = {
        row["seed"]: row["packets_sent"]
        for row in flows.filter(~pl.col("primary")).rows(named=True)
    }
    data = {
        row["seed"]: row["bytes_sent"] for row in flows.filter(pl.col("primary")).rows(named=True)
    }
    share = {seed: 1 / (sent[seed] * 64 / data[seed]) for seed in n.seeds}
    return Evidence([
        about("data over acknowledgements of 64 B", share, 47, within=0.05),
        above("data over acknowledgements of 64 B", share, 40),
        below("data over acknowledgements of 64 B", share, 50),
        about("beside 5 Mbit/s", 1e3 * 5 * household.ACK_ALLOWANCE, 125, "kbit/s", within=EXACT),
    ])  # fmt: skip


@CLAIMS("2-19a", "V-A", "40 Mbit/s over 340 ms take 1.7 MB of buffer.")
def _() -> Check:
    return about("product", household.bdp_packets(40, 340) * 1500e-6, 1.7, "MB", within=EXACT)


TABLE_IV = (
    (1.5, 10, 1.25), (1.5, 40, 5), (12, 10, 10), (12, 40, 40), (12, 140, 140),
    (50, 10, 42), (50, 40, 167), (100, 10, 83), (100, 40, 333),
)  # fmt: skip


@CLAIMS("2-26a", "Table IV", "Bandwidth-delay products of some paths, in packets.")
def _() -> list[Check]:
    return [
        about(f"{rate:g} Mbit/s, {rtt} ms", household.bdp_packets(rate, rtt), packets, "packets",
              within=EXACT)
        for rate, rtt, packets in TABLE_IV
    ]  # fmt: skip


@CLAIMS("2-44a", "D-C2, D-E", "Samples of 16 bits, 50 to a packet, make 2.5 and 125 packets/s of 2 "
        "and 100 kbit/s, and 2.8 and 140 kbit/s with headers of 40 B.")  # fmt: skip
def _() -> list[Check]:
    checks = []
    for kbit, packets, ip_kbit in ((2.0, 2.5, 2.8), (100.0, 125.0, 140.0)):
        rate = kbit * 1e3 / 16 / 50
        checks.append(about(f"{kbit:g} kbit/s", rate, packets, "packets/s", within=EXACT))
        on_wire = rate * (100 + 40) * 8e-3
        checks.append(
            about(f"{kbit:g} kbit/s with headers", on_wire, ip_kbit, "kbit/s", within=EXACT)
        )
    return checks
