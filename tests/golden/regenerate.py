"""Writes the golden trials, their digests and the digests of texts (`make golden`).

A changed digest means changed results. State in CHANGELOG.md which numbers changed and why.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from aqmlab import _core
from aqmlab.planning import planner
from aqmlab.planning.overrides import Assignment
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import texts

HERE = Path(__file__).parent
TRIALS = {
    "kua2017-fifo": ("kua2017-demo", {"path.qdisc": {"kind": "pfifo_freebsd", "limit": 490}}),
    "kua2017-pie": ("kua2017-demo", {"path.qdisc": "pie_freebsd"}),
    "kua2017-fq-codel": ("kua2017-demo", {"path.qdisc": "fq_codel_freebsd"}),
    "kua2017-fq-pie": ("kua2017-demo", {"path.qdisc": "fq_pie_freebsd"}),
    "autorate": ("autorate", {}),
    "boerlage2016-d6": ("boerlage2016-d6", {}),
    "household": ("household", {}),
    "lan": ("rrul", {"path.lan": "10 Mbit/s"}),
    # With a shorter interval, the twenty seconds contain both stages and both directions.
    "rpm": ("rpm", {"apps.rpm.interval": "1 s"}),
    "rrul": ("rrul", {}),
    "shaper": ("shaper", {}),
    "web-under-load": ("web-under-load", {}),
    "wifi": ("rrul", {"path.wifi": {"mcs": "7", "qdisc": "codel"}, "path.rate": "100 Mbit/s"}),
}
CONDITIONS = {"autorate": 2}
"""The number of the condition of a trial, if it is not the first."""


def main() -> None:
    digests = {}
    for name, (source, changes) in TRIALS.items():
        sets = [Assignment(path, value) for path, value in changes.items()]
        trials = planner.load(source, sets=sets, seeds=1, duration=None).trials
        spec = trials[CONDITIONS.get(name, 0)].spec
        # Each trial is cut to twenty seconds, to keep the suite quick.
        measure = replace(spec.measure, from_ns=0, to_ns=None)
        spec = replace(spec, duration_ns=20_000_000_000, measure=measure)
        (HERE / f"{name}.json").write_text(json.dumps(spec.members(), indent=1) + "\n")
        digests[name] = _core.run(spec.text())["digest"]
    (HERE / "digests.json").write_text(json.dumps(digests, indent=1) + "\n")
    found = {name: texts.digest(source) for name, source in texts.sources().items()}
    (HERE.parent / "trial_texts.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
