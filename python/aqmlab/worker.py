"""A worker process: runs one trial after another and puts each on the disk.

It reads a JSON line per trial from standard input and answers with a JSON line on what was
its standard output; what the simulator prints goes to standard error. It is a program of its
own rather than a fork or a spawned copy of the caller, so that a trial that dies takes nothing
with it, threads of the caller do no harm, and scripts need no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from aqmlab import parts
from aqmlab.failures import DiskError, describe

Runner = Callable[[str], dict[str, Any]]
"""What runs a trial: from its JSON to its digest and tables."""


def main() -> None:
    """Serves the caller until it closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's to answer
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        run = _load(sys.argv[1])
        for line in iter(_listen().get, None):
            answer = _serve(run, json.loads(line))
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def _load(name: str) -> Runner:
    module, _, function = name.partition(":")
    run: Runner = getattr(importlib.import_module(module), function)
    return run


def _listen() -> queue.SimpleQueue[str | None]:
    """The lines that come in; when the caller is gone, so is this process, at once."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read(source: TextIO) -> None:
        for line in source:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, args=(sys.stdin,), daemon=True).start()
    return lines


def _serve(run: Runner, order: dict[str, str]) -> dict[str, Any]:
    started = time.perf_counter()
    try:
        outcome = run(order["spec"])
        data = parts.encode(outcome)
        parts.write_atomically(Path(order["path"]), data)
    except DiskError as error:
        return {"failed": "disk", "problem": error.problem, "hint": error.hint}
    except ValueError as error:
        return {"failed": "trial", "problem": str(error)}
    except MemoryError:
        return {"failed": "trial", "problem": "not enough memory"}
    except BaseException as error:
        # A panic of the simulator is no `Exception`, and must fail its trial only.
        return {"failed": "trial", "problem": describe(error)}
    return {"digest": outcome["digest"], "seconds": time.perf_counter() - started}


if __name__ == "__main__":
    main()
