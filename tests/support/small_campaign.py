"""Runs a small campaign of the fake engine: four trials in chunks of two.

The last two trials have a column that the other trials lack, so tables are rewritten at the end.

If the argument is a folder, the campaign runs in this process, in this folder. Without an argument,
each line of the standard input is a run in JSON: `folder`, `environment` and `said`, the file for
its output. A forked process executes the run, so that Python and its libraries start only once. For
each run the program prints a line with the status, which is negative for a signal.
"""

import json
import os
import signal
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy  # noqa: F401 - loaded before the forks
import pyarrow.compute
import pyarrow.parquet  # noqa: F401
from aqmlab.base.failures import LabError
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.store import dataset

from tests.support.campaigns import HOME, campaign_of, spec_of

MOST_S = 120
"""The time limit in seconds, after which a run is killed."""


def run(folder):
    dataset.CHUNK = 2
    few = HOME[:1]
    specs = [
        ({"queue": "pie"}, spec_of("pie", apps=few, seed=seed, **more))
        for seed, more in ((1, {}), (2, {}), (3, {"extra": "x"}), (4, {"extra": "x"}))
    ]
    try:
        with ThreadPoolExecutor(1) as executor:
            campaigns.run(campaign_of(specs), Path(folder), executor=executor)
    except LabError as error:
        print(error, file=sys.stderr)
        return error.status
    return 0


def in_a_fork(folder, environment, said):
    """Runs the campaign in a forked process; returns its status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 70
    try:
        signal.alarm(MOST_S)
        os.environ.update(environment)
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        status = run(folder)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def main():
    if len(sys.argv) > 1:
        return run(sys.argv[1])
    for line in sys.stdin:
        print(in_a_fork(**json.loads(line)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
