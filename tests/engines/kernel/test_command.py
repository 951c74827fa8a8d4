"""The kernel engine on the command line, with another program in place of QEMU."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import aqmlab
import numpy as np
import pytest
from aqmlab import _core
from aqmlab.api import load
from aqmlab.campaign.store.folder import Folder
from aqmlab.cli import status_of
from aqmlab.engines.kernel import MissingError, image, installed
from aqmlab.planning import planner
from msgspec import structs

SCENARIO = """
title = "Two flows"
duration = "2 s"
path = { rate = "12/1 Mbit/s", rtt = "40 ms" }

[apps]
upload = { kind = "bulk", direction = "up" }
call = { kind = "voip" }

[vary]
path.qdisc = ["pfifo", "fq_codel"]
"""

QEMU = r"""#!/bin/sh
case "$1" in --version) echo "QEMU emulator version 9.9 (a fake)"; exit 0;; esac
place=$(echo "$*" | sed "s/.*path=\([^ ]*\)\/result.*/\1/")
echo "$$ $place" >> "$FAKE_LOG"
"""

AGENT = """#!/bin/sh
if grep -q windows; then echo "apps[0].home.profile: not here"; exit 1; fi
"""

GOOD = 'printf . > $place/progress; sleep 0.2; cp "$FAKE_RESULT" $place/result; exit 1'


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes a folder with a scenario; returns a function that installs a fake QEMU.

    The behaviour of the fake QEMU is a line of shell.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home.toml").write_text(SCENARIO)
    (tmp_path / "tmp").mkdir()
    spec = planner.load("home.toml").trials[0].spec
    (tmp_path / "result").write_text(json.dumps(handed_out(_core.run(spec.text()))) + "\n")
    for name in ("vmlinuz", "initramfs"):
        (tmp_path / name).write_bytes(b"abcd")
    (tmp_path / "agent").write_text(AGENT)
    (tmp_path / "agent").chmod(0o755)
    for name, value in {
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "FAKE_LOG": tmp_path / "log",
        "FAKE_RESULT": tmp_path / "result",
        "TMPDIR": tmp_path / "tmp",
        "NO_COLOR": "1",
    }.items():
        monkeypatch.setenv(name, str(value))
    install(monkeypatch, tmp_path)

    def behave(script: str) -> Path:
        program = tmp_path / "bin" / "qemu-system-x86_64"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"{QEMU}{script}\n")
        program.chmod(0o755)
        return tmp_path

    return behave


def install(patch: Any, folder: Path, release: str = "6.1.0") -> None:
    """Installs a fake kernel and agent in `folder`."""
    made = image.Image(folder / "vmlinuz", release, folder / "initramfs")
    patch.setattr(installed.agent, "find", lambda say: folder / "agent")
    patch.setattr(installed.agent, "is_there", lambda: True)
    patch.setattr(installed.image, "find_kernel", lambda: (made.kernel, release))
    patch.setattr(installed.image, "build", lambda agent: made)
    patch.setattr(installed, "modules_of", lambda release: {"sch_fq_codel"})


def handed_out(outcome: dict[str, Any]) -> dict[str, Any]:
    """The result that the agent would print for the simulator's `outcome`."""
    tables = {
        table: [_column(name, values) for name, values in columns.items()]
        for table, columns in outcome["tables"].items()
    }
    return {
        "digest": "feed" * 4,
        "packets": 7,
        "kernel": "6.1.0",
        "captures": [4, 3],
        "tables": tables,
    }


def _column(name: str, values: Any) -> list[Any]:
    if isinstance(values, list):
        words = list(dict.fromkeys(values))
        return [name, "word", [[words.index(value) for value in values], words]]
    if values.dtype == np.float64:
        numbers = [None if np.isnan(value) else value for value in values.tolist()]
        return [name, "float", numbers]
    return [name, "flag" if values.dtype == np.bool_ else "count", values.tolist()]


def started(folder: Path) -> list[tuple[int, Path]]:
    """The process id and the folder of each machine that was started."""
    log = folder / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    return [(int(line.split()[0]), Path(line.split()[1])) for line in lines]


def test_a_campaign_says_what_made_it(lab, capsys) -> None:
    lab(GOOD)
    assert status_of(["run", "home.toml", "--engine", "kernel", "--out", "out"]) == 0
    said = capsys.readouterr().err
    assert "engine: kernel (kernel 6.1.0, qemu 9.9 (a fake), agent " in said
    results = load("out")
    manifest = results.manifest
    assert manifest.engine == "kernel" and manifest.command.endswith("--engine kernel")
    assert {"kernel", "qemu", "agent", "image"} <= set(manifest.versions)
    assert set(results.trials["digest"]) == {"feed" * 4}
    page = Path("out/report.html").read_text()
    assert "engine kernel" in page and "kernel 6.1.0" in page


