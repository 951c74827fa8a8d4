"""The options of the kernel engine for the disciplines and the machine, and runs on the host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import aqmlab
import pytest
from aqmlab import _core
from aqmlab.api import Request
from aqmlab.base.errors import ScenarioError
from aqmlab.base.failures import RequestError
from aqmlab.cli import status_of
from aqmlab.engines import registry, renamed
from aqmlab.engines.kernel import MachineError, MissingError, RefusedError, agent, host, image
from aqmlab.engines.trial_spec import TrialSpec

from .trials import app, text, trial

LINES = """#!/bin/sh
case $1 in
check) exit 0;;
missing) echo "$MISSING";;
run) cat > /dev/null; {run};;
esac
"""


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (("kernel",), ("kernel",)),
        (("kernel", "sim"), ("kernel-ours",)),
        (("sim,kernel", "sim,kernel"), ("sim", "kernel-ours", "kernel")),
        (("kernel", "kernel", "host"), ("kernel-host",)),
        (("kernel", "sim", "vm,host"), ("kernel-ours", "kernel-ours-host")),
        (("kernel-ours-host",), ("kernel-ours-host",)),
    ],
)
def test_each_choice_of_options_has_a_name(asked, names) -> None:
    assert registry.named(*asked) == names


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (("kernel", "si"), "--qdisc-source: unknown source `si`"),
        (("kernel", "sim", "moon"), "--run-on: unknown place `moon`"),
        (("sim", "sim"), "--qdisc-source sim: applies to the engine `kernel` only"),
        (("sim", "kernel", "host"), "--run-on host: applies to the engine `kernel` only"),
    ],
)
def test_what_cannot_be_chosen_is_refused(asked, problem) -> None:
    with pytest.raises(RequestError) as caught:
        registry.named(*asked)
    assert caught.value.problem == problem
    assert caught.value.hint


def test_the_command_says_what_was_chosen() -> None:
    asked = Request("home", engine="kernel", qdisc_source="sim", run_on="host")
    assert asked.command() == "aqmlab run home --engine kernel --qdisc-source sim --run-on host"


@pytest.mark.parametrize(
    ("given", "options", "warnings"),
    [
        (("kernel", "vm"), ("kernel", "vm"), []),
        (("ours,kernel", "vm"), ("sim,kernel", "vm"), ["--qdisc-source: `ours` is now `sim`"]),
        (
            ("kernel", "vm", "ours", "host"),
            ("sim", "host"),
            [
                "--discipline is now --qdisc-source",
                "--place is now --run-on",
                "--qdisc-source: `ours` is now `sim`",
            ],
        ),
    ],
)
def test_old_names_are_accepted_and_the_new_ones_named(given, options, warnings) -> None:
    found = renamed.kernel_options(*given)
    assert (found.qdisc_source, found.run_on) == options
    assert len(found.warnings) == len(warnings)
    assert all(map(str.startswith, found.warnings, warnings))


def test_an_option_under_both_names_is_refused() -> None:
    with pytest.raises(RequestError, match="--discipline: is the old name of --qdisc-source"):
        renamed.kernel_options("sim", "vm", discipline="kernel")


@pytest.mark.parametrize("command", ["run", "pcap", "reproduce", "claims"])
def test_commands_warn_of_old_options(command, capsys) -> None:
    assert status_of([command, "nowhere", "--engine", "kernel", "--discipline", "ours"]) == 2
    said = capsys.readouterr().err
    assert "warning: --discipline is now --qdisc-source" in said
    assert "`ours` is now `sim`" in said


def test_python_warns_of_old_keywords() -> None:
    with (
        pytest.warns(DeprecationWarning, match="--place is now --run-on"),
        pytest.raises(ScenarioError),
    ):
        aqmlab.run("nowhere", engine="kernel", place="host")


def test_results_in_real_time_say_so() -> None:
    made = registry.made_by("kernel-ours-host", {"host": "6.1", "agent": "9f"})
    assert made == (
        "kernel-ours-host (host 6.1, agent 9f; in real time, so digests differ from run to run)"
    )


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that do nothing, in place of the tools that this machine may lack."""
    place = tmp_path / "tools"
    place.mkdir()
    for name in image.TOOLS:
        (place / name).symlink_to("/bin/true")
    monkeypatch.setattr(image, "tools_path", lambda: str(place))


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that replaces the agent by a script."""

    def put(missing: str = "", run: str = "exit 1") -> Path:
        program = tmp_path / "agent"
        program.write_text(LINES.replace("{run}", run))
        program.chmod(0o755)
        monkeypatch.setenv("MISSING", missing)
        monkeypatch.setattr(agent, "find", lambda say: program)
        # `echo` prints an empty line for an empty argument.
        if not missing:
            program.write_text(program.read_text().replace('echo "$MISSING"', "true"))
        return program

    return put


def test_a_user_without_rights_is_told_so(fake, tools) -> None:
    fake("network namespaces cannot be made: no; it takes root (CAP_SYS_ADMIN and CAP_NET_ADMIN)")
    with pytest.raises(MissingError, match="it takes root") as caught:
        host.prepare([], print)
    assert str(caught.value.hint).startswith("run it as root")


def test_a_module_that_is_missing_is_named(fake, tools) -> None:
    fake(
        "the kernel has no `netem` (module sch_netem)\nthe kernel has no `codel` (module sch_codel)"
    )
    with pytest.raises(MissingError, match="no `netem`") as caught:
        host.prepare([TrialSpec.read(text(trial(app("a", "bulk"), kind="codel")))], print)
    assert "sudo modprobe -a sch_netem sch_codel" in str(caught.value.hint)
    assert "--qdisc-source sim" in str(caught.value.hint)


def test_a_tool_that_is_missing_is_named(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake()
    monkeypatch.setattr(image, "tools_path", lambda: "/nowhere")
    with pytest.raises(MissingError, match="`ip` is not installed"):
        host.prepare([], print, "sim")


def test_an_agent_that_dies_is_reported(fake) -> None:
    program = fake(run="echo it went wrong >&2; exit 3")
    with pytest.raises(MachineError) as caught:
        host.run_prepared(text(trial()), program=str(program), qdisc_source="sim")
    assert caught.value.hint == "it went wrong"


def test_what_the_agent_refuses_is_refused(fake) -> None:
    program = fake(run="""echo .; echo '{"refused": "apps: too many"}'""")
    passed: list[float] = []
    with pytest.raises(RefusedError, match="apps: too many"):
        host.run_prepared(
            text(trial()), program=str(program), qdisc_source="sim", progress=passed.append
        )
    assert passed == [1.0]


# --- On this host, if possible ------------------------------------------------------------------


@pytest.fixture
def program() -> str:
    """The agent's path. Skips unless this host can run trials on the simulator's disciplines."""
    try:
        return str(host.prepare([], lambda _: None, "sim").options["program"])
    except MissingError as error:
        pytest.skip(f"this host cannot run trials without a virtual machine: {error.problem}")


@pytest.mark.vm
def test_a_home_on_this_host_fills_its_line(program: str) -> None:
    """The tolerance covers the effect of a busy host on a trial in real time."""
    load = app("load", "cbr", payload=1_172, rate=1_500_000, direction="down")
    spec = trial(load, limit=20, seconds=3)
    spec["links"][1]["rate_bps"] = 1_000_000
    spec["measure"] = {"from_ns": 1_000_000_000}
    before = Path("/proc/net/dev").read_text().count("\n")
    tables = host.run_prepared(text(spec), program=program, qdisc_source="sim")["tables"]
    assert Path("/proc/net/dev").read_text().count("\n") == before
    model = _core.run(text(spec))["tables"]
    here, wanted = (
        (run["queues"]["throughput_mbit"][1], run["flows"]["owd_p50_ms"][0])
        for run in (tables, model)
    )
    assert here == pytest.approx(wanted, rel=0.1), "throughput, one-way delay"
    assert tables["queues"]["drops_overlimit"][1] == sum(tables["queue_drops"]["drops"]) > 50


@pytest.mark.vm
def test_kill_9_leaves_neither_process_nor_namespace(program: str) -> None:
    spec = json.dumps(trial(app("ping", "ping", interval=100_000_000), seconds=60))
    call = "import sys; from aqmlab.engines.kernel import host; host.run_prepared(sys.argv[1], "
    call += "program=sys.argv[2], qdisc_source='sim', progress=lambda s: print(s, flush=True))"
    caller = subprocess.Popen(
        [sys.executable, "-c", call, spec, program],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(aqmlab.__file__).parents[1])},
    )
    assert caller.stdout is not None and caller.stdout.readline() == "1.0\n"
    children = Path(f"/proc/{caller.pid}/task/{caller.pid}/children").read_text().split()
    assert len(children) == 1
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    deadline = time.monotonic() + 10
    while _alive(children[0]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(children[0])


def _alive(process: str) -> bool:
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False
