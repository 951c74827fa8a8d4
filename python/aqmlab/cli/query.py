"""`aqmlab query`: queries the tables of campaigns in SQL."""

from __future__ import annotations

import sys
from contextlib import closing

from aqmlab.cli import console
from aqmlab.cli.parameters.query import QueryParameters
from aqmlab.results.query import output, process
from aqmlab.results.query.campaigns import find
from aqmlab.results.query.question import Question
from aqmlab.results.query.session import Session


def command(given: QueryParameters) -> int:
    """Runs `aqmlab query`; returns the exit status."""
    size, seconds = process.memory_bytes(given.memory), process.seconds(given.timeout)
    if given.sql is None:
        with Session(given.folder, find(given.folder), memory_bytes=size) as session:
            tables, words = session.tables(), session.words()
            if session.warning:
                console.talk(session.warning)
        if given.form == "json":
            console.print_json([table.to_json() for table in tables])
        else:
            print("\n".join(output.list_tables(tables, words)))
        return 0
    sql = sys.stdin.read() if given.sql == "-" else given.sql
    form = output.form_of(given.form, given.out)
    question = Question(str(given.folder), sql, form, size, seconds)
    with (
        output.target(given.out, form) as give,
        closing(process.answer(question, console.talk)) as answer,
    ):
        for data in answer:
            give(data)
    return 0
