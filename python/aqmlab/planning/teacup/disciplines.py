"""TEACUP's names of queue disciplines, and their parameters in the notation of tc and ipfw.

Source: TEACUP v1.1 `routersetup.py`; tc(8), ipfw(8).

A FreeBSD router has dummynet's disciplines, named `*_freebsd` in scenarios. A Linux router has the
kernel's disciplines. Its PIE follows kernels 3.14 to 5.0, unless `TPCONF_linux_kern_router` names
5.5 or later. The PIE of kernels 5.1 to 5.4 is not modelled. Its FQ-CoDel follows kernels 3.5 to
4.6, unless that setting names 4.7 or later. Without the setting, a warning states this assumption.
Any other name refers to a discipline of aqmlab, so `V_aqm=pie_rfc8033` is also valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from aqmlab.base.errors import BadValueError, ScenarioError, shown
from aqmlab.engines.trial_spec import Argument, KindSpec
from aqmlab.planning.teacup.vocabulary import Arguments, or_rather
from aqmlab.scenario import catalogue

_FREEBSD = {
    "fifo": "pfifo_freebsd", "red": "red", "codel": "codel_freebsd", "pie": "pie_freebsd",
    "fq_codel": "fq_codel_freebsd", "fq_pie": "fq_pie_freebsd",
}  # fmt: skip
_LINUX = {"fifo": "pfifo"}
_FOR_LINUX_ONLY = frozenset(("pfifo", "bfifo", "pfifo_fast", "sfq", "choke"))
_IN_PACKETS = ("pfifo", "codel", "fq_codel", "pie")
_AVERAGE_PACKET = 600
_LEAST_BYTES = 2_048
_OLDER = {"pie": ((5, 5), "pie_linux_3_14"), "fq_codel": ((4, 7), "fq_codel_linux_3_5")}
"""By discipline: the first kernel version without the older variant, and the variant's name."""


def linux_only(name: str) -> bool:
    """Returns whether a discipline of this name exists in Linux and not in dummynet."""
    return name.lower() in _FOR_LINUX_ONLY


def choose(
    args: Arguments,
    rate_bps: int,
    linux: bool,
    kernel: tuple[int, int] | None,
    warn: Callable[[str], None],
) -> KindSpec:
    """The discipline of the queue with the arguments `args`, in the simulator's form.

    `rate_bps` is the queue's rate, and `kernel` is the version of a Linux router's kernel,
    or `None` if the config does not state it. `warn` receives the warnings.
    """
    disc = args.text("queue_disc", "fifo").strip().lower()
    size = args.text("queue_size", "1000" if linux else "50").strip()
    kind = catalogue.load().find("disciplines", _kind_name(disc, size, linux, kernel))
    limit, in_bytes = _limit(args, disc, size, rate_bps, linux)
    params: dict[str, Argument] = {}
    if "limit" in kind.params:
        params["limit"] = _fitting(kind, limit, in_bytes, args, warn)
    extra = args.text("queue_disc_params", "")
    params |= _extra(kind, extra, linux, args.where, warn)
    return KindSpec(kind=kind.name, params=params)


def assumed_kernel(args: Arguments) -> str | None:
    """The assumption about the kernel of a Linux router whose kernel the config does not state.

    Returns `None` if the discipline of `args` is the same under every kernel.
    """
    disc = args.text("queue_disc", "fifo").strip().lower()
    if disc not in _OLDER:
        return None
    until, older = _OLDER[disc]
    version = ".".join(map(str, until))
    return (
        f"the kernel of the Linux router is taken to be older than {version}, so `{disc}` is"
        f" `{older}`; TPCONF_linux_kern_router = '{version}' makes it `{disc}`"
    )


def _kind_name(disc: str, size: str, linux: bool, kernel: tuple[int, int] | None) -> str:
    if not linux:
        in_bytes = size == "bdp" or not re.fullmatch(r"[0-9.]*[0-9][0-9.]*", size)
        return "bfifo_freebsd" if disc == "fifo" and in_bytes else _FREEBSD.get(disc, disc)
    until, older = _OLDER.get(disc, ((0, 0), disc))
    if kernel is None or kernel < until:
        disc = older
    return _LINUX.get(disc, disc)


