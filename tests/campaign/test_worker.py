"""The process that runs trials."""

from aqmlab.planning import planner
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
