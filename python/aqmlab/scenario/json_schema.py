"""The JSON Schema of scenario files, for completion and error markers in editors.

The schema is made from the catalogue, so it always contains all registered kinds. It is slightly
more lenient than the planner, which also checks combinations of values.
"""

from __future__ import annotations

from typing import Any

from aqmlab.scenario import catalogue, seeds
from aqmlab.scenario.fields import OVERHEADS, SHAPERS, Hop

Schema = dict[str, Any]

_NUMBER = r"^\s*[+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*"
_TYPES: dict[str, Schema] = {
    "duration": {
        "anyOf": [
            {"type": "string", "pattern": _NUMBER + r"(ns|us|µs|ms|s|sec|seconds?|min|h)\s*$"},
            {"enum": [0, "0"]},
        ],
        "examples": ["40 ms", "30 s"],
    },
    "rate": {
        "type": "string",
        "pattern": _NUMBER + r"[kmgKMG]?(bits?/s|bits?|bps)\s*$",
        "examples": ["12 Mbit/s"],
    },
    "bytes": {
        "anyOf": [
            {"type": "string", "pattern": _NUMBER + r"([kKMG]i?B|kb|K|B|bytes?)\s*$"},
            {"enum": [0, "0"]},
        ],
        "examples": ["300 kB", "64 KiB"],
    },
    "count": {"type": ["integer", "string"], "examples": [490, "490 packets"]},
    "number": {"type": ["number", "string"], "examples": [0.05, "5 %"]},
    "flag": {"enum": [True, False, "on", "off", "yes", "no", "true", "false"]},
}
_REF: dict[str, Schema] = {name: {"$ref": f"#/$defs/{name}"} for name in _TYPES}
_REF["duration or off"] = {"anyOf": [_REF["duration"], {"enum": ["off", "none", "never", False]}]}
_TIMES: Schema = {"anyOf": [_REF["duration"], {"type": "array", "items": _REF["duration"]}]}
_SEEDS: Schema = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": seeds.MOST},
        {"type": "string", "pattern": r"^[0-9\s,-]+$"},
        {
            "type": "array",
            "items": {"type": "integer", "minimum": 0, "maximum": seeds.LARGEST},
            "minItems": 1,
            "maxItems": seeds.MOST,
            "uniqueItems": True,
        },
    ],
    "description": 'The number of repetitions, or the seeds: 5, "3-7", "7-7" or [1, 4].',
}


def schema() -> Schema:
    """The schema of a scenario file, as JSON Schema of draft 2020-12."""
    known = catalogue.load()
    definitions: dict[str, Schema] = dict(_TYPES)
    definitions |= {
        "qdisc": _choice(known["disciplines"]),
        "cc": _choice(known["tcp"]),
        "overhead": _overhead(),
        "link": _table(_link()),
        "host": _host(known["profiles"]),
        "end": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/host"}]},
        "app": _app(known["apps"]),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "aqmlab scenario",
        "$defs": definitions,
        **_table(_top()),
    }


def _table(properties: dict[str, Schema], **more: Any) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def _top() -> dict[str, Schema]:
    app = {"$ref": "#/$defs/app"}
    named_app = {"allOf": [app]}
    return {
        "extends": {
            "type": "string",
            "description": "A built-in scenario, or a file in the same folder.",
        },
        "title": {"type": "string"},
        "description": {"type": "string"},
        "duration": _REF["duration"],
        "seeds": _SEEDS,
        "path": _table(
            {
                "rate": {"type": "string", "examples": ["12/1 Mbit/s"]},
                "down": {"$ref": "#/$defs/link"},
                "up": {"$ref": "#/$defs/link"},
                "rtt": _REF["duration"],
                "modem": _modem(),
                "lan": _REF["rate"],
                "wifi": _table(_wifi()),
                "host_jitter": _REF["duration"],
                "start_jitter": _REF["duration"],
                **{key: value for key, value in _link().items() if key != "rate"},
            }
        ),
        "hosts": {"type": "object", "additionalProperties": {"$ref": "#/$defs/host"}},
        "defaults": _table(_timing()),
        "apps": {
            "anyOf": [
                {
                    "type": "object",
                    "additionalProperties": {"anyOf": [named_app, {"enum": ["off", False]}]},
                },
                {"type": "array", "items": {"type": "object"}},
            ]
        },
        "measure": _measure(),
        "vary": {"type": "object", "description": "Loops, outermost first."},
        "report": _table(
            {
                "figures": {"type": "array", "items": {"type": "string"}},
                "tolerances": {"type": "object", "additionalProperties": _REF["duration"]},
                "rates": {"type": "object", "additionalProperties": _REF["rate"]},
                "notes": {"type": "string"},
            }
        ),
    }