def _limit(args: Arguments, disc: str, size: str, rate_bps: int, linux: bool) -> tuple[int, bool]:
    """The size of a queue, and whether the size is in bytes instead of packets."""
    if size.lower() == "bdp":
        rtt_ms = args.number("rtt", 2 * args.number("delay", 0))
        size_bytes = rate_bps * rtt_ms / 1_000 / 8
        multiple = args.number("queue_size_mult", 1.0)
        if linux and disc in ("fifo", *_IN_PACKETS):
            return max(int(int(size_bytes / _AVERAGE_PACKET) * multiple), 1), False
        if linux and disc not in ("bfifo", "red"):
            raise ScenarioError(
                f"{args.where}: queue_size", f"'bdp' is not defined for the discipline `{disc}`"
            )
        return int(max(size_bytes, _LEAST_BYTES) * multiple), True
    found = re.fullmatch(r"([0-9.]+)\s*([a-zA-Z]*)", size)
    scale = _SCALES.get(found[2].lower()) if found else None
    if found is None or scale is None or found[1].count(".") > 1 or float(found[1]) < 1:
        raise ScenarioError(
            f"{args.where}: queue_size",
            f"`{shown(size)}` is not a size",
            "write packets, bytes for bfifo and red, '100Kbytes' on FreeBSD, or 'bdp'",
        )
    in_bytes = bool(found[2]) or (linux and disc in ("bfifo", "red"))
    return int(float(found[1]) * scale), in_bytes


_SCALES = {
    "": 1, "b": 1, "byte": 1, "bytes": 1, "k": 1_024, "kb": 1_024, "kbytes": 1_024,
    "m": 1_048_576, "mb": 1_048_576, "mbytes": 1_048_576,
}  # fmt: skip


def _fitting(
    kind: catalogue.Kind, limit: int, in_bytes: bool, args: Arguments, warn: Callable[[str], None]
) -> int:
    """Converts `limit` to the unit of `kind`. A packet counts as 1500 bytes.

    Warns if the units differ.
    """
    wants_bytes = kind.params["limit"].type == "bytes"
    if wants_bytes == in_bytes:
        return limit
    turned = limit * 1_500 if wants_bytes else max(limit // 1_500, 1)
    unit = ("packets", "bytes") if wants_bytes else ("bytes", "packets")
    warn(
        f"{args.where}: `{kind.name}` counts {unit[1]}: queue_size of {limit} {unit[0]} is taken "
        f"for {turned}, with 1500 bytes to a packet"
    )
    return turned


def _extra(
    kind: catalogue.Kind, text: str, linux: bool, where: str, warn: Callable[[str], None]
) -> dict[str, Argument]:
    """Converts arguments of tc or ipfw, such as "target 15ms noecn", to parameters of `kind`."""
    params: dict[str, Argument] = {}
    words = text.split()
    at = 0
    while at < len(words):
        word = words[at].lower()
        name = word.removeprefix("no") if word.startswith("no") else word
        param = kind.params.get(word) or kind.params.get(name)
        if param is None:
            rather = or_rather(name, kind.params)
            warn(f"{where}: queue_disc_params: `{shown(word)}` of {kind.name} is not read{rather}")
            at += 1
            continue
        if param.type == "flag":
            params[param.name] = word == param.name
            at += 1
            continue
        value = words[at + 1] if at + 1 < len(words) else ""
        try:
            params[param.name] = param.read(_with_unit(param.type, value, linux))
        except BadValueError as problem:
            place = f"{where}: queue_disc_params: {param.name}"
            raise ScenarioError(place, problem.problem, problem.hint) from None
        at += 2
    return params


def _with_unit(kind: str, value: str, linux: bool) -> str:
    """Adds the default unit to a number: microseconds for tc, milliseconds for ipfw, or bytes."""
    if not re.fullmatch(r"[0-9.]+", value):
        return value
    if kind.startswith("duration"):
        return f"{value} {'us' if linux else 'ms'}"
    return f"{value} B" if kind == "bytes" else value
