"""The registry of engines: the simulator, and the Linux kernel with its options.

A text such as "sim,kernel" selects engines. The name of an engine with its options, such as
`kernel-ours-host`, identifies it in conditions, manifests and files. The registry loads the class
of an engine when the engine is selected. To add an engine, write a class with the members of
`engine.Engine` and add it to `ENGINES`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from aqmlab.base.errors import shown, suggestion
from aqmlab.base.failures import RequestError
from aqmlab.engines.engine import Engine
from aqmlab.engines.kernel import kinds as of_kernel
from aqmlab.engines.kernel.options import QDISC_SOURCES, RUN_ON, engine_name
from aqmlab.scenario import catalogue

if TYPE_CHECKING:
    from aqmlab.engines.kernel.linux_kernel import LinuxKernel
    from aqmlab.engines.simulator import Simulator

    _CLASSES: tuple[Callable[..., Engine], ...] = (Simulator, LinuxKernel)


class EngineEntry(NamedTuple):
    """An engine whose class is not yet loaded."""

    implementation: str
    """The class of the engine as "module:class"."""
    kinds: Callable[[str], Collection[str]]
    """Returns the kinds of a catalogue family that the default options support."""
    options: Mapping[str, tuple[str, ...]]
    """The arguments of the class for each name of the engine, with the defaults first."""


ENGINES: Mapping[str, EngineEntry] = {
    "sim": EngineEntry(
        "aqmlab.engines.simulator:Simulator",
        lambda family: catalogue.load()[family],
        {"sim": ()},
    ),
    "kernel": EngineEntry(
        "aqmlab.engines.kernel.linux_kernel:LinuxKernel",
        of_kernel.kinds,
        {engine_name(*both): both for both in itertools.product(QDISC_SOURCES, RUN_ON)},
    ),
}
"""Each engine with all of its options."""

_Name = TypeVar("_Name", bound=str)

_BY_NAME = {name: one for one in ENGINES.values() for name in one.options}


@cache
def _loaded(name: str) -> Engine:
    entry = _BY_NAME[name]
    made: Engine = resolve_name(entry.implementation)(*entry.options[name])
    return made


def engine(name: str) -> Engine:
    """The engine with options called `name`; raises `RequestError` if there is none."""
    if name not in _BY_NAME:
        problem = f"this version of aqmlab has no engine `{shown(name)}`"
        raise RequestError(problem, suggestion(name, _BY_NAME))
    return _loaded(name)


def named(text: str, qdisc_sources: str = "kernel", run_on: str = "vm") -> tuple[str, ...]:
    """The names of the engines in a list such as "sim,kernel".

    The engine `kernel` runs with each of the `qdisc_sources` on each of the machines `run_on`. A
    name from a manifest, such as `kernel-ours`, already states the options. Raises `RequestError`
    for an unknown name, for a name that is given twice, and for options of `kernel` if `text` does
    not name this engine.

    >>> named("kernel"), named("sim, kernel"), named("kernel-ours")
    (('kernel',), ('sim', 'kernel'), ('kernel-ours',))
    >>> named("sim,kernel", "sim,kernel"), named("kernel", "sim", "host")
    (('sim', 'kernel-ours', 'kernel'), ('kernel-ours-host',))
    """
    names = _listed("--engine", "engine", text, _BY_NAME, ENGINES)
    sources = _listed("--qdisc-source", "source", qdisc_sources, QDISC_SOURCES)
    places = _listed("--run-on", "place", run_on, RUN_ON)
    for option, chosen, known in (
        ("--qdisc-source", sources, QDISC_SOURCES),
        ("--run-on", places, RUN_ON),
    ):
        if chosen != known[:1] and "kernel" not in names:
            raise RequestError(
                f"{option} {','.join(chosen)}: applies to the engine `kernel` only",
                f"--engine kernel {option} {','.join(chosen)}",
            )
    kernels = [engine_name(source, place) for place in places for source in sources]
    each = (kernels if name == "kernel" else [name] for name in names)
    return tuple(dict.fromkeys(name for some in each for name in some))


def _listed(
    option: str,
    what: str,
    text: str,
    known: Iterable[_Name],
    suggested: Iterable[str] | None = None,
) -> tuple[_Name, ...]:
    """The names in the list `text`, the argument of `option`.

    Raises `RequestError` for a name of the kind `what` that is not in `known`. The hint suggests
    one of the names `suggested`, or of `known` if `suggested` is `None`. Also raises it for a name
    that is given twice.
    """
    by_name: dict[str, _Name] = {name: name for name in known}
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in by_name:
            hint = suggestion(name, by_name if suggested is None else suggested)
            raise RequestError(f"{option}: unknown {what} `{shown(name)}`", hint)
        if names.count(name) > 1:
            raise RequestError(f"{option}: `{name}` is given twice", "name it once")
    return tuple(by_name[name] for name in names)


def unbuilt(names: Iterable[str]) -> tuple[str, ...]:
    """The engines among `names` whose checker is not built yet."""
    return tuple(name for name in names if not engine(name).is_built())


def that_have(family: str, kind: str) -> Iterator[str]:
    """Yields the names of the engines whose default options support a kind of the catalogue."""
    return (name for name, one in ENGINES.items() if kind in one.kinds(family))


def identity(names: str, versions: Mapping[str, str]) -> str:
    """The versions on which results of the engines `names` ("sim,kernel") depend, as one text."""
    wanted = [part for name in names.split(",") for part in engine(name).identity]
    return " ".join(str(versions.get(part)) for part in wanted)


def made_by(names: str, versions: Mapping[str, str]) -> str:
    """Describes the engines `names` and their versions.

    The names may belong to engines that no longer exist.

    >>> made_by("sim", {"core": "0.1.0", "build": "9f"})
    'sim (core 0.1.0, build 9f)'
    """
    known = [_loaded(name) for name in names.split(",") if name in _BY_NAME]
    parts = [part for one in known for part in one.identity if part in versions]
    parts = list(dict.fromkeys(parts))
    remarks = dict.fromkeys(one.remark for one in known if one.remark)
    made = [", ".join(f"{part} {versions[part]}" for part in parts), *remarks]
    return f"{names} ({'; '.join(made)})"
