"""Figures of the experiments in sections 1 and 2 of the paper; the names are ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aqmlab.studies.draw import (
    Bars,
    Boxes,
    BoxPlots,
    Figure,
    OverTime,
    Rows,
    Stacked,
    app_numbers,
    flow_numbers,
    flow_quantiles,
    link_numbers,
    rtt_over_time,
)
from aqmlab.studies.trials import Trials

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import CampaignResults

_NAMES = {
    "qdisc": "discipline",
    "rate": "rate (Mbit/s)",
    "wifi.mcs": "MCS down/up",
    "web.page": "page",
    "10/10 Mbit/s": "10/10",
    "100/100 Mbit/s": "100/100",
    "10/1 Mbit/s": "10/1",
}
_LOAD = "four transfers each way; RTT_base 50 ms"
_AIR = f"802.11n; {_LOAD}"
_STEADY_S = 20.0
_FOUR = {f"{rtt} ms": f"over{rtt}" for rtt in (10, 50, 200, 500)}


def _share(way: str) -> Rows:
    """The throughput of a direction as a share of the line's rate."""

    def rows(results: CampaignResults) -> pl.DataFrame:
        import polars as pl

        frame = link_numbers("throughput_mbit", {way: way}, by="qdisc")(results)
        both = pl.col("rate").cast(pl.String).str.split(" ").list.first().str.split("/")
        mbit = both.list.get(0 if way == "down" else 1).cast(pl.Float64)
        return frame.with_columns(pl.col("middle") / mbit)

    return rows


def _where_it_waits(results: CampaignResults) -> pl.DataFrame:
    """The median queueing delay of a ping over Wi-Fi, and the sum of both drivers' medians."""
    import polars as pl

    ping = flow_quantiles("induced", "ms", {"what queues add to a ping": "ping"})(results)
    keys = ["trial", *results.manifest.conditions, "seed"]
    gauges = results.table("queue_gauges").filter(
        pl.col("gauge") == "driver_oldest_ms", pl.col("t_s") > _STEADY_S
    )
    each = gauges.group_by(*keys, "link", maintain_order=True).agg(pl.col("value").median())
    below = each.group_by(keys, maintain_order=True).agg(pl.col("value").sum().alias("middle"))
    series = pl.lit("time in both drivers").alias("series")
    below = below.with_columns(series, pl.lit(None, pl.String).alias("app"))
    shared = [*keys, "series", "app", "middle"]
    return pl.concat([ping.select(shared), below.select(shared)], how="vertical_relaxed")


FIGURES = (
    Figure("latency", "Round-trip times under load", _LOAD, Trials("load"),
           BoxPlots(flow_quantiles("rtt", "ms", {"ping": "ping"}, by="qdisc"), "RTT of a ping (ms)",
                    ("rate",), _NAMES, height_inch=4.2)),
    Figure("throughput", "Throughput under load", _LOAD, Trials("load"),
           Stacked([Bars(_share(way), f"{way}, share of the rate", ("rate",), _NAMES,
                         height_inch=2.8) for way in ("down", "up")])),
    Figure("voip", "Quality of a call under load", f"G.711; {_LOAD}", Trials("voip"),
           Bars(app_numbers("mos_down", {"call": "call"}, by="qdisc"), "opinion score, downstream",
                ("rate",), _NAMES, log=False, height_inch=3.8)),
    Figure("web", "Page load times under load", f"pages of 56 KiB and 3 MiB; {_LOAD}",
           Trials("web"),
           Boxes(app_numbers("page_load_p50_ms", {"page": "web"}, by="qdisc"),
                 "median page load time (ms)", ("rate", "web.page"), _NAMES, height_inch=4.2,
                 bars=False)),
    Figure("rtt-fairness", "Goodput of four flows of different round-trip times",
           "10/10 Mbit/s; downloads over 10, 50, 200 and 500 ms",
           Trials("fairness", {"rate": "10/10 Mbit/s"}),
           Bars(flow_numbers("goodput_mbit", _FOUR), "goodput (Mbit/s)", ("qdisc",), _NAMES,
                log=False)),
    Figure("rtt-fairness-100", "Goodput of four flows of different round-trip times",
           "100/100 Mbit/s; downloads over 10, 50, 200 and 500 ms",
           Trials("fairness", {"rate": "100/100 Mbit/s"}),
           Bars(flow_numbers("goodput_mbit", _FOUR), "goodput (Mbit/s)", ("qdisc",), _NAMES,
                log=False)),
    Figure("startup", "Round-trip times as the load starts", f"10/10 Mbit/s; {_LOAD} from 5 s",
           Trials("load", {"rate": "10/10 Mbit/s"}),
           OverTime(rtt_over_time({"ping": "ping"}), "RTT of a ping (ms)", "qdisc", _NAMES,
                    log=True, span_s=(4.0, 25.0), height_inch=1.8)),
    Figure("startup-1", "Round-trip times as the load starts", f"10/1 Mbit/s; {_LOAD} from 5 s",
           Trials("load", {"rate": "10/1 Mbit/s"}),
           OverTime(rtt_over_time({"ping": "ping"}), "RTT of a ping (ms)", "qdisc", _NAMES,
                    log=True, span_s=(4.0, 25.0), height_inch=1.8)),
    Figure("wifi", "Round-trip times under load over Wi-Fi", _AIR, Trials("wifi"),
           BoxPlots(flow_quantiles("rtt", "ms", {"ping": "ping"}, by="qdisc"), "RTT of a ping (ms)",
                    ("wifi.mcs",), _NAMES, height_inch=4.2)),
    Figure("wifi-where", "Where a ping waits over Wi-Fi", _AIR, Trials("wifi"),
           Bars(_where_it_waits, "median (ms)", ("wifi.mcs", "qdisc"), _NAMES, log=False,
                height_inch=3.8)),
    Figure("cable", "Round-trip times behind a cable modem", "20/5 Mbit/s; two uploads beside",
           Trials("cable"),
           BoxPlots(flow_quantiles("rtt", "ms", {"game": "game ↑", "call": "call ↑"}),
                    "RTT (ms)", ("qdisc",), _NAMES)),
)  # fmt: skip
