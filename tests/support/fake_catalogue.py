"""A small catalogue in the form of `aqmlab._core.catalogue()`, with parameters of every type.

Tests of messages and schemas use this catalogue, so that a new parameter of a kind does not change
the expected texts.
"""


def _param(name, kind, default, choices=(), bounds=()):
    text = str(default)
    doc = f"The {name}."
    return {
        "name": name, "type": kind, "default": default, "text": text, "doc": doc,
        "choices": list(choices), **dict(zip(("least", "most"), bounds, strict=False)),
    }  # fmt: skip


def _kind(name, *params):
    return {"name": name, "summary": f"A {name}", "source": "a test", "params": list(params)}


MS = 1_000_000
_LIMIT = _param("limit", "count", 1_000)
_ECN = _param("ecn", "flag", False)
_TARGET = _param("target", "duration", 5 * MS)
_INTERVAL = _param("interval", "duration", 100 * MS)
_AQM = (_LIMIT, _TARGET, _INTERVAL, _ECN, _param("ce_threshold", "duration or off", None))
_FLOWS = (_param("flows", "count", 1_024, bounds=(1, 65_536)), _param("quantum", "bytes", 1_514))
_WAYS = ("up", "down", "both")
_DIRECTION = _param("direction", "word", "up", _WAYS)

RAW = {
    "disciplines": [
        _kind("pfifo", _LIMIT),
        _kind("bfifo", _param("limit", "bytes", 1_514_000)),
        _kind("codel", *_AQM),
        _kind("fq_codel", *_AQM, *_FLOWS),
        _kind("fq_codel_freebsd", *_AQM, *_FLOWS),
        _kind("pie", _LIMIT, _TARGET, _ECN, _param("alpha", "number", 0.125, bounds=(0, 1))),
    ],
    "apps": [
        _kind("bulk", _DIRECTION, _param("size", "bytes", 0)),
        _kind(
            "cbr",
            _DIRECTION,
            _param("payload", "bytes", 700),
            _param("rate", "rate", 1_000_000),
            _param("interval", "duration or off", None),
        ),
        _kind("ping", _param("interval", "duration", 1_000 * MS), _param("count", "count", 0)),
    ],
    "tcp": [_kind("cubic", _param("beta", "number", 0.7)), _kind("newreno"), _kind("reno")],
    "profiles": [
        {**_kind(name, _param("delayed_ack", "duration", 40 * MS), *own), "default_cc": cc}
        for name, cc, own in (
            ("linux", "cubic", [_param("rack", "flag", True)]),
            ("freebsd", "newreno", []),
            ("windows", "cubic", [_param("rack", "flag", False)]),
        )
    ],
}
