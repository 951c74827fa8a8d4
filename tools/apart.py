"""Shows the first difference between the simulator and the kernel on one trial of the grid.

    python tools/apart.py buffer.pfifo-10.160ms.reno --seed 1 --to 5 --step 0.05

The program runs the trial on both engines. For each flow it prints the state at each step. The
state is the sender's window, threshold, smoothed round-trip time and data in flight, and the
backlog and drops of the link. Then it prints the packets around the first difference: a different
packet, a packet that only one engine lost, or a time difference of more than `--apart`
milliseconds. The kernel's runs, which take a minute, are stored in `--keep` under the digest of the
trial. Delete the stored runs to repeat them.

`--quiet` removes the hosts' jitter, so that differences come only from mechanisms. `--no-table`
prints only the packets. `--ours` runs the simulator's discipline, with its random values, between
the kernel's TCPs. The remaining differences then come from TCP.
"""

from __future__ import annotations

import argparse
import bisect
import hashlib
import pickle
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aqmlab import _core
from aqmlab.engines import registry
from aqmlab.engines.engine import load_runner
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.results.captures import EPOCH_S
from aqmlab.validation import grid
from msgspec import structs

ENGINES = ("kernel", "sim")
TCP, SACK = 6, 5
HOME_NET, FIRST_HOST = 10, 2
"""172.16.10.2 is the first application's end in the home."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A TCP segment at a tap: its time and header, with relative numbers."""

    t_ms: float
    home: bool
    """Whether the home's end sent it."""
    ident: tuple[int, int, int]
    seq: int
    ack: int
    length: int
    window: int
    sacks: tuple[tuple[int, int], ...]
    flags: int
    lost: bool = False

    def __str__(self) -> str:
        way = "home>" if self.home else "<wan "
        blocks = "".join(f" {a}-{b}" for a, b in self.sacks)
        news = f"ack {self.ack} win {self.window}{blocks}"
        what = f"{self.seq}+{self.length}" if self.length else news
        marks = "".join(
            letter
            for bit, letter in ((2, "S"), (1, "F"), (4, "R"), (8, "P"), (64, "E"), (128, "C"))
            if self.flags & bit
        )
        return f"{self.t_ms:11.3f} {way} {what:24} {marks:3}{' LOST' if self.lost else ''}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the trial on both engines and prints their first difference."""
    asked = parse(arguments)
    spec = spec_of(asked.cell, asked.seed)
    measure = structs.replace(
        spec.measure, sample_ns=round(asked.step * 1e9), points=1 << 20, packets=True
    )
    spec = structs.replace(
        spec,
        duration_ns=min(spec.duration_ns, round(asked.to * 1e9)),
        measure=measure,
        host_jitter_ns=0 if asked.quiet else spec.host_jitter_ns,
    )
    names = ("kernel-ours", "sim") if asked.ours else ENGINES
    runs = {name: run(name, spec, asked.keep) for name in names}
    for flow in asked.flow or sorted(app.name for app in spec.apps):
        if not asked.no_table:
            print_states(flow, runs, (asked.begin, asked.to), asked.conn)
        print_packets(flow_packets(spec, runs, flow, asked.conn), asked)
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("cell")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--begin", type=float, default=0.0, help="seconds; where tables begin")
    parser.add_argument("--to", type=float, default=5.0, help="seconds; the trial ends there")
    parser.add_argument("--step", type=float, default=0.05, help="seconds between states")
    parser.add_argument("--apart", type=float, default=5.0, help="milliseconds")
    parser.add_argument("--around", type=int, default=12, help="packets to be shown")
    parser.add_argument("--packets", type=float, nargs=2, metavar=("FROM", "TO"),
                        help="show all packets between these milliseconds instead")  # fmt: skip
    parser.add_argument("--flow", action="append")
    parser.add_argument("--conn", type=int, default=0, help="which connection of the flow")
    parser.add_argument("--keep", type=Path, default=Path("results/apart"))
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--no-table", action="store_true")
    return parser.parse_args(arguments)


def spec_of(name: str, seed: int) -> TrialSpec:
    """The trial of the cell called `name`."""
    cells = grid.load().select([name])
    if len(cells) > 1:
        raise SystemExit(f"{name}: {len(cells)} cells are called that, one is wanted")
    return cells[0].spec.with_seed(seed)


# --- Running ------------------------------------------------------------------------------------


