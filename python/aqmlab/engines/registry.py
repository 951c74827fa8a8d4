"""The registry of engines: the simulator and Linux.

The registry names the functions of an engine and imports them on first use. To add an engine, add
an `Engine` to `ENGINES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from aqmlab.base.errors import suggestion
from aqmlab.base.failures import RequestError

Address = tuple[str | int, ...]
"""A location in a resolved trial, such as `("links", 0, "qdisc")`."""

Say = Callable[[str], None]
"""Receives a message before a slow step."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An unsupported part of a trial, with its location and the reason."""

    at: Address
    problem: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared engine: its versions, and the options of its runner."""

    versions: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the runner, which are passed to another process as JSON."""


STRUCTURE = "aqmlab.engines.core_check:refusal"
"""The check for trials that no engine can run."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A program that runs trials. Functions are named as "module:name"."""

    name: str
    runner: str
    """The function that runs a trial: it takes JSON and returns digest and tables."""
    identity: tuple[str, ...]
    """The versions on which results depend. They are part of a campaign's key."""
    abilities: str | None = None
    """The function that lists the supported kinds of a family; all kinds if absent."""
    checker: str | None = None
    """The function that returns the `Refusal` of a trial that the engine cannot run."""
    ready: str | None = None
    """The function that returns whether the checker is built. If absent, no build is needed."""
    preparer: str | None = None
    """The function that prepares trials: it takes them and a `Say`, and returns `Prepared`."""
    tells: bool = False
    """Whether the runner takes `progress` and reports the seconds that have passed."""
    captures: bool = True
    """Whether the runner takes `captures`, the names of two files for all packet headers."""
    variant: bool = False
    """Whether this is a variant of another engine, with other disciplines or in another place."""
    remark: str = ""
    """A remark that readers of its results need."""

    def has(self, family: str, kind: str) -> bool:
        """Returns whether the engine supports a kind of the catalogue."""
        return self.abilities is None or kind in load(self.abilities)(family)

    def refusal(self, spec: Mapping[str, Any]) -> Refusal | None:
        """The reason why the engine cannot run a trial, if it is known before the start."""
        for checker in filter(None, (STRUCTURE, self.checker)):
            found: Refusal | None = load(checker)(spec)
            if found is not None:
                return found
        return None

    def is_built(self) -> bool:
        """Returns whether trials can be checked and prepared without building a program."""
        return self.ready is None or bool(load(self.ready)())

    def prepare(self, specs: Sequence[Mapping[str, Any]], say: Say | None = None) -> Prepared:
        """Prepares the engine for `specs`; raises `LabError` for missing requirements."""
        if self.preparer is None:
            return Prepared()
        prepared: Prepared = load(self.preparer)(specs, say or (lambda _: None))
        return prepared


_REAL_TIME = "in real time, so digests differ from run to run"

ENGINES = {
    engine.name: engine
    for engine in (
        Engine("sim", "aqmlab._core:run", ("core", "build")),
        Engine(
            "kernel",
            "aqmlab.engines.kernel.engine:run_prepared",
            ("kernel", "qemu", "agent", "machine", "image"),
            abilities="aqmlab.engines.kernel.abilities:kinds",
            checker="aqmlab.engines.kernel.abilities:refusal",
            ready="aqmlab.engines.kernel.abilities:is_built",
            preparer="aqmlab.engines.kernel.installed:prepare",
            tells=True,
        ),
        Engine(
            "kernel-ours",
            "aqmlab.engines.kernel.engine:run_prepared",
            ("kernel", "qemu", "agent", "machine", "image"),
            abilities="aqmlab.engines.kernel.abilities:kinds_around_ours",
            checker="aqmlab.engines.kernel.abilities:refusal_around_ours",
            ready="aqmlab.engines.kernel.abilities:is_built",
            preparer="aqmlab.engines.kernel.installed:prepare_for_ours",
            tells=True,
            variant=True,
        ),
        Engine(
            "kernel-host",
            "aqmlab.engines.kernel.host:run_prepared",
            ("host", "agent"),
            abilities="aqmlab.engines.kernel.abilities:kinds",
            checker="aqmlab.engines.kernel.host:refusal",
            ready="aqmlab.engines.kernel.agent:is_there",
            preparer="aqmlab.engines.kernel.host:prepare",
            tells=True,
            captures=False,
            variant=True,
            remark=_REAL_TIME,
        ),
        Engine(
            "kernel-ours-host",
            "aqmlab.engines.kernel.host:run_prepared",
            ("host", "agent"),
            abilities="aqmlab.engines.kernel.abilities:kinds_around_ours",
            checker="aqmlab.engines.kernel.host:refusal_around_ours",
            ready="aqmlab.engines.kernel.agent:is_there",
            preparer="aqmlab.engines.kernel.host:prepare_for_ours",
            tells=True,
            captures=False,
            variant=True,
            remark=_REAL_TIME,
        ),
    )
}
"""All engines, by name."""

