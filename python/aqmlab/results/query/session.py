"""Opens campaigns for SQL queries.

Queries may come from untrusted users. DuckDB therefore has no access to the file system. With
access, a query could read and write files, for example with `COPY … TO`. DuckDB gets the tables as
Arrow data sets, which cannot be written. Only a single SELECT runs, without network or extensions,
and DuckDB's settings are locked.

`process` limits the time of a query. `answerer` limits the memory that DuckDB does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from aqmlab.base.failures import RequestError, size_text
from aqmlab.campaign.store.sql_views import named, view
from aqmlab.results.query.hints import hint_for, mentions, problem_of
from aqmlab.results.query.sources import CampaignTables, Sources
from aqmlab.results.query.units import unit_of
from aqmlab.results.verdicts.columns import COMPUTED, conditions

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_MOST_NAMED = 5
"""The maximum number of folders that a warning names."""

ROWS_AT_ONCE = 2048
"""The number of rows per fetch. DuckDB produces this number of rows at a time."""

_SETTINGS = (
    ("temp_directory", "''"),
    ("enable_external_access", "false"),
    ("disabled_filesystems", "'LocalFileSystem'"),
    ("lock_configuration", "true"),
)

_SAFE = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",  # Otherwise a name in SQL could be a Python variable.
}

_QUESTIONS = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
"""The parser's names of the nodes that are allowed in a query."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be queried: its name, its number of rows, and its columns."""

    name: str
    rows: int | None
    """The number of rows, or `None` if the rows are computed on demand."""
    columns: tuple[tuple[str, str], ...]
    """Each column's name and its DuckDB type."""

    def to_json(self) -> dict[str, object]:
        """The table as plain values, with units."""
        columns = [
            {"name": name, "type": kind, "unit": unit_of(name)} for name, kind in self.columns
        ]
        return {"table": self.name, "rows": self.rows, "columns": columns}


