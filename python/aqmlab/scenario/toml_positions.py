"""Finds the line of each key in a TOML file, for error messages.

`tomllib` returns values without positions. This module scans only text that `tomllib` has accepted.
It therefore assumes valid syntax and only finds the ends of keys and values.
"""

from __future__ import annotations

import json
import re

Path = tuple[str | int, ...]
"""The path of a member in nested tables and arrays."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]\}#\n]*")
_STRINGS = ('"""', "'''", '"', "'")


def lines(text: str) -> dict[Path, int]:
    """The line number, from 1, of every key and array element in valid TOML.

    >>> lines('title = "x"\\n[path]\\nrtt = "1 ms"')[("path", "rtt")]
    3
    """
    return _Walker(text).walk()


class _Walker:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: dict[Path, int] = {}
        self.arrays: dict[Path, int] = {}
        self.line, self.counted = 1, 0

    def walk(self) -> dict[Path, int]:
        table: Path = ()
        while self._skip(blank_lines=True):
            if self.text.startswith("[", self.at):
                table = self._header()
            else:
                self._pair(table)
        return self.found

    def _mark(self, path: Path) -> None:
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        for depth in range(1, len(path) + 1):
            self.found.setdefault(path[:depth], self.line)

    def _skip(self, blank_lines: bool) -> bool:
        """Skips blanks, and with `blank_lines` line ends and comments.

        Returns whether text is left.
        """
        blanks = " \t\r\n" if blank_lines else " \t"
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "#" and blank_lines:
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif char in blanks:
                self.at += 1
            else:
                return True
        return False

    def _header(self) -> Path:
        double = self.text.startswith("[[", self.at)
        self.at += 2 if double else 1
        path = self._resolve(self._key())
        if double:
            number = self.arrays[path] = self.arrays.get(path, -1) + 1
            path = (*path, number)
        self._mark(path)
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end
        return path

    def _resolve(self, keys: list[str]) -> Path:
        """The path of a header's `keys`.

        After each array of tables except at the last key, the path has the array's last index.
        """
        path: Path = ()
        for left, key in enumerate(keys, start=1 - len(keys)):
            path = (*path, key)
            if left < 0 and path in self.arrays:
                path = (*path, self.arrays[path])
        return path

    def _key(self) -> list[str]:
        keys = []
        while True:
            self._skip(blank_lines=False)
            if self.text[self.at] in "\"'":
                keys.append(self._string())
            else:
                bare = _BARE.match(self.text, self.at)
                keys.append(bare[0] if bare else "")
                self.at += len(keys[-1])
            self._skip(blank_lines=False)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _pair(self, table: Path) -> None:
        start = self.at
        path = (*table, *self._key())
        end, self.at = self.at, start
        self._mark(path)
        self.at = end + 1  # Skips the equals sign.
        self._skip(blank_lines=False)
        self._value(path)

    def _value(self, path: Path) -> None:
        opening = self.text[self.at : self.at + 1]
        if opening == "[":
            self._array(path)
        elif opening == "{":
            self._inline(path)
        elif opening in ('"', "'"):
            self._string()
        else:
            scalar = _SCALAR.match(self.text, self.at)
            self.at = scalar.end() if scalar else len(self.text)

    def _array(self, path: Path) -> None:
        self.at += 1
        number = 0
        while self._skip(blank_lines=True) and self.text[self.at] != "]":
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self._mark((*path, number))
            self._value((*path, number))
            number += 1
        self.at += 1

    def _inline(self, path: Path) -> None:
        self.at += 1
        while self._skip(blank_lines=True) and self.text[self.at] != "}":
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self._pair(path)
        self.at += 1

    def _string(self) -> str:
        quote = next(quote for quote in _STRINGS if self.text.startswith(quote, self.at))
        start = self.at = self.at + len(quote)
        while not self.text.startswith(quote, self.at) and self.at < len(self.text):
            self.at += 2 if quote[0] == '"' and self.text[self.at] == "\\" else 1
        body = self.text[start : self.at]
        self.at += len(quote)
        # A multi-line string may end with one or two quotes of its own.
        while len(quote) == 3 and self.text.startswith(quote[0], self.at):
            self.at += 1
        if quote == '"' and "\\" in body:
            return _unescaped(body)
        return body


def _unescaped(body: str) -> str:
    wide = re.sub(r"\\U([0-9A-Fa-f]{8})", lambda found: chr(int(found[1], 16)), body)
    try:
        return str(json.loads(f'"{wide}"'))
    except ValueError:
        return body