DISCIPLINES = ("kernel", "ours")
"""Sources of the disciplines between the kernel's TCPs. The first is the default."""

PLACES = ("vm", "host")
"""Places where the kernel can run. The first is the default."""


def load(name: str) -> Any:
    """Imports the function named "module:name"."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def named(text: str, disciplines: str = "kernel", places: str = "vm") -> tuple[str, ...]:
    """The engines of a list such as "sim,kernel", without duplicates; raises `RequestError`.

    The engine `kernel` runs with each of the `disciplines` in each of the `places`. The name of a
    variant contains the choices that are not the default.

    >>> named("kernel"), named("sim, kernel")
    (('kernel',), ('sim', 'kernel'))
    >>> named("sim,kernel", "ours,kernel"), named("kernel", "ours", "host")
    (('sim', 'kernel-ours', 'kernel'), ('kernel-ours-host',))
    """
    names = _listed("--engine: unknown engine", text, ENGINES)
    whose = _listed("--discipline: unknown choice", disciplines, DISCIPLINES)
    where = _listed("--place: unknown place", places, PLACES)
    for option, chosen, known in (
        ("--discipline", whose, DISCIPLINES),
        ("--place", where, PLACES),
    ):
        if chosen != known[:1] and "kernel" not in names:
            raise RequestError(
                f"{option} {','.join(chosen)}: applies to the engine `kernel` only",
                f"--engine kernel {option} {','.join(chosen)}",
            )
    kernels = [
        "-".join(["kernel", *(word for word in (one, place) if word not in ("kernel", "vm"))])
        for place in where
        for one in whose
    ]
    each = (kernels if name == "kernel" else [name] for name in names)
    return tuple(dict.fromkeys(name for some in each for name in some))


def _listed(problem: str, text: str, known: Iterable[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in known:
            raise RequestError(f"{problem} `{name}`", suggestion(name, known))
    return names


def unbuilt(names: Iterable[str]) -> tuple[str, ...]:
    """The engines among `names` whose checker is not built yet."""
    return tuple(name for name in names if not ENGINES[name].is_built())


def that_have(family: str, kind: str) -> Iterator[str]:
    """Yields the names of the engines that support a kind of the catalogue."""
    engines = (engine for engine in ENGINES.values() if not engine.variant)
    return (engine.name for engine in engines if engine.has(family, kind))


def identity(names: str, versions: Mapping[str, str]) -> str:
    """The part of `versions` on which results of the engines `names` ("sim,kernel") depend."""
    wanted = [part for name in names.split(",") for part in ENGINES[name].identity]
    return " ".join(str(versions.get(part)) for part in wanted)


def made_by(names: str, versions: Mapping[str, str]) -> str:
    """Describes the engines `names` and their versions. The names may be unknown by now.

    >>> made_by("sim", {"core": "0.1.0", "build": "9f"})
    'sim (core 0.1.0, build 9f)'
    """
    known = [ENGINES[name] for name in names.split(",") if name in ENGINES]
    parts = [part for engine in known for part in engine.identity if part in versions]
    parts = list(dict.fromkeys(parts))
    remarks = dict.fromkeys(engine.remark for engine in known if engine.remark)
    made = [", ".join(f"{part} {versions[part]}" for part in parts), *remarks]
    return f"{names} ({'; '.join(made)})"
