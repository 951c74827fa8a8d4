"""The experiments of a TEACUP config: the product of its loops, and their names.

Source: TEACUP v1.1 `experiment.py`. The first of `TPCONF_vary_parameters` is the outermost loop.
The name of an experiment is the prefix, with `_<short name>_<value>` for each varied variable in
order. Hyphens replace underscores in the value.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from aqmlab.base.condition_text import condition_text
from aqmlab.base.errors import BadValueError, ScenarioError, shown
from aqmlab.base.unique_names import Names
from aqmlab.planning.teacup.functions import SCALARS
from aqmlab.planning.teacup.vocabulary import Config
from aqmlab.scenario.column_names import is_column, refuse_name
from aqmlab.scenario.conflicts import Effects
from aqmlab.scenario.seeds import LARGEST
from aqmlab.scenario.sweep import Loop, Step

_MOST = 100_000
RUNS = "V_runs"
"""The variable that counts repetitions. Each repetition has its own seed."""


@dataclass
class Varied:
    """One loop, with its `name`.

    `names` are the loop's variables, `shorts` their short names, and `values` their values in each
    step. `extras` are further variables, which have one value in the whole loop.
    """

    name: str
    names: tuple[str, ...]
    shorts: tuple[str, ...]
    values: list[tuple[Any, ...]]
    extras: Mapping[str, object]
    columns: tuple[str, ...] = ()
    """The column name of each variable: the short name if it is valid and unique, or the name."""


@dataclass(frozen=True)
class Experiment:
    """One run of the testbed.

    `variables` holds the values of all variables. `conditions` holds the values of the varied
    variables by column, without the number of the run.
    """

    id: str
    variables: dict[str, object]
    conditions: dict[str, str | int | float]
    seed: int
    picks: tuple[int, ...]
    """The index of the value in each loop, from 0."""


def varied(
    config: Config,
    sets: Mapping[str, object],
    vary: Mapping[str, list[Any]],
    seeds: tuple[int, ...] | None,
) -> list[Varied]:
    """The loops of `config` after the changes `sets`, `vary` and `seeds` by the user.

    Raises `ScenarioError` for conflicting or too many values.
    """
    loops = _loops(config)
    _refuse_unknown(config, loops, {"--set": sets, "--vary": vary})
    loops = [_with_sets(loop, sets) for loop in loops]
    _add_vary(loops, vary)
    _set_runs(loops, seeds)
    _refuse_conflicts(config, loops)
    _name_columns(config, loops)
    total = math.prod(len(loop.values) for loop in loops)
    if total > _MOST:
        problem = f"{total} experiments are too many, {_MOST} at most"
        raise ScenarioError(config.where("vary_parameters"), problem)
    return loops


def effects(loops: Iterable[Varied]) -> Effects:
    """An `Effects` for `loops`, which finds values of a loop that give equal trials."""
    return Effects(
        [
            Loop(
                loop.name,
                tuple(Step(tuple(zip(loop.columns, row, strict=True)), ()) for row in loop.values),
            )
            for loop in loops
        ]
    )


def place(config: Config, name: str) -> str:
    """The location of a loop for a message: its option, or its line in the config."""
    return name if name.startswith("--") else f"{config.where('parameter_list')}: {shown(name)}"


def experiments(
    config: Config, loops: list[Varied], sets: Mapping[str, object]
) -> Iterator[Experiment]:
    """Yields every experiment of `loops`."""
    defaults = {str(name): value for name, value in config.table("variable_defaults").items()}
    prefix = _safe(str(config.get("test_id", "exp_20000101-000000")))
    taken = Names()
    for picked in itertools.product(*(enumerate(loop.values) for loop in loops)):
        picks, rows = tuple(number for number, _ in picked), [row for _, row in picked]
        own_id, variables, conditions, seed = _experiment(prefix, loops, rows, defaults)
        variables.update(sets)
        yield Experiment(taken.free(own_id[:200]), variables, conditions, seed, picks)


def _experiment(
    prefix: str,
    loops: list[Varied],
    rows: list[tuple[Any, ...]],
    defaults: Mapping[str, object],
) -> tuple[str, dict[str, object], dict[str, str | int | float], int]:
    """The name of an experiment, its variables, conditions and seed."""
    variables = dict(defaults)
    conditions: dict[str, str | int | float] = {}
    own_id, seed = prefix, 1
    for loop, values in zip(loops, rows, strict=True):
        variables.update(loop.extras)
        variables.update(zip(loop.names, values, strict=True))
        for name, short, column, value in zip(
            loop.names, loop.shorts, loop.columns, values, strict=True
        ):
            own_id += f"_{_safe(short)}_{_safe(str(value).replace('_', '-'))}"
            if name == RUNS:
                seed = _seed(value, loop)
            else:
                conditions[column] = value if isinstance(value, (int, float)) else str(value)
    return own_id, variables, conditions, seed


def _seed(run: Any, loop: Varied) -> int:
    """The seed of a run. Runs count from 0, and seeds count from 1.

    The seed of a run that is not a whole number is the run's position in the loop, from 1.
    """
    text = str(run)
    if re.fullmatch(r"[0-9]{1,19}", text) and int(text) < LARGEST:
        return int(text) + 1
    at = loop.names.index(RUNS)
    return [row[at] for row in loop.values].index(run) + 1


def _refuse_conflicts(config: Config, loops: list[Varied]) -> None:
    """Raises `ScenarioError` if two loops set one variable, or if two runs have one seed."""
    where = config.where("vary_parameters")
    owners: dict[str, str] = {}
    for loop in loops:
        for name in loop.names:
            if name in owners:
                names = f"by `{shown(owners[name])}` and by `{shown(loop.name)}`"
                raise ScenarioError(where, f"`{shown(name)}` is varied twice, {names}")
            owners[name] = loop.name
        runs = [row[loop.names.index(RUNS)] for row in loop.values] if RUNS in loop.names else []
        seeds = Counter(_seed(run, loop) for run in dict.fromkeys(runs))
        if seeds and max(seeds.values()) > 1:
            twice = seeds.most_common(1)[0][0]
            raise ScenarioError(where, f"two runs are seed {twice}", "number them from 0")
    for loop in loops:
        for name in map(str, loop.extras):
            if owners.get(name, loop.name) != loop.name:
                varied = f"`{shown(name)}` is varied by `{shown(owners[name])}`"
                raise ScenarioError(where, f"{varied}, and `{shown(loop.name)}` sets it, too")


def _name_columns(config: Config, loops: list[Varied]) -> None:
    """Names each variable's column.

    Raises `ScenarioError` if neither name of a variable is valid, or if two columns have one name.
    """
    shorts = Counter(short.casefold() for loop in loops for short in loop.shorts)
    for loop in loops:
        loop.columns = tuple(
            short if is_column(short) and shorts[short.casefold()] == 1 else name
            for name, short in zip(loop.names, loop.shorts, strict=True)
        )
        for column, short in zip(loop.columns, loop.shorts, strict=True):
            if not is_column(column):
                try:
                    refuse_name(short)
                except BadValueError as problem:
                    raise problem.at(config.where("parameter_list")) from None
    _refuse_one_column(config, loops)


def _refuse_one_column(config: Config, loops: list[Varied]) -> None:
    """Raises `ScenarioError` if two columns have the same name. As in SQL, case is ignored."""
    owners: dict[str, str] = {}
    for column, name in (
        pair for loop in loops for pair in zip(loop.columns, loop.names, strict=True)
    ):
        other = owners.setdefault(column.casefold(), name)
        if other != name:
            problem = (
                f"`{shown(other)}` and `{shown(name)}` have the same column name, `{shown(column)}`"
            )
            hint = "tables ignore case; give one of them another short name"
            raise ScenarioError(config.where("parameter_list"), problem, hint)


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]", "-", text) if text else "-"


def _loops(config: Config) -> list[Varied]:
    known = config.table("parameter_list")
    loops = []
    for name in config.rows("vary_parameters"):
        if not isinstance(name, str) or name not in known:
            raise ScenarioError.unknown(
                config.where("vary_parameters"), "parameter", name, map(str, known)
            )
        loops.append(_varied(config, str(name), known[name]))
    return loops


def _varied(config: Config, name: str, row: Any) -> Varied:
    where = f"{config.where('parameter_list')}: {name}"
    if not isinstance(row, (tuple, list)) or len(row) not in (3, 4):
        raise ScenarioError(where, "expected ([variables], [short names], values, {more})")
    names, shorts, values, *more = row
    extras = more[0] if more and isinstance(more[0], dict) else {}
    if not _texts(names) or not _texts(shorts) or len(names) != len(shorts):
        raise ScenarioError(where, "the variables and their short names do not match")
    if not isinstance(values, (list, tuple)) or not values:
        raise ScenarioError(where, "there are no values")
    rows = []
    for value in values:
        one = (value,) if len(names) == 1 and not isinstance(value, (tuple, list)) else value
        if not isinstance(one, (tuple, list)) or len(one) != len(names):
            raise ScenarioError(where, f"`{shown(value)}` does not have {len(names)} values")
        if not all(isinstance(part, SCALARS) for part in one):
            raise ScenarioError(where, f"`{shown(value)}` is not text or a number")
        rows.append(tuple(one))
    return Varied(name, tuple(names), tuple(shorts), rows, extras)


def _texts(names: Any) -> bool:
    return (
        isinstance(names, (list, tuple))
        and bool(names)
        and all(isinstance(name, str) for name in names)
    )


def _refuse_unknown(
    config: Config, loops: list[Varied], asked: Mapping[str, Iterable[str]]
) -> None:
    """Raises `ScenarioError` if an option names an unknown variable. `asked` is by option."""
    known = {str(name) for name in config.table("variable_defaults")}
    known |= {name for loop in loops for name in (*loop.names, *map(str, loop.extras))}
    known |= {name for row in config.table("parameter_list").values() for name in _names(row)}
    known |= {"V_duration", "V_ecn", "V_tcp_cc_algo", RUNS}
    for option, names in asked.items():
        for name in names:
            if name not in known:
                raise ScenarioError.unknown(option, "variable", name, known)


def _names(row: Any) -> list[str]:
    named = row[0] if isinstance(row, (tuple, list)) and row else []
    return [str(name) for name in named] if isinstance(named, (list, tuple)) else []


def _with_sets(loop: Varied, sets: Mapping[str, object]) -> Varied:
    """Fixes the variables of `sets` in `loop`, and merges values with equal text."""
    rows = [
        tuple(sets.get(name, value) for name, value in zip(loop.names, row, strict=True))
        for row in loop.values
    ]
    alike: dict[tuple[str, ...], tuple[Any, ...]] = {}
    for row in rows:
        alike.setdefault(tuple(map(condition_text, row)), row)
    return replace(loop, values=list(alike.values()))


def _add_vary(loops: list[Varied], vary: Mapping[str, list[Any]]) -> None:
    for name, values in vary.items():
        rows = [(value,) for value in values]
        texts = Counter(map(condition_text, values))
        if max(texts.values()) > 1:
            twice = texts.most_common(1)[0][0]
            raise ScenarioError(f"--vary {shown(name)}", f"`{shown(twice)}` is given twice")
        for loop in loops:
            if loop.names == (name,):
                loop.values, loop.name = rows, f"--vary {name}"
                break
            if name in loop.names:
                raise ScenarioError(
                    "--vary", f"`{name}` varies together with others", f"use --set for {name}"
                )
        else:
            inside = [number for number, loop in enumerate(loops) if RUNS in loop.names]
            at = inside[0] if inside else len(loops)
            short = name.removeprefix("V_")
            loops.insert(at, Varied(f"--vary {name}", (name,), (short,), rows, {}))


def _set_runs(loops: list[Varied], seeds: tuple[int, ...] | None) -> None:
    if seeds is None:
        return
    rows = [(seed - 1,) for seed in seeds]
    for loop in loops:
        if loop.names == (RUNS,):
            loop.values = rows
            return
    loops.append(Varied("--seeds", (RUNS,), ("run",), rows, {}))
