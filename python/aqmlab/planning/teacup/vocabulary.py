"""The vocabulary of TEACUP configs: `TPCONF_` names, variables, and argument strings.

Source: the TEACUP v1.0 and v1.1 trees (`experiment.py`, `config.py` examples) and manuals.
"""

from __future__ import annotations

import ast
import difflib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from aqmlab.base.errors import BadValueError, ScenarioError, shown
from aqmlab.planning.teacup.expressions import Expressions
from aqmlab.planning.teacup.functions import SCALARS, Row, UnreadError
from aqmlab.planning.teacup.syntax import expression
from aqmlab.scenario.quantities import Rate

WITHOUT_MEANING = {
    "the testbed's machines, which are not needed here": (
        "script_path debug_level tftpserver tftpboot_dir os_partition force_reboot boot_timeout "
        "do_power_cycle power_ctrl_type host_power_ctrlport power_admin_name power_admin_pw "
        "max_time_diff remote_dir check_connectivity"
    ),
    "the testbed's network, which is made from the router's queues": (
        "config_topology topology_switch topology_switch_port_prefix "
        "topology_switch_port_offset linkspeed host_linkspeed"
    ),
    "clock offsets, of which there are none here": ("bc_ping_enable bc_ping_rate bc_ping_address"),
    "loggers, in whose place the taps and samples of `measure` are": (
        "web10g_poll_interval pcap_snaplen linux_tcp_logger ttprobe_direction "
        "ttprobe_output_mode tcpdump_logger tcpstats_logger"
    ),
}
"""By reason: the names, without `TPCONF_`, that have no meaning in a simulator."""

READ = (
    "router_queues", "traffic_gens", "parameter_list", "vary_parameters", "variable_defaults",
    "test_id", "duration", "router", "hosts", "host_internal_ip", "host_os", "host_TCP_algos",
    "host_TCP_algo_params", "host_init_custom_cmds", "linux_kern_router", "linux_kern_hosts",
    "aqms", "aqms2",
)  # fmt: skip
"""The names that this package reads, without `TPCONF_`."""

WORDS = (*READ, *" ".join(WITHOUT_MEANING.values()).split())
"""The names that TEACUP defines, without `TPCONF_`."""

_OF_VERSION_1_1 = (
    "linux_tcp_logger", "ttprobe_direction", "ttprobe_output_mode", "tcpdump_logger",
    "tcpstats_logger",
)  # fmt: skip

