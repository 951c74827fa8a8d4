//! The metrics of the program.

use aqmlab_core::{BitRate, Direction, Duration, Instant};

use crate::Io;
use crate::quantiles::{Quantiles, Summary};

const METRICS: [&str; 2] = ["shaper_up_mbit", "shaper_down_mbit"];
const NAMES: [[&str; 3]; 2] = [
    ["shaper_up_mean_mbit", "shaper_up_min_mbit", "shaper_up_max_mbit"],
    ["shaper_down_mean_mbit", "shaper_down_min_mbit", "shaper_down_max_mbit"],
];

/// The rate of a direction over time.
#[derive(Clone, Copy)]
struct Rates {
    begin: Instant,
    since: Instant,
    mbit: f64,
    least: f64,
    most: f64,
    /// The sum of the rates before `since`, each times its seconds.
    sum: f64,
}

/// The metrics of the program.
#[derive(Default)]
pub(super) struct Report {
    pub(super) sent_packets: u64,
    received_packets: u64,
    changes: u64,
    rtt: Quantiles,
    rates: [Option<Rates>; 2],
    stopped: Option<Instant>,
}

impl Report {
    pub(super) fn hear(&mut self, rtt: Duration) {
        self.received_packets += 1;
        self.rtt.add_ms(rtt);
    }

    /// Records that a shaper has a new rate.
    pub(super) fn change(&mut self, direction: Direction, rate: BitRate, io: &mut dyn Io) {
        let mbit = rate.as_bps() as f64 / 1e6;
        io.note(METRICS[direction.index()], mbit);
        let (now, place) = (io.now(), &mut self.rates[direction.index()]);
        let Some(rates) = place else {
            let (least, most) = (mbit, mbit);
            *place = Some(Rates { begin: now, since: now, mbit, least, most, sum: 0.0 });
            return;
        };
        self.changes += 1;
        rates.sum += rates.mbit * now.since(rates.since).as_secs_f64();
        (rates.since, rates.mbit) = (now, mbit);
        (rates.least, rates.most) = (rates.least.min(mbit), rates.most.max(mbit));
    }

    pub(super) fn stop(&mut self, now: Instant) {
        self.stopped = self.stopped.or(Some(now));
    }

    pub(super) fn summary(&self, now: Instant) -> Summary {
        let end = self.stopped.unwrap_or(now);
        let mut out = vec![
            ("sent_packets", self.sent_packets as f64),
            ("received_packets", self.received_packets as f64),
            ("rate_changes_count", self.changes as f64),
        ];
        for (rates, [mean, least, most]) in self.rates.iter().zip(NAMES) {
            let Some(rates) = rates else { continue };
            let sum = rates.sum + rates.mbit * end.since(rates.since).as_secs_f64();
            let time = end.since(rates.begin).as_secs_f64();
            let average = if time > 0.0 { sum / time } else { rates.mbit };
            out.extend([(mean, average), (least, rates.least), (most, rates.most)]);
        }
        out.extend(self.rtt.mean().map(|mean| ("rtt_mean_ms", mean)));
        self.rtt.report(["rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms", "rtt_max_ms"], &mut out);
        out
    }
}
