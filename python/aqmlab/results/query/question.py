"""The messages between the process that asks a query and the process that answers it."""

from __future__ import annotations

from dataclasses import dataclass

READY = {"said": "ready"}
"""The message that the tables are open. The time limit counts from this message."""

DONE = {"said": "done"}
"""The message that the answer is complete."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query: its SQL, folder, format, and limits on time and memory."""

    folder: str
    sql: str
    form: str
    memory_bytes: int = 10**9
    seconds: float = 60.0
