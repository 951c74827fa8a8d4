"""A worker process, which runs one trial after another and returns the results.

It reads a JSON line per trial from standard input. It answers on its original standard output with
a JSON line for each report of progress, and with a JSON line and the bytes of the result at the end
of the trial. Output of the simulator goes to standard error. The worker is a separate program, not
a fork or a spawned copy of the caller. Therefore a crash of a trial affects nothing else, threads
of the caller do not interfere, and scripts need no `if __name__ == "__main__"`.
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
from typing import TextIO

from aqmlab.campaign.task import Order, perform


def main() -> None:
    """Runs trials until the caller closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller handles Ctrl-C
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

        def say(head: dict[str, object], data: bytes = b"") -> None:
            answers.write(json.dumps(head | {"bytes": len(data)}).encode() + b"\n")
            answers.write(data)
            answers.flush()

        for line in iter(_listen().get, None):
            order = Order(**json.loads(line))
            answer = asdict(perform(order, lambda seconds: say({"passed": seconds})))
            data = answer.pop("data")
            say(answer, data)


def _listen() -> queue.SimpleQueue[str | None]:
    """Starts a thread that reads standard input, and returns the queue of the lines.

    The thread ends this process immediately when the caller closes the pipe.
    """
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read(source: TextIO) -> None:
        for line in source:
            lines.put(line)
        _end(sys.argv[1])

    threading.Thread(target=read, args=(sys.stdin,), daemon=True).start()
    return lines


def _end(scratch: str) -> None:
    """Ends this process and its children, and removes its temporary files."""
    shutil.rmtree(scratch, ignore_errors=True)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main()
