"""Claims of Table I and section III: the flows, and their measurement."""

from __future__ import annotations

from aqmlab.studies.claims import THRESHOLD, Check, Claims, about, above, below, total
from aqmlab.studies.numbers import Numbers
from aqmlab.studies.papers.kua2017.claims.common import CALL_MBIT, FLOWS, RATES, home, places
from aqmlab.studies.trials import Trials

CLAIMS = Claims()


@CLAIMS("0-01", "Table I", "IoT_low is 100 B every 400 ms: 2 kbit/s.", Trials("alone"))
def _(n: Numbers) -> list[Check]:
    rate = {seed: 1e3 * one for seed, one in n.flow("iot_low", "throughput_mean_mbit").items()}
    return [
        about("application", n.app("iot_low", "offered_kbit"), 2.0, "kbit/s", within=0.02),
        about("IP", rate, 3.0, "kbit/s", within=0.05),
    ]


@CLAIMS("0-02", "Table I", "IoT_high is 100 B 125 times a second: 100 kbit/s.", Trials("alone"))
def _(n: Numbers) -> list[Check]:
    rate = {seed: 1e3 * one for seed, one in n.flow("iot_high", "throughput_mean_mbit").items()}
    return [
        about("application", n.app("iot_high", "offered_kbit"), 100.0, "kbit/s", within=0.02),
        about("IP", rate, 150.0, "kbit/s", within=0.05),
    ]


@CLAIMS("0-03", "Table I", "A video call is 700 B every 20 ms each way: 280 kbit/s.",
        Trials("alone"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        about(way, n.flow("video_call", column, direction=way), expected, "Mbit/s", within=0.02)
        for way in ("up", "down")
        for column, expected in (("goodput_mbit", 0.28), ("throughput_mean_mbit", CALL_MBIT))
    ]


@CLAIMS("0-04", "III-E", "From 30 to 200 s an experiment gives about 680 samples of throughput "
        "and more than 5000 of RTT.", home())  # fmt: skip
def _(n: Numbers) -> list[Check]:
    import polars as pl

    trials = n.results.manifest.trials
    one = trials[0].conditions
    windows = n.results.only([t.id for t in trials if t.conditions == one]).table("windows")
    whole = pl.col("t_s").is_between(32.5 - 1e-6, 197.5 + 1e-6)
    own = windows.filter(
        whole & (pl.col("flow") == "bulk_download") & (pl.col("direction") == "down")
    )
    samples = {seed: float((own["seed"] == seed).sum()) for seed in n.seeds}
    checks = [about("windows wholly within", samples, 680, within=0.05)]
    for words, at in places(*RATES):
        pairs = total(*(n.flow(flow, "rtt_n", at, way) for _, flow, way in FLOWS))
        checks.append(above(f"{words}: round trips", pairs, 5000, slack=THRESHOLD))
    return checks


@CLAIMS("0-05", "III-D", "Packets are lost at the queue only, and the delay comes after it.",
        home())  # fmt: skip
def _(n: Numbers) -> list[Check]:
    import polars as pl

    keys = ["trial", "flow"]
    drops = n.results.table("queue_drops").group_by(keys).agg(pl.col("drops").sum())
    flows = n.results.table("flows")
    lost = flows.group_by([*keys, "seed"]).agg(pl.col("lost").sum())
    joined = lost.join(drops, on=keys, how="left").with_columns(
        (pl.col("lost") - pl.col("drops").fill_null(0)).clip(lower_bound=0).alias("beyond")
    )
    short = flows.with_columns((pl.col("rtt_min_ms") - pl.col("rtt_base_ms")).alias("above"))
    beyond, least = {}, {}
    for seed in n.seeds:
        beyond[seed] = float(joined.filter(pl.col("seed") == seed)["beyond"].sum())
        known = short.filter(pl.col("seed") == seed)["above"].drop_nulls().drop_nans()
        least[seed] = min(known.to_list())
    return [
        below("packets lost that no queue dropped", beyond, 0, "packets"),
        above("shortest round trip less RTT_base", least, 0, "ms"),
    ]
