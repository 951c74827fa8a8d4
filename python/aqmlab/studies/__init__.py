"""Studies: the experiments of a paper, its figures drawn from fresh data, and its claims checked.

A study is a folder: `study.toml` says what it is, scenarios say the conditions, `figures.py`
declares the figures and `claims.py` the claims. The folders in here are found by themselves; any
other folder may be named by its path.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from aqmlab.base.errors import suggestion
from aqmlab.base.failures import RequestError
from aqmlab.studies.study import ABOUT, Study


def names() -> list[str]:
    """The studies of this package, sorted."""
    return sorted(entry.name for entry in _here().iterdir() if (entry / ABOUT).is_file())


def load(name: str | Path) -> Study:
    """The study of a name, or in a folder; raises `RequestError` if there is none."""
    if str(name) in names():
        return Study(_here() / str(name), f"{__name__}.{name}")
    folder = Path(name)
    if (folder / ABOUT).is_file():
        return Study(folder.resolve())
    problem = f"there is no study `{name}`"
    if folder.is_dir():
        problem = f"{folder}: not the folder of a study: it holds no {ABOUT}"
    raise RequestError(problem, suggestion(str(name), names()))


def _here() -> Path:
    return Path(str(resources.files(__name__)))
