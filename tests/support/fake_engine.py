"""An engine that returns tables of the right form immediately, or misbehaves on request.

The parameter `behaviour` of the uplink's discipline selects the misbehaviour: `crash`, `panic`,
`refuse`, `chatter`, `crash twice` or `wait`. A misbehaviour that ends in ` once` is off if a
certain file exists, and `wait` waits for this file. The environment variable FAKE_MENDED contains
the path of this file, which is `mended` beside the campaign's folder. Each run adds a line to the
file FAKE_LOG when it begins.
"""

import hashlib
import json
import os
import signal
import time
from functools import cache
from pathlib import Path

import numpy as np
from aqmlab import _core

DELAY_MS = {"pfifo": 2700.0, "pie": 90.0, "fq_codel": 3.0}
STEPS = 40
TRIAL = Path(__file__).parent.parent / "golden/rrul.json"


class Panic(BaseException):
    """The exception that represents a panic of the simulator."""


def run(spec_json):
    spec = json.loads(spec_json)
    own = f"{spec['links'][0]['qdisc']['kind']}-{spec['seed']}"
    note(own)
    misbehave(told(spec).get("behaviour", ""), own)
    folded = hashlib.sha256(spec_json.encode()).hexdigest()
    return {"digest": folded[:16], "events": 10, "packets": 5, "tables": tables(spec, folded)}


def told(spec):
    """The requests of the trial to this engine."""
    return spec["links"][0]["qdisc"]["params"]


def misbehave(behaviour, own):
    once = behaviour.endswith(" once")
    if once and Path(os.environ["FAKE_MENDED"]).exists():
        return
    match behaviour.removesuffix(" once"):
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "panic":
            raise Panic("packets sent, and packets accounted for")
        case "refuse":
            raise ValueError("links[0].qdisc: unknown discipline `x`")
        case "chatter":
            print("a word that is no answer", flush=True)
        case "wait":
            wait_until_mended()
        case "crash twice":
            if runs().count(own) < 3:
                os.kill(os.getpid(), signal.SIGKILL)


def wait_until_mended():
    until = time.monotonic() + 60
    while not Path(os.environ["FAKE_MENDED"]).exists():
        assert time.monotonic() < until, "nobody let the trial go on"
        time.sleep(0.01)


def note(run):
    with Path(os.environ["FAKE_LOG"]).open("a") as log:
        log.write(f"{run}\n")


def runs():
    """The queue and the seed of every started run."""
    log = Path(os.environ["FAKE_LOG"])
    return log.read_text().split() if log.exists() else []


def tables(spec, folded):
    chance = np.random.default_rng(int(folded[:8], 16))
    made = {
        "flows": {},
        "windows": {},
        "rtt": {},
        "apps": {"flow": [], "metric": [], "value": []},
        "queue_series": {},
        "tcp_series": {},
        "summary": {"jain_up": np.array([np.nan])},
    }
    for app in spec["apps"]:
        own = app["home"]["settings"]
        for direction in own["carries"].split():
            add_flow(made, spec, app, direction, chance)
        for name, value in own.items():
            if name.startswith("metric "):
                metric = name.removeprefix("metric ")
                add(made["apps"], flow=app["name"], metric=metric, value=value)
    add_queues(made["queue_series"], spec)
    if "extra" in told(spec):
        made["summary"]["extra"] = [told(spec)["extra"]]
    fill(made["flows"])
    return {name: typed(columns) for name, columns in made.items()}


def fill(flows):
    """Adds the columns of the simulator's flows that this engine lacks, without values."""
    rows = len(flows.get("flow", ()))
    for name in flow_columns():
        flows.setdefault(name, [np.nan] * rows)


@cache
def flow_columns():
    # A stored trial saves each worker the import of the planner.
    trial = json.loads(TRIAL.read_text(encoding="utf-8")) | {"duration_ns": 10**9}
    return list(_core.run(json.dumps(trial))["tables"]["flows"])


def add(table, **values):
    for name, value in values.items():
        table.setdefault(name, []).append(value)


def add_flow(made, spec, app, direction, chance):
    own = app["home"]["settings"]
    base = (app["up"]["delay_ns"] + app["down"]["delay_ns"]) / 1e6
    queue = DELAY_MS[spec["links"][0]["qdisc"]["kind"]]
    induced = queue * (1 + 0.2 * chance.random(500)) * own.get("delayed", 1)
    rates = own.get("mbit", 1.0) * (1 + 0.2 * chance.random(STEPS))
    name = app["name"]
    row = {
        "flow": name,
        "direction": direction,
        "primary": True,
        "packets_sent": own.get("packets", 100),
        "packets_received": round(own.get("packets", 100) * (1 - own.get("loss", 0.0) / 100)),
        "loss_percent": own.get("loss", 0.0),
        "throughput_mean_mbit": rates.mean(),
        "rtt_base_ms": base,
    }
    for p in (5, 25, 50, 75, 95):
        row[f"throughput_p{p}_mbit"] = np.quantile(rates, p / 100)
        row[f"induced_p{p}_ms"] = np.quantile(induced, p / 100)
    for p in (1, 5, 25, 50, 75, 95, 99):
        row[f"rtt_p{p}_ms"] = np.quantile(base + induced, p / 100)
    row["owd_p95_ms"] = base / 2 + np.quantile(induced, 0.95)
    if own.get("silent"):
        row |= {key: np.nan for key in row if key.startswith(("rtt_p", "induced", "owd"))}
    add(made["flows"], **row)
    for step in range(STEPS):
        at = {"flow": name, "direction": direction, "t_s": step * 0.25}
        add(made["windows"], **at, throughput_mbit=rates[step])
        rtt = base + induced[step]
        add(made["rtt"], **at, n=3, rtt_min_ms=rtt, rtt_mean_ms=rtt, rtt_max_ms=rtt)
        side = "home" if direction == "up" else "wan"
        cwnd = {"conn": 0.0, "cwnd_bytes": 1e4 + step, "srtt_ms": rtt}
        add(made["tcp_series"], flow=name, side=side, t_s=step * 0.25, **cwnd)


def add_queues(table, spec):
    for link in spec["links"]:
        for step in range(STEPS):
            backlog = DELAY_MS[link["qdisc"]["kind"]] / 10
            values = {"backlog_packets": backlog, "sojourn_max_ms": backlog * 10, "drops": 0.0}
            add(table, link=link["name"], t_s=step * 0.25, **values)


def typed(columns):
    """Numbers as arrays and words as lists, as the core returns them."""
    return {
        name: values
        if isinstance(values, np.ndarray) or not values or isinstance(values[0], str)
        else np.array(values, dtype=np.uint64 if type(values[0]) is int else None)
        for name, values in columns.items()
    }
