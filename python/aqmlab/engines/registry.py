"""The registry of engines: the simulator, and the Linux kernel with its options.

A text such as "sim,kernel" selects engines. The name of an engine with its options, such as
`kernel-ours-host`, identifies it in conditions, manifests and files. To add an engine, write a
class with the members of `engine.Engine` and add it to `ENGINES`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import TypeVar

from aqmlab.base.errors import shown, suggestion
from aqmlab.base.failures import RequestError
from aqmlab.engines.engine import Engine, Runner
from aqmlab.engines.kernel.options import QDISC_SOURCES, RUN_ON, LinuxKernel
from aqmlab.engines.simulator import Simulator

ENGINES: Mapping[str, tuple[Engine, ...]] = {
    "sim": (Simulator(),),
    "kernel": tuple(itertools.starmap(LinuxKernel, itertools.product(QDISC_SOURCES, RUN_ON))),
}
"""Each engine with all of its options, the defaults first."""

_Name = TypeVar("_Name", bound=str)

_BY_NAME = {one.name: one for engines in ENGINES.values() for one in engines}


def engine(name: str) -> Engine:
    """The engine with options called `name`; raises `RequestError` if there is none."""
    if name not in _BY_NAME:
        problem = f"this version of aqmlab has no engine `{shown(name)}`"
        raise RequestError(problem, suggestion(name, _BY_NAME))
    return _BY_NAME[name]


def load(name: str) -> Runner:
    """Imports the runner named "module:name"."""
    module, _, function = name.partition(":")
    runner: Runner = getattr(import_module(module), function)
    return runner


def named(text: str, qdisc_sources: str = "kernel", run_on: str = "vm") -> tuple[str, ...]:
    """The names of the engines in a list such as "sim,kernel", without duplicates.

    The engine `kernel` runs with each of the `qdisc_sources` in each of the places `run_on`. A
    name from a manifest, such as `kernel-ours`, states its options itself. Raises `RequestError`.

    >>> named("kernel"), named("sim, kernel"), named("kernel-ours")
    (('kernel',), ('sim', 'kernel'), ('kernel-ours',))
    >>> named("sim,kernel", "sim,kernel"), named("kernel", "sim", "host")
    (('sim', 'kernel-ours', 'kernel'), ('kernel-ours-host',))
    """
    names = _listed("--engine: unknown engine", text, _BY_NAME)
    sources = _listed("--qdisc-source: unknown source", qdisc_sources, QDISC_SOURCES)
    places = _listed("--run-on: unknown place", run_on, RUN_ON)
    for option, chosen, known in (
        ("--qdisc-source", sources, QDISC_SOURCES),
        ("--run-on", places, RUN_ON),
    ):
        if chosen != known[:1] and "kernel" not in names:
            raise RequestError(
                f"{option} {','.join(chosen)}: applies to the engine `kernel` only",
                f"--engine kernel {option} {','.join(chosen)}",
            )
    kernels = [LinuxKernel(source, place).name for place in places for source in sources]
    each = (kernels if name == "kernel" else [name] for name in names)
    return tuple(dict.fromkeys(name for some in each for name in some))


def _listed(problem: str, text: str, known: Iterable[_Name]) -> tuple[_Name, ...]:
    """The members of `known` in a list, without duplicates."""
    by_name: dict[str, _Name] = {name: name for name in known}
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in by_name:
            raise RequestError(f"{problem} `{name}`", suggestion(name, by_name))
    return tuple(by_name[name] for name in names)


def unbuilt(names: Iterable[str]) -> tuple[str, ...]:
    """The engines among `names` whose checker is not built yet."""
    return tuple(name for name in names if not engine(name).is_built())


def that_have(family: str, kind: str) -> Iterator[str]:
    """Yields the engines whose default options support a kind of the catalogue."""
    return (name for name, (default, *_) in ENGINES.items() if default.has(family, kind))


def identity(names: str, versions: Mapping[str, str]) -> str:
    """The part of `versions` on which results of the engines `names` ("sim,kernel") depend."""
    wanted = [part for name in names.split(",") for part in engine(name).identity]
    return " ".join(str(versions.get(part)) for part in wanted)


def made_by(names: str, versions: Mapping[str, str]) -> str:
    """Describes the engines `names` and their versions. The names may be unknown by now.

    >>> made_by("sim", {"core": "0.1.0", "build": "9f"})
    'sim (core 0.1.0, build 9f)'
    """
    known = [_BY_NAME[name] for name in names.split(",") if name in _BY_NAME]
    parts = [part for one in known for part in one.identity if part in versions]
    parts = list(dict.fromkeys(parts))
    remarks = dict.fromkeys(one.remark for one in known if one.remark)
    made = [", ".join(f"{part} {versions[part]}" for part in parts), *remarks]
    return f"{names} ({'; '.join(made)})"
