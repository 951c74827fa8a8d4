"""The kinds to which TEACUP's words refer, with the parameters that its configs can set.

`test_builtins.py` compares these names with the simulator's own catalogue.
"""

from .fake_catalogue import MS, _kind, _param

_LIMIT = _param("limit", "count", 1_000)
_BYTES = _param("limit", "bytes", 100_000)
_TARGET = _param("target", "duration", 5 * MS)
_ECN = _param("ecn", "flag", False)
_INTERVAL = _param("interval", "duration", 100 * MS)
_QUANTUM = _param("quantum", "bytes", 1_514)
_DOWN = _param("direction", "word", "down", ("up", "down"))
_UP = _param("direction", "word", "up", ("up", "down", "both"))
_PIE = (_LIMIT, _TARGET, _ECN, _param("bytemode", "flag", False))

RAW = {
    "disciplines": [
        *(_kind(name, _LIMIT) for name in ("pfifo", "pfifo_freebsd", "sfq")),
        *(_kind(name, _BYTES) for name in ("bfifo", "bfifo_freebsd", "red")),
        *(_kind(name, _LIMIT, _TARGET, _ECN, _INTERVAL) for name in ("codel", "codel_freebsd")),
        *(
            _kind(name, _LIMIT, _TARGET, _ECN, _INTERVAL, _QUANTUM)
            for name in ("fq_codel", "fq_codel_linux_3_5", "fq_codel_freebsd")
        ),
        *(_kind(name, *_PIE) for name in ("pie", "pie_linux_3_14")),
        _kind("pie_freebsd", _LIMIT, _TARGET, _ECN),
        _kind("fq_pie_freebsd", _LIMIT, _TARGET, _ECN, _QUANTUM),
    ],
    "apps": [
        _kind("bulk", _DOWN, _param("duration", "duration or off", None)),
        _kind(
            "bursts",
            _DOWN,
            _param("period", "duration", 15_000 * MS),
            _param("count", "count", 0),
            _param("size", "bytes", 0),
        ),
        _kind(
            "telemetry",
            _UP,
            _param("rate", "rate", 10_000),
            _param("nodelay", "flag", True),
            _param("quickack", "flag", True),
        ),
        _kind(
            "cbr",
            _UP,
            _param("payload", "bytes", 1_470),
            _param("rate", "rate", 1_050_000),
            _param("interval", "duration or off", None),
        ),
        _kind("ping", _param("interval", "duration", 1_000 * MS)),
        _kind("web"),
        _kind(
            "dash",
            _DOWN,
            _param("segment", "word", "2s", ("1s", "2s", "4s", "6s", "10s", "15s")),
        ),
        _kind(
            "audio_stream",
            _DOWN,
            _param("rate", "rate", 320_000),
            _param("chunk", "duration", 10_000 * MS),
        ),
        _kind(
            "game",
            _param("title", "word", "q3", ("q3", "hl2cs", "hl2dm", "hlcs", "hldm", "et2pro", "q4")),
            _param("players", "count", 4),
            _param("s2c_interval", "duration or off", None),
            _param("c2s_interval", "duration", 10 * MS),
            _param("c2s_payload", "bytes", 60),
            _param("client_delay", "duration", 3_000 * MS),
        ),
    ],
    "tcp": [
        _kind(name) for name in ("reno", "newreno", "cubic", "cubic_freebsd", "compound", "bbr")
    ],
    "profiles": [
        {
            **_kind(
                name,
                _param("receive_tuning", "flag", True),
                _param("send_tuning", "flag", True),
                _param("receive_buffer", "bytes", 65_536),
                _param("receive_buffer_max", "bytes", 65_536),
                _param("send_buffer", "bytes", 65_536),
                _param("send_buffer_max", "bytes", 65_536),
                _param("sack", "flag", True),
                _param("timestamps", "flag", True),
                _param("slow_start_after_idle", "flag", True),
            ),
            "default_cc": "newreno",
        }
        for name in ("linux", "linux-3.17", "freebsd", "windows")
    ],
}
