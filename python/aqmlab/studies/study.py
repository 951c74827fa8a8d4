"""Reads the contents of a study's folder."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from aqmlab.base.errors import shown, suggestion
from aqmlab.base.failures import RequestError
from aqmlab.base.text_files import file_text
from aqmlab.scenario import loading
from aqmlab.studies.author_errors import SourcePlace, function_at
from aqmlab.studies.claims import Claim, claims_hint
from aqmlab.studies.draw import Figure

_T = TypeVar("_T")

ABOUT = "study.toml"
"""The file that identifies the folder of a study."""

_KEYS = {"title": str, "paper": str, "seeds": int, "claim_seeds": int, "choices": dict}


@dataclass(frozen=True, slots=True)
class _About:
    """The contents of `study.toml`."""

    title: str
    paper: str
    seeds: int = 1
    claim_seeds: int = 10
    choices: Mapping[str, str] = field(default_factory=dict)


class Study:
    """A paper's experiments: its scenarios, figures and claims.

    `module` is the study's package; a folder outside `papers` has none.
    """

    def __init__(self, folder: Path, module: str | None = None) -> None:
        self.folder = folder
        self.name = folder.name
        self._module = module
        self._about = _read(folder / ABOUT)

    @property
    def title(self) -> str:
        """The subject of the study, in one line."""
        return self._about.title

    @property
    def paper(self) -> str:
        """The paper: authors, title, venue and year."""
        return self._about.paper

    @property
    def seeds(self) -> int:
        """The default number of repetitions on which figures are based."""
        return self._about.seeds

    @property
    def claim_seeds(self) -> int:
        """The default number of repetitions on which verdicts on claims are based."""
        return self._about.claim_seeds

    @property
    def choices(self) -> Mapping[str, str]:
        """The study's choices where the paper is silent or unclear, as texts by short name."""
        return self._about.choices

    def scenario(self, name: str, engine: str) -> Path:
        """The file of a scenario; raises `RequestError` if there is none.

        An engine that needs a different file has `NAME.ENGINE.toml`. For the engine `kernel-ours`,
        `NAME.kernel.toml` also precedes `NAME.toml`.
        """
        parts = engine.split("-")
        owns = ["-".join(parts[:count]) for count in range(len(parts), 0, -1)]
        for file in (*(f"{name}.{own}.toml" for own in owns), f"{name}.toml"):
            if (self.folder / file).is_file():
                return self.folder / file
        known = [path.stem for path in self.folder.glob("*.toml") if path.name != ABOUT]
        raise RequestError(
            f"study {self.name}: there is no scenario `{name}`", suggestion(name, known)
        )

    @cached_property
    def apps(self) -> tuple[str, ...]:
        """The applications of all scenarios; scenarios with more applications come first.

        An application has the same colour in all figures, by its place in this order.
        """
        files = sorted(path for path in self.folder.glob("*.toml") if path.name != ABOUT)
        scenarios = [list(loading.find(path).layer.data.get("apps", {})) for path in files]
        in_order = sorted(scenarios, key=len, reverse=True)
        return tuple(dict.fromkeys(name for names in in_order for name in names))

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """The figures by their numbers, in the paper's order.

        Raises `RequestError` for an error in the declarations.
        """
        found: dict[str, Figure] = {}
        for figure in self._declared("figures", Figure):
            if figure.number in found:
                with self.place_of_figure(figure).named():
                    raise RequestError("two figures have this number")
            found[figure.number] = figure
        return found

    @cached_property
    def claims(self) -> dict[str, Claim]:
        """The claims by their numbers, in order.

        Raises `RequestError` for an error in the declarations.
        """
        found = {claim.number: claim for claim in self._declared("claims", Claim)}
        for claim in found.values():
            with self.place_of_claim(claim).named():
                for choice in claim.given:
                    if choice not in self.choices:
                        problem = f"{ABOUT} has no choice `{choice}`"
                        raise RequestError(problem, suggestion(choice, self.choices))
        return found

    def asked_figures(self, numbers: Sequence[str]) -> list[Figure]:
        """The figures with these `numbers`, or all figures if `numbers` is empty.

        The number "3" also selects 3a, 3b and 3c. Raises `RequestError` for an unknown number.
        """
        if not numbers:
            return list(self.figures.values())
        found: dict[str, Figure] = {}
        for number in numbers:
            own = {key: one for key, one in self.figures.items() if _belongs(key, number)}
            if not own:
                hint = f"there are {', '.join(self.figures)}"
                raise RequestError(f"study {self.name}: there is no figure `{number}`", hint)
            found |= own
        return list(found.values())

    def asked_claims(self, numbers: Sequence[str]) -> list[Claim]:
        """The claims with these `numbers`, or all claims if `numbers` is empty.

        Raises `RequestError` for an unknown number.
        """
        for number in numbers:
            if number not in self.claims:
                problem = f"study {self.name}: there is no claim `{number}`"
                raise RequestError(problem, claims_hint(number, self.claims))
        return [one for key, one in self.claims.items() if not numbers or key in numbers]

    def place_of_claim(self, claim: Claim) -> SourcePlace:
        """The place that the report of an error in `claim` names."""
        file, line = function_at(claim.judge, self._file("claims"))
        return SourcePlace(self.folder, file, line, f"claim {claim.number}")

    def place_of_figure(self, figure: Figure) -> SourcePlace:
        """The place that the report of an error in `figure` names."""
        return SourcePlace(self.folder, self._file("figures"), name=f"figure {figure.number}")

    def _declared(self, name: str, kind: type[_T]) -> Sequence[_T]:
        """The list `FIGURES` or `CLAIMS` in the study's module `name`."""
        file, variable = self._file(name), name.upper()
        with SourcePlace(self.folder, file).named():
            declared = getattr(self._loaded(name, file), variable, None)
            if declared is None:
                raise RequestError(f"it declares no `{variable}`")
            if not isinstance(declared, (list, tuple)):
                hint = f"a tuple with one entry needs a comma: {variable} = (…,)"
                raise RequestError(f"`{variable}` is not a list of {name}", hint)
            for one in declared:
                if not isinstance(one, kind):
                    raise RequestError(f"`{shown(one)}` in `{variable}` is not a {kind.__name__}")
        return declared

    def _loaded(self, name: str, file: Path) -> ModuleType:
        if self._module is not None:
            return import_module(f"{self._module}.{name}")
        return _loaded(f"aqmlab_study_{self.name}_{name}", file)

    def _file(self, name: str) -> Path:
        """The file of one of the study's modules or packages."""
        found = [self.folder / f"{name}.py", self.folder / name / "__init__.py"]
        path = next((one for one in found if one.is_file()), None)
        if path is None:
            raise RequestError(f"study {self.name}: there is no {found[0].name}")
        return path