def run(engine: str, spec: TrialSpec, keep: Path) -> dict[str, Any]:
    """The tables of a trial and the names of its captures, from `keep` if they are stored there.

    Captures exist only if the trial keeps its packets.
    """
    text = spec.canonical_text()
    name = hashlib.sha256(text.encode()).hexdigest()[:12]
    keep.mkdir(parents=True, exist_ok=True)
    files = tuple(str(keep / f"{name}-{engine}-{end}.pcap") for end in ("home", "wan"))
    kept = keep / f"{name}-{engine}.pickle"
    captures = {"captures": files} if spec.measure.packets else {}
    if engine != "sim" and kept.exists():
        return {"tables": pickle.loads(kept.read_bytes()), "captures": files}
    if engine == "sim":
        tables = _core.run(text, **captures)["tables"]
    else:
        one = registry.engine(engine)
        prepared = one.prepare([spec], lambda said: print(said, file=sys.stderr))
        tables = load_runner(one.runner)(text, **captures, **prepared.options)["tables"]
        kept.write_bytes(pickle.dumps(tables))
    return {"tables": tables, "captures": files}


# --- States over time ---------------------------------------------------------------------------


def print_states(
    flow: str, runs: Mapping[str, Any], span_s: tuple[float, float], conn: int
) -> None:
    """Prints for each step the state of the sender of `flow` on both engines, and the queues."""
    states = [dict(states_of(one["tables"], flow, conn)) for one in runs.values()]
    if not any(states):
        return
    head = f"{'cwnd':>5}{'ssthr':>6}{'srtt':>8}{'fly':>5}{'backlog':>9}{'drops':>6}"
    print(f"\n{flow}: at t_s, on the kernel and on the simulator\n{'':8}{head} |{head}")
    for key in sorted(set().union(*states)):
        if span_s[0] <= key[0] / 1e3 <= span_s[1]:
            sides = [one.get(key, " " * len(head)) for one in states]
            print(f"{key[0] / 1e3:8.3f}{sides[0]} |{sides[1]}  {key[1]}")


def states_of(
    tables: Mapping[str, Any], flow: str, conn: int
) -> Iterator[tuple[tuple[int, str], str]]:
    """The states as text, by millisecond and side."""
    queues = dict(queues_of(tables))
    table = tables["tcp_series"]
    columns = ("flow", "side", "conn", "t_s", "cwnd_bytes", "ssthresh_bytes", "srtt_ms",
               "in_flight_bytes")  # fmt: skip
    for name, side, number, t_s, cwnd, ssthresh, srtt, flying in zip(
        *(table[column] for column in columns), strict=True
    ):
        if name != flow or number != conn:
            continue
        ms = round(float(t_s) * 1e3)
        backlog, drops = queues.get((ms, "up" if side == "home" else "down"), (0, 0))
        threshold = "-" if ssthresh != ssthresh else f"{ssthresh / 1448:.0f}"
        yield (
            (ms, side),
            f"{cwnd / 1448:5.0f}{threshold:>6}{srtt:8.2f}{flying / 1448:5.0f}"
            f"{backlog:9.0f}{drops:6.0f}",
        )


def queues_of(tables: Mapping[str, Any]) -> Iterator[tuple[tuple[int, str], tuple[float, float]]]:
    """Backlog and drops by millisecond and link."""
    table = tables["queue_series"]
    for link, t_s, backlog, drops in zip(
        *(table[name] for name in ("link", "t_s", "backlog_packets", "drops")), strict=True
    ):
        yield (round(float(t_s) * 1e3), link), (float(backlog), float(drops))


# --- Packets ------------------------------------------------------------------------------------


def flow_packets(
    spec: TrialSpec, runs: Mapping[str, Any], flow: str, conn: int
) -> dict[str, list[Packet]]:
    """The packets that either end of a connection sent, in order, including lost packets."""
    place = [app.name for app in spec.apps].index(flow)
    return {name: list(connection(one["captures"], place, conn)) for name, one in runs.items()}