def test_another_kernel_or_engine_does_not_go_on_in_the_folder(lab, capsys, monkeypatch) -> None:
    folder = lab(GOOD)
    run = ["run", "home.toml", "--out", "out", "--no-report", "--engine"]
    assert status_of([*run, "kernel"]) == 0
    number = len(started(folder))
    assert status_of([*run, "kernel"]) == 0  # complete, so no trial runs again
    assert status_of([*run, "sim"]) == 2
    assert "holds another campaign" in capsys.readouterr().err
    install(monkeypatch, folder, "6.12.0")
    assert status_of([*run, "kernel"]) == 2
    assert "with kernel (kernel 6.1.0, qemu 9.9" in capsys.readouterr().err
    assert len(started(folder)) == number


def test_both_engines_stand_in_one_report(lab) -> None:
    lab(GOOD)
    results = aqmlab.run("home.toml", engine="sim,kernel", out="out")
    assert results.flows["engine"].unique(maintain_order=True).to_list() == ["sim", "kernel"]
    assert results.engine == "sim,kernel"
    results.report()
    assert "pfifo engine=kernel" in Path("out/report.html").read_text()
    assert {one.engine for one in results.manifest.trials} == {"sim", "kernel"}


def test_the_packets_of_a_kernels_trial_are_written_as_two_captures(lab, capsys) -> None:
    lab(GOOD.replace("; cp", "; printf homewan > $place/captures; cp"))
    aqmlab.run("home.toml", engine="kernel", out="out")
    for source in (["out"], ["home.toml", "--engine", "kernel"]):
        assert status_of(["pcap", *source, "--name", "a"]) == 0
        assert Path("a-home.pcap").read_text() == "home"
        assert Path("a-wan.pcap").read_text() == "wan"
    assert status_of(["pcap", "home.toml", "--engine", "kernel", "--name", "no/such/a"]) == 2
    assert "no/such/a-home.pcap: cannot be written" in capsys.readouterr().err
    lab(GOOD)
    assert status_of(["pcap", "home.toml", "--engine", "kernel"]) == 1
    assert "captures are damaged" in capsys.readouterr().err


def test_the_modules_of_a_kernel_that_was_removed_are_named_with_what_to_do(lab, capsys) -> None:
    lab(GOOD)
    with_sim = ["pcap", "home.toml", "--engine", "kernel", "--qdisc-source", "sim"]
    assert status_of(with_sim) == 2
    assert re.search(r"modules\.dep: .* cannot be read(.|\n)*apt-get", capsys.readouterr().err)


def test_a_trial_in_real_time_has_no_packets_to_write(lab, capsys) -> None:
    lab(GOOD)
    aqmlab.run("home.toml", engine="kernel", out="out")
    folder = Folder(Path("out"))
    manifest, changed = folder.manifest(), {"engine": "kernel-host"}
    trials = tuple(structs.replace(one, **changed) for one in manifest.trials)
    folder.write_manifest(structs.replace(manifest, trials=trials, **changed))
    assert status_of(["pcap", "out"]) == 2
    assert "keeps no packets" in capsys.readouterr().err


def test_a_machine_that_panics_is_tried_twice_and_reported_with_its_console(lab, capsys) -> None:
    folder = lab('echo "Kernel panic - not syncing" > $place/console; exit 0')
    assert status_of(["run", "home.toml", "--engine", "kernel", "--out", "out", "--jobs", "1"]) == 1
    said = capsys.readouterr().err
    assert said.count("failed: qdisc=") == 2 and "    Kernel panic - not syncing" in said
    assert "the same command repeats the failed ones" in said
    assert len(started(folder)) == 4
    lab(GOOD)
    assert status_of(["run", "home.toml", "--engine", "kernel", "--out", "out"]) == 0


def test_a_discipline_that_cannot_be_installed_fails_with_what_the_kernel_said(lab, capsys) -> None:
    lab('echo \'{"failed": "h0: codel was asked for, got pfifo"}\' > $place/result; exit 1')
    assert status_of(["run", "home.toml", "--engine", "kernel", "--out", "out"]) == 1
    said = capsys.readouterr().err
    assert "h0: codel was asked for, got pfifo" in said and "aqmlab kernel status" in said


