"""Studies: the experiments of a paper, its figures from fresh data, and its claims.

A study is a folder. `study.toml` describes it, scenarios hold the conditions, `figures.py` declares
the figures and `claims.py` the claims. The folders in `papers` are found automatically; any other
folder is given by its path.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from aqmlab.base.errors import suggestion
from aqmlab.base.failures import RequestError
from aqmlab.studies import papers
from aqmlab.studies.study import ABOUT, Study


def names() -> list[str]:
    """The names of this package's studies, sorted."""
    return sorted(entry.name for entry in _here().iterdir() if (entry / ABOUT).is_file())


def load(name: str | Path) -> Study:
    """The built-in study with this name, or the study in this folder.

    Raises `RequestError` if there is none.
    """
    if str(name) in names():
        return Study(_here() / str(name), f"{papers.__name__}.{name}")
    folder = Path(name)
    if (folder / ABOUT).is_file():
        return Study(folder.resolve())
    problem = f"there is no study `{name}`"
    if folder.is_dir():
        problem = f"{folder}: not the folder of a study: it has no {ABOUT}"
    raise RequestError(problem, suggestion(str(name), names()))


def _here() -> Path:
    return Path(str(resources.files(papers)))