def _loaded(name: str, path: Path) -> ModuleType:
    """Loads the module or package at a path outside Python's search path, even if loaded before."""
    inside = [str(path.parent)] if path.name == "__init__.py" else None
    spec = util.spec_from_file_location(name, path, submodule_search_locations=inside)
    assert spec is not None and spec.loader is not None  # The path is a Python file.
    module = util.module_from_spec(spec)
    for stale in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
        del sys.modules[stale]
    sys.modules[name] = module  # The package's own modules import it by name.
    spec.loader.exec_module(module)
    return module


def _belongs(number: str, asked: str) -> bool:
    """Returns whether a figure has the requested number or is a part of it, as "3b" is of "3"."""
    rest = number.removeprefix(asked)
    return number == asked or (rest != number and not rest[:1].isdigit())


def _read(path: Path) -> _About:
    try:
        about = tomllib.loads(file_text(path))
    except tomllib.TOMLDecodeError as error:
        raise RequestError(f"{path}: {error}") from None
    for name, value in about.items():
        if name not in _KEYS:
            raise RequestError(f"{path}: unknown key `{name}`", suggestion(name, _KEYS))
        if type(value) is not _KEYS[name]:
            raise RequestError(f"{path}: `{name}` is not a {_KEYS[name].__name__}")
    for name in ("title", "paper"):
        if name not in about:
            raise RequestError(f"{path}: `{name}` is missing")
    return _About(**about)