class Session:
    """The tables of the campaigns that were found in a folder, as SQL views."""

    def __init__(self, path: Path, found: CampaignTables, *, memory_bytes: int = 10**9) -> None:
        self._sources, self._memory_bytes = Sources(path, found), memory_bytes
        self.warning = "\n".join(_warnings(found)) or None
        """Reasons to doubt an answer, or `None`."""
        self._views: set[str] = set()
        self._connection = _connected(memory_bytes)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def tables(self) -> list[Table]:
        """The tables that can be queried, sorted by name."""
        found = []
        with self._explained(""):
            for name in self._sources.names:
                rows = None
                if name not in COMPUTED:
                    rows = sum(one.count_rows() for one in self._sources.datasets(name))
                found.append(Table(name, rows, self._columns_of(name)))
        return found

    def words(self) -> frozenset[str]:
        """The SQL keywords that need quotes if they are names of columns."""
        sql = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
        return frozenset(row[0] for row in self._connection.execute(sql).fetchall())

    @contextmanager
    def ask(self, sql: str) -> Iterator[Answered]:
        """Yields the answer to a query, which runs when the answer is read.

        Raises `RequestError` with a hint for SQL that is not a single query. Errors of DuckDB
        within the context also become this error.
        """
        with self._explained(sql):
            self._refuse_more_than_questions(sql)
            self._make_views_for(sql)
            yield Answered(self._connection, sql)

    def _refuse_more_than_questions(self, sql: str) -> None:
        if any("\ud800" <= char <= "\udfff" for char in sql):
            raise RequestError("the SQL is not text in UTF-8")
        statements = self._connection.extract_statements(sql)
        if len(statements) != 1:
            raise RequestError(f"the SQL has {len(statements)} statements", "give one SELECT")
        kind = statements[0].type.name.replace("MULTI", "PIVOT without IN")
        if kind == "SELECT":
            kind = next((node for node in self._nodes(sql) if node not in _QUESTIONS), "")
            kind = kind.replace("_QUERY_NODE", " within WITH")
        if kind:
            raise RequestError(
                f"{kind}: not a query; allowed are SELECT, FROM, WITH, DESCRIBE and SUMMARIZE",
                "tables are read-only; --out writes the answer to a file",
            )

    def _nodes(self, sql: str) -> list[str]:
        """The types of the nodes of a SELECT and its subqueries, from DuckDB's own parser."""
        rows = self._connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()
        # The JSON may be nested more deeply than Python's parser allows. Quotes within texts
        # have a backslash, so the pattern matches no text.
        return re.findall(r'"type":"(\w+_NODE)"', rows[0][0])

    def _make_views_for(self, sql: str) -> None:
        """Creates views of the tables that the SQL mentions.

        If the SQL mentions no table, creates views of all stored tables.
        """
        names = self._sources.names
        mentioned = [name for name in names if mentions(sql, name)]
        for name in mentioned or [name for name in names if name not in COMPUTED]:
            self._make_view(name)

    def _make_view(self, name: str) -> None:
        if name in self._views:
            return
        datasets = self._sources.datasets(name)
        if len(datasets) == 1:
            self._connection.register(name, datasets[0])
        else:
            parts = {f"{name}, part {at}": one for at, one in enumerate(datasets, 1)}
            for part, dataset in parts.items():
                self._connection.register(part, dataset)
            self._connection.execute(view(name, [*parts]))
        self._views.add(name)

    def _columns_of(self, name: str) -> tuple[tuple[str, str], ...]:
        if name in COMPUTED:  # The list of tables does not need their rows.
            of_trials = dict(self._columns_of("trials"))
            front = [(new, of_trials[old]) for old, new in conditions(of_trials, name).items()]
            return (*front, *COMPUTED[name].items())
        self._make_view(name)
        rows = self._connection.execute(f"DESCRIBE {named(name)}").fetchall()
        return tuple((row[0], row[1]) for row in rows)

    @contextmanager
    def _explained(self, sql: str) -> Iterator[None]:
        import duckdb

        try:
            yield
        except (duckdb.OutOfMemoryException, MemoryError):
            raise self._too_large() from None
        except duckdb.PermissionException as error:
            problem = problem_of(str(error))
            raise RequestError(problem, "a query can read the campaign's tables only") from None
        except duckdb.Error as error:
            text = str(error)
            if "reading the stream" in text and "Out of memory" in text:
                raise self._too_large() from None
            names = self._sources.names
            columns = {name: [one for one, _ in self._columns_of(name)] for name in names}
            raise RequestError(problem_of(text), hint_for(text, sql, columns)) from None

    def _too_large(self) -> RequestError:
        problem = f"the answer takes more memory than {size_text(self._memory_bytes)}"
        return RequestError(problem, "narrow the query, or raise the limit with --memory")


def _warnings(found: CampaignTables) -> Iterator[str]:
    if found.missing:
        yield (
            f"warning: {found.missing} of {found.planned} planned trials are not in the"
            " tables: they have not run yet, or the command of this campaign did not need them"
        )
    if found.deeper:
        named = [*found.deeper[:_MOST_NAMED], *(["…"] if found.deeper[_MOST_NAMED:] else [])]
        yield (
            "warning: the query leaves out campaigns deeper in the folder, such as those of"
            f" studies; name their folder instead: {', '.join(named)}"
        )


def _connected(memory_bytes: int) -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(config={**_SAFE, "memory_limit": f"{memory_bytes}B"})
    for name, value in _SETTINGS:
        connection.execute(f"SET {name} = {value}")
    return connection


class Answered:
    """The answer to a query, read once, as `rows` or as `batches`."""

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
        """Yields the rows as DuckDB produces them."""
        while some := self._cursor.fetchmany(ROWS_AT_ONCE):
            yield from some

    def batches(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The columns, and the rows as Arrow record batches."""
        reader = self._connection.sql(self._sql).to_arrow_reader(ROWS_AT_ONCE)
        return reader.schema, _explained_batches(reader)


def _explained_batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Yields the batches of an answer.

    Arrow wraps DuckDB's errors in `OSError`. This function converts such an error to DuckDB's own.
    """
    import duckdb

    try:
        yield from reader
    except OSError as error:
        kind = duckdb.OutOfMemoryException if "Out of Memory" in str(error) else duckdb.Error
        raise kind(str(error)) from None
