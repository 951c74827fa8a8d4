"""Captures of a trial's packets, from a second run of the trial.

A trial on the simulator gives the same packets in every run. The captures therefore hold the
packets from which the stored results were computed. `write` compares the digests of both runs. In
the virtual time of the engine `kernel`, measuring takes time, so the packets may differ.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from aqmlab import _core
from aqmlab.base.errors import shown
from aqmlab.base.failures import DiskError, LabError, RequestError
from aqmlab.base.files import create, refuse_special, unfinished
from aqmlab.campaign.store import own_files
from aqmlab.engines import registry
from aqmlab.engines.engine import Outcome, Say, load_runner
from aqmlab.engines.trial_spec import TrialSpec

EPOCH_S = _core.capture_epoch_s()
"""The Unix time of a trial's start in its captures, in seconds: 1 January 2020, 0:00 UTC."""


class RecordedTrial(NamedTuple):
    """A trial with recorded results: its name and its digest."""

    name: str
    digest: str


def write(
    spec: TrialSpec,
    name: str,
    engine: str,
    say: Say = lambda _: None,
    recorded: RecordedTrial | None = None,
) -> tuple[Path, Path]:
    """Runs `spec` on an engine and writes NAME-home.pcap and NAME-wan.pcap. Returns their paths.

    Raises `RequestError` for a trial that cannot run, for an engine that keeps no packets, and for
    a path of a campaign's own file. Raises `DiskError` if a file cannot be written, and `LabError`
    if the digest of this run is not that of the `recorded` trial. In these cases no file remains.
    With the engine `kernel`, another digest is a warning.
    """
    spec = replace(spec, measure=replace(spec.measure, enabled=True, packets=True))
    paths = Path(f"{name}-home.pcap"), Path(f"{name}-wan.pcap")
    one = registry.engine(engine)
    if not one.keeps_packets:
        problem = "pcap: a trial in real time on this host keeps no packets"
        raise RequestError(problem, "`--engine kernel` without `--run-on host` keeps them")
    for path in paths:
        own_files.refuse(path)
        refuse_special(path)
    prepared = one.prepare([spec], say)
    begun = [unfinished(path) for path in paths]
    files = (str(begun[0]), str(begun[1]))
    try:
        for made in begun:
            create(made).close()  # An unwritable path is reported before a long run.
        run = partial(load_runner(one.runner), spec.text(), captures=files)
        # An engine that reports its progress starts other programs, and ends them on Ctrl-C.
        outcome = run(**prepared.options) if one.reports_progress else _interruptibly(run)
        if recorded is not None and outcome["digest"] != recorded.digest:
            error = _other_packets(recorded, outcome["digest"])
            if not one.reports_progress:
                raise error
            # Measuring takes virtual time in the kernel's machine, so the packets may be others.
            say(f"warning: {error.problem}")
        for made, path in zip(begun, paths, strict=True):
            made.replace(path)
    except LabError:
        raise
    except ValueError as error:
        raise RequestError(str(error)) from None
    except OSError as error:
        place = paths[1] if begun[1].name in str(error) else paths[0]
        raise DiskError.of(_with_number(error), place) from None
    finally:
        for made in begun:
            with contextlib.suppress(OSError):
                made.unlink()
    return paths


def _with_number(error: OSError) -> OSError:
    """An error with its number. The core's own error has a text and neither number nor reason."""
    text, _, number = str(error).rpartition(" (os error ")
    if error.errno is not None or not number.rstrip(")").isdigit():
        return error
    return OSError(int(number.rstrip(")")), text.rpartition(": ")[2])


def _other_packets(recorded: RecordedTrial, digest: str) -> LabError:
    """The error for a second run with other packets than those of the results."""
    return LabError(
        f"the trial `{shown(recorded.name)}` does not give the packets of its results again:"
        f" its digest is {digest}, and the digest of the results is {shown(recorded.digest)}",
        "another build of aqmlab made the results, or somebody changed them: run the campaign"
        " again, or give its scenario",
    )


def _interruptibly(run: Callable[[], Outcome]) -> Outcome:
    """Runs a function that does not handle Ctrl-C, in a daemon thread.

    The thread does not keep the process from ending. Raises the function's exception.
    """
    import numpy  # noqa: F401 (the core imports it at the end, and an interrupted import is fatal)

    raised: list[BaseException] = []
    outcomes: list[Outcome] = []

    def work() -> None:
        try:
            outcomes.append(run())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work, name="aqmlab-capture", daemon=True)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return outcomes[0]
