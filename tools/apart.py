"""Shows the first difference between the simulator and the kernel on one trial of the grid.

    python tools/apart.py buffer.pfifo-10.160ms.reno --seed 1 --to 5 --step 0.05

The program runs the trial on both engines. For each flow it prints the state at each step. The
state is the sender's window, threshold, smoothed round-trip time and data in flight, and the
backlog and drops of the link. Then it prints the packets around the first difference. A difference
is a different packet, a packet that only one engine lost, or a time difference of more than
`--apart` milliseconds. The simulator's trial takes the testbed's time. A run of the kernel takes a
minute, so its result is stored in `--keep`, under the digest of the trial. Delete the stored result
to repeat the run.

`--quiet` removes the hosts' jitter, so no difference comes from this jitter. `--no-table` prints
only the packets. `--qdisc-source sim` runs the simulator's discipline, with its random
values, between the kernel's TCPs. The remaining differences then come from TCP.
"""

from __future__ import annotations

import argparse
import bisect
import hashlib
import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aqmlab import _core
from aqmlab.engines import registry
from aqmlab.engines.engine import load_runner
from aqmlab.engines.kernel.options import QDISC_SOURCES, engine_name
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.validation import grid, testbed
from msgspec import structs

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.tap_packets import Packet, connection

ENGINES = ("kernel", "sim")


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
    names = (engine_name(asked.qdisc_source, "vm"), "sim")
    runs = {name: run(name, for_engine(name, spec), asked.keep) for name in names}
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
    parser.add_argument("--qdisc-source", choices=QDISC_SOURCES, default="kernel",
                        help="whose disciplines run between the kernel's TCPs")  # fmt: skip
    parser.add_argument("--no-table", action="store_true")
    return parser.parse_args(arguments)


def spec_of(name: str, seed: int) -> TrialSpec:
    """The trial of the only cell whose name matches `name`, with this seed.

    Raises `SystemExit` if several cells match.
    """
    cells = grid.load().select([name])
    if len(cells) > 1:
        raise SystemExit(f"{name}: {len(cells)} cells are called that, one is wanted")
    return cells[0].spec.with_seed(seed)


# --- Running ------------------------------------------------------------------------------------


def for_engine(engine: str, spec: TrialSpec) -> TrialSpec:
    """The trial as `engine` runs it: the simulator's trial takes the testbed's times.

    They are those with the kernel's disciplines. With the simulator's disciplines between the
    kernel's TCPs, a packet takes about 10 µs longer in the testbed.
    """
    return testbed.as_built(spec) if engine == "sim" else spec


def run(engine: str, spec: TrialSpec, keep: Path) -> dict[str, Any]:
    """Runs a trial; returns its tables and the names of its captures.

    Stored runs of the kernel are reused.
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
    """Yields the states of both ends of a connection and their queues as text, by ms and side."""
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
    """Yields the backlog and the number of drops of each queue, by millisecond and link."""
    table = tables["queue_series"]
    for link, t_s, backlog, drops in zip(
        *(table[name] for name in ("link", "t_s", "backlog_packets", "drops")), strict=True
    ):
        yield (round(float(t_s) * 1e3), link), (float(backlog), float(drops))


# --- Packets ------------------------------------------------------------------------------------


def flow_packets(
    spec: TrialSpec, runs: Mapping[str, Any], flow: str, conn: int
) -> dict[str, list[Packet]]:
    """The packets that both ends of a connection sent, in order, with lost packets, by engine."""
    place = [app.name for app in spec.apps].index(flow)
    return {name: list(connection(one["captures"], place, conn)) for name, one in runs.items()}


def print_packets(sent: Mapping[str, list[Packet]], asked: argparse.Namespace) -> None:
    """Prints the packets around the first difference, or the requested packets."""
    if asked.packets:
        spans = {name: [asked.packets] for name in sent}
    else:
        places = parting(*sent.values(), asked.apart)
        if places is None:
            print("the packets of both engines agree")
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
    """Yields the packets between two times, or up to `around` packets before and after a time."""
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
    """The first difference between data packets as text, and the times of the two packets.

    Compares packets of the same position, up to the end of the shorter run. Returns `None` if these
    packets do not differ.
    """
    data = [[one for one in sent if one.length or one.flags & 3] for sent in (kernel, ours)]
    for place, (theirs, mine) in enumerate(zip(*data, strict=False)):
        if (theirs.seq, theirs.length) != (mine.seq, mine.length):
            what = "differs"
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
