"""The fake engine for the workers of every test in this folder, and a fixture for SQL queries."""

import pytest
from aqmlab.cli import status_of
from support.campaigns import fake_engine as fake_engine


@pytest.fixture
def ask(home_results, capsys):
    """A function that queries the home's results.

    The function returns the status, the answer and the messages.
    """

    def ask(*arguments):
        status = status_of(["query", str(home_results.path), *arguments])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return ask
