"""The traffic tasks of TEACUP configs, each converted to applications.

Source: TEACUP v1.1 `trafficgens.py`, and the patches of v1.0 that the CAIA papers used. The
*client* of iperf and of nttcp sends to the server, so the traffic of a client on the internet is a
download. Each task is a function in `TASKS`. To add a task, write its function and add it to
`TASKS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from aqmlab.base.errors import ScenarioError, shown
from aqmlab.engines.trial_spec import Argument, TcpSpec
from aqmlab.planning.teacup.generators import Traffic, host_of
from aqmlab.planning.teacup.iperf_options import iperf_options
from aqmlab.planning.teacup.vocabulary import (
    Arguments,
)
from aqmlab.scenario.quantities import Duration

_S, _MS = 1_000_000_000, 1_000_000

_FEW = 10
"""A generator with fewer packets than this number is probably misconfigured, by assumption."""


def _lasting(traffic: Traffic, args: Arguments, start_ns: int) -> int:
    """The end of a task in ns.

    Without a `duration`, a task lasts for `V_duration`, or else `TPCONF_duration`, or else 60 s.
    """
    default = traffic.variables.get("V_duration", traffic.config.get("duration", 60))
    whole = Arguments(args.where, args.task, {"duration": args.get("duration", default)})
    return start_ns + whole.nanoseconds("duration", _S)


def _iperf(traffic: Traffic, args: Arguments, own_id: str, start_ns: int) -> None:
    client, server = traffic.ends(args, "client", "server")
    stop_ns = _lasting(traffic, args, start_ns)
    rate_bps = args.rate("rate") if args.text("rate", "") else None
    is_udp = args.text("proto", "tcp").lower() == "udp"
    options = iperf_options(traffic.config, args, is_udp=is_udp)
    if is_udp:
        kind = "cbr"
        params: dict[str, Argument] = {
            "payload": options.payload_bytes,
            "rate": rate_bps or 1_000_000,
        }
    elif rate_bps:
        kind = "telemetry"
        params = {"rate": rate_bps, "nodelay": False, "quickack": False}
        traffic.config.warn(f"{args.where}: a rate for TCP is made by small writes at that rate")
    else:
        kind, params = "bulk", {"duration": stop_ns - start_ns}
    for _ in range(options.connections):
        traffic.add(
            args,
            f"iperf-{own_id}",
            kind,
            client,
            server,
            params,
            start_ns,
            stop_ns,
            adapt=partial(_with_socket, args),
        )


def _with_socket(args: Arguments, tcp: TcpSpec) -> TcpSpec:
    """Returns `tcp` with the buffers and the segment size of iperf's options."""
    if args.text("buf_size", ""):
        size_bytes = max(_size(args, "buf_size"), 1)
        tcp = replace(tcp, send_buffer=size_bytes, receive_buffer=size_bytes)
    if args.text("mss", "") and args.text("proto", "tcp").lower() != "udp":
        tcp = replace(tcp, mtu=min(max(args.whole("mss") + 40, 68), 65_535))
    return tcp


def _size(args: Arguments, key: str) -> int:
    found = re.fullmatch(r"([0-9]{1,12})([kKmM]?)", args.text(key))
    if found is None:
        place = f"{args.where}: {args.task}: {key}"
        raise ScenarioError(place, f"`{shown(args.text(key))}` is not a size in bytes")
    return int(found[1]) * {"": 1, "k": 1_024, "m": 1_048_576}[found[2].lower()]


def _ping(traffic: Traffic, args: Arguments, own_id: str, start_ns: int) -> None:
    client, dest = traffic.ends(args, "client", "dest")
    rate_hz = args.number("rate", 1) or 1.0
    stop_ns = _lasting(traffic, args, start_ns)
    params = {"interval": round(_S / rate_hz)}
    traffic.add(args, f"ping-{own_id}", "ping", client, dest, params, start_ns, stop_ns)


def _nttcp(traffic: Traffic, args: Arguments, own_id: str, start_ns: int) -> None:
    client, server = traffic.ends(args, "client", "server")
    interval_ms = args.number("interval", 1_000)
    if interval_ms == 0:
        raise ScenarioError(f"{args.where}: start_nttcp: interval", "`0` is not above zero")
    params = {"payload": args.whole("psize", 100), "interval": round(interval_ms * _MS)}
    stop_ns = _lasting(traffic, args, start_ns)
    if stop_ns - start_ns < _FEW * params["interval"]:
        every, span = map(Duration, (params["interval"], stop_ns - start_ns))
        traffic.config.warn(
            f"{args.where}: start_nttcp: interval is in milliseconds: this is a packet every "
            f"{every} for {span}"
        )
    traffic.add(args, f"nttcp-{own_id}", "cbr", client, server, params, start_ns, stop_ns)


