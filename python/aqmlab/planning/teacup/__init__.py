"""Plans TEACUP configs, which are read but not executed.

TEACUP (Zander and Armitage, CAIA-TR-150529A) runs TCP experiments on a testbed of PCs. Its configs
are Python 2 files. `aqmlab.planning.teacup.evaluate` reads the part of Python that they use and
executes nothing. A warning reports each statement without a meaning in the simulator, and each
assumption.

An experiment lasts for `V_duration`, and at least until the last generator starts, as in v1.0. In a
config with names of v1.1, and in a config without a duration, an experiment lasts at least until
the last generator ends. The five seconds that TEACUP waits before and after are not simulated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aqmlab.base.errors import ScenarioError
from aqmlab.base.text_files import file_text
from aqmlab.planning.overrides import Assignment, Variation
from aqmlab.planning.plan import MOST_RESOLVED, Plan, PlannedTrial
from aqmlab.planning.teacup import experiments, hosts, network
from aqmlab.planning.teacup.config_changes import ConfigChanges
from aqmlab.planning.teacup.evaluate import Evaluator
from aqmlab.planning.teacup.experiment_trial import resolved_trial
from aqmlab.planning.teacup.functions import SCALARS
from aqmlab.planning.teacup.sizes import MOST_SAID, said
from aqmlab.planning.teacup.vocabulary import Config
from aqmlab.planning.without_defaults import without_defaults
from aqmlab.scenario.quantities import Duration

_SHAPER_BEHIND = ("name", "rate_bps", "qdisc", "overhead", "shaper", "pipe_delay_ns")


@dataclass(frozen=True)
class _ConfigTrial(PlannedTrial):
    """A trial of a config. In its JSON text the overhead of a link precedes the link's shaper.

    The key of a campaign depends on this order, so the order must not change.
    """

    @property
    def text(self) -> str:
        """The trial as JSON, in the form that campaigns store."""
        values = self.spec.members()
        values["links"] = [
            {name: link[name] for name in _SHAPER_BEHIND if name in link}
            for link in values["links"]
        ]
        return json.dumps(values, separators=(",", ":"))


def load(
    path: Path,
    sets: Sequence[Assignment] = (),
    vary: Sequence[Variation] = (),
    seeds: Any = None,
    duration: str | Duration | None = None,
) -> Plan:
    """Plans the config in `path` with changed values and loops of `V_` and `TPCONF_` names.

    Raises `ScenarioError` if the config is invalid.
    """
    return read(file_text(path), str(path), path.parent, sets, vary, seeds, duration)


def read(
    text: str,
    source: str,
    folder: Path | None = None,
    sets: Sequence[Assignment] = (),
    vary: Sequence[Variation] = (),
    seeds: Any = None,
    duration: str | Duration | None = None,
) -> Plan:
    """Plans the config `text`.

    `source` is the name for messages. The files that the config includes are in `folder`. Raises
    `ScenarioError` if the config is invalid.
    """
    asked = ConfigChanges(sets, vary, seeds, duration)
    config = _config(text, Path(source).name, folder, asked)
    try:
        return replace(_plan(config, source, asked), text=text)
    except ScenarioError as error:
        unread = [
            warning
            for sign in ("did you mean", ": passed over")
            for warning in config.warnings
            if sign in warning
        ]
        if not unread or "did you mean" in (error.hint or ""):
            raise
        hint = "\n".join(filter(None, (error.hint, unread[0])))
        raise ScenarioError(error.where, error.problem, hint) from None


def _plan(config: Config, source: str, asked: ConfigChanges) -> Plan:
    config.check()
    own_hosts = hosts.read(config)
    trials: list[PlannedTrial] = []
    left_out: dict[str, int] = {}
    resolved = 0
    addresses: dict[str, Mapping[str, object]] = {}
    varied: set[str] = set()

    loops = experiments.varied(config, asked.variables, asked.vary, asked.seeds)
    effects = experiments.effects(loops)
    for experiment in experiments.experiments(config, loops, asked.variables):
        resolved += len(config.rows("traffic_gens"))
        if resolved > MOST_RESOLVED:
            problem = f"more than {MOST_RESOLVED} traffic generators in all experiments"
            raise ScenarioError(config.where("traffic_gens"), problem, "vary less")
        try:
            spec, ends = resolved_trial(config, own_hosts, experiment, asked)
        except ScenarioError as error:
            raise asked.blamed(error) from None
        except hosts.NotModelledError as missing:
            left_out[str(missing)] = left_out.get(str(missing), 0) + 1
            effects.note(experiment.picks, {"left out": experiment.id})
            continue
        effects.note(experiment.picks, without_defaults(spec))
        resolved += len(spec.apps) + len(spec.links)
        for name, own in ends.items():
            varied |= {name} if addresses.setdefault(name, own) != own else set()
        trials.append(_ConfigTrial(experiment.id, experiment.conditions, experiment.seed, spec))
    for what, number in left_out.items():
        config.warn(f"{config.source}: {number} experiments are left out: {what}")
    effects.refuse_none(lambda name: experiments.place(config, name))
    if not trials:
        raise ScenarioError(config.source, "no experiment is left", "\n".join(left_out) or None)
    return Plan(
        name=Path(source).stem,
        title=_title(config),
        description=f"TEACUP config {config.source}",
        source=source,
        trials=tuple(trials),
        conditions=tuple(trials[0].conditions),
        warnings=tuple(config.warnings),
        scenario={
            "teacup": _kept(config),
            "sets": asked.said,
            "addresses": {name: own for name, own in addresses.items() if name not in varied},
            "units": _units(config, loops),
        },
    )


def _units(config: Config, loops: Iterable[experiments.Varied]) -> dict[str, str]:
    """The units of varied numbers, by column, as far as the queues show them."""
    delays = network.delays(config)
    pairs = (pair for loop in loops for pair in zip(loop.columns, loop.names, strict=True))
    return {column: "ms" for column, name in pairs if name in delays}


def _title(config: Config) -> str:
    return f"TEACUP {config.source.removesuffix('.py')}"


def _kept(config: Config) -> dict[str, object]:
    """The names of a config and their plain values, for the manifest, up to a maximum size."""
    table, left = {}, MOST_SAID
    for name, value in sorted(config.names.items()):
        try:
            left -= said(value, left)
        except ValueError:
            continue
        if _is_plain(value):
            table[name] = value
    return table


def _is_plain(value: Any, depth: int = 5) -> bool:
    """Returns whether a manifest can hold a value of a config."""
    if isinstance(value, (list, tuple)) and depth:
        return len(value) < 1_000 and all(_is_plain(part, depth - 1) for part in value)
    if isinstance(value, dict) and depth:
        return all(
            isinstance(key, str) and _is_plain(part, depth - 1) for key, part in value.items()
        )
    return isinstance(value, SCALARS)


def _config(text: str, source: str, folder: Path | None, asked: ConfigChanges) -> Config:
    evaluator = Evaluator(source, folder, asked.names)
    evaluator.read(text)
    asked.refuse_unread(evaluator.names, evaluator.used)
    for name, value in asked.names.items():
        evaluator.names.setdefault(name, value)
    config = Config(
        source, evaluator.names, evaluator.lines, list(evaluator.warnings), evaluator.used
    )
    _refuse_endless(config)
    if any(name.startswith("env") for name in evaluator.names):
        config.warn(f"{source}: no meaning here: env (the accounts of the testbed's machines)")
    if evaluator.asked_for_date:
        config.warn(
            f"{evaluator.asked_for_date}: the date is taken for 2000-01-01, so that the same "
            f"command always makes the same names"
        )
    return config


def _refuse_endless(config: Config) -> None:
    """Raises `ScenarioError` if nested shared lists would make the written values too large."""
    left = MOST_SAID
    for name, value in config.names.items():
        if name.startswith("TPCONF_"):
            try:
                left -= said(value, left)
            except ValueError:
                place = config.where(name.removeprefix("TPCONF_"))
                problem = f"with what is before it, this holds more than {MOST_SAID} members and"
                raise ScenarioError(
                    place, f"{problem} characters, or is nested too deeply"
                ) from None
