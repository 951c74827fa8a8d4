"""A small grid, and engines that replace the kernel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aqmlab import _core
from aqmlab.engines.engine import Refusal, Runner
from aqmlab.engines.kernel.agent_source import AgentSource
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.validation import agents, grid
from aqmlab.validation.engines import Maker

SMALL = """
version = 7
[defaults]
mix = "one"
rate = "4/1 Mbit/s"
rtt = "20 ms"
qdisc = "pfifo limit=30"
cc = "cubic"
duration = "4 s"
seeds = 3
[mixes]
one = { bulk = { kind = "bulk" } }
two = { bulk = { kind = "bulk", count = 2 }, ping = { kind = "ping", interval = "100 ms" } }
[groups.alone]
about = "one download"
cells = [{ qdisc = "codel" }, { qdisc = "fq_codel limit=100", seeds = 4 }]
[groups.both]
about = "two downloads"
mix = "two"
cells = [{ rate = "8/2 Mbit/s", loss = "1 %" }]
"""

PROGRAM = b"an agent"
SOURCE = AgentSource("0" * 40, "rustc 1.0", "ldd 2.0", "0123456789abcdef")
RECIPE = {"kernel": "6.1.0-fake", "qemu": "7.2", "agent": agents.digest_of(PROGRAM)}


def small() -> grid.Grid:
    """Three cells of four seconds."""
    return grid.read(SMALL)


def fake_kernel(spec_json: str) -> Mapping[str, Any]:
    """The simulator with other seeds, in place of a kernel: only chance makes differences."""
    spec = json.loads(spec_json)
    spec["seed"] += 1_000
    return _core.run(json.dumps(spec))


def slow_kernel(spec_json: str) -> Mapping[str, Any]:
    """The simulator with links that are a fifth slower, in place of a kernel."""
    spec = json.loads(spec_json)
    for link in spec["links"]:
        link["rate_bps"] = link["rate_bps"] * 4 // 5
    return _core.run(json.dumps(spec))


class Shop:
    """A replacement for the function `engines.kernel`, which returns a maker of trials."""

    def __init__(self, folder: Path, run: Runner = fake_kernel, agent: bytes = PROGRAM) -> None:
        self.folder, self.run, self.agent = folder, run, agent
        self.recipe = RECIPE
        self.rebuilt = PROGRAM
        """The executable that a build of the recorded commit gives."""
        self.asked: list[str] = []
        """The digests of the requested agents, in order."""
        self.unknown: dict[str, str] = {}
        """The kind of discipline that each agent, by its digest, refuses."""

    def __call__(self, cells: object, say: object, program: Path | None = None) -> Maker:
        """The maker of trials with the agent `program`, or with this replacement's own agent."""
        if program is None:
            program = self.folder / "aqmlab-agent"
            program.write_bytes(self.agent)
        digest = agents.digest_of(program.read_bytes())
        self.asked.append(digest)

        def refusal(spec: TrialSpec) -> Refusal | None:
            kinds = {link.qdisc.kind for link in spec.links}
            return Refusal((), "unknown") if self.unknown.get(digest) in kinds else None

        return Maker(self.run, self.recipe | {"agent": digest}, program, refusal)
