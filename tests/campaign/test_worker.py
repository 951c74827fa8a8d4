"""The process that runs trials."""

import itertools

import pytest
from aqmlab.campaign import local_executor
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.local_executor import Worker
from aqmlab.campaign.task import Order
from aqmlab.planning import planner
from support.campaigns import campaign_of, spec_of
from support.processes import run_python


def test_a_worker_of_the_simulator_is_light():
    (trial, *_) = planner.load("bufferbloat", seeds=1, duration="1 s").trials
    code = (
        "import sys; from aqmlab.campaign import worker\n"
        "from aqmlab.campaign.task import Order, perform\n"
        "spec = sys.stdin.read()\n"
        "answer = perform(Order('aqmlab._core:run', spec, 'key', 'one', 'sim'))\n"
        "assert answer.data and not answer.failed, answer\n"
        "heavy = {'polars', 'pyarrow', 'matplotlib', 'pydantic', 'numpy'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    run_python(code, trial.text)


@pytest.mark.parametrize(
    ("errors", "note"),
    [
        (
            "memory allocation of 5368709120 bytes failed\nstack backtrace:\nnote: Some details are"
            " omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.",
            ": memory allocation of 5368709120 bytes failed",
        ),
        ("first\nlast\n", ": last"),
        ("", ""),
    ],
)
def test_the_end_of_a_worker_is_explained(tmp_path, monkeypatch, errors, note):
    (tmp_path / "errors").write_text(errors)
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nread order\ncat {tmp_path}/errors >&2\nkill -ABRT $$\n")
    program.chmod(0o755)
    monkeypatch.setattr(local_executor.sys, "executable", str(program))
    worker = Worker()
    answer = worker.run(Order("aqmlab._core:run", "{}", "key", "one", "sim"))
    worker.close()
    assert answer.failed == "died"
    assert answer.problem == f"the process that ran it was killed by SIGABRT{note}"


@pytest.mark.parametrize("kills", [itertools.count(), itertools.repeat(7)])
def test_a_worker_that_the_kernel_killed_for_lack_of_memory_says_so(tmp_path, monkeypatch, kills):
    monkeypatch.setattr(local_executor, "out_of_memory_kills", lambda: next(kills))
    report = campaigns.run(campaign_of([({}, spec_of("pie", behaviour="crash"))]), tmp_path / "out")
    is_full = isinstance(kills, itertools.count)
    cause = ", probably for lack of memory" if is_full else ""
    assert report.failed == {"trial-0": f"the process that ran it was killed by SIGKILL{cause}"}