def test_what_the_agent_refuses_ends_with_the_trial_and_status_2(lab, capsys) -> None:
    lab('echo \'{"refused": "apps[0].home.odd: too odd"}\' > $place/result; exit 1')
    assert status_of(["run", "home.toml", "--engine", "kernel", "--out", "out"]) == 2
    said = capsys.readouterr().err
    assert re.search(r"error: trial `qdisc=\w+,seed=1`: the kernel cannot run .* too odd", said)


def test_a_refusal_starts_nothing(lab, capsys) -> None:
    folder = lab(GOOD)
    run = ["run", "home.toml", "--engine", "kernel", "--set", "apps.upload.tcp.profile=windows"]
    assert status_of(run) == 2
    assert "--set: apps.upload.tcp.profile: not here" in capsys.readouterr().err
    assert not started(folder) and not (folder / "results").exists()


@pytest.fixture
def unbuilt(lab, monkeypatch) -> None:
    """An agent that is not built, and that the test must not build."""

    def refuse(say: Any) -> Path:
        raise AssertionError("the agent is built")

    lab(GOOD)
    monkeypatch.setattr(installed.agent, "is_there", lambda: False)
    monkeypatch.setattr(installed.agent, "find", refuse)


def test_a_dry_run_says_what_it_can_before_the_agent_is_built(unbuilt, capsys) -> None:
    asked = ["run", "home.toml", "--engine", "sim,kernel", "--seeds", "3"]
    assert status_of([*asked, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "trials: 12 (2 qdisc × 2 engine × 3 seeds)\nsimulated: 24 s\n" in said
    assert "engine: kernel: not built yet (`aqmlab kernel build` builds it)" in said
    # Trials that no engine can run are refused without a build; a run would build the agent.
    assert status_of([*asked, "--dry-run", "--set", "path.qdisc=codel limit=0"]) == 2
    capsys.readouterr()
    assert status_of(asked) != 0
    assert "the agent is built" in capsys.readouterr().err


def test_a_dry_run_of_a_study_does_not_build_the_agent(unbuilt, capsys) -> None:
    write_study(Path("calls"))
    for command in ("reproduce", "claims"):
        assert status_of([command, "calls", "--engine", "kernel", "--seeds", "2", "--dry-run"]) == 0
        said = capsys.readouterr().out
        assert "2 trials: 4 s\n" in said and "engine: kernel: not built yet" in said


def _home_of(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Starts the command in a separate process, with the programs that `lab` installed."""
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "import pytest, test_command\n"
        "from aqmlab.cli import main\n"
        "test_command.install(pytest.MonkeyPatch(), Path(sys.argv[2]))\n"
        "main(sys.argv[3:])"
    )
    here, package = Path(__file__).parent, Path(aqmlab.__file__).parent.parent
    return subprocess.Popen(
        [sys.executable, "-c", code, str(here), str(folder), *arguments],
        env={**os.environ, "PYTHONPATH": str(package)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait_for(condition: Any) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="/proc/self/stat is on Linux only")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_campaign_leaves_no_machine_and_no_file(lab, how: signal.Signals) -> None:
    folder = lab("sleep 50")
    run = ["run", "home.toml", "--engine", "kernel", "--out", "out", "--jobs", "2"]
    process = _home_of(folder, *run)
    _wait_for(lambda: len(started(folder)) == 2)
    assert all(_runs(machine) for machine, _ in started(folder))
    process.send_signal(how)
    _, said = process.communicate(timeout=60)
    if how == signal.SIGINT:
        assert process.returncode == 130 and "the same command continues" in said
    _wait_for(lambda: not any(_runs(machine) for machine, _ in started(folder)))
    _wait_for(lambda: not list((folder / "tmp").iterdir()))
    lab(GOOD)
    assert status_of(run) == 0


# --- Requirements ------------------------------------------------------------------------------


def _prepare() -> None:
    installed.prepare([spec.spec for spec in planner.load("home.toml").trials], print)


def test_a_module_that_the_kernel_lacks_is_named_before_anything_starts(lab, monkeypatch) -> None:
    lab(GOOD)
    monkeypatch.setattr(installed, "modules_of", lambda release: {"sch_pie"})
    with pytest.raises(MissingError, match=r"kernel 6\.1\.0 has no `fq_codel`") as caught:
        _prepare()
    assert "apt-get install" in (caught.value.hint or "")


def test_a_cache_that_cannot_be_written_is_named_with_what_to_do(lab, monkeypatch) -> None:
    lab(GOOD)

    def refuse(agent: Path) -> image.Image:
        raise PermissionError(13, "Permission denied", str(image.cache_dir().parent))

    monkeypatch.setattr(installed.image, "build", refuse)
    with pytest.raises(MissingError, match="cannot be written: Permission denied") as caught:
        _prepare()
    assert "XDG_CACHE_HOME" in (caught.value.hint or "")


def test_without_qemu_the_command_ends_with_the_line_that_installs_it(
    lab, capsys, monkeypatch
) -> None:
    monkeypatch.setenv("PATH", str(lab(GOOD) / "nothing"))
    assert status_of(["run", "home.toml", "--engine", "kernel"]) == 2
    said = capsys.readouterr().err
    assert "`qemu-system-x86_64` is not installed" in said and "sudo apt-get install" in said


def test_the_status_lists_what_is_missing_and_how_to_get_it(lab, capsys, monkeypatch) -> None:
    folder = lab(GOOD)
    monkeypatch.setattr(installed.agent, "where", lambda: str(folder / "agent"))
    monkeypatch.setattr(installed, "_tool", lambda name: f"/sbin/{name}")
    assert status_of(["kernel"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"QEMU +\S+ 9\.9 \(a fake\)", said) and f"{folder}/vmlinuz" in said

    monkeypatch.setenv("PATH", str(folder / "nothing"))
    assert status_of(["kernel", "status"]) == 1
    said = capsys.readouterr().out
    assert "missing: `qemu-system-x86_64` is not installed" in said
    assert said.count("sudo apt-get install") == 1


def test_building_prints_what_was_used(lab, capsys) -> None:
    folder = lab(GOOD)
    assert status_of(["kernel", "build"]) == 0
    said = capsys.readouterr().out
    assert f"initramfs  {folder}/initramfs" in said and "kernel     6.1.0" in said
    assert status_of(["kernel", "bild"]) == 2
    assert "did you mean `build`?" in capsys.readouterr().err


def test_listing_says_which_engines_have_what_and_loads_no_engine(lab) -> None:
    code = (
        "import sys; from aqmlab.cli import status_of\n"
        "assert status_of(['list', 'disciplines']) == 0\n"
        "sys.exit('aqmlab.engines.kernel.engine' in sys.modules or 'numpy' in sys.modules)"
    )
    package = Path(aqmlab.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "engines: sim, kernel\n" in done.stdout and "engines: sim\n" in done.stdout


# --- Studies of papers -------------------------------------------------------------------------

STUDY = {
    "study.toml": 'title = "Calls"\npaper = "Nobody: Nothing, 2017"\n',
    "home.toml": SCENARIO + '[hosts.home]\nprofile = "windows"\n',  # not a profile of Linux
    "home.kernel.toml": SCENARIO,
    "figures.py": """
from aqmlab.studies.draw import BoxPlots, Figure, flow_quantiles
from aqmlab.studies.trials import Trials

calls = flow_quantiles("rtt", "ms", {"Call": "call ↑"})
boxes = BoxPlots(calls, "RTT (ms)", ("qdisc",))
FIGURES = (Figure("1", "Calls", "12/1 Mbit/s", Trials("home", {"qdisc": "fq_codel"}), boxes),)
""",
    "claims.py": """
from aqmlab.studies.claims import Claims, above
from aqmlab.studies.trials import Trials

CLAIMS = Claims()


@CLAIMS("9-1", "Fig. 1", "Light takes its time.", Trials("home", {"qdisc": "fq_codel"}))
def _(n):
    return above("call", n.flow("call", "rtt_p50_ms", direction="up"), 40, "ms")
""",
}


def write_study(folder: Path) -> None:
    """Writes the study into a new folder."""
    folder.mkdir()
    for name, text in STUDY.items():
        (folder / name).write_text(text, encoding="utf-8")


def test_a_study_of_a_paper_runs_on_the_kernel(lab, capsys) -> None:
    folder = lab(GOOD)
    write_study(folder / "calls")
    on_kernel = ["calls", "--engine", "kernel", "--out", "out", "--jobs", "1"]
    assert status_of(["claims", *on_kernel, "--seeds", "1", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["id"], found["verdict"]) == ("9-1", "holds")
    assert status_of(["reproduce", *on_kernel, "--figure", "1"]) == 0
    assert len(started(folder)) == 1  # the figure needs only the trial of the claim
    assert "engine kernel (kernel 6.1.0" in Path("out/index.html").read_text()
    assert status_of(["claims", "calls", "--engine", "kernel", "--qdisc-source", "sim,kernel"]) == 2
    assert "a study runs on one engine" in capsys.readouterr().err
    (folder / "calls" / "home.kernel.toml").unlink()
    assert status_of(["claims", "calls", "--engine", "kernel"]) == 2
    assert "profile: not here" in capsys.readouterr().err
