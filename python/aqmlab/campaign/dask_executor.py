"""A Dask cluster as an executor of trials.

Workers may be on other machines that share only the network. A worker receives an order and
returns the bytes of the result, which the campaign writes. Every worker needs the same build of
the simulator. Otherwise the digests of a campaign would come from several programs. A worker with
another build that joins later gets no trials.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from aqmlab.base.errors import shown
from aqmlab.base.failures import LabError, RequestError, describe
from aqmlab.base.files import open_regular
from aqmlab.base.versions import build
from aqmlab.campaign.task import Answer, Moved, Order, perform

INSTALL = "pip install distributed"

_AHEAD = 3
"""The number of trials submitted per worker thread.

The number is larger than for a local process because of the network's latency.
"""

_CONNECT_S = 10.0
_FIRST_WORKER_S = 60.0
"""Time limit in seconds for a worker to join, at the start and after all workers have left."""

_SAME_BUILD = "install the same build of aqmlab on every worker"

_LOG = logging.getLogger(__name__)

_MOST_BYTES = 2**20
"""The maximum size of a scheduler file in bytes. A usual file has about one thousand bytes."""

_COUNT_S = 2.0
"""Seconds for which the number of workers is cached."""


class Cluster(AbstractContextManager["Cluster"]):
    """The Dask cluster whose scheduler is at `address` (tcp://HOST:8786, or a scheduler file).

    The constructor raises `RequestError` if Dask is not installed, if no scheduler answers, if no
    worker joins, or if a worker has another build.
    """

    is_remote = True
    attempts = 1
    """The scheduler itself resubmits the trial of a dead worker, at most three times."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._client = _connected(address)
        self._executor = self._client.get_executor(pure=False)
        self._submitted = 0
        self._threads, self._counted = 0, 0.0
        self._alone_since: float | None = None
        self._trusted: set[str] = set()
        self._others: dict[str, str] = {}
        try:
            self._await_workers()
            self._examine([*self._client.nthreads()])
            for problem in self._others.values():
                raise RequestError(problem, _SAME_BUILD)
        except BaseException:
            self._client.close()
            raise

    @property
    def room(self) -> int:
        """The number of trials that the present workers should hold simultaneously."""
        if time.monotonic() - self._counted > _COUNT_S:
            there = self._client.nthreads()
            self._examine([one for one in there if one not in self._trusted | self._others.keys()])
            self._threads = sum(threads for one, threads in there.items() if one in self._trusted)
            self._counted = time.monotonic()
        return max(1, self._threads * _AHEAD)

    def submit(self, order: Order, moved: Moved) -> Future[Answer]:
        """Runs a trial on a worker of this build, with a lower priority than earlier submissions.

        `moved` is ignored, because a worker reports no progress.
        """
        self._submitted += 1
        where = {"workers": sorted(self._trusted), "priority": -self._submitted}
        future: Future[Answer] = self._executor.submit(perform, order, **where)
        return future

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.shutdown()

    def shutdown(self) -> None:
        """Cancels unfinished trials and disconnects from the cluster, which continues to run."""
        self._executor.shutdown(wait=False)
        self._client.close()

    def check(self) -> None:
        """Raises `LabError` if the connection is lost, or if no worker was usable for a minute."""
        again = "finished trials are kept; the same command continues from here"
        if self._client.status != "running":
            raise LabError(f"--cluster {self._address}: the connection is lost", again)
        if self._trusted.intersection(self._client.nthreads()):
            self._alone_since = None
            return
        self._alone_since = self._alone_since or time.monotonic()
        if time.monotonic() - self._alone_since > _FIRST_WORKER_S:
            raise LabError(f"--cluster {self._address}: no workers are left", again)

    def _await_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=_FIRST_WORKER_S)
        except TimeoutError:
            problem = f"--cluster {self._address}: no worker has joined for {_FIRST_WORKER_S:.0f} s"
            raise RequestError(problem, "`aqmlab cluster` shows how to start workers") from None

    def _examine(self, workers: list[str]) -> None:
        """Checks the build of new workers. From then on, workers with this build receive trials."""
        builds = self._client.run(build, workers=workers, on_error="return") if workers else {}
        for worker, found in builds.items():
            if isinstance(found, BaseException):
                self._others[worker] = f"worker {worker} cannot run aqmlab: {describe(found)}"
            elif found != build():
                problem = f"worker {worker} has another build of aqmlab: {found}, not {build()}"
                self._others[worker] = problem
            else:
                self._trusted.add(worker)
                continue
            _LOG.warning("%s; it gets no trials", self._others[worker])


@contextmanager
def opened(address: str | None) -> Iterator[Cluster | None]:
    """Yields the cluster at `address`, or `None` without an address; disconnects at the end."""
    if address is None:
        yield None
        return
    with Cluster(address) as cluster:
        yield cluster


def _connected(address: str) -> Any:
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise RequestError("--cluster: Dask is not installed", INSTALL) from None
    for name in ("distributed", "distributed.client"):  # `distributed` sets its own level
        logging.getLogger(name).setLevel(logging.CRITICAL)  # this module reports the errors
    hint = "give it as tcp://HOST:8786; `aqmlab cluster` shows how to start one"
    named = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
    try:
        # A client that starts with an invalid address, or without certificates, logs errors when it
        # ends.
        scheduler = _named_in(Path(address)) if address.endswith(".json") else address
        try:
            get_address_host_port(scheduler)
        except ValueError as error:
            reason = str(error)
            if "address" not in reason:  # it is about Python's numbers
                reason = f"`{shown(scheduler)}` is not an address with a port number"
            problem = f"--cluster {address}: no scheduler can be reached: {reason}"
            raise RequestError(problem, hint) from None
        if scheduler.startswith("tls:"):
            _refuse_without_certificates(address)
        connect: Callable[..., Any] = Client
        return connect(**named, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError, NotImplementedError) as error:
        problem = f"--cluster {address}: no scheduler can be reached: {describe(error)}"
        raise RequestError(problem, hint) from None


def _refuse_without_certificates(address: str) -> None:
    """Raises `RequestError` if Dask has no readable certificates."""
    from distributed.security import Security

    security: Callable[[], Any] = Security
    try:
        if security().get_connection_args("client").get("ssl_context") is not None:
            return
        problem = "Dask has no certificates, which tls:// needs"
    except OSError as error:
        problem = f"Dask's certificates cannot be read: {describe(error)}"
    raise RequestError(
        f"--cluster {address}: {problem}",
        "name their files in DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__TLS__CLIENT__CERT and"
        " …__TLS__CLIENT__KEY, or in Dask's own configuration",
    ) from None


def _named_in(path: Path) -> str:
    """The address in a scheduler file; raises `OSError` or `ValueError` if there is none."""
    with open_regular(path) as file:
        found = json.loads(file.read(_MOST_BYTES))
    if not isinstance(found, dict) or not isinstance(found.get("address"), str):
        raise ValueError("the file names no `address`")
    return str(found["address"])
