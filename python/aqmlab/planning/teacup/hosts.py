"""The hosts of a TEACUP config: addresses, operating systems, and their TCP.

Source: TEACUP v1.1 `hostsetup.py`, which sets the buffers of each host before every experiment.
Unlike 1.0, TEACUP 1.1 also disables the automatic tuning of FreeBSD's receive buffer.

A host without an entry in `TPCONF_host_os` runs FreeBSD, as on the testbed for which TEACUP was
written. Such a host runs Linux instead if the config names a discipline or a kernel that only a
Linux router has. A warning reports this choice. `TPCONF_host_os` may also be one word for all
hosts. Linux hosts have kernel 3.17, which TEACUP's testbeds used, unless `TPCONF_linux_kern_hosts`
names 4.0 or later.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aqmlab.base.errors import ScenarioError, shown, suggestion
from aqmlab.engines.trial_spec import Argument, KindSpec, TcpSpec
from aqmlab.planning.teacup import disciplines
from aqmlab.planning.teacup.vocabulary import VARIABLE, Config, or_rather
from aqmlab.scenario import catalogue

SYSTEMS = {
    "linux": "Linux", "freebsd": "FreeBSD", "cygwin": "CYGWIN", "windows": "CYGWIN",
    "darwin": "Darwin", "mac": "Darwin", "macos": "Darwin",
}  # fmt: skip
_DEFAULT_CC = {"CYGWIN": "newreno", "Darwin": "newreno"}
_ALGORITHMS = {
    "newreno": {"Linux": "reno"},
    "cubic": {"FreeBSD": "cubic_freebsd", "Darwin": "cubic_freebsd"},
    "httpc": dict.fromkeys(("Linux", "FreeBSD", "Darwin", "CYGWIN"), "htcp"),
}
_TWO_MB = 2_097_152
_SYSCTLS = {
    "net.inet.tcp.recvspace": ("receive_buffer", int),
    "net.inet.tcp.sendspace": ("send_buffer", int),
    "net.inet.tcp.recvbuf_max": ("receive_buffer_max", int),
    "net.inet.tcp.sendbuf_max": ("send_buffer_max", int),
    "net.inet.tcp.recvbuf_auto": ("receive_tuning", bool),
    "net.inet.tcp.sendbuf_auto": ("send_tuning", bool),
    "net.ipv4.tcp_moderate_rcvbuf": ("receive_tuning", bool),
    "net.ipv4.tcp_sack": ("sack", bool),
    "net.inet.tcp.sack.enable": ("sack", bool),
    "net.ipv4.tcp_timestamps": ("timestamps", bool),
    "net.inet.tcp.rfc1323": ("timestamps", bool),
    "net.ipv4.tcp_slow_start_after_idle": ("slow_start_after_idle", bool),
}
"""By sysctl of Linux or FreeBSD: the setting of aqmlab's profiles, and the type of its value."""


class NotModelledError(Exception):
    """A feature of an experiment that aqmlab does not model, as a part of a sentence."""

    def __init__(self, what: str, rather: str = "") -> None:
        super().__init__(f"there is no {what} here{rather}")


@dataclass
class Hosts:
    """The hosts and routers of the testbed.

    `addresses` and `systems` map names to addresses and operating systems. `fallback` is the
    operating system of the other names. `router_kernel` and `hosts_kernel` are the versions of the
    Linux kernels that the config names, or `None`.
    """

    config: Config
    addresses: dict[str, list[str]] = field(default_factory=dict)
    systems: dict[str, str] = field(default_factory=dict)
    fallback: str = "FreeBSD"
    router_kernel: tuple[int, int] | None = None
    hosts_kernel: tuple[int, int] | None = None

    def address(self, name: str, where: str) -> str:
        """The source address of traffic from `name`: its first address on the test network.

        An address stands for itself, and so does any name if the config states no addresses. Raises
        `ScenarioError` for any other name.
        """
        if name in self.addresses:
            return self.addresses[name][0]
        if _ip(name) is not None:
            return name
        known = list(self.addresses)
        if known:
            raise ScenarioError(where, f"unknown host `{shown(name)}`", suggestion(name, known))
        return name

    def network(self, text: str, where: str) -> str:
        """The network in a queue's `source` or `dest`, or the address of the host named there."""
        return text if "/" in text else self.address(text, where)

    def within(self, address: str, network: str) -> bool:
        """Returns whether `address` is in `network`. A name matches only itself."""
        if address == network:
            return True
        key = (address, network)
        if key not in _WITHIN:
            if len(_WITHIN) > 100_000:
                _WITHIN.clear()
            own, net = _ip(address), _net(network)
            _WITHIN[key] = own is not None and net is not None and own in net
        return _WITHIN[key]

    def overlap(self, one: str, other: str) -> bool:
        """Returns whether two networks overlap."""
        first, second = _net(one), _net(other)
        if first is None or second is None or first.version != second.version:
            return one == other
        return first.overlaps(second)

    def beside(self, router: str, address: str) -> bool:
        """Returns whether `router` has an address in the /24 of `address`."""
        return any(
            self.within(address, f"{own}/24") for own in self.addresses.get(router, [router])
        )

    def name_of(self, address: str) -> str:
        """The name of the host with `address`, or `address` itself if no host has it."""
        for name, own in self.addresses.items():
            if address in own or address == name:
                return name
        return address

    def system(self, name: str) -> str:
        """The operating system of a host or router, by name or address."""
        return self.systems.get(self.name_of(name), self.fallback)

    def is_linux(self, router: str) -> bool:
        """Returns whether a router runs Linux."""
        return self.system(router) == "Linux"


