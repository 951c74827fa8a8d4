"""Names that figures and claims share: rates, mixes and disciplines."""

from aqmlab.studies.trials import Trials, Wanted

SHORT, MIDDLE, LONG = RTTS = ("20 ms", "150 ms", "250 ms")
"""IV-B: the round-trip times to Sydney, to the west of the USA, and to Europe."""

FIFO, PIE, CODEL, FQ = "FIFO", "PIE", "CoDel", "FQ-CoDel"
AQMS = (PIE, CODEL, FQ)

NO_UPLOAD = "0.5"
HOUSEHOLDS = ("1", "2", "3", "4", "5", "6")


def mbit(*pairs: str) -> tuple[str, ...]:
    """The rates `pairs`, such as "12/1", with their unit."""
    return tuple(f"{pair} Mbit/s" for pair in pairs)


NARROW = mbit("8/1", "12/1", "16/1", *(f"{down}/1" for down in range(20, 101, 5)))
"""Every rate of the paper with 1 Mbit/s up."""

LOWEST_TIER, *OTHER_TIERS = TIERS = mbit("12/1", "25/5", "25/10", "50/20", "100/40")
"""Table II: the tiers of the NBN."""

OPTUS = "100/2 Mbit/s"
"""VI: the "top speed pack" of Optus."""

UPLOADS = mbit(*(f"25/{up}" for up in range(1, 13)))
"""Rates with 25 Mbit/s down and a growing upload speed."""


def home(demographic: Wanted = HOUSEHOLDS, qdisc: Wanted = FIFO, **more: Wanted) -> Trials:
    """Trials of whole households over an RTT_base of 20 ms."""
    return Trials("home", {"demographic": demographic, "qdisc": qdisc, **more})


def over_time(demographic: str, qdisc: Wanted, rtt: Wanted = SHORT) -> Trials:
    """Trials at 12/1 Mbit/s with all series over time."""
    return Trials("time", {"demographic": demographic, "qdisc": qdisc, "rtt": rtt})