def _game(traffic: Traffic, args: Arguments, own_id: str, start_ns: int) -> None:
    server = traffic.hosts.address(host_of(args.text("server")), f"{args.where}: server")
    clients = [host_of(text) for text in args.text("clients").split(",") if text.strip()]
    if not clients:
        raise ScenarioError(f"{args.where}: start_fps_game: clients", "there is no client")
    players = args.whole("noclients_game", len(clients))
    params: dict[str, Argument] = {
        "title": args.text("game_type", "q3").lower(),
        "players": players,
        "c2s_interval": args.nanoseconds("c2s_interval", _S, 0.01),
        "c2s_payload": args.whole("c2s_psize", 60),
        "client_delay": args.nanoseconds("client_start_delay", _S, 3.0),
    }
    if args.text("s2c_interval", ""):
        params["s2c_interval"] = args.nanoseconds("s2c_interval", _S)
    if not 4 <= players <= 32:
        traffic.config.warn(
            f"{args.where}: pktgen takes 4 to 32 players, and would stop at {players}"
        )
    stop_ns = _lasting(traffic, args, start_ns)
    for client in clients:
        address = traffic.hosts.address(client, f"{args.where}: clients")
        if traffic.network.is_home(server):
            traffic.config.warn(
                f"{args.where}: start_fps_game: a server in the home is not modelled: left out"
            )
            return
        traffic.add(args, f"game-{own_id}", "game", server, address, params, start_ns, stop_ns)


def _dash(traffic: Traffic, args: Arguments, own_id: str, start_ns: int) -> None:
    server_key = "serv" if args.text("serv", "") else "dest"
    client, server = traffic.ends(args, "client", server_key)
    seconds = args.number("chunk_size", 2)
    stop_ns = _lasting(traffic, args, start_ns)
    params = {"segment": f"{seconds:g}s"}
    traffic.add(args, f"dash-{own_id}", "dash", server, client, params, start_ns, stop_ns)


def _httperf_dash(traffic: Traffic, args: Arguments, own_id: str, start_ns: int) -> None:
    client, server = traffic.ends(args, "client", "server")
    rate_kbps = args.number("rate")
    if rate_kbps == 0:
        raise ScenarioError(f"{args.where}: start_httperf_dash: rate", "`0` is not above zero")
    params = {
        "rate": round(rate_kbps * 1_000),
        "chunk": args.nanoseconds("cycle", _S, 2),
    }
    traffic.config.warn(
        f"{args.where}: start_httperf_dash plays at its only rate, without its own prefetch"
    )
    stop_ns = _lasting(traffic, args, start_ns)
    traffic.add(args, f"stream-{own_id}", "audio_stream", server, client, params, start_ns, stop_ns)


def _httperf(traffic: Traffic, args: Arguments, own_id: str, start_ns: int) -> None:
    client, server = traffic.ends(args, "client", "server")
    traffic.config.warn(
        f"{args.where}: start_httperf is modelled as web browsing: its requests are in other files"
    )
    traffic.add(args, f"web-{own_id}", "web", server, client, {}, start_ns, None)


def _incast(traffic: Traffic, args: Arguments, own_id: str, start_ns: int) -> None:
    client = traffic.hosts.address(args.text("client"), f"{args.where}: client")
    servers = [host_of(text) for text in args.text("servers").split(",") if text.strip()]
    servers = servers[: args.whole("num_responders", len(servers)) or None]
    stop_ns = _lasting(traffic, args, start_ns)
    period_ns = args.nanoseconds("period", _S)
    if period_ns == 0:
        raise ScenarioError(f"{args.where}: {args.task}: period", "`0` is not above zero")
    size_bytes = args.whole("response_size", 64) * 1_024 * max(args.whole("burst_size", 1), 1)
    params = {
        "period": period_ns,
        "count": max((stop_ns - start_ns) // period_ns, 1),
        "size": size_bytes,
    }
    for server in servers:
        address = traffic.hosts.address(server, f"{args.where}: servers")
        traffic.add(args, f"incast-{own_id}", "bursts", address, client, params, start_ns, None)


Task = tuple[Callable[[Traffic, Arguments, str, int], None], str]

_INCAST = "client servers duration period burst_size response_size extra_params"

TASKS: dict[str, Task] = {
    "start_iperf": (
        _iperf,
        "client server port duration congestion_algo mss buf_size proto rate "
        "extra_params_client extra_params_server",
    ),
    "start_ping": (_ping, "client dest duration rate"),
    "start_nttcp": (
        _nttcp, "client server port duration interval psize buf_size",
    ),
    "start_fps_game": (
        _game,
        "clients server game_type c2s_interval c2s_psize s2c_interval duration "
        "client_start_delay noclients_game",
    ),
    "start_dash_streaming_dashjs": (
        _dash,
        "client serv dest serv_port duration browser chunk_size mpd player_path rate",
    ),
    "start_httperf_dash": (
        _httperf_dash,
        "client server port duration rate cycle prefetch prefetch_timeout with_timeout",
    ),
    "start_httperf": (
        _httperf,
        "client server port conns rate timeout calls burst wsesslog wsesslog_timeout period "
        "sessions call_stats",
    ),
    "start_httperf_incast": (_incast, _INCAST),
    "start_httperf_incast_n": (
        _incast, f"{_INCAST} server_port_start config_dir config_in docroot sizes num_responders",
    ),
}  # fmt: skip
"""Traffic tasks, each with the function that reads it and with its keys."""

SERVERS = frozenset((
    "start_http_server", "start_nginx_server", "create_http_dash_content",
    "create_http_incast_content", "start_bc_ping",
))  # fmt: skip
"""Tasks that prepare a testbed and send no traffic through the bottleneck."""
