"""A worker process: runs one trial after another and hands each result back.

It reads a JSON line per trial from standard input and answers with a JSON line on what was
its standard output, after which come the bytes of the result; what the simulator prints goes to
standard error. It is a program of its own rather than a fork or a spawned copy of the caller, so
that a trial that dies takes nothing with it, threads of the caller do no harm, and scripts need
no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import sys
import threading
from dataclasses import asdict
from typing import Any, TextIO

from aqmlab.campaign.task import Order, perform


def main() -> None:
    """Serves the caller until it closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's to answer
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

        def say(head: dict[str, Any], data: bytes = b"") -> None:
            answers.write(json.dumps(head | {"bytes": len(data)}).encode() + b"\n")
            answers.write(data)
            answers.flush()

        for line in iter(_listen().get, None):
            order = Order(**json.loads(line))
            answer = asdict(perform(order, lambda seconds: say({"passed": seconds})))
            data = answer.pop("data")
            say(answer, data)


def _listen() -> queue.SimpleQueue[str | None]:
    """The lines that come in; when the caller is gone, so is this process, at once."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read(source: TextIO) -> None:
        for line in source:
            lines.put(line)
        _end(sys.argv[1])

    threading.Thread(target=read, args=(sys.stdin,), daemon=True).start()
    return lines


def _end(scratch: str) -> None:
    """Ends this process and what it has started; removes what it would leave behind."""
    shutil.rmtree(scratch, ignore_errors=True)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main()
