"""Draws random valid scenarios, each determined by its number.

A scenario is drawn as the nested tables of a TOML file, so its trials go through all the steps of a
user's file. Kinds and parameters come from the catalogue: a new discipline is drawn without a
change of this module. Times, rates and sizes are small, so that a trial takes some milliseconds.
"""

from __future__ import annotations

import json
import math
import random
from typing import Any

from aqmlab.planning import planner
from aqmlab.scenario import catalogue, toml_writer
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.quantities import Duration

from . import draws

Table = dict[str, Any]

MOST_BITS = 80e6
"""The maximum number of bits that a link carries in a trial, which bounds the packets."""
LEAST_MTU_OF_QUIC = 1228
"""The size of a datagram of 1200 bytes (RFC 9000, section 14) with IPv4's and UDP's headers."""
TCP_ONLY = frozenset(("bbr3", "dctcp", "prague"))
"""Congestion controls that QUIC does not have."""


FREE = frozenset(
    (
        "delay_down",
        "delay_up",
        "full_cut_up",
        "full_rise_down",
        "high_load",
        "max_cut",
        "max_rise",
        "min_cut",
        "cut_pause",
        "decay_pause",
        "ping_interval",
        "sleep",
        "sleep_after",
    )
)
"""Parameters of programs of the gateway that do not limit each other."""


def table(number: int) -> Table:
    """The random scenario that `number` determines."""
    return Drawing(random.Random(number)).scenario()


def toml(number: int) -> str:
    """The scenario `table(number)` as the text of a TOML file."""
    return toml_writer.write(table(number))


def specs(tables: Table) -> list[dict[str, Any]]:
    """The trials of a scenario in the core's form, planned like the trials of a user's file."""
    return [
        trial.spec.members()
        for trial in planner.load(Scenario.from_toml(toml_writer.write(tables))).trials
    ]


def spec_json(tables: Table) -> str:
    """The first trial of a scenario, as JSON."""
    return json.dumps(specs(tables)[0])