def _link() -> dict[str, Schema]:
    share = {"type": "string", "pattern": _NUMBER + "%$", "examples": ["95 %"]}
    return {
        "rate": {"anyOf": [_REF["rate"], share]},
        "qdisc": {"$ref": "#/$defs/qdisc"},
        "queue": {"$ref": "#/$defs/qdisc"},
        "shaper": {"enum": list(SHAPERS)},
        "pipe_delays": _REF["flag"],
        "overhead": {"$ref": "#/$defs/overhead"},
        "loss": _REF["number"],
        "jitter": _REF["duration"],
        "reorder": _REF["flag"],
    }


def _modem() -> Schema:
    hop = {key: value for key, value in _link().items() if key in (*Hop.model_fields, "queue")}
    hop["rate"] = _REF["rate"]
    rate = {"type": "string", "examples": ["20/2 Mbit/s"]}
    return _table({**hop, "rate": rate, "down": _table(hop), "up": _table(hop)})


def _wifi() -> dict[str, Schema]:
    return {
        "qdisc": {"$ref": "#/$defs/qdisc"},
        "mcs": {"type": ["integer", "string"], "examples": [15, "15/7"]},
        "width": {"enum": ["20 MHz", "40 MHz"]},
        "short_guard": _REF["flag"],
        "loss": _REF["number"],
        "aggregate": _REF["count"],
        "airtime": _REF["duration"],
        "driver": _REF["count"],
    }


def _timing() -> dict[str, Schema]:
    end = {"$ref": "#/$defs/end"}
    return {
        "start": _TIMES,
        "stop": _REF["duration"],
        "duration": _REF["duration"],
        "rtt": _TIMES,
        "home": end,
        "wan": end,
        "tcp": end,
    }


def _measure() -> Schema:
    times = dict.fromkeys(("from", "to", "window", "step", "sample"), _REF["duration"])
    flags = dict.fromkeys(("enabled", "packets", "series"), _REF["flag"])
    return _table({**times, **flags, "points": _REF["count"]})


def _overhead() -> Schema:
    members = dict.fromkeys(("bytes", "minimum", "counted"), _REF["count"])
    return {"anyOf": [{"enum": list(OVERHEADS)}, _table({**members, "atm": _REF["flag"]})]}


def _param(param: catalogue.Param) -> Schema:
    about = f"{param.doc} Default: {param.text}."
    if param.type == "word":
        return {"enum": list(param.choices), "description": about}
    bounds: Schema = {}
    if param.allowed:
        about += f" From {param.allowed}."
        if param.type in ("count", "number"):  # other types are text with a unit
            bounds = {"minimum": param.least, "maximum": param.most}
    return {"allOf": [_REF[param.type]], **bounds, "description": about}


def _params(kind: catalogue.Kind) -> dict[str, Schema]:
    return {name: _param(param) for name, param in kind.params.items()}


def _named(kind: catalogue.Kind) -> dict[str, Schema]:
    return {"kind": {"const": kind.name, "description": f"{kind.summary}. {kind.source}."}}


def _choice(kinds: Any) -> Schema:
    """The schema of a kind: a name, a name with parameters, or a table."""
    pattern = f"^({'|'.join(kinds)})(\\s+\\S+=\\S+)+$"
    tables = [_table({**_named(kind), **_params(kind)}) for kind in kinds.values()]
    # A table without `kind` changes the parameters of the extended scenario's kind.
    names = {name for kind in kinds.values() for name in kind.params}
    partial = _table({name: {} for name in sorted(names)})
    words = {"enum": list(kinds)}
    return {"anyOf": [words, {"type": "string", "pattern": pattern}, *tables, partial]}


def _host(profiles: Any) -> Schema:
    buffer = {"anyOf": [{"const": "auto"}, _REF["bytes"]]}
    settings: dict[str, Schema] = {}
    for kind in profiles.values():
        settings |= _params(kind)
    own: dict[str, Schema] = {
        "profile": {"enum": list(profiles)},
        "cc": {"$ref": "#/$defs/cc"},
        "ecn": _REF["flag"],
        "send_buffer": buffer,
        "receive_buffer": buffer,
        "mtu": _REF["bytes"],
        "nodelay": _REF["flag"],
        "quickack": _REF["flag"],
    }
    return _table({**settings, **own})


def _app(kinds: Any) -> Schema:
    own: dict[str, Schema] = _timing() | {"name": {"type": "string"}, "count": _REF["count"]}
    own |= {"stagger": _REF["duration"], "kind": {"enum": list(kinds)}}
    tables = [
        _table({**own, **_named(kind), **_params(kind)}, required=["kind"])
        for kind in kinds.values()
    ]
    names = {name for kind in kinds.values() for name in kind.params}
    anything: dict[str, Schema] = {name: {} for name in sorted(names)}
    partial = _table({**anything, **own, "kind": {"not": {}}})
    return {"anyOf": [*tables, partial]}