def connection(files: Sequence[str], place: int, conn: int) -> Iterator[Packet]:
    """The packets of one connection of the application number `place`, in sending order."""
    both = [list(read(file)) for file in files]
    ports = list(dict.fromkeys(pair for pair, _ in both[0] if pair[0] == place))
    if conn >= len(ports):
        return
    home, wan = ([one for pair, one in packets if pair == ports[conn]] for packets in both)
    arrived = {one.ident for one in wan if one.home} | {one.ident for one in home if not one.home}
    sent = [one for one in home if one.home] + [one for one in wan if not one.home]
    first = {way: min((one.seq for one in sent if one.home == way), default=0) for way in (0, 1)}
    for one in sorted(sent, key=lambda one: one.t_ms):
        mine, other = first[one.home], first[not one.home]
        yield replace(
            one,
            seq=one.seq - mine,
            ack=one.ack - other,
            sacks=tuple((a - other, b - other) for a, b in one.sacks),
            lost=one.ident not in arrived,
        )


def read(file: str) -> Iterator[tuple[tuple[int, ...], Packet]]:
    """Yields the TCP packets of a raw-IP capture, each with its application and ports."""
    raw = Path(file).read_bytes()
    at = 24
    while at < len(raw):
        seconds, nanos, kept, _ = struct.unpack_from("<IIII", raw, at)
        ip = raw[at + 16 : at + 16 + kept]
        if ip[9] == TCP:
            yield decode(ip, (seconds - EPOCH_S) * 1e3 + nanos / 1e6)
        at += 16 + kept


def decode(ip: bytes, t_ms: float) -> tuple[tuple[int, ...], Packet]:
    """The packet in the bytes of an IP datagram."""
    size = (ip[0] & 15) * 4
    total, ident = struct.unpack_from("!HH", ip, 2)
    near, far, seq, ack, offset, flags, window = struct.unpack_from("!HHIIBBH", ip, size)
    head = (offset >> 4) * 4
    home = ip[14] == HOME_NET
    address = ip[15] if home else ip[19]
    pair = (address - FIRST_HOST, near, far) if home else (address - FIRST_HOST, far, near)
    sacks = sacks_of(ip[size + 20 : size + head])
    length = total - size - head
    return pair, Packet(t_ms, home, (ident, seq, ack), seq, ack, length, window, sacks, flags)


def sacks_of(options: bytes) -> tuple[tuple[int, int], ...]:
    """The SACK blocks among TCP's options."""
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
            continue
        if options[at] == SACK:
            count = (options[at + 1] - 2) // 8
            found = (struct.unpack_from("!II", options, at + 2 + 8 * n) for n in range(count))
            return tuple((start, end) for start, end in found)
        at += options[at + 1]
    return ()


def print_packets(sent: Mapping[str, list[Packet]], asked: argparse.Namespace) -> None:
    """Prints the packets around the first difference, or the requested packets."""
    if asked.packets:
        spans = {name: [asked.packets] for name in sent}
    else:
        places = parting(*sent.values(), asked.apart)
        if places is None:
            print("no packet is another, nor apart")
            return
        why, *at_ms = places
        print(f"\n{why}")
        spans = dict(zip(sent, at_ms, strict=True))
    for name, packets in sent.items():
        print(f"--- {name}")
        for line in excerpt(packets, spans[name], asked.around):
            print(line)


def excerpt(
    sent: Sequence[Packet], span: float | Sequence[Sequence[float]], around: int
) -> Iterator[str]:
    """The packets between two times, or up to `around` packets before and after a time."""
    times = [one.t_ms for one in sent]
    if isinstance(span, float):
        middle = bisect.bisect_left(times, span)
        low, high = max(0, middle - around), middle + around
    else:
        low, high = (bisect.bisect_left(times, edge) for edge in span[0])
    yield from map(str, sent[low:high])


def parting(
    kernel: Sequence[Packet], ours: Sequence[Packet], apart_ms: float
) -> tuple[str, float, float] | None:
    """The first difference between data packets as text, and the packet's times in both runs."""
    data = [[one for one in sent if one.length or one.flags & 3] for sent in (kernel, ours)]
    for place, (theirs, mine) in enumerate(zip(*data, strict=False)):
        if (theirs.seq, theirs.length) != (mine.seq, mine.length):
            what = "is another"
        elif theirs.lost != mine.lost:
            what = "is lost on one side"
        elif abs(theirs.t_ms - mine.t_ms) > apart_ms:
            what = f"is {mine.t_ms - theirs.t_ms:+.3f} ms apart"
        else:
            continue
        return f"data packet {place} {what}", theirs.t_ms, mine.t_ms
    return None


if __name__ == "__main__":
    sys.exit(main())
