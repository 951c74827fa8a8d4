"""The applications of one experiment of a TEACUP config, collected from its generators."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aqmlab.base.errors import BadValueError, ScenarioError, shown
from aqmlab.base.unique_names import Names
from aqmlab.engines.trial_spec import AppSpec, Argument, KindSpec, TcpSpec
from aqmlab.planning.teacup import hosts as host_setup
from aqmlab.planning.teacup.hosts import Hosts, NotModelledError
from aqmlab.planning.teacup.network import Network
from aqmlab.planning.teacup.vocabulary import (
    Arguments,
    Config,
)
from aqmlab.scenario import catalogue
from aqmlab.scenario.normalise import MOST_APPS


@dataclass
class Traffic:
    """The applications of one experiment, collected during reading."""

    config: Config
    hosts: Hosts
    network: Network
    variables: Mapping[str, object]
    apps: list[AppSpec] = field(default_factory=list)
    ends_ns: dict[str, int] = field(default_factory=dict)
    """The planned end time of each application that has one."""
    names: Names = field(default_factory=Names)
    places: list[str] = field(default_factory=list)
    """The location of each application in the config."""
    ways: dict[tuple[str, str], str] = field(default_factory=dict)
    """Pairs of source and destination addresses, each with the location of its first use."""
    addresses: dict[str, dict[str, object]] = field(default_factory=dict)
    """The addresses of both ends of each application, and the server's port if it is stated."""

    def ends(self, args: Arguments, first: str, second: str) -> tuple[str, str]:
        """The addresses of the hosts that the arguments `first` and `second` name."""
        return (
            self.hosts.address(host_of(args.text(first)), f"{args.where}: {first}"),
            self.hosts.address(host_of(args.text(second)), f"{args.where}: {second}"),
        )

    def add(
        self,
        args: Arguments,
        name: str,
        kind: str,
        sender: str,
        receiver: str,
        params: Mapping[str, Argument],
        start_ns: int,
        stop_ns: int | None,
        adapt: Callable[[TcpSpec], TcpSpec] = lambda tcp: tcp,
    ) -> None:
        """Adds an application that sends data from `sender` to `receiver`.

        An application with a parameter `duration` runs for that time from its actual start, like
        the tool on the testbed. `adapt` changes the TCP of both ends. If both ends are on the same
        side of the bottleneck, the function adds only a warning.
        """
        if len(self.apps) >= MOST_APPS:
            raise ScenarioError(args.where, f"more than {MOST_APPS} applications")
        up = self.network.is_home(sender)
        if up == self.network.is_home(receiver):
            side = "in the home" if up else "on the internet"
            self.config.warn(
                f"{args.where}: {args.task}: both ends are {side}: left out, since it does not "
                f"cross the bottleneck"
            )
            return
        home, wan = (sender, receiver) if up else (receiver, sender)
        own = {"direction": "up" if up else "down"} | dict(params)
        app = AppSpec(
            name=self.names.free(name),
            app=KindSpec(kind=kind, params=self._checked(args, kind, own)),
            start_ns=start_ns,
            stop_ns=None if "duration" in own else stop_ns,
            up=self.network.route(home, wan),
            down=self.network.route(wan, home),
            home=adapt(self._tcp(args, home)),
            wan=adapt(self._tcp(args, wan)),
        )
        self.apps.append(app)
        self.addresses[app.name] = {"home": home, "wan": wan, "port": _port(args)}
        self.places.append(f"{args.where}: {args.task}")
        for way in ((home, wan), (wan, home)):
            self.ways.setdefault(way, self.places[-1])
        if stop_ns is not None:
            self.ends_ns[app.name] = stop_ns

    def _tcp(self, args: Arguments, address: str) -> TcpSpec:
        algorithm = args.text("congestion_algo", "")
        return host_setup.tcp(self.hosts, address, self.variables, algorithm)

    def _checked(
        self, args: Arguments, kind: str, params: Mapping[str, Argument]
    ) -> dict[str, Argument]:
        """The parameters `params`, checked against the parameters of `kind`.

        `direction` is left out if the kind does not have it.
        """
        try:
            declared = catalogue.load().find("apps", kind).params
        except BadValueError as problem:
            raise problem.at(args.where) from None
        checked = {}
        for name, value in params.items():
            param = declared.get(name)
            if param is None and name == "direction":
                continue
            if param is None:
                raise ScenarioError(args.where, f"the kind `{kind}` takes no `{name}`")
            if param.type == "word" and value not in param.choices:
                raise NotModelledError(f"{name} `{shown(value)}` of {kind}")
            checked[name] = value
        return checked


def _port(args: Arguments) -> int | None:
    """The port of a server, from a separate argument or from 'host:port', if it is stated."""
    ends = (args.text(key, "").partition(":")[2] for key in ("server", "serv"))
    stated = (args.text("port", ""), args.text("serv_port", ""), *ends)
    return next((int(text) for text in stated if re.fullmatch("[0-9]{1,5}", text)), None)


def host_of(text: str) -> str:
    """The host in 'host:port'; any other text without outer blanks."""
    text = text.strip()
    return text.partition(":")[0] or text if text.count(":") == 1 else text
