//! The statistics that `tc -s qdisc` shows for CAKE.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_dump_stats`; iproute2 6.1 `tc/q_cake.c`. Packets and bytes
//! are counted at arrival, so the counts include packets dropped later.

use aqmlab_core::Duration;

use super::autorate::ewma;
use super::cake::Cake;
use super::tin::Tin;

/// The counters of a tin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TinCounters {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) drops: u64,
    pub(super) drop_overlimit: u64,
    pub(super) marks: u64,
    pub(super) ack_drops: u64,
    pub(super) way_directs: u64,
    pub(super) way_hits: u64,
    pub(super) way_misses: u64,
    pub(super) way_collisions: u64,
    pub(super) max_len: u32,
    /// A moving average of the sojourn time in nanoseconds, which follows a rise faster than a
    /// fall.
    peak_delay: u64,
    /// The moving average of the sojourn time in nanoseconds.
    average_delay: u64,
    /// A moving average of the sojourn time in nanoseconds, which follows a fall faster than a
    /// rise.
    base_delay: u64,
}

impl TinCounters {
    /// Records a delivery.
    #[inline]
    pub(super) fn note_delivery(&mut self, sojourn: Duration, is_marked: bool) {
        self.marks += u64::from(is_marked);
        let delay = sojourn.as_nanos();
        self.average_delay = ewma(self.average_delay, delay, 8);
        self.peak_delay = ewma(self.peak_delay, delay, if delay > self.peak_delay { 2 } else { 8 });
        self.base_delay = ewma(self.base_delay, delay, if delay < self.base_delay { 2 } else { 8 });
    }
}

/// Declares the statistics of a tin, and the names of the statistics of all tins.
macro_rules! statistics {
    ($($name:ident: $value:expr;)+) => {
        /// Returns the statistics of a tin in the order of [`names`].
        fn values(tin: &Tin) -> impl Iterator<Item = f64> {
            let counters = &tin.counters;
            [$({ let value: fn(&Tin, &TinCounters) -> f64 = $value; value(tin, counters) }),+]
                .into_iter()
        }

        /// Returns the names of the statistics of a tin that tc calls `tin`.
        fn names(tin: &str) -> &'static [&'static str] {
            match tin {
                "bulk" => &[$(concat!("bulk_", stringify!($name))),+],
                "best_effort" => &[$(concat!("best_effort_", stringify!($name))),+],
                "video" => &[$(concat!("video_", stringify!($name))),+],
                "voice" => &[$(concat!("voice_", stringify!($name))),+],
                "tin1" => &[$(concat!("tin1_", stringify!($name))),+],
                "tin2" => &[$(concat!("tin2_", stringify!($name))),+],
                "tin3" => &[$(concat!("tin3_", stringify!($name))),+],
                "tin4" => &[$(concat!("tin4_", stringify!($name))),+],
                "tin5" => &[$(concat!("tin5_", stringify!($name))),+],
                "tin6" => &[$(concat!("tin6_", stringify!($name))),+],
                "tin7" => &[$(concat!("tin7_", stringify!($name))),+],
                _ => &[$(concat!("tin0_", stringify!($name))),+],
            }
        }
    };
}

statistics! {
    threshold_rate: |tin, _| tin.threshold as f64;
    target_us: |tin, _| tin.params.target.as_micros() as f64;
    interval_us: |tin, _| tin.params.interval.as_micros() as f64;
    peak_delay_us: |_, counters| (counters.peak_delay / 1_000) as f64;
    avg_delay_us: |_, counters| (counters.average_delay / 1_000) as f64;
    base_delay_us: |_, counters| (counters.base_delay / 1_000) as f64;
    backlog_bytes: |tin, _| f64::from(tin.backlog);
    sent_packets: |_, counters| counters.packets as f64;
    sent_bytes: |_, counters| counters.bytes as f64;
    way_indirect_hits: |_, counters| counters.way_hits as f64;
    way_misses: |_, counters| counters.way_misses as f64;
    way_collisions: |_, counters| counters.way_collisions as f64;
    drops: |_, counters| counters.drops as f64;
    ecn_mark: |_, counters| counters.marks as f64;
    ack_drops: |_, counters| counters.ack_drops as f64;
    sparse_flows: |tin, _| f64::from(tin.sparse_flows + tin.decaying_flows);
    bulk_flows: |tin, _| f64::from(tin.bulk_flows);
    unresponsive_flows: |tin, _| f64::from(tin.unresponsive_flows);
    max_pkt_len: |_, counters| f64::from(counters.max_len);
    flow_quantum: |tin, _| f64::from(tin.flow_quantum);
}

/// Returns the statistics by tc's names. The names of a tin's statistics begin with the tin's name.
pub(super) fn gauges(cake: &Cake) -> Vec<(&'static str, f64)> {
    let [network, adjusted] = cake.lengths;
    let mut all = vec![
        ("memory_used", cake.memory_max.0 as f64),
        ("memory_limit", cake.memory_limit.0 as f64),
        ("capacity_estimate", cake.autorate.peak as f64),
        ("min_network_size", f64::from(network.min)),
        ("max_network_size", f64::from(network.max)),
        ("min_adj_size", f64::from(adjusted.min)),
        ("max_adj_size", f64::from(adjusted.max)),
        ("avg_hdr_offset", ((cake.header + 0x8000) >> 16) as f64),
        ("overlimits", cake.shaper.overlimits as f64),
    ];
    for &(tin, name) in cake.settings.diffserv.shown() {
        all.extend(names(name).iter().copied().zip(values(&cake.tins[tin])));
    }
    all
}
