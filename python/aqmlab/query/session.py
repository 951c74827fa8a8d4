"""Campaigns opened for questions in SQL.

Questions may come from strangers. Only a single SELECT is run; it can read the files of the
tables, nothing else on this machine or beyond, and cannot change how DuckDB is set up. Memory and
time are bounded. DuckDB itself promises no more than its settings do: whoever serves questions
over a network should in addition put the process into a container.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from aqmlab.failures import LabError, RequestError
from aqmlab.query.hints import hint_for, problem_of
from aqmlab.query.units import unit_of
from aqmlab.query.views import named, quoted, view
from aqmlab.store import MANIFEST, TABLES, Folder

if TYPE_CHECKING:
    import duckdb

ROWS_AT_ONCE = 10_000

_DEPTHS = ("", "*/", "*/*/", "*/*/*/")
"""How deep in a folder campaigns are found: a study's are two below its own."""

_SAFE = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # else a name in SQL may be a variable of ours
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be asked: its name, how many rows it has, and its columns."""

    name: str
    rows: int
    columns: tuple[tuple[str, str], ...]
    """Each column's name and type, as DuckDB calls it."""

    def to_json(self) -> dict[str, Any]:
        """The same as plain values, with units."""
        columns = [
            {"name": name, "type": kind, "unit": unit_of(name)} for name, kind in self.columns
        ]
        return {"table": self.name, "rows": self.rows, "columns": columns}


class Session:
    """The tables of a campaign, or of all campaigns in a folder, as SQL sees them.

    `memory` is a size as DuckDB writes it ("1GB"); a question that runs longer than `seconds` is
    stopped. Raises `RequestError` if there is no campaign.
    """

    def __init__(self, path: Path, *, memory: str = "1GB", seconds: float = 60.0) -> None:
        self.path, self._seconds = path, seconds
        campaigns = _campaigns(path)
        self.missing = sum(map(_missing, campaigns))
        """Trials that are planned and not in the tables."""
        self._files = _files(path, campaigns)
        self._connection = self._connected(memory)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def tables(self) -> list[Table]:
        """What there is to ask."""
        found = []
        with self._explained(""):
            for name in self._files:
                self._make_view(name)
                rows = self._connection.execute(f"SELECT count(*) FROM {named(name)}").fetchall()
                found.append(Table(name, rows[0][0], self._columns_of(name)))
        return found

    @contextmanager
    def ask(self, sql: str) -> Iterator[Answered]:
        """The answer to a question; raises `RequestError` and `LabError` with what helps."""
        timer = threading.Timer(self._seconds, self._connection.interrupt)
        with self._explained(sql):
            self._refuse_more_than_questions(sql)
            self._make_views_for(sql)
            timer.start()
            try:
                yield Answered(self._connection, sql)
            finally:
                timer.cancel()

    def _of_tables(self) -> Iterator[tuple[Folder, Path]]:
        """Every file, and the campaign's folder that it is in."""
        for own in self._files.values():
            for campaign, files in own.items():
                yield from ((Folder(self.path / campaign), file) for file in files)

    def _connected(self, memory: str) -> duckdb.DuckDBPyConnection:
        import duckdb

        files = (file for own in self._files.values() for some in own.values() for file in some)
        paths = ", ".join(quoted(str(file)) for file in files)
        try:
            connection = duckdb.connect(config={**_SAFE, "memory_limit": memory})
        except duckdb.Error as error:
            problem = f"--memory {memory}: {problem_of(str(error))}"
            raise RequestError(problem, "write it as 500MB or 4GB") from None
        connection.execute(f"SET allowed_paths = [{paths}]")
        connection.execute("SET temp_directory = ''")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        return connection

    def _refuse_more_than_questions(self, sql: str) -> None:
        import duckdb

        statements = self._connection.extract_statements(sql)
        if len(statements) != 1:
            raise RequestError(f"there are {len(statements)} statements", "give one SELECT")
        if statements[0].type != duckdb.StatementType.SELECT:
            kind = statements[0].type.name.replace("MULTI", "PIVOT without IN")
            raise RequestError(
                f"{kind}: only questions are answered: SELECT, FROM, WITH, DESCRIBE, SUMMARIZE",
                "results are read; what comes of a question goes to another file with --out",
            )

    def _make_views_for(self, sql: str) -> None:
        """Views of the tables that are mentioned; of all, if none is."""
        mentioned = [name for name in self._files if re.search(rf"\b{name}\b", sql, re.IGNORECASE)]
        for name in mentioned or self._files:
            self._make_view(name)

    def _make_view(self, name: str) -> None:
        if name not in self._views:
            self._connection.execute(view(name, self._files[name]))
            self._views.add(name)

    @cached_property
    def _views(self) -> set[str]:
        return set()

    def _columns_of(self, name: str) -> tuple[tuple[str, str], ...]:
        self._make_view(name)
        rows = self._connection.execute(f"DESCRIBE {named(name)}").fetchall()
        return tuple((row[0], row[1]) for row in rows)

    @contextmanager
    def _explained(self, sql: str) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.InterruptException:
            problem = f"the answer takes longer than {self._seconds:g} s"
            raise LabError(problem, "ask for less, or give more time with --timeout") from None
        except duckdb.OutOfMemoryException as error:
            problem = problem_of(str(error))
            raise LabError(problem, "ask for less, or give more with --memory") from None
        except duckdb.PermissionException as error:
            problem = problem_of(str(error))
            raise RequestError(problem, "a question reads the campaign's tables only") from None
        except duckdb.Error as error:
            text = str(error)
            for folder, path in self._of_tables():
                if str(path) in text:
                    raise folder.unreadable(path, problem_of(text)) from None
            columns = {name: [one for one, _ in self._columns_of(name)] for name in self._files}
            raise RequestError(problem_of(text), hint_for(text, sql, columns)) from None


