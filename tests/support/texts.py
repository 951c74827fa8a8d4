"""Digests of the texts of planned trials. The keys of campaigns depend on these texts."""

from __future__ import annotations

import hashlib
from pathlib import Path

from aqmlab.planning import planner
from aqmlab.planning.plan import condition_digest
from aqmlab.scenario import loading

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "python" / "aqmlab" / "studies" / "papers"


def sources() -> dict[str, str | Path]:
    """The built-in scenarios, the studies' scenarios, and the TEACUP configs of tests and examples.

    Files without applications, from which others inherit, are left out.
    """
    scenarios = (path for path in sorted(PAPERS.glob("*/*.toml")) if _has_apps(path.read_text()))
    configs = (
        ROOT / "tests" / "planning" / "data" / "v1_1_two_routers.py",
        ROOT / "tests" / "planning" / "data" / "freebsd_router.py",
        ROOT / "examples" / "teacup" / "household.py",
    )
    return {
        **{name: name for name in loading.builtin_names()},
        **{f"{path.parent.name}/{path.name}": path for path in scenarios},
        **{path.name: path for path in configs},
    }


def _has_apps(text: str) -> bool:
    return "[apps" in text or "extends = " in text


def digest(source: str | Path) -> str:
    """A digest of the names, texts and conditions of the trials of a source.

    Trials of a scenario count with the first seed only, and trials of a config with all seeds.
    """
    folded = hashlib.sha256()
    is_config = isinstance(source, Path) and source.suffix == ".py"
    for trial in planner.load(source, seeds=None if is_config else 1).trials:
        condition = condition_digest(trial.spec)
        folded.update(f"{trial.id} {condition}\n{trial.text}\n".encode())
    return folded.hexdigest()[:16]
