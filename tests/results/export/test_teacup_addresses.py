"""The names of TEACUP's files contain the addresses and ports of a config."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from aqmlab import api
from aqmlab.cli import status_of
from aqmlab.results.export.teacup_addresses import ConfigEnds, FlowNames, of_manifest

EXAMPLE = Path(__file__).parents[3] / "examples" / "teacup" / "household.py"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("teacup")
    results = api.run(EXAMPLE, duration="12 s", seeds=1, out=folder / "results")
    trial = results.manifest.trials[0].id
    assert status_of(["export", str(results.path), "--teacup", "--trial", trial]) == 0
    (experiments,) = (path for path in (results.path / "export").iterdir() if path.is_dir())
    return [path.name.removeprefix(f"{trial}_") for path in experiments.iterdir()]


def test_files_have_the_addresses_and_ports_of_the_config(exported):
    ends = {re.sub(r"_[0-9]{5}_|_[0-9]{5}(?=[._])", "_*_", name).split(".ps")[0]
            for name in exported if name.endswith(".psiz")}  # fmt: skip
    assert {"192.168.10.2_*_192.168.20.2_80", "192.168.20.2_80_192.168.10.2_*_"} <= ends
    assert "192.168.10.2_0_192.168.20.2_0" in ends, "a ping has no ports"
    assert any(name.startswith("192.168.20.3_27960_192.168.10.3_") for name in exported), "game"
    assert any(name.startswith("192.168.10.3_5001_192.168.20.2_") for name in exported), "iperf"
    assert any(re.fullmatch(r"192\.168\.10\.2_1_httperf_dash\.dashgp", name) for name in exported)
    assert not [name for name in exported if "172.16" in name]


def test_flows_of_one_pair_of_hosts_keep_names_of_their_own():
    ends = dict.fromkeys("ab", ConfigEnds("10.1.0.2", "10.2.0.2", None))
    names = FlowNames(["a", "b"], ends)
    assert names.of("172.16.10.2_0_172.16.11.2_0") == "10.1.0.2_0_10.2.0.2_0"
    assert names.of("172.16.10.3_0_172.16.11.3_0") == "10.1.0.2_1_10.2.0.2_0"
    assert names.of("172.16.11.3_0_172.16.10.3_0") == "10.2.0.2_0_10.1.0.2_1", "the way back"
    assert names.of("172.16.10.2_0_172.16.11.2_0") == "10.1.0.2_0_10.2.0.2_0", "again"


def test_applications_without_addresses_have_those_of_the_captures():
    names = FlowNames(["a"], {})
    assert names.of("172.16.10.2_10000_172.16.11.2_61000") == "172.16.10.2_10000_172.16.11.2_61000"
    assert names.client(0) == "172.16.10.2"


@pytest.mark.parametrize(
    "told",
    [
        None, [], "x", {"a": 3}, {"a": {"home": "../x", "wan": "10.0.0.1"}}, {"a": {}},
        {"a": {"home": "10.0.0.1/24", "wan": "10.0.0.2"}}, {"a": {"home": 5, "wan": "10.0.0.2"}},
    ],
)  # fmt: skip
def test_addresses_of_a_hostile_manifest_are_left_out(told):
    assert of_manifest(SimpleNamespace(scenario={"addresses": told})) == {}


@pytest.mark.parametrize("port", [-1, 0, 2**16, "80", None, 1.5])
def test_a_port_that_is_none_is_left_out(port):
    told = {"a": {"home": "10.0.0.1", "wan": "10.0.0.2", "port": port}}
    assert of_manifest(SimpleNamespace(scenario={"addresses": told}))["a"].port is None
