"""Reads declarative Python, such as a TEACUP config, without executing it.

The text is parsed into Python's syntax tree, and this module walks the tree over plain values:
numbers, text, lists, tuples, dictionaries. It performs no imports, reads no attributes of objects,
and calls only the functions in `functions`, so a config has no side effects. Limits on size,
nesting, the number of steps and the size of all values also limit time and memory. An unsupported
statement is reported with its line and skipped.

Source: the statements used by the configs in the TEACUP v1.0 and v1.1 trees. Python 2 is supported:
`print` and `execfile` are recognised, and `/` between whole numbers rounds down.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aqmlab.base.errors import ScenarioError, shown
from aqmlab.base.text_files import MOST_BYTES, file_text
from aqmlab.planning.teacup.expressions import Expressions, kind_of
from aqmlab.planning.teacup.functions import Opaque, UnreadError, truth_of
from aqmlab.planning.teacup.syntax import (
    from_python_2,
    longest_line,
    mended,
    refuse_deep_nesting,
    refuse_many_words,
)

MOST_INCLUDES = 20

_MODULES = ("sys", "datetime", "os", "time", "fabric", "fabric.api", "math", "re", "random")


class Evaluator(Expressions):
    """A reader of a config's statements, which records skipped statements."""

    def __init__(self, source: str, folder: Path | None, overrides: Mapping[str, object]) -> None:
        super().__init__(source, {"__name__": "config", "__file__": source}, overrides)
        self.folder = folder
        self.warnings: list[str] = []
        self.includes = 0

    def read(self, text: str) -> None:
        """Reads a config and binds its names; raises `ScenarioError` for an invalid text."""
        for statement in self._parse(text):
            try:
                self._run(statement)
            except RecursionError:
                raise ScenarioError(f"{self.source}:{self.line}", "nested too deeply") from None

    def _parse(self, text: str) -> list[ast.stmt]:
        if len(text) > MOST_BYTES:
            raise ScenarioError(self.source, f"larger than {MOST_BYTES} characters")
        refuse_deep_nesting(text, self.source)
        refuse_many_words(text, self.source)
        try:
            tree, joined = mended(from_python_2(text))
            for line in joined:
                self.warn("a text broken across lines is joined", line)
            return tree
        except SyntaxError as error:
            problem = f"this is not Python: {error.msg}"
            raise ScenarioError(f"{self.source}:{error.lineno or 1}", problem) from None
        except (RecursionError, MemoryError):  # the parser does not report the line
            place = f"{self.source}:{longest_line(text)}"
            raise ScenarioError(place, "nested too deeply") from None
        except ValueError as error:
            raise ScenarioError(f"{self.source}:1", f"this cannot be read: {error}") from None

    def _run(self, statement: ast.stmt) -> None:
        self.line = statement.lineno
        self._step()
        try:
            self._execute(statement)
        except UnreadError as problem:
            self.warn(str(problem), statement.lineno)
        except ScenarioError:
            raise
        except (TypeError, ValueError, KeyError, IndexError, ZeroDivisionError, OverflowError,
                AttributeError, ArithmeticError) as error:  # fmt: skip
            self.warn(f"passed over: {type(error).__name__}: {shown(str(error))}", statement.lineno)

    def warn(self, problem: str, line: int) -> None:
        """Records a warning about a line, unless it is recorded already or there are too many."""
        text = f"{self.source}:{line}: {problem}"
        if len(self.warnings) < 1_000 and text not in self.warnings:
            self.warnings.append(text)

    def _execute(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=targets, value=value):
                result = self.value(value)
                for target in targets:
                    self._assign(target, result)
            case ast.AugAssign(target=target, op=op, value=value):
                old = self.value(_load(target))
                self._assign(target, self._new(self._binary(op, old, self.value(value))))
            case ast.Expr(value=value):
                self._expression(value)
            case ast.Import() | ast.ImportFrom():
                self._import(statement)
            case ast.If(test=test, body=body, orelse=orelse):
                for inner in body if truth_of(self.value(test)) else orelse:
                    self._run(inner)
            case ast.For(target=target, iter=items, body=body, orelse=[]):
                for item in self._members(self.value(items)):
                    self._assign(target, item)
                    for inner in body:
                        self._run(inner)
            case ast.Pass():
                pass
            case _:
                raise UnreadError(f"passed over: `{kind_of(statement)}` is not read")

    def _expression(self, value: ast.expr) -> None:
        match value:
            case ast.Constant():
                pass  # a string that serves as a comment
            case ast.Call(func=ast.Name(id="print")):
                pass
            case ast.Call(func=ast.Name(id="execfile"), args=[name, *_]):
                self._include(self.value(name))
            case _:
                self.value(value)

    def _include(self, name: Any) -> None:
        self.includes += 1
        if self.includes > MOST_INCLUDES:
            raise ScenarioError(f"{self.source}:{self.line}", "too many files include each other")
        if not isinstance(name, str) or self.folder is None or name in ("", ".", ".."):
            raise UnreadError(f"passed over: `{shown(name)}` cannot be included")
        path = self.folder / name.removeprefix("./")
        if (
            "/" in name.removeprefix("./")
            or "\\" in name
            or path.is_symlink()
            or not path.is_file()
        ):
            raise UnreadError(
                f"passed over: only files in the config's own folder are included, "
                f"and `{shown(name)}` is not one"
            )
        outer, self.source = (self.source, self.line), path.name
        try:
            text = file_text(path)
        except ScenarioError as error:
            self.source = outer[0]
            raise UnreadError(f"passed over: `{shown(name)}`: {error.problem}") from None
        self.read(text)
        self.source, self.line = outer

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        module = statement.module if isinstance(statement, ast.ImportFrom) else None
        for alias in statement.names:
            origin = module or alias.name
            bound = alias.asname or (alias.name if module else alias.name.split(".")[0])
            self.names[bound] = Opaque(f"{module}.{alias.name}" if module else bound)
            if origin not in _MODULES and origin != "__future__":
                raise UnreadError(f"passed over: nothing of the module `{shown(origin)}` is read")


def _load(target: ast.expr) -> ast.expr:
    """Converts the target of an assignment to an expression that reads the target."""
    return ast.copy_location(ast.parse(ast.unparse(target), mode="eval").body, target)
