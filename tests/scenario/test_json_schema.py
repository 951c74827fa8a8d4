"""The JSON Schema of scenario files has every key and every notation of the models."""

import jsonschema
import pytest
from aqmlab.base.errors import ScenarioError
from aqmlab.scenario import applications, json_schema, links, merge, model, wifi
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.quantities import Duration, Rate, Share, Size
from aqmlab.scenario.schema_definitions import COUNT, FLAG, NUMBER

MADE = json_schema.schema()
HOME = {"path": {"rate": "9/1 Mbit/s"}, "apps": {"a": {"kind": "bulk"}}}
PARTS = [
    model.Scenario, model.Path, model.Modem, model.Measure, model.Report, applications.Host,
    applications.App, applications.Timing, links.Link, links.Hop, links.Overhead, wifi.Wifi,
]  # fmt: skip


def validate(table, schema=MADE):
    """Raises an error if a schema refuses a table.

    Unlike `jsonschema.validate`, it does not check the schema itself, which takes half a second.
    """
    jsonschema.Draft202012Validator(schema).validate(table)


def test_the_schema_is_a_json_schema():
    jsonschema.Draft202012Validator.check_schema(MADE)


def keys_of(part):
    """The keys that the schema allows in a part, in all forms of the part."""
    made = MADE if part is Scenario else MADE["$defs"][part.__name__]
    return [set(form["properties"]) for form in made.get("anyOf", [made]) if "properties" in form]


@pytest.mark.parametrize("part", PARTS)
def test_every_field_of_a_model_is_a_key_of_the_schema(part):
    fields = {info.alias or name for name, info in part.model_fields.items()}
    forms = keys_of(part)
    assert forms and all(fields - {"params", "settings"} <= form for form in forms)


@pytest.mark.parametrize("one", [Duration.SCHEMA, Rate.SCHEMA, Size.SCHEMA, Share.SCHEMA,
                                 COUNT, NUMBER, FLAG])  # fmt: skip
def test_definitions_of_quantities_have_no_default_of_a_member(one):
    assert MADE["$defs"][one.name] == one.schema


def test_keys_of_a_direction_apply_to_both_in_the_table_above():
    assert set(merge.BOTH_WAYS) == set(links.Link.model_fields)
    assert keys_of(links.Link)[0] < keys_of(model.Path)[0]
    assert keys_of(links.Hop)[0] < keys_of(model.Modem)[0]


def parameters(schema):
    """The members of a definition that have a default, by name."""
    return {name: one for name, one in schema["properties"].items() if "default" in one}


def test_defaults_are_in_the_notation_of_files():
    for name in ("Path", "Link", "Measure", "Timing", "Wifi"):
        part = {"$ref": f"#/$defs/{name}", "$defs": MADE["$defs"]}
        table = {key: one["default"] for key, one in parameters(MADE["$defs"][name]).items()}
        validate(table, part)
    assert MADE["$defs"]["Path"]["properties"]["rtt"]["default"] == "40 ms"


ACCEPTED = [
    {"apps": {"a": {"kind": "bulk", "priority": 6}}},
    {
        "apps": {
            "a": {"kind": "bulk", "start": ["0 s", "2 s"], "rtt": "9 ms", "tcp": {"cc": "reno"}}
        }
    },
    {"apps": [{"kind": "bulk", "name": "x"}, {"kind": "ping", "interval": "20 ms"}]},
    {"path": {"queue": "codel", "loss": "1 %", "down": {"rate": "9 Mbit/s", "queue": "pfifo"}}},
    {"path": {"rate": "95 %", "modem": {"rate": "20/2 Mbit/s", "overhead": "docsis"}}},
    {"path": {"loss": 0.01, "rtt": 0, "wifi": {"mcs": 7, "width": "40 MHz"}}},
    {"hosts": {"home": {"profile": "freebsd", "send_buffer": "auto", "mtu": "1400 B"}}},
    {"seeds": "3-7", "measure": {"from": "1 s", "points": 9, "series": "off"}},
    {"report": {"figures": ["dash"], "tolerances": {"a": "1 s"}, "rates": {"a": "1 Mbit/s"}}},
    {"report": {"requirements": {"a": {"set": "aqmlab-call"}}}},
    {"report": {"requirements": {"a": {"delay": {"p95": ["9 ms", "1 s"]}, "loss": ["1 %", 0.1]}}}},
]
REFUSED = [
    {"apps": {"a": {"kind": "bulk", "priority": 16}}},
    {"apps": {"a": {"kind": "bulk", "params": {}}}},
    {"path": {"loss": 1.5}},
    {"path": {"down": {"rate": 0.5}}},
    {"path": {"up": {"rtt": "1 ms"}}},
    {"path": {"lan": "50 %"}},
    {"report": {"figures": ["dsh"]}},
    {"report": {"requirements": {"a": {"set": "aqmlab"}}}},
    {"report": {"requirements": {"a": {"loss": ["1 %"]}}}},
    {"extend": "home"},
]  # "params" is for Python values only


@pytest.mark.parametrize("table", ACCEPTED)
def test_the_schema_accepts_each_notation(table):
    validate(table)
    home = {**HOME, **table}
    if "rate" not in home["path"]:
        home["path"] = HOME["path"] | home["path"]
    Scenario.from_dict(home)


@pytest.mark.parametrize("table", REFUSED)
def test_the_schema_refuses_wrong_keys_and_values(table):
    with pytest.raises(jsonschema.ValidationError):
        validate(table)
    if "params" not in str(table):
        with pytest.raises(ScenarioError):
            Scenario.from_dict({**HOME, **table})
