"""Warnings on values that are permitted and probably not intended."""

from __future__ import annotations

import pytest
from support import changes as changes_of

STILL = "no application sends L4S packets, so its low-latency queue stays empty"


@pytest.mark.parametrize(
    ("sets", "warnings"),
    [
        (["path.qdisc=dualpi2"], (f"dualpi2: {STILL}",)),
        (["path.qdisc=dualpi2_rfc"], (f"dualpi2_rfc: {STILL}",)),
        (["path.qdisc=dualpi2", "apps.backup.kind=cbr", "apps.backup.ecn=ect1"], ()),
        (["path.qdisc=dualpi2", "apps.backup.tcp.cc=prague"], ()),
        (["path.qdisc=pie"], ()),
    ],
)
def test_a_discipline_for_l4s_without_l4s_packets_is_said(sets, warnings) -> None:
    assert changes_of.load("bufferbloat", sets=sets, seeds=1).warnings == warnings
