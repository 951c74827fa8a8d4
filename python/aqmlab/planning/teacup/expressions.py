"""Evaluates the expressions of a config over plain values, with limits on steps and memory."""

from __future__ import annotations

import ast
import datetime
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from aqmlab.base.errors import ScenarioError, shown
from aqmlab.planning.teacup.functions import (
    FUNCTIONS,
    METHODS,
    MOST_ITEMS,
    SCALARS,
    SEARCHING,
    Moment,
    Opaque,
    Row,
    UnreadError,
    as_key,
    as_text,
    compare,
    format_text,
    iterate,
    kept,
    percent_text,
    product,
    refuse_large,
    signed,
    truth_of,
)
from aqmlab.planning.teacup.sizes import MOST_MADE, made, seen
from aqmlab.planning.teacup.syntax import MOST_NESTING

MOST_STEPS = 200_000

NOW = datetime.datetime(2000, 1, 1)
"""The current date for a config. It is fixed because names must not depend on the time of a run."""


_CONVERSIONS = ("str", "int", "float")
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.FloorDiv: operator.floordiv,
}


_MAKING = (ast.List, ast.Tuple, ast.Dict, ast.BinOp, ast.Call, ast.ListComp, ast.GeneratorExp,
           ast.DictComp, ast.JoinedStr)  # fmt: skip
"""Expressions that create values. All other expressions only refer to existing values."""


