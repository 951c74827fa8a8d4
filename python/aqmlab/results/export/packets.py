"""The packets of a trial at both ends, from the captures of a second run.

In captures, an application is identified by the address of its host on the internet. On every
engine, application number n of a trial, counted from 0, has the address 172.16.11.(2 + n) there. In
the home it has the address 172.16.10.(2 + n), unless it shares the host of an earlier application.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.base.failures import RequestError
from aqmlab.base.scratch import Scratch
from aqmlab.engines.engine import Say
from aqmlab.results import captures

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from aqmlab.results.export.trials import TrialRows

_NETWORKS = {"up": (0xAC100A, 0xAC100B), "down": (0xAC100B, 0xAC100A)}
"""Source and destination networks of each direction; 172.16.10.0/24 is the home."""

_FIRST_HOST = 2

_MOST_APPS = 250
"""The maximum number of applications that can have hosts of their own."""

TCP, UDP = 6, 17
_RECORD, _HEADER = 16, 24
_WITHOUT_LINK_HEADER = (101, 228)
"""Link types of captures whose packets begin with the IP header."""


@dataclass(frozen=True)
class Packets:
    """IP packets in the order of the capture; the port is 0 if the protocol has none."""

    at_s: NDArray[np.float64]
    """The times of the packets, in Unix time."""
    ip_bytes: NDArray[np.int64]
    protocol: NDArray[np.int64]
    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    source_port: NDArray[np.int64]
    destination_port: NDArray[np.int64]
    number: NDArray[np.int64]
    """The application's sequence number of a datagram, from the first eight bytes of its payload.

    For a packet of another protocol, the number has no meaning.
    """

    def where(self, chosen: NDArray[np.bool_]) -> Packets:
        """The packets for which `chosen` is true."""
        return Packets(**{name: values[chosen] for name, values in vars(self).items()})

    def going(self, direction: str) -> Packets:
        """The packets of a direction, "up" or "down"."""
        source, destination = _NETWORKS[direction]
        return self.where((self.source >> 8 == source) & (self.destination >> 8 == destination))

    def of(self, app: int, direction: str) -> Packets:
        """The packets of application number `app` of the trial in a direction, "up" or "down"."""
        going = self.going(direction)
        on_internet = going.destination if direction == "up" else going.source
        return going.where(on_internet & 0xFF == _FIRST_HOST + app)

    def by_flow(self) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Yields each flow as "SOURCE_PORT_DESTINATION_PORT", with a mask of its packets.

        Flows are in order of appearance.
        """
        import numpy as np

        keys = np.stack((self.source, self.source_port, self.destination, self.destination_port))
        flows, first, which = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        for number in np.argsort(first):
            source, source_port, destination, port = flows[:, number].tolist()
            name = f"{_address(source)}_{source_port}_{_address(destination)}_{port}"
            yield name, which.reshape(-1) == number

    def connections(self) -> list[str]:
        """The names of the TCP flows, in the order of their first packets."""
        return [name for name, _ in self.where(self.protocol == TCP).by_flow()]


def _address(number: int) -> str:
    return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))


@contextmanager
def of_trial(trial: TrialRows, say: Say = lambda _: None) -> Iterator[tuple[Path, Path]]:
    """Yields the captures at the home's and the internet's end, which exist within the context.

    Raises `RequestError` if the engine keeps no packets, or if the trial has more than `_MOST_APPS`
    applications, and `LabError` if the second run has other packets.
    """
    if len(trial.spec.apps) > _MOST_APPS:
        raise RequestError(
            f"{trial.id}: its packets cannot be assigned to its {len(trial.spec.apps)}"
            f" applications: at most {_MOST_APPS} have addresses of their own"
        )
    recorded = captures.RecordedTrial(trial.id, trial.digest)
    with Scratch() as folder:
        yield captures.write(trial.spec, f"{folder}/trial", trial.engine, say, recorded)


def read(path: Path) -> Packets:
    """The packets of a capture that aqmlab wrote; raises `RequestError` for any other file."""
    import numpy as np

    data = path.read_bytes()
    order = {b"\xd4\xc3\xb2\xa1": ("<", 1e-6), b"\x4d\x3c\xb2\xa1": ("<", 1e-9)}.get(data[:4])
    link = int.from_bytes(data[20:24], "little")
    if order is None or link not in _WITHOUT_LINK_HEADER:
        raise RequestError(f"{path}: not a capture of IP packets written by aqmlab")
    starts = _starts(data)
    words = np.frombuffer(data + bytes(64), np.uint8)

    def field(offset: int, size: int, big: bool = True) -> NDArray[np.int64]:
        places = range(size) if big else reversed(range(size))
        found = np.zeros(len(starts), np.int64)
        for place in places:
            found = (found << 8) | words[starts + offset + place]
        return found

    ip = _RECORD
    transport = ip + 20
    protocol = field(ip + 9, 1)
    ported = np.isin(protocol, (TCP, UDP))
    return Packets(
        at_s=field(0, 4, big=False) + field(4, 4, big=False) * order[1],
        ip_bytes=field(ip + 2, 2),
        protocol=protocol,
        source=field(ip + 12, 4),
        destination=field(ip + 16, 4),
        source_port=np.where(ported, field(transport, 2), 0),
        destination_port=np.where(ported, field(transport + 2, 2), 0),
        number=field(transport + 8, 8),
    )


def _starts(data: bytes) -> NDArray[np.int64]:
    """The offset of each record in a capture."""
    import numpy as np

    starts, at = [], _HEADER
    while at + _RECORD <= len(data):
        starts.append(at)
        at += _RECORD + int.from_bytes(data[at + 8 : at + 12], "little")
    return np.array(starts, np.int64)