class Answered:
    """The answer to a question, read once: as `rows`, or as `batches`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, sql: str) -> None:
        self._connection, self._sql = connection, sql

    @cached_property
    def _cursor(self) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(self._sql)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [one[0] for one in self._cursor.description or ()]

    def rows(self) -> Iterator[Sequence[Any]]:
        """The rows, as they are made."""
        while some := self._cursor.fetchmany(ROWS_AT_ONCE):
            yield from some

    def batches(self) -> Any:
        """The rows as a reader of Arrow's record batches."""
        return self._connection.sql(self._sql).to_arrow_reader(ROWS_AT_ONCE)


def _files(path: Path, campaigns: Sequence[Folder]) -> dict[str, dict[str, list[Path]]]:
    """The files of each table of each campaign in a folder."""
    found: dict[str, dict[str, list[Path]]] = {}
    for folder in campaigns:
        manifest = folder.manifest()
        names = manifest.get("tables") or [one.name for one in folder.path.glob(f"{TABLES}/*/")]
        for name in names:
            files = [_inside(file, path) for file in folder.table_files(name)]
            if files:
                campaign = folder.path.relative_to(path).as_posix()
                found.setdefault(name, {})[campaign] = files
    if not found:
        problem = f"{path}: no trial of the campaign is in its tables yet"
        raise RequestError(problem, "they are written a hundred trials at a time, and at the end")
    return dict(sorted(found.items()))


def _campaigns(path: Path) -> list[Folder]:
    for depth in _DEPTHS:
        manifests = sorted(path.glob(f"{depth}{MANIFEST}"))
        if manifests:
            return [Folder(manifest.parent) for manifest in manifests]
    Folder(path).manifest()  # which says what is missing
    return []


def _missing(folder: Folder) -> int:
    manifest = folder.manifest()
    if manifest["complete"]:
        return 0
    digests = manifest.get("digests", ())
    return len(manifest["trials"]) - sum(digest is not None for digest in digests)


def _inside(file: Path, path: Path) -> Path:
    real = file.resolve()
    if not real.is_relative_to(path.resolve()):
        raise RequestError(f"{file}: leads out of the folder, to {real}")
    return real
