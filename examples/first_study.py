"""A first study of the queues under which a telephone call stays good during a backup.

    python examples/first_study.py [FOLDER]

Runs the scenario beside this file under four disciplines with five seeds each, compares the call's
score with the backup's goodput, and draws one figure into FOLDER. The study takes some seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import aqmlab
import matplotlib
import polars as pl

matplotlib.use("Agg")  # the figure goes to a file and needs no screen
from matplotlib import pyplot as plt

SCENARIO = Path(__file__).with_name("first.toml")
QUEUES = ["pfifo", "codel", "pie", "fq_codel"]


def measure() -> pl.DataFrame:
    """One row per discipline and seed: the call's opinion score and the backup's goodput."""
    results = aqmlab.run(SCENARIO, path__qdisc=QUEUES, seeds=5)
    # The table `apps` holds the applications' own measurements, one number per row. The verdict on
    # a call is the verdict on its worse direction.
    call = results.apps.filter(pl.col("metric").is_in(["mos_up", "mos_down"]))
    score = call.group_by("qdisc", "seed").agg(pl.col("value").min().alias("mos"))
    # The table `flows` holds the measurements of each application and direction.
    backup = results.flows.filter(flow="backup", direction="up")
    return backup.select("qdisc", "seed", "goodput_mbit").join(score, on=["qdisc", "seed"])


def compare(rows: pl.DataFrame) -> pl.DataFrame:
    """For each discipline the medians over the seeds, and the range of the opinion scores."""
    spread = pl.col("mos").max() - pl.col("mos").min()
    return (
        rows.group_by("qdisc")
        .agg(
            pl.col("mos").median().round(1),
            spread.round(1).alias("mos_spread"),
            pl.col("goodput_mbit").median().round(2),
        )
        .sort(pl.col("qdisc").cast(pl.Enum(QUEUES)))
    )


def against_fifo(rows: pl.DataFrame, queue: str) -> list[float]:
    """Returns the call's opinion score under `queue` minus its score under FIFO, for each seed.

    Runs with the same seed have the same random values, so only the queue differs.
    """
    pairs = rows.filter(qdisc="pfifo").join(rows.filter(qdisc=queue), on="seed", suffix="_other")
    return (pairs["mos_other"] - pairs["mos"]).to_list()


def draw(rows: pl.DataFrame, path: Path) -> None:
    """Draws a point for each run: further right for a faster backup, higher for a better call."""
    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    for queue in QUEUES:
        own = rows.filter(qdisc=queue)
        axes.plot(own["goodput_mbit"], own["mos"], "o", label=queue, alpha=0.7)
    axes.set(
        xlabel="goodput of the backup (Mbit/s)", ylabel="opinion score (1 to 4.5)", ylim=(0.9, 4.6)
    )
    axes.legend()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main(folder: Path) -> None:
    """Runs the study, prints its medians and draws its figure into `folder`."""
    rows = measure()
    for row in compare(rows).iter_rows(named=True):
        call = f"opinion score {row['mos']:.1f} (seeds within {row['mos_spread']:.1f})"
        print(f"{row['qdisc']:9} {call}, backup {row['goodput_mbit']:.2f} Mbit/s")
    least = min(against_fifo(rows, "fq_codel"))
    print(f"fq_codel is better than pfifo by at least {least:.1f} for every seed")
    draw(rows, folder / "first_study.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
