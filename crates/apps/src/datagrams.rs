//! Numbered, time-stamped datagrams in one direction, and the metrics that their receiver computes.
//!
//! Source: RFC 3550. Sequence numbers have 16 bits and are extended by counting their cycles (A.1).
//! Loss is the number of expected datagrams minus the number received (A.3). Jitter is the mean
//! absolute difference between the transit times of successive arrivals (6.4.1), as in `irtt`, and
//! not RTP's smoothed estimate.
//!
//! The upper 16 bits of a tag are the sequence number. The lower 48 bits are a time in nanoseconds,
//! which wraps after 78 hours.

use aqmlab_core::{Direction, Duration, Instant, Side};

use crate::quantiles::{Quantiles, Summary};
use crate::{ConnId, Io};

const TIME_BITS: u32 = 48;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// Returns the tag of the datagram numbered `sequence`, sent at `now`.
pub const fn stamp(sequence: u64, now: Instant) -> u64 {
    (sequence << TIME_BITS) | (now.as_nanos() & TIME_MASK)
}

/// Returns the 16-bit sequence number in a tag.
pub const fn sequence(tag: u64) -> u16 {
    (tag >> TIME_BITS) as u16
}

/// Returns the time from the sending of the datagram with `tag` to `now`, for up to 39 hours.
/// Returns zero if the datagram was sent after `now`.
pub const fn age(tag: u64, now: Instant) -> Duration {
    let span = now.as_nanos().wrapping_sub(tag) & TIME_MASK;
    Duration::from_nanos(if span >> (TIME_BITS - 1) == 0 { span } else { 0 })
}

/// Closes a datagram socket at both ends.
pub fn close(conn: ConnId, io: &mut dyn Io) {
    for side in Side::BOTH {
        io.close(conn, side);
    }
}

/// The arrivals of a flow of numbered datagrams.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// The highest sequence number received, extended by its cycles; `None` before the first
    /// arrival.
    highest: Option<u64>,
    received: u64,
    delays: Quantiles,
    last_delay: Option<Duration>,
    differences: Quantiles,
}

impl Arrivals {
    /// Processes the datagram with `tag`, which arrives at `now`. Returns its one-way delay.
    pub fn take(&mut self, tag: u64, now: Instant) -> Duration {
        let delay = age(tag, now);
        self.highest = Some(self.extend(sequence(tag)));
        self.received += 1;
        self.delays.add_ms(delay);
        if let Some(last) = self.last_delay.replace(delay) {
            self.differences.add_ms(last.abs_diff(delay));
        }
        delay
    }

    fn extend(&self, sequence: u16) -> u64 {
        let Some(highest) = self.highest else { return u64::from(sequence) };
        let ahead = sequence.wrapping_sub(highest as u16);
        if ahead < 1 << 15 { highest + u64::from(ahead) } else { highest }
    }

    /// Returns the number of datagrams received.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Returns the number of datagrams up to the highest sequence number received.
    pub fn expected(&self) -> u64 {
        self.highest.map_or(0, |highest| highest + 1)
    }

    /// Returns the proportion of datagrams lost, from 0 to 1. Of the datagrams up to the highest
    /// sequence number received, those not received are lost. If none arrived, all `sent` datagrams
    /// are lost. Returns `None` if none was sent.
    pub fn loss(&self, sent: u64) -> Option<f64> {
        let expected = if self.received == 0 { sent } else { self.expected() };
        let lost = expected.saturating_sub(self.received);
        (expected > 0).then(|| lost as f64 / expected as f64)
    }

    /// Returns the one-way delays, in milliseconds.
    pub const fn delays(&self) -> &Quantiles {
        &self.delays
    }

    /// Returns the mean absolute difference between the delays of successive arrivals, in
    /// milliseconds; `None` for fewer than two arrivals.
    pub fn jitter_ms(&self) -> Option<f64> {
        self.differences.mean()
    }

    /// Adds the metrics of the arrivals in `direction` to `out`. `sent` is the number of datagrams
    /// sent.
    pub fn report(&self, direction: Direction, sent: u64, out: &mut Summary) {
        let names = &NAMES[direction.index()];
        out.push((names.sent, sent as f64));
        out.push((names.received, self.received as f64));
        out.extend(self.loss(sent).map(|loss| (names.loss, 100.0 * loss)));
        out.extend(self.jitter_ms().map(|jitter| (names.jitter, jitter)));
        self.delays.report(names.delay, out);
    }
}

struct Names {
    sent: &'static str,
    received: &'static str,
    loss: &'static str,
    jitter: &'static str,
    delay: [&'static str; 4],
}

const NAMES: [Names; 2] = [
    Names {
        sent: "sent_up_packets",
        received: "received_up_packets",
        loss: "loss_up_percent",
        jitter: "jitter_up_ms",
        delay: ["owd_up_p50_ms", "owd_up_p95_ms", "owd_up_p99_ms", "owd_up_max_ms"],
    },
    Names {
        sent: "sent_down_packets",
        received: "received_down_packets",
        loss: "loss_down_percent",
        jitter: "jitter_down_ms",
        delay: ["owd_down_p50_ms", "owd_down_p95_ms", "owd_down_p99_ms", "owd_down_max_ms"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn loss_jitter_and_delay_are_told_from_tags() {
        let mut arrivals = Arrivals::default();
        // Datagrams 0 to 4 are sent every 20 ms, and datagram 2 is lost. The delays are 10, 14, 10
        // and 12 ms.
        for (n, delay) in [(0, 10), (1, 14), (3, 10), (4, 12)] {
            let sent = at(20 * n);
            let got = arrivals.take(stamp(n, sent), at(20 * n + delay));
            assert_eq!(got, Duration::from_millis(delay));
        }
        assert_eq!(arrivals.loss(6), Some(0.2), "number 5 is still under way");
        let jitter = arrivals.jitter_ms().unwrap();
        assert!((jitter - 10.0 / 3.0).abs() < 1e-9, "{jitter}");
        assert_eq!(Arrivals::default().loss(3), Some(1.0));
        assert_eq!(Arrivals::default().loss(0), None);
    }

    #[test]
    fn sequence_numbers_and_clocks_go_round() {
        let mut arrivals = Arrivals::default();
        for n in 0..200_000 {
            arrivals.take(stamp(n, at(n)), at(n + 5));
        }
        assert_eq!(arrivals.expected(), 200_000);
        assert_eq!(arrivals.loss(200_000), Some(0.0));
        let late = Instant::from_nanos((1 << TIME_BITS) + 7);
        assert_eq!(age(stamp(1, Instant::from_nanos(TIME_MASK)), late), Duration::from_nanos(8));
    }
}
