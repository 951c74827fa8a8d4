"""Runs a small campaign of the fake engine in this process: four trials in chunks of two.

The last two trials have a column that the others lack, so tables are rewritten at the end.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aqmlab.base.failures import LabError
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.store import dataset

from tests.support.campaigns import HOME, campaign_of, spec_of


def main():
    dataset.CHUNK = 2
    few = HOME[:1]
    specs = [
        ({"queue": "pie"}, spec_of("pie", apps=few, seed=seed, **more))
        for seed, more in ((1, {}), (2, {}), (3, {"extra": "x"}), (4, {"extra": "x"}))
    ]
    try:
        with ThreadPoolExecutor(1) as executor:
            campaigns.run(campaign_of(specs), Path(sys.argv[1]), executor=executor)
    except LabError as error:
        print(error, file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
