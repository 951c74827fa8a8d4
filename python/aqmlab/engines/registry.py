"""What runs trials: the simulator, and Linux itself.

An engine is named here and lives elsewhere; nothing of it is imported before it is used. To add
one, add an `Engine` to `ENGINES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from aqmlab.base.errors import suggestion
from aqmlab.base.failures import RequestError

Address = tuple[str | int, ...]
"""A place in a resolved trial, such as `("links", 0, "qdisc")`."""

Say = Callable[[str], None]
"""Is told what takes long."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What an engine cannot do, and where the trial asks for it."""

    at: Address
    problem: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """An engine that is ready: what its results are made by, and what its runner is given."""

    versions: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the runner; they go to another process as JSON."""


STRUCTURE = "aqmlab.engines.core_check:refusal"
"""Finds what no engine could run."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Something that runs trials. Functions are named as "module:name"."""

    name: str
    runner: str
    """Runs a trial: from its JSON to its digest and tables."""
    identity: tuple[str, ...]
    """The versions on which results depend: with others, a campaign is another campaign."""
    abilities: str | None = None
    """Says for a family of the catalogue which kinds there are; everything if absent."""
    checker: str | None = None
    """Finds the `Refusal` of a trial, if the engine cannot run it."""
    ready: str | None = None
    """Says whether the checker can be asked without building anything first; always if absent."""
    preparer: str | None = None
    """From the trials to run, and whom to tell what takes long, to `Prepared`."""
    tells: bool = False
    """Whether the runner takes `progress`, which it tells the seconds that have passed."""
    captures: bool = True
    """Whether the runner takes `captures`, two files for the headers of all packets."""
    variant: bool = False
    """Whether it is another engine, run with another discipline or in another place."""
    remark: str = ""
    """What must be known of its results."""

    def has(self, family: str, kind: str) -> bool:
        """Whether the engine has a kind of the catalogue."""
        return self.abilities is None or kind in load(self.abilities)(family)

    def refusal(self, spec: Mapping[str, Any]) -> Refusal | None:
        """Why the engine cannot run a trial, as far as that can be known before it is started."""
        for checker in filter(None, (STRUCTURE, self.checker)):
            found: Refusal | None = load(checker)(spec)
            if found is not None:
                return found
        return None

    def is_built(self) -> bool:
        """Whether trials can be checked and made ready without building a program first."""
        return self.ready is None or bool(load(self.ready)())

    def prepare(self, specs: Sequence[Mapping[str, Any]], say: Say | None = None) -> Prepared:
        """Makes what running `specs` needs; raises `LabError` with what must be installed."""
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
"""Whose disciplines may wait between the kernel's TCPs: the first unless another is asked for."""

PLACES = ("vm", "host")
"""Where the kernel may be: the first unless another is asked for."""


def load(name: str) -> Any:
    """The function that is called "module:name"."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def named(text: str, disciplines: str = "kernel", places: str = "vm") -> tuple[str, ...]:
    """The engines of a list such as "sim,kernel", each once; raises `RequestError`.

    The engine `kernel` is run with each of the `disciplines` in each of the `places`, and is
    called after what is not the first of its kind.

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
                f"{option} {','.join(chosen)}: only the engine `kernel` has a choice",
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
    """Those of the engines `names` that are asked by a program that is not built yet."""
    return tuple(name for name in names if not ENGINES[name].is_built())


def that_have(family: str, kind: str) -> Iterator[str]:
    """The names of the engines that have a kind of the catalogue."""
    engines = (engine for engine in ENGINES.values() if not engine.variant)
    return (engine.name for engine in engines if engine.has(family, kind))


def identity(names: str, versions: Mapping[str, str]) -> str:
    """What of `versions` the results of the engines `names` ("sim,kernel") depend on."""
    wanted = [part for name in names.split(",") for part in ENGINES[name].identity]
    return " ".join(str(versions.get(part)) for part in wanted)


def made_by(names: str, versions: Mapping[str, str]) -> str:
    """The engines `names`, also some that are no longer known, and their versions in words.

    >>> made_by("sim", {"core": "0.1.0", "build": "9f"})
    'sim (core 0.1.0, build 9f)'
    """
    known = [ENGINES[name] for name in names.split(",") if name in ENGINES]
    parts = [part for engine in known for part in engine.identity if part in versions]
    parts = list(dict.fromkeys(parts))
    remarks = dict.fromkeys(engine.remark for engine in known if engine.remark)
    made = [", ".join(f"{part} {versions[part]}" for part in parts), *remarks]
    return f"{names} ({'; '.join(made)})"
