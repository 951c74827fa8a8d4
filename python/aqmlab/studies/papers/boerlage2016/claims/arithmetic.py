"""Claims that follow from the paper's own tables and formulas."""

from __future__ import annotations

import math

from aqmlab.households.activity import activities
from aqmlab.scenario.quantities import Rate
from aqmlab.studies.claims import Check, Claims, about
from aqmlab.studies.numbers import Numbers
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

_SERVICES = {
    "film": "boerlage-movie",
    "updates": "boerlage-updates",
    "cloud": "boerlage-cloud",
    "web": "boerlage-web",
    "mail": "boerlage-email",
    "game": "boerlage-game",
    "SD": "boerlage-netflix-sd",
    "HD": "boerlage-netflix-hd-vi",
    "call": "boerlage-voip",
}


def _kbit(*rates: Rate | None) -> int:
    return sum(0 if rate is None else rate.bps // 1000 for rate in rates)


KBIT = {
    name: (_kbit(needs.down, needs.acks_down), _kbit(needs.up, needs.acks_up))
    for name, key in _SERVICES.items()
    for needs in [activities()[key].needs]
}
"""The rates of Table III, down and up, in kbit/s.

The upload of Netflix HD is the value that the sum of Table VI contains. Table III prints 65.
"""

_LOW = ("updates", "cloud", "web", "mail", "game")
_MODERATE = (*_LOW, "SD")
_HIGH = (*_LOW, "film", "HD")

TEMPLATES = {
    "low": (_LOW, (7825, 3385)),
    "moderate": (_MODERATE, (10825, 3425)),
    "high": (_HIGH, (20825, 3530)),
}
"""Tables IV to VI: the applications of each user, and the printed sums in kbit/s."""

DEMOGRAPHICS = {
    "1": (_HIGH, (21, 4)),
    "2": ((*_MODERATE, *_LOW), (19, 7)),  # Two people share one stream.
    "3": ((*_HIGH, *_LOW), (29, 7)),
    "4": ((*_MODERATE, *_MODERATE, *_LOW, "call"), (30, 11)),
    "5": ((*_HIGH, *_HIGH, *_MODERATE), (53, 11)),
    "6": ((*_HIGH, *_MODERATE, *_MODERATE, *_LOW, "call"), (51, 14)),
}
"""Section III-C: the users of each household, and the printed sum in Mbit/s."""


def _sum_kbit(services: tuple[str, ...]) -> tuple[int, int]:
    down, up = (sum(KBIT[one][way] for one in services) for way in (0, 1))
    return down, up


@CLAIMS("4-46", "III-B, III-C", "The templates and the demographics need what is printed.")
def _() -> list[Check]:
    checks = []
    for name, (services, printed) in TEMPLATES.items():
        for way, own, stated in zip(("down", "up"), _sum_kbit(services), printed, strict=True):
            checks.append(about(f"{name}, {way}", own, stated, "kbit/s", within=0.0))
    for name, (services, need) in DEMOGRAPHICS.items():
        for way, own, stated in zip(("down", "up"), _sum_kbit(services), need, strict=True):
            rounded = math.ceil(own / 1000)
            checks.append(about(f"demographic {name}, {way}", rounded, stated, "Mbit/s", within=0))
    return checks


DOWNLOAD = {"traffic": "download"}


@CLAIMS("4-47", "II-B", "A download at 12 Mbit/s is 1000 packets a second, and acknowledgements of "
        "40 B for every second one are 160 kbit/s.", Trials("alone", DOWNLOAD))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    packets = 12e6 / (8 * 1500)
    data, answers = (n.queue(link, "packets_out", DOWNLOAD) for link in ("down", "up"))
    share = {seed: answers[seed] / data[seed] for seed in n.seeds}
    return [
        about("packets a second", packets, 1000, within=0.0),
        about("acknowledgements", 40 * 8 * packets / 2 / 1e3, 160, "kbit/s", within=0.0),
        about("acknowledgements for a packet, measured", share, 0.5, within=0.1),
    ]


@CLAIMS("4-51", "IV-B", "500 packets are the bandwidth-delay product of 100 Mbit/s and 60 ms.")
def _() -> Check:
    return about("product", 100e6 * 60e-3 / (8 * 1500), 500, "packets", within=0.0)