_MOST_WARNINGS = 1_000
_MOST_COMPARED = 200
_MOST_ENTRIES = 2_000
_MOST_TEXT = 4_000
_MOST_NUMBER = 1e12
_MOST_NS = 1 << 60
"""The longest trial that the core runs, about 36 years."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")

VARIABLE = re.compile(r"V_[A-Za-z0-9_-]+")
"""The syntax of variable names in TEACUP, which includes the hyphen."""


@dataclass
class Config:
    """The names that a config binds, with their values, and warnings about them.

    `source` is the config's name for messages. `lines` holds the location of each name.
    """

    source: str
    names: dict[str, object]
    lines: dict[str, str]
    warnings: list[str] = field(default_factory=list)
    used: AbstractSet[str] = frozenset()
    """The names that the config itself uses."""

    def get(self, name: str, default: Any = None) -> Any:
        """The value of `TPCONF_name`, or `default` if the config does not define it."""
        return self.names.get(f"TPCONF_{name}", default)

    def where(self, name: str) -> str:
        """The location of `TPCONF_name` for a message."""
        return f"{self.lines.get(f'TPCONF_{name}', self.source)}: TPCONF_{name}"

    def table(self, name: str) -> dict[Any, Any]:
        """The dictionary `TPCONF_name`, empty if absent; raises `ScenarioError` for other types."""
        value = self.get(name, {})
        if not isinstance(value, dict):
            raise ScenarioError(self.where(name), f"`{shown(value)}` is not a dictionary")
        _refuse_many(value, self.where(name))
        return value

    def rows(self, name: str) -> list[Any]:
        """The list `TPCONF_name`, empty if absent; raises `ScenarioError` for other types."""
        value = self.get(name, [])
        if not isinstance(value, (list, tuple)):
            raise ScenarioError(self.where(name), f"`{shown(value)}` is not a list")
        _refuse_many(value, self.where(name))
        return list(value)

    def warn(self, text: str) -> None:
        """Records a warning, unless it is recorded already or there are too many."""
        if len(self.warnings) < _MOST_WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    @property
    def is_1_1(self) -> bool:
        """Returns whether the config uses names that TEACUP 1.0 does not have."""
        if any(self.get(name) is not None for name in _OF_VERSION_1_1):
            return True
        tasks = " ".join(
            str(entry[2]) for entry in self.rows("traffic_gens") if _is_row(entry, 3)
        ).lower()
        return "start_nginx_server" in tasks or "player_path" in tasks

    def check(self) -> None:
        """Warns of names that are misspelt or have no meaning.

        Raises `ScenarioError` without queues or traffic.
        """
        self._warn_of_misspelt()
        for name in ("router_queues", "traffic_gens"):
            if self.get(name) is None:
                raise ScenarioError(self.source, f"TPCONF_{name} is not defined")
        for what, names in WITHOUT_MEANING.items():
            said = [f"TPCONF_{name}" for name in names.split() if self.get(name) is not None]
            if said:
                self.warn(f"{self.source}: no meaning here: {', '.join(said)} ({what})")

    def _warn_of_misspelt(self) -> None:
        """Warns of unused names that are similar to a known name.

        All other names are the config's own.
        """
        known = {f"TPCONF_{word}" for word in WORDS} | self.used
        unknown = (one for one in self.names if one.startswith("TPCONF_") and one not in known)
        for name in itertools.islice(unknown, _MOST_COMPARED):
            own = name.removeprefix("TPCONF_")
            missing = [word for word in WORDS if self.get(word) is None]
            meant = nearest(own, missing, 0.8)
            if meant is not None:
                self.warn(f"{self.where(own)} is not read; did you mean `TPCONF_{meant}`?")


def nearest(got: str, words: Iterable[str], likeness: float = 0.6) -> str | None:
    """The member of `words` that is most similar to `got`, if any is similar."""
    return _nearest(got.lower()[:60], tuple(words), likeness)


@lru_cache(maxsize=4096)  # each experiment repeats the search
def _nearest(got: str, words: tuple[str, ...], likeness: float) -> str | None:
    lowered = {word.lower(): word for word in words}
    close = difflib.get_close_matches(got, list(lowered), 1, likeness)
    return lowered[close[0]] if close else None


def or_rather(got: str, words: Iterable[str]) -> str:
    """Suggests the member of `words` nearest to `got`, for the end of a warning.

    >>> or_rather("intervl", ["interval", "psize"]), or_rather("xyz", ["interval"])
    ('; did you mean `interval`?', '')
    """
    meant = nearest(got, words)
    return f"; did you mean `{shown(meant)}`?" if meant is not None else ""


def _refuse_many(entries: Sized, place: str) -> None:
    """Raises `ScenarioError` for too many entries, because each experiment reads all entries."""
    if len(entries) > _MOST_ENTRIES:
        problem = f"{len(entries)} entries are too many, {_MOST_ENTRIES} at most"
        raise ScenarioError(place, problem)


def _is_row(entry: Any, length: int) -> bool:
    return isinstance(entry, (tuple, list)) and len(entry) == length


@dataclass(frozen=True)
class ListEntry:
    """One entry of a list of queues or generators: its fields and its line."""

    fields: tuple[Any, ...]
    where: str


def entries(config: Config, name: str, rows: Any, length: int) -> list[ListEntry]:
    """Reads the rows of a list. Each row must have `length` fields, which are text or numbers.

    Raises `ScenarioError` for any other row.
    """
    place = config.where(name)
    if not isinstance(rows, (list, tuple)):
        raise ScenarioError(place, f"`{shown(rows)}` is not a list")
    _refuse_many(rows, place)
    result = []
    for row in rows:
        where = f"{config.source}:{row.line}" if isinstance(row, Row) and row.line else place
        if not _is_row(row, length) or not all(isinstance(part, SCALARS) for part in row):
            raise ScenarioError(where, f"an entry of TPCONF_{name} has {length} fields")
        result.append(ListEntry(tuple(row), where))
    return result


@lru_cache(maxsize=512)
def _call(text: str) -> ast.Call | str:
    """Parses `f(text)`; returns the syntax tree, or the problem of `text`."""
    if len(text) > _MOST_TEXT or re.search(r"[-+~(\[{]{30,}", text):
        return "too long"
    try:
        tree = expression(f"f(\n{text}\n)")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return str(getattr(error, "msg", error))
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        return "not a list of arguments"
    return tree


class Arguments(dict[str, object]):
    """The keyword arguments of a queue or a task, with readers whose errors name the key."""

    def __init__(self, where: str, task: str, values: Mapping[str, object]) -> None:
        super().__init__(values)
        self.where, self.task = where, task

    def _wrong(self, key: str, problem: str, hint: str | None = None) -> ScenarioError:
        owner = f"{self.task}: " if self.task else ""
        return ScenarioError(f"{self.where}: {owner}{key}", problem, hint)

    def text(self, key: str, default: str | None = None) -> str:
        """The value as text, or `default` if the value is absent. Empty text counts as absent.

        Raises `ScenarioError` if the value is absent and there is no default.
        """
        value = self.get(key, "")
        if value in ("", None):
            if default is None:
                written = nearest(key, map(str, self))
                hint = f"`{shown(written)}` is written; did you mean `{key}`?" if written else None
                raise self._wrong(key, "is missing", hint)
            return default
        return str(value)

    def number(self, key: str, default: float | None = None) -> float:
        """The value or `default` as a nonnegative number, which may be in quotes as in TEACUP."""
        number = self._number(key, default)
        if number > _MOST_NUMBER:
            problem = f"`{self._written(key, default)}` is above {_MOST_NUMBER:.0e}"
            raise self._wrong(key, problem)
        return number

    def _number(self, key: str, default: float | None) -> float:
        text = self.text(key, "" if default is None else str(default))
        if not _NUMBER.fullmatch(text.strip()) or float(text) < 0:
            raise self._wrong(key, f"`{shown(text)}` is not a number of zero or more")
        return float(text)

    def _written(self, key: str, default: object) -> str:
        """The value for a message. A reader of options finds the option by the same spelling."""
        return shown(self.get(key) or default)

    def nanoseconds(self, key: str, per_unit: int, default: float | None = None) -> int:
        """The value or `default`, stated in units of `per_unit` ns, as a time in ns.

        Raises `ScenarioError` for a time that is longer than any trial.
        """
        time_ns = self._number(key, default) * per_unit
        if time_ns > _MOST_NS:
            problem = f"`{self._written(key, default)}` is longer than any trial"
            most = _MOST_NS // per_unit
            raise self._wrong(key, problem, f"write at most {most}; a trial has at most 36 years")
        return round(time_ns)

    def whole(self, key: str, default: int | None = None) -> int:
        """The value or `default` as a whole number."""
        number = self.number(key, default)
        if number != int(number):
            raise self._wrong(key, f"`{shown(self.get(key))}` is not a whole number")
        return int(number)

    def rate(self, key: str) -> int:
        """The value as a rate in bit/s: '12mbit', '500kbit', '1M' or a number of bits."""
        return self.rate_of(key, self.text(key))

    def rate_of(self, key: str, text: str) -> int:
        """`text`, the value of `key`, as a rate in bit/s."""
        found = re.fullmatch(r"\s*([0-9.]+)\s*([kKmMgG]?)(?:bits?(?:/s)?)?\s*", text)
        try:
            if found is None:
                raise BadValueError("")
            return Rate.parse(f"{found[1]} {found[2]}bit/s").bps
        except BadValueError as problem:
            what = (
                problem.problem if "zero" in problem.problem else f"`{shown(text)}` is not a rate"
            )
            raise self._wrong(key, what, "write '12mbit', '500kbit' or bits per second") from None


def arguments(entry: ListEntry, text: Any, variables: Mapping[str, object], warn: Any) -> Arguments:
    """Reads the arguments in `text` as TEACUP does: replaces variables, then evaluates.

    Raises `ScenarioError` for invalid arguments. The task is the first argument if it is a bare
    name. `warn` receives warnings.
    """
    text = str(text).strip()
    for name in _hyphenated(text):
        warn(
            f"{entry.where}: TEACUP reads `{name}` as one name and would stop here; aqmlab reads "
            f"it as a difference"
        )
    call = _call(text)
    if isinstance(call, str):
        raise ScenarioError(entry.where, f"these are not arguments: {call}")
    task = ""
    if call.args:
        if len(call.args) > 1 or not isinstance(call.args[0], ast.Name):
            raise ScenarioError(entry.where, "only the task's name may lack a key")
        task = call.args[0].id
    values = {}
    for word in call.keywords:
        if word.arg is None:
            raise ScenarioError(entry.where, "`**` is not read")
        values[word.arg] = _evaluate(entry, word.arg, word.value, variables)
    return Arguments(entry.where, task, values)


def variable_uses(text: Any) -> Iterator[tuple[str, str]]:
    """Yields each variable in the arguments `text`, with the key whose whole value it is.

    The key of a variable in an expression is empty, because the expression changes its unit.

    >>> list(variable_uses("rate=2*V_up, delay=V_delay"))
    [('V_up', ''), ('V_delay', 'delay')]
    """
    call = _call(str(text).strip())
    for word in call.keywords if isinstance(call, ast.Call) else ():
        for part in ast.walk(word.value):
            if isinstance(part, ast.Name):
                yield part.id, (word.arg or "") if part is word.value else ""


def _hyphenated(text: str) -> list[str]:
    outside = re.sub(r"'[^']*'|\"[^\"]*\"", "''", text)
    return [name for name in VARIABLE.findall(outside) if "-" in name]


def _evaluate(entry: ListEntry, key: str, node: ast.expr, variables: Mapping[str, object]) -> Any:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            quoted = VARIABLE.search(part.value)
            if quoted:
                raise ScenarioError(
                    f"{entry.where}: {key}",
                    f"`{quoted[0]}` is inside quotes, where TEACUP does not replace it",
                    f"write {key}={quoted[0]}",
                )
        if isinstance(part, ast.Name) and part.id not in variables:
            raise ScenarioError.unknown(f"{entry.where}: {key}", "variable", part.id, variables)
    try:
        value = Expressions(entry.where, variables, {}).value(node)
    except (UnreadError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        problem = str(error).removeprefix("passed over: ")
        raise ScenarioError(f"{entry.where}: {key}", f"cannot be read: {shown(problem)}") from None
    if not isinstance(value, SCALARS):
        raise ScenarioError(f"{entry.where}: {key}", f"`{shown(value)}` is not text or a number")
    return value