class Drawing:
    """Draws the parts of one scenario with the random generator `rng`."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.known = catalogue.load()
        self.rate_up_bps = draws.log_uniform(rng, 200e3, 200e6)
        self.rate_down_bps = draws.log_uniform(rng, 200e3, 200e6)
        fastest_bps = max(self.rate_up_bps, self.rate_down_bps)
        self.duration_ms = max(
            100, round(min(rng.uniform(1e3, 6e3), 1e3 * MOST_BITS / fastest_bps))
        )
        self.mtu_bytes = rng.choice([1500, 1500, 1500, 1492, 1280, 9000, 576])

    def scenario(self) -> Table:
        """Draws all tables of the scenario."""
        table = {
            "title": "random",
            "duration": f"{self.duration_ms} ms",
            "seeds": [seed := self.rng.randrange(1, 10_000), seed + 1],
            "path": self.path(),
            "hosts": self.hosts(),
            "apps": self.apps(),
            "measure": self.measure(),
        }
        self.keep_to_tcp(table)
        self.vary_rates(table["path"])
        self.add_gateway_programs(table)
        return table

    def add_gateway_programs(self, table: Table) -> None:
        """Makes CAKE shape both directions of some paths, and adds the programs of the gateway."""
        links = [table["path"][way] for way in ("down", "up")]
        if self.rng.random() > 0.04 or any(isinstance(link["rate"], list) for link in links):
            return
        for link in links:
            link["qdisc"] = {"kind": "cake"}
            link["shaper"] = "cake"
        for name, kind in self.known["apps"].items():
            if kind.on_gateway:
                table["apps"][name] = {"kind": name, **self.program(kind)}

    def program(self, kind: catalogue.Kind) -> Table:
        """Parameters of a program of the gateway that do not contradict each other."""
        drawn = draws.params(self.rng, kind, 0.25)
        return {name: drawn[name] for name in drawn.keys() & FREE}

    def keep_to_tcp(self, table: Table) -> None:
        """Makes applications use TCP if QUIC lacks their congestion control or the MTU is small."""
        ends = [host["cc"]["kind"] for host in table["hosts"].values() if "cc" in host]
        for app in table["apps"].values():
            kinds = [app["tcp"]["cc"]["kind"]] if "tcp" in app else ends
            if self.mtu_bytes < LEAST_MTU_OF_QUIC or not TCP_ONLY.isdisjoint(kinds):
                for key, first in (("transport", "quic"), ("protocol", "http3")):
                    if str(app.get(key, "")).startswith(first):
                        del app[key]

    # --- Path -----------------------------------------------------------------------------------

    def path(self) -> Table:
        rng = self.rng
        path: Table = {
            "rtt": f"{draws.log_uniform(rng, 10, 300_000):.0f} us",
            "down": self.link(self.rate_down_bps),
            "up": self.link(self.rate_up_bps),
        }
        if rng.random() < 0.3:
            path["host_jitter"] = rng.choice(["0 s", "1 us", "2 ms"])
        if rng.random() < 0.5:
            path["start_jitter"] = rng.choice(["0 s", "1 ms", "200 ms"])
        home = rng.random()
        if home < 0.15:
            path["lan"] = rng.choice(["100 Mbit/s", "1 Gbit/s"])
        elif home < 0.35:
            path["wifi"] = self.wifi()
        if rng.random() < 0.25:
            path["modem"] = {"down": self.hop(self.rate_down_bps), "up": self.hop(self.rate_up_bps)}
            if rng.random() < 0.5:
                path["down"]["rate"] = f"{rng.randrange(50, 101)} %"
        return path

    def hop(self, rate_bps: float) -> Table:
        return {
            "rate": f"{rate_bps:.0f} bit/s",
            "qdisc": self.kind("disciplines"),
            "overhead": self.overhead(),
        }

    def link(self, rate_bps: float) -> Table:
        rng = self.rng
        link = self.hop(rate_bps)
        link["shaper"] = rng.choice(["line", "line", "htb", "dummynet"])
        if link["qdisc"]["kind"] == "cake" and rng.random() < 0.5:
            self.shape_itself(link, rate_bps)
        if rng.random() < 0.2:
            link["pipe_delays"] = True
        if rng.random() < 0.25:
            link["loss"] = f"{draws.log_uniform(rng, 0.01, 30):.3g} %"
        if rng.random() < 0.25:
            link["jitter"] = f"{draws.log_uniform(rng, 1, 50_000):.0f} us"
            link["reorder"] = rng.random() < 0.5
        return link

    def vary_rates(self, path: Table) -> None:
        """Lets the rates of some lines vary. Each is at most the former rate."""
        shaped = [path[way] for way in ("down", "up")]
        lines = list(path.get("modem", {}).values())
        if any(link["rate"].endswith("%") for link in shaped):
            lines = []
        for link in (*shaped, *lines):
            if self.rng.random() < 0.1 and not link["rate"].endswith("%"):
                # CAKE as the shaper has a constant rate. dummynet's rate is constant in the model.
                if link["qdisc"]["kind"] == "cake" or link.get("shaper") == "dummynet":
                    continue
                link["rate"] = self.steps(link)

    def steps(self, link: Table) -> list[list[str]]:
        rng = self.rng
        most_bps = float(link["rate"].split()[0])
        times = sorted({round(rng.uniform(1, self.duration_ms)) for _ in range(rng.randrange(5))})
        rates = [
            f"{max(1000, draws.log_uniform(rng, 0.05, 1) * most_bps):.0f} bit/s"
            for _ in range(len(times) + 1)
        ]
        if link.get("shaper") != "htb":
            for number in range(1, len(times)):
                if rng.random() < 0.2:
                    rates[number] = "0 bit/s"
        starts = ["0 s", *(f"{time} ms" for time in times)]
        return [list(step) for step in zip(starts, rates, strict=True)]

    def shape_itself(self, link: Table, rate_bps: float) -> None:
        """Makes CAKE the shaper of a link, with the link's rate or with a lower rate."""
        link["qdisc"].pop("bandwidth", None)
        if self.rng.random() < 0.5:
            link["shaper"] = "cake"
        else:
            del link["shaper"]
            # A link before a modem has at least half of the modem's rate.
            link["qdisc"]["bandwidth"] = f"{self.rng.uniform(0.2, 0.5) * rate_bps:.0f} bit/s"

    def overhead(self) -> str | Table:
        rng = self.rng
        names = ["ip", "ethernet", "ethernet-wire", "docsis", "pppoe", "atm"]
        if rng.random() < 0.8:
            return rng.choice(names)
        return {
            "bytes": rng.randrange(60),
            "minimum": rng.randrange(100),
            "atm": rng.random() < 0.5,
            "counted": rng.randrange(30),
        }

    def wifi(self) -> Table:
        rng = self.rng
        return {
            "qdisc": self.kind("disciplines"),
            "mcs": rng.choice(["15", "7", "15/7", "0", "31/0"]),
            "width": rng.choice(["20 MHz", "40 MHz"]),
            "short_guard": rng.random() < 0.5,
            "loss": rng.choice(["0 %", "0 %", "1 %", "40 %"]),
            "aggregate": rng.choice([1, 8, 32]),
            "airtime": rng.choice(["4.096 ms", "1 ms", "400 us"]),
            "driver": rng.choice([1, 10, 124]),
        }

    # --- Kinds ----------------------------------------------------------------------------------

    def kind(self, family: str, share: float = 0.15) -> Table:
        """A kind of a family with some of its parameters set."""
        kind = self.rng.choice(list(self.known[family].values()))
        return {"kind": kind.name, **draws.params(self.rng, kind, share)}

    def hosts(self) -> Table:
        return {side: self.host() for side in ("home", "wan") if self.rng.random() < 0.6}

    def host(self) -> Table:
        rng = self.rng
        profile = rng.choice(list(self.known["profiles"].values()))
        host: Table = {"profile": profile.name, "mtu": f"{self.mtu_bytes} B"}
        if rng.random() < 0.6:
            host["cc"] = self.kind("tcp")
        if rng.random() < 0.5:
            host["ecn"] = True
        for key in ("nodelay", "quickack"):
            if rng.random() < 0.1:
                host[key] = rng.random() < 0.5
        for key in ("send_buffer", "receive_buffer"):
            if rng.random() < 0.15:
                host[key] = rng.choice(["auto", "4 kB", "64 KiB", "1 MB"])
        drawn = draws.params(rng, profile, 0.03)
        return host | {name: value for name, value in drawn.items() if name not in host}

    # --- Applications ---------------------------------------------------------------------------

    def apps(self) -> Table:
        return {f"app{number}": self.app() for number in range(self.rng.choice([1, 1, 2, 2, 3, 4]))}

    def app(self) -> Table:
        rng = self.rng
        # Programs of the gateway need CAKE in both directions; `add_gateway_programs` adds them.
        kinds = {name: kind for name, kind in self.known["apps"].items() if not kind.on_gateway}
        kind = kinds["bulk"] if rng.random() < 0.35 else rng.choice(list(kinds.values()))
        drawn = draws.params(rng, kind, 0.25)
        for name in ("payload", "response", "c2s_payload"):
            if name in kind.params:
                least = int(kind.params[name].least or 0)
                drawn[name] = f"{max(least, rng.randrange(12, self.room_bytes()))} B"
        app: Table = {"kind": kind.name, **drawn}
        if kind.name == "game":
            app["players"] = rng.randrange(1, 5)  # larger games need larger packets
            if self.mtu_bytes < 1500:
                app["model"] = "pktgen"
            app.setdefault("client_delay", "200 ms")
        if kind.name == "webrtc_call" and self.mtu_bytes < 1500:
            app.pop("audio_rate", None)  # An audio frame has 20 ms; a small MTU may not hold it.
        if kind.name == "bulk" and rng.random() < 0.5:
            app["size"] = f"{draws.log_uniform(rng, 1, 1e6):.0f} B"
        if kind.name in ("bursts", "notification", "photo_upload", "web"):
            app["think" if kind.name == "web" else "period"] = f"{rng.randrange(50, 2000)} ms"
        return app | self.timing(kind)

    def room_bytes(self) -> int:
        """The largest payload of a datagram on these hosts, whose default MTU is 1500 bytes."""
        return min(self.mtu_bytes, 1500) - 28 - 12 - 20

    def timing(self, kind: catalogue.Kind) -> Table:
        rng = self.rng
        timing: Table = {}
        start_ms = 0
        if rng.random() < 0.5:
            start_ms = round(rng.uniform(0, rng.choice([0.2, 0.5, 1.05]) * self.duration_ms))
            timing["start"] = f"{start_ms} ms"
        runs_ms = 1 + round(rng.uniform(0, self.duration_ms))
        if rng.random() < 0.3:
            timing["stop"] = f"{start_ms + runs_ms} ms"
        if rng.random() < 0.15:
            timing["rtt"] = f"{draws.log_uniform(rng, 1, 200):.3g} ms"
        if rng.random() < 0.1:
            timing["priority"] = rng.randrange(16)
        if rng.random() < 0.25:
            timing["host"] = rng.choice(["anna", "bert", "carla"])
        if rng.random() < 0.25:
            timing["dscp"] = rng.choice(["CS1", "LE", "CS0", "AF41", "EF", "CS6"])
        if rng.random() < 0.1 and "count" not in kind.params:
            timing.pop("stop", None)  # later copies may start after it
            timing |= {"count": rng.randrange(1, 4), "stagger": rng.choice(["0 s", "100 ms"])}
        if rng.random() < 0.1:
            timing["tcp"] = {"cc": self.kind("tcp"), "ecn": rng.random() < 0.5}
        return timing

    # --- Measurement ----------------------------------------------------------------------------

    def measure(self) -> Table:
        rng, length = self.rng, self.duration_ms
        measure: Table = {}
        if rng.random() < 0.4:
            measure["from"] = f"{rng.randrange(length)} ms"
        if rng.random() < 0.3:
            least = int(Duration.parse(measure.get("from", "0 s")).ns / 1e6)
            measure["to"] = f"{rng.randrange(least + 1, length + 1)} ms"
        if rng.random() < 0.6:
            step_us = round(draws.log_uniform(rng, 1e3, 1e6))
            measure["step"] = f"{step_us} us"
            measure["window"] = f"{step_us * rng.choice([1, 1, 2, 4, 10])} us"
        if rng.random() < 0.4:
            measure["sample"] = f"{draws.log_uniform(rng, 5, 2000):.0f} ms"
        if rng.random() < 0.3:
            measure["points"] = math.ceil(draws.log_uniform(rng, 1, 2000))
        if rng.random() < 0.1:
            measure["series"] = False
        return measure
