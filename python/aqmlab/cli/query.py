"""`aqmlab query`: queries the tables of campaigns in SQL."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Optional

import typer

from aqmlab.cli import options

Sql = Annotated[
    Optional[str],  # noqa: UP045 (typer reads the annotation)
    typer.Argument(metavar="[SQL]", help="A SELECT; - reads it from standard input."),
]
FolderArg = Annotated[
    Path,
    typer.Argument(
        parser=options.place,
        metavar="DIR",
        help="The folder of a campaign or study, or of several.",
    ),
]
Format = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--format", metavar="FORM", help="table, csv, json or parquet."),
]
Out = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        parser=options.place,
        metavar="FILE",
        help="File for the answer; its suffix sets the format.",
    ),
]


def command(
    folder: FolderArg,
    sql: Sql = None,
    form: Format = None,
    out: Out = None,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory limit of the query.")] = "1GB",
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time limit of the query.")
    ] = 60.0,
) -> int:
    """Query the tables of a campaign in SQL; without SQL, list the tables.

    For example: "SELECT rate, qdisc, median(rtt_p50_ms) FROM flows GROUP BY ALL ORDER BY ALL".
    """
    import sys

    from aqmlab.cli import console
    from aqmlab.results.query import output, process

    size, seconds = process.memory_bytes(memory), process.seconds(timeout)
    if sql is None:
        from aqmlab.results.query.campaigns import find
        from aqmlab.results.query.session import Session

        with Session(folder, find(folder), memory_bytes=size) as session:
            tables, words = session.tables(), session.words()
            if session.warning:
                console.talk(session.warning)
        if form == "json":
            console.print_json([table.to_json() for table in tables])
        else:
            print("\n".join(output.list_tables(tables, words)))
        return 0
    sql = sys.stdin.read() if sql == "-" else sql
    form = output.form_of(form, out)
    question = process.Question(str(folder), sql, form, size, seconds)
    with (
        output.target(out, form) as give,
        closing(process.answer(question, console.talk)) as answer,
    ):
        for data in answer:
            give(data)
    return 0
