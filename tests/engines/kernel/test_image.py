"""The modules that boot with a trial."""

from __future__ import annotations

from pathlib import Path

import pytest
from aqmlab.engines.kernel import image

RELEASE = "6.1.0"
IN_IMAGE = [
    "veth", "cls_u32", "sch_ingress", "act_skbedit", "sch_htb", "sch_netem", "sch_prio",
    "sch_codel", "sch_fq_codel", "sch_pie", "sch_fq_pie", "sch_sfq", "sch_red", "sch_cake",
    "tcp_bbr", "tcp_bic", "tcp_cdg", "tcp_dctcp", "tcp_highspeed", "tcp_htcp", "tcp_hybla",
    "tcp_illinois", "tcp_nv", "tcp_scalable", "tcp_vegas", "tcp_veno", "tcp_westwood",
    "tcp_yeah",
]  # fmt: skip
"""The modules with which the reference set was made, in load order."""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel whose modules need no other modules."""
    names = [*IN_IMAGE, "tcp_lp", "tcp_other"]
    for name in names:
        (tmp_path / f"{name}.ko").write_bytes(name.encode())
    (tmp_path / "modules.dep").write_text("".join(f"{name}.ko:\n" for name in names))
    (tmp_path / "modules.builtin").write_text("")
    monkeypatch.setattr(image, "_module_dir", lambda _: tmp_path)


def listed(entries: dict[str, image.cpio.ArchiveEntry]) -> list[str]:
    paths = entries["aqmlab/modules"].data.decode().split()
    return [Path(path).stem for path in paths]


def test_the_image_has_the_modules_of_the_reference_set() -> None:
    assert listed(image._modules(RELEASE)) == IN_IMAGE


def test_a_trial_adds_only_the_modules_that_it_needs() -> None:
    assert image.on_demand_files(RELEASE, {"tcp_bbr": "bbr", "sch_pie": "pie"}) == {}
    further = image.on_demand_files(RELEASE, {"tcp_lp": "lp"})
    assert set(further) == {"modules/tcp_lp.ko", "aqmlab/modules"}
    assert listed(further) == [*IN_IMAGE, "tcp_lp"]
