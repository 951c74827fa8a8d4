"""Settings of CAKE for comparisons with the kernel.

They cover all tins, isolations, framings and filters.
"""

from __future__ import annotations

from collections.abc import Mapping

from aqmlab.engines.kernel.setting import Setting
from aqmlab.engines.trial_spec import Argument

_MS = 1_000_000

_UNLIKE = (range(115, 162), range(627, 674))
"""Lengths at which a packet from a local sender takes less memory than a packet from a driver.

The discipline counts the Ethernet header. See `aqmlab.engines.kernel.settings.MEMORY_UNLIKE`.
"""


def _shaped(options: str, params: Mapping[str, Argument]) -> Setting:
    """A setting in which CAKE itself shapes, at the rate of the trace."""
    return Setting(options, params, overhead=14, unlike=_UNLIKE, headed=True, shaped=True)


def _unlimited(options: str, params: Mapping[str, Argument]) -> Setting:
    """A setting in which CAKE does not shape, and is the child of HTB's class."""
    return Setting(options, params, overhead=14, unlike=_UNLIKE, headed=True)


CAKE = (
    _shaped("", {}),
    _shaped("besteffort flows", {"diffserv": "besteffort", "isolation": "flows"}),
    _shaped("diffserv4 dual-srchost", {"diffserv": "diffserv4", "isolation": "dual-srchost"}),
    _shaped("diffserv8 dual-dsthost", {"diffserv": "diffserv8", "isolation": "dual-dsthost"}),
    _shaped("precedence hosts", {"diffserv": "precedence", "isolation": "hosts"}),
    _unlimited("diffserv4", {"diffserv": "diffserv4"}),
    _unlimited("besteffort memlimit 150000", {"diffserv": "besteffort", "memlimit": 150_000}),
    _shaped("ingress", {"ingress": True}),
    _shaped(
        "ingress besteffort dual-dsthost rtt 20ms",
        {"ingress": True, "diffserv": "besteffort", "isolation": "dual-dsthost", "rtt": 20 * _MS},
    ),
    _shaped("ack-filter", {"ack_filter": "on"}),
    _shaped(
        "ack-filter-aggressive ingress besteffort srchost",
        {
            "ack_filter": "aggressive", "ingress": True, "diffserv": "besteffort",
            "isolation": "srchost",
        },
    ),
    _shaped(
        "ack-filter flowblind besteffort",
        {"ack_filter": "on", "isolation": "flowblind", "diffserv": "besteffort"},
    ),
    _shaped("memlimit 100000 diffserv4", {"memlimit": 100_000, "diffserv": "diffserv4"}),
    _shaped("memlimit 200000 ingress wash", {"memlimit": 200_000, "ingress": True, "wash": True}),
    _shaped("pppoa-vcmux regional", {"link": "pppoa-vcmux", "network": "regional"}),
    _shaped("docsis ether-vlan metro", {"link": "docsis", "vlans": 1, "network": "metro"}),
    _shaped("pppoe-ptm wash", {"link": "pppoe-ptm", "wash": True}),
    _shaped("conservative oceanic", {"link": "conservative", "network": "oceanic"}),
    _shaped("ethernet lan diffserv4",
            {"link": "ethernet", "network": "lan", "diffserv": "diffserv4"}),
    _shaped(
        "overhead 26 mpu 68 atm dsthost",
        {"overhead": 26, "mpu": 68, "framing": "atm", "isolation": "dsthost"},
    ),
    _shaped("autorate-ingress", {"autorate_ingress": True}),
    _shaped(
        "ack-filter-aggressive memlimit 60000",
        {"ack_filter": "aggressive", "memlimit": 60_000},
    ),
    _unlimited("diffserv8 ack-filter", {"diffserv": "diffserv8", "ack_filter": "on"}),
)  # fmt: skip
"""The settings of CAKE. Traces use them in rotation."""