_WITHIN: dict[tuple[str, str], bool] = {}


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _net(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def read(config: Config) -> Hosts:
    """Reads the hosts of a config. A warning names the hosts without a stated operating system.

    Raises `ScenarioError` for an invalid list of addresses or an unknown operating system.
    """
    hosts = Hosts(config)
    for name, own in config.table("host_internal_ip").items():
        if (
            not isinstance(own, (list, tuple))
            or not own
            or not all(isinstance(address, str) for address in own)
        ):
            where = config.where("host_internal_ip")
            raise ScenarioError(where, f"`{shown(name)}` needs a list of addresses")
        hosts.addresses[str(name)] = list(own)
    _match_orphans(config, hosts)
    hosts.router_kernel = _kernel(config.get("linux_kern_router"))
    hosts.hosts_kernel = _kernel(config.get("linux_kern_hosts"))
    named: Any = config.get("host_os", {})
    if isinstance(named, str):
        everyone = [*hosts.addresses, *config.rows("router"), *config.rows("hosts")]
        named = dict.fromkeys(map(str, everyone), named)
    if not isinstance(named, dict):
        raise ScenarioError(config.where("host_os"), f"`{shown(named)}` is not a dictionary")
    for name, system in named.items():
        known = SYSTEMS.get(str(system).lower())
        if known is None:
            raise ScenarioError.unknown(
                config.where("host_os"), "operating system", shown(system), SYSTEMS.values()
            )
        hosts.systems[str(name)] = known
    if _names_linux(config):
        hosts.fallback = "Linux"
    everybody = dict.fromkeys(map(str, [*config.rows("router"), *config.rows("hosts")]))
    unnamed = [name for name in everybody if name not in hosts.systems]
    if unnamed:
        config.warn(
            f"{config.source}: TPCONF_host_os does not name {', '.join(unnamed)}: taken for "
            f"{hosts.fallback}; --set TPCONF_host_os=Linux changes it for all"
        )
    return hosts


def _match_orphans(config: Config, hosts: Hosts) -> None:
    """Assigns the only address without a host to the only host without an address.

    Two of the configs that TEACUP ships contain such a pair.
    """
    listed = [str(name) for name in [*config.rows("hosts"), *config.rows("router")]]
    without = [name for name in listed if name not in hosts.addresses]
    orphans = [name for name in hosts.addresses if name not in listed]
    if len(without) == 1 and len(orphans) == 1:
        hosts.addresses[without[0]] = hosts.addresses.pop(orphans[0])
        config.warn(
            f"{config.where('host_internal_ip')}: `{orphans[0]}` is not a host: its addresses are "
            f"assigned to `{without[0]}`, which has none"
        )


def _kernel(text: Any) -> tuple[int, int] | None:
    found = re.search(r"([0-9]{1,3})\.([0-9]{1,4})", str(text)) if text else None
    return (int(found[1]), int(found[2])) if found else None


def _names_linux(config: Config) -> bool:
    if config.get("linux_kern_router"):
        return True
    words = [*config.rows("aqms"), *config.rows("aqms2")]
    text = str([str(entry) for entry in config.rows("router_queues")])
    words += re.findall(r"queue_disc\s*=\s*'(\w+)'", text)
    return any(disciplines.linux_only(str(word)) for word in words)


def tcp(
    hosts: Hosts, address: str, variables: Mapping[str, object], algorithm: str = ""
) -> TcpSpec:
    """The TCP settings of a host. `algorithm` replaces the host's congestion control."""
    system = hosts.system(address)
    host = hosts.name_of(address)
    profile, settings = _profile(hosts, system)
    params = catalogue.load().find("profiles", profile).params
    settings |= _custom(hosts.config, host, variables)
    wanted = algorithm or str(variables.get("V_tcp_cc_algo", "default"))
    return TcpSpec(
        profile=profile,
        cc=_congestion_control(hosts, host, system, wanted.lower()),
        ecn=str(variables.get("V_ecn", "0")) == "1",
        settings={name: value for name, value in settings.items() if name in params},
    )


def _profile(hosts: Hosts, system: str) -> tuple[str, dict[str, Argument]]:
    """The profile of an operating system, and the values of the settings that TEACUP changes."""
    if system == "Linux":
        old = hosts.hosts_kernel is None or hosts.hosts_kernel < (4, 0)
        profile = "linux-3.17" if old and "linux-3.17" in catalogue.load()["profiles"] else "linux"
        buffers: dict[str, Argument] = {
            "receive_tuning": False,
            "receive_buffer": 87_380,
            "send_buffer": 65_535,
        }
        return profile, buffers
    if system == "FreeBSD":
        return "freebsd", {"receive_tuning": False} if hosts.config.is_1_1 else {}
    if system == "Darwin":
        hosts.config.warn(f"{hosts.config.source}: Darwin is modelled as FreeBSD, its origin")
        fixed: dict[str, Argument] = {"receive_tuning": False, "send_tuning": False}
        return "freebsd", {**fixed, "receive_buffer": _TWO_MB, "send_buffer": _TWO_MB}
    return "windows", {}


def _congestion_control(hosts: Hosts, host: str, system: str, wanted: str) -> KindSpec | None:
    """The congestion control called `wanted`; `None` means the host's default."""
    if wanted.startswith("host"):
        own = hosts.config.table("host_TCP_algos").get(host, [])
        if not isinstance(own, (list, tuple)) or not own:
            raise ScenarioError(
                hosts.config.where("host_TCP_algos"), f"`{wanted}` is used, but {host} has no list"
            )
        number = int(wanted[4:]) if re.fullmatch(r"host[0-9]{1,4}", wanted) else 0
        wanted = str(own[number if number < len(own) else 0]).lower()
    if wanted == "default":
        wanted = _DEFAULT_CC.get(system, "")
        if not wanted:
            return None
    kind = _ALGORITHMS.get(wanted, {}).get(system, wanted)
    if kind not in catalogue.load()["tcp"]:
        known = [*catalogue.load()["tcp"], *_ALGORITHMS]
        raise NotModelledError(f"congestion control `{shown(wanted)}`", or_rather(wanted, known))
    return KindSpec(kind=kind)


def _custom(config: Config, host: str, variables: Mapping[str, object]) -> dict[str, Argument]:
    """The config's sysctl settings of a host, as settings of its profile."""
    settings: dict[str, Argument] = {}
    commands = config.table("host_init_custom_cmds").get(host, [])
    for command in commands if isinstance(commands, (list, tuple)) else []:
        text = VARIABLE.sub(lambda found: str(variables.get(found[0], found[0])), str(command))
        settings |= _sysctl(config, host, text, str(command))
    algorithms = config.table("host_TCP_algo_params").get(host, {})
    if algorithms:
        config.warn(f"{config.where('host_TCP_algo_params')}: these parameters are not read")
    return settings


def _sysctl(config: Config, host: str, command: str, written: str) -> dict[str, Argument]:
    found = re.search(r"\bsysctl\s+(?:-w\s+)?([\w.]+)\s*=\s*'?\"?([0-9 ]+)", command)
    if found and found[1] in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"):
        numbers = found[2].split()
        side = "receive" if found[1].endswith("rmem") else "send"
        if len(numbers) == 3:
            return {f"{side}_buffer": int(numbers[1]), f"{side}_buffer_max": int(numbers[2])}
    if found and found[1] in _SYSCTLS and len(found[2]) < 15:
        name, kind = _SYSCTLS[found[1]]
        return {name: kind(int(found[2].split()[0]))}
    config.warn(
        f"{config.where('host_init_custom_cmds')}: `{shown(written)}` on {host} is not read"
    )
    return {}
