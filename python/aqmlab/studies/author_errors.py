"""Errors in the files of a study, reported with file, line, and claim or figure.

Users write the files of a study. An error in these files is a wrong request and not a fault of
aqmlab.
"""

from __future__ import annotations

import builtins
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from aqmlab.base.errors import ScenarioError, nearest, shown
from aqmlab.base.failures import DamagedError, LabError, RequestError, describe

_OF_THE_MACHINE = (OSError, MemoryError)

_SENTENCES = (NameError, ImportError, AttributeError, TypeError)
"""Errors whose text alone explains the problem."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """The place of a possible error: the study, the file, the line, and the claim or figure."""

    folder: Path
    """The study's folder."""
    file: Path
    line: int | None = None
    name: str = ""
    """The claim or figure, such as "claim 1-1"; empty for the whole file."""

    def slip(self, error: Exception) -> RequestError:
        """The `RequestError` for an error at this place.

        Raises `error` itself if the author did not cause it.
        """
        if isinstance(error, (*_OF_THE_MACHINE, ScenarioError, DamagedError)):
            raise error
        if isinstance(error, LabError) and not isinstance(error, RequestError):
            raise error
        file, line, frame = self._place(error)
        where = _relative(file) if line is None else f"{_relative(file)}:{line}"
        problem, hint = _told(error, frame)
        made = RequestError(": ".join(filter(None, (where, self.name, problem))), hint)
        made.__cause__ = error
        return made

    @contextmanager
    def named(self) -> Iterator[None]:
        """Turns an author's error within the context into a `RequestError` with its place."""
        try:
            yield
        except Exception as error:
            raise self.slip(error) from error

    def _place(self, error: Exception) -> tuple[Path, int | None, FrameType | None]:
        """The innermost line of the study's files in the traceback; otherwise `file` and `line`."""
        if isinstance(error, SyntaxError) and error.filename and self._owns(error.filename):
            return Path(error.filename), error.lineno, None
        for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
            if self._owns(frame.f_code.co_filename):
                return Path(frame.f_code.co_filename), line, frame
        return self.file, self.line, None

    def _owns(self, file: str) -> bool:
        return Path(file).resolve().is_relative_to(self.folder.resolve())


def function_at(function: Callable[..., Any], otherwise: Path) -> tuple[Path, int | None]:
    """The file and line of a function, or `otherwise` for a callable without source."""
    code = getattr(function, "__code__", None)
    return (otherwise, None) if code is None else (Path(code.co_filename), code.co_firstlineno)


def _relative(path: Path) -> str:
    """`path`, relative to the current folder if it lies in this folder."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _told(error: Exception, frame: FrameType | None) -> tuple[str, str | None]:
    """The problem on one line, and a hint, if there is one."""
    if isinstance(error, RequestError):
        return error.problem, error.hint
    if isinstance(error, SyntaxError):
        line = f": `{shown(error.text.strip())}`" if error.text else ""
        return f"this is not Python: {error.msg}{line}", None
    text = str(error).strip()
    problem = text if isinstance(error, _SENTENCES) and text else describe(error)
    meant = _meant(error, frame)
    hint = "AQMLAB_TRACEBACK=1 shows the traceback"
    return problem, hint if meant is None else f"did you mean `{meant}`?"


def _meant(error: Exception, frame: FrameType | None) -> str | None:
    """The existing name that is most similar to the missing name, if any is similar."""
    if isinstance(error, NameError) and error.name and frame is not None:
        return nearest(error.name, [*frame.f_locals, *frame.f_globals, *dir(builtins)])
    if isinstance(error, AttributeError) and error.name:
        return nearest(error.name, dir(error.obj))
    missing = re.match(r"cannot import name '(\w+)'", str(error))
    if isinstance(error, ImportError) and error.name in sys.modules and missing:
        return nearest(missing[1], dir(sys.modules[error.name]))
    return None