class Expressions:
    """The names that a config binds, and the values of expressions over them.

    `overrides` replaces the value of a name wherever the config assigns it.
    """

    def __init__(
        self, source: str, names: Mapping[str, object], overrides: Mapping[str, object]
    ) -> None:
        self.source, self.overrides = source, overrides
        self.names = dict(names)
        self.lines: dict[str, str] = {}
        """The location of each name's last assignment."""
        self.used: set[str] = set()
        """The names that were read."""
        self.asked_for_date: str | None = None
        self.steps = self.depth = self.made = 0
        self.line = 1

    def _step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise ScenarioError(
                f"{self.source}:{self.line}", f"more than {MOST_STEPS} steps to read this config"
            )

    def _charge(self, number: int) -> None:
        """Adds the approximate bytes of a new or searched value to the total, which has a limit."""
        self.made += number
        if self.made > MOST_MADE:
            problem = f"more than {MOST_MADE // 1_000_000} MB to read this config"
            raise ScenarioError(f"{self.source}:{self.line}", problem)

    def _members(self, value: Any) -> list[Any]:
        members = iterate(value)
        self._charge(seen(members))
        return members

    def value(self, node: ast.expr) -> Any:
        """The value of an expression; raises `UnreadError` for an unsupported expression."""
        self._step()
        self.depth += 1
        try:
            if self.depth > MOST_NESTING:
                raise UnreadError(f"passed over: nested deeper than {MOST_NESTING}")
            result = self._value(node)
        finally:
            self.depth -= 1
        return self._new(result) if isinstance(node, _MAKING) else kept(result)

    def _new(self, value: Any) -> Any:
        self._charge(made(value))  # A refused value also counts, because it exists.
        return kept(value)

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value) if isinstance(value, SCALARS):
                return value
            case ast.Name(id=name):
                if name in self.names:
                    self.used.add(name)
                    return self.names[name]
                raise UnreadError(f"passed over: `{shown(name)}` is not defined")
            case ast.List(elts=parts):
                return [self.value(part) for part in parts]
            case ast.Tuple(elts=parts):
                row = Row(self.value(part) for part in parts)
                row.line = node.lineno
                return row
            case ast.Dict(keys=keys, values=values) if None not in keys:
                pairs = zip(keys, values, strict=True)
                return {as_key(self.value(key)): self.value(value) for key, value in pairs if key}
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self.value(left), self.value(right))
            case ast.UnaryOp(op=op, operand=operand):
                return signed(op, self.value(operand))
            case ast.BoolOp(op=op, values=parts):
                return self._bool(op, parts)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body if truth_of(self.value(test)) else orelse)
            case ast.Subscript(value=owner, slice=key):
                return self._subscript(self.value(owner), key)
            case ast.Attribute(value=owner, attr=name):
                return self._attribute(self.value(owner), name)
            case ast.Call():
                return self._call(node)
            case ast.ListComp(elt=element, generators=generators):
                return [self.value(element) for _ in self._generate(generators)]
            case ast.GeneratorExp(elt=element, generators=generators):
                return [self.value(element) for _ in self._generate(generators)]
            case ast.DictComp(key=key, value=value, generators=generators):
                turns = self._generate(generators)
                return {as_key(self.value(key)): self.value(value) for _ in turns}
            case ast.JoinedStr(values=parts):
                return self._joined(parts)
        raise UnreadError(f"passed over: `{kind_of(node)}` is not read")

    def _binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Mod) and isinstance(left, str):
            return percent_text(left, right)
        if isinstance(op, ast.Mult):
            return product(left, right)
        numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
        if isinstance(op, ast.Mod) and numbers:
            return left % right
        if isinstance(op, ast.Div) and numbers:
            whole = isinstance(left, int) and isinstance(right, int)
            return left // right if whole else left / right
        alike = isinstance(op, ast.Add) and any(
            isinstance(left, kind) and isinstance(right, kind) for kind in (str, list, tuple)
        )
        apply = _OPERATORS.get(type(op))
        if apply is None or not (numbers or alike):
            raise UnreadError(f"passed over: `{kind_of(op)}` of these values is not read")
        if alike and len(left) + len(right) > MOST_ITEMS:
            raise UnreadError("passed over: too long")
        return apply(left, right)

    def _bool(self, op: ast.boolop, parts: list[ast.expr]) -> Any:
        result: Any = None
        for part in parts:
            result = self.value(part)
            if truth_of(result) != isinstance(op, ast.And):
                return result
        return result

    def _compare(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            self._charge(seen(left) + seen(right))
            if not compare(op, left, right):
                return False
            left = right
        return True

    def _subscript(self, owner: Any, key: ast.expr) -> Any:
        if isinstance(key, ast.Slice):
            if not isinstance(owner, (list, tuple, str)):
                raise UnreadError("passed over: this has no slices")
            ends = (key.lower, key.upper, key.step)
            return self._new(owner[slice(*(self.value(end) if end else None for end in ends))])
        if not isinstance(owner, (list, tuple, str, dict)):
            raise UnreadError("passed over: this has no members")
        place = self.value(key)
        return owner[as_key(place) if isinstance(owner, dict) else place]

    def _attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, Opaque) and not name.startswith("_"):
            return Opaque(f"{owner.name}.{name}")
        raise UnreadError(f"passed over: `.{shown(name)}` is not read")

    def _generate(self, generators: list[ast.comprehension]) -> Iterator[None]:
        first, rest = generators[0], generators[1:]
        for item in self._members(self.value(first.iter)):
            self._step()
            self._assign(first.target, item)
            if all(truth_of(self.value(test)) for test in first.ifs):
                if rest:
                    yield from self._generate(rest)
                else:
                    yield

    def _joined(self, parts: list[ast.expr]) -> str:
        texts, length = [], 0
        for part in parts:
            texts.append(self._formatted(part))
            length += len(texts[-1])
            if length > MOST_ITEMS:
                raise UnreadError("passed over: too long")
        return "".join(texts)

    def _formatted(self, part: ast.expr) -> str:
        if isinstance(part, ast.Constant):
            return str(part.value)
        if isinstance(part, ast.FormattedValue) and part.format_spec is None:
            return as_text(self.value(part.value))
        raise UnreadError("passed over: this format is not read")

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = self.overrides.get(name, value)
                self.lines[name] = f"{self.source}:{target.lineno}"
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                values = self._members(value)
                if len(values) != len(parts):
                    raise UnreadError("passed over: the two sides have different lengths")
                for part, one in zip(parts, values, strict=True):
                    self._assign(part, one)
            case ast.Subscript(value=owner, slice=key):
                container = self.value(owner)
                if not isinstance(container, (list, dict)):
                    raise UnreadError("passed over: this cannot be assigned to")
                place = self.value(key)
                container[as_key(place) if isinstance(container, dict) else place] = value
                refuse_large(container)
            case ast.Attribute(value=owner) if isinstance(self.value(owner), Opaque):
                pass  # such as Fabric's env.user
            case _:
                raise UnreadError("passed over: this cannot be assigned to")

    # --- Calls -------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Any:
        if any(isinstance(part, ast.Starred) for part in node.args):
            raise UnreadError("passed over: `*` in a call is not read")
        named = {word.arg: self.value(word.value) for word in node.keywords if word.arg}
        self._charge(sum(map(seen, named.values())))
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            values = self._given(node.args)
            return self._method(owner, node.func.attr, values, named)
        if isinstance(node.func, ast.Name) and node.func.id == "map":
            return self._map(node)
        values = self._given(node.args)
        if isinstance(node.func, ast.Name):
            name = node.func.id
            if name in FUNCTIONS and name not in self.names and not named:
                return FUNCTIONS[name](*values)
            raise UnreadError(f"passed over: `{shown(name)}()` is not called")
        raise UnreadError("passed over: this cannot be called")

    def _given(self, parts: list[ast.expr]) -> list[Any]:
        """The arguments of a call, charged as if the call searched all arguments."""
        values = [self.value(part) for part in parts]
        self._charge(sum(map(seen, values)))
        return values

    def _map(self, node: ast.Call) -> list[Any]:
        """The result of `map` with one of the conversions that a config may call."""
        if len(node.args) == 2 and isinstance(node.args[0], ast.Name):
            convert = FUNCTIONS.get(node.args[0].id) if node.args[0].id in _CONVERSIONS else None
            if convert is not None:
                return [convert(value) for value in iterate(*self._given(node.args[1:]))]
        raise UnreadError("passed over: this use of `map` is not read")

    def _method(self, owner: Any, name: str, values: list[Any], named: dict[str, object]) -> Any:
        if isinstance(owner, Opaque):
            return self._stub(owner, name, values)
        if isinstance(owner, str) and name == "format":
            return format_text(owner, values, named)
        size = len(owner) if isinstance(owner, (str, list, dict)) else 0
        for kind, methods in METHODS.items():
            if isinstance(owner, kind) and name in methods and not named:
                self._charge(seen(owner) if name in SEARCHING else size)
                return methods[name](owner, *values)
        raise UnreadError(f"passed over: `.{shown(name)}()` is not called")

    def _stub(self, owner: Opaque, name: str, values: list[Any]) -> Any:
        if name in ("today", "now", "utcnow") and "datetime" in owner.name:
            self.asked_for_date = f"{self.source}:{self.line}"
            return Moment("now")
        if name == "strftime" and isinstance(owner, Moment | Opaque) and values:
            self.asked_for_date = f"{self.source}:{self.line}"
            text = values[0]
            if owner.name not in ("now", "time") or not isinstance(text, str) or len(text) > 200:
                raise UnreadError("passed over: this date is not read")
            return NOW.strftime(text)
        if owner.name == "sys.path" and name in ("append", "insert"):
            return None
        raise UnreadError(f"passed over: `{shown(owner.name)}.{shown(name)}()` is not called")


def kind_of(node: ast.AST) -> str:
    """The name of a syntax node for messages, such as "def" or "while"."""
    names = {"FunctionDef": "def", "ClassDef": "class"}
    return names.get(type(node).__name__, type(node).__name__.lower())
