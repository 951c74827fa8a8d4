//! Dynamic right-sizing: the receive buffer follows the data that the application reads in a round
//! trip.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_rcv_rtt_measure`, `tcp_rcv_space_adjust`;
//! `tcp_rcv_rtt_update` as of 6.1.142, which takes a lower sample at once).

use std::hint::select_unpredictable;

use aqmlab_core::hint::rare;
use aqmlab_core::{Duration, Instant, TcpHeader};

use super::Linux;
use super::tso::{SHARED_INFO, SK_BUFF};
use crate::Profile;
use crate::cc::MAX_TCP_HEADER;
use crate::tcb::Tcb;

/// The memory in bytes of a segment beyond its payload, as right-sizing counts it (`SKB_TRUESIZE`
/// of the payload and [`MAX_TCP_HEADER`]).
const OVERHEAD: u64 = MAX_TCP_HEADER + SK_BUFF + SHARED_INFO;

/// The state of right-sizing.
#[derive(Debug)]
pub(super) struct RcvAutotune {
    /// Whether the buffer may grow.
    is_on: bool,
    /// Eight times the receiver's round-trip time in nanoseconds; `u64::MAX` before the first
    /// sample.
    rtt8: u64,
    /// The round trip being measured without timestamps: its start, and the sequence number at its
    /// end.
    round: Option<(Instant, u64)>,
    /// The timestamp that the peer echoed last.
    last_echo: u32,
    /// The maximum number of bytes read in a round trip so far (`rcvq_space.space`).
    space: u64,
    /// The sequence number at which the current round trip starts.
    from: u64,
    /// The time at which the current round trip starts.
    since: Instant,
}

impl RcvAutotune {
    pub(super) fn new(profile: &Profile, fixed: Option<u64>) -> Self {
        Self {
            is_on: profile.receive_tuning && fixed.is_none(),
            rtt8: u64::MAX,
            round: None,
            last_echo: 0,
            space: 0,
            from: 0,
            since: Instant::ZERO,
        }
    }

    /// Starts the first round trip of the transfer, at `now` and the sequence number `nxt`. `space`
    /// is the number of bytes expected per round trip.
    pub(super) fn start(&mut self, space: u64, nxt: u64, now: Instant) {
        self.space = space.max(1);
        self.from = nxt;
        self.since = now;
    }

    /// Returns the receiver's estimate of the round-trip time, once there is a sample.
    pub(super) fn rtt(&self) -> Option<Duration> {
        (self.rtt8 != u64::MAX).then(|| Duration::from_nanos(self.rtt8 / 8))
    }

    /// Returns `rtt8` after a sample of `rtt` nanoseconds. A lower sample counts at once. A higher
    /// sample is smoothed if it comes from a timestamp, and otherwise ignored.
    #[inline]
    fn with_sample(&self, rtt: u64, by: Measured) -> u64 {
        let before = self.rtt8;
        let higher = match by {
            Measured::ByEcho => before - before / 8 + rtt,
            Measured::ByWindow => before,
        };
        select_unpredictable(rtt * 8 < before, rtt * 8, higher)
    }

    /// Measures a round trip as the time in which a full window of data arrives.
    #[inline]
    pub(super) fn measure_by_window(&mut self, tcb: &Tcb) {
        let now = tcb.clock.now;
        let nxt = tcb.rcv.nxt;
        if let Some((since, end)) = self.round {
            if nxt < end {
                return;
            }
            let rtt = now.since(since).as_nanos().max(1_000);
            self.rtt8 = self.with_sample(rtt, Measured::ByWindow);
        }
        rare();
        self.round = Some((now, nxt + tcb.rcv.wnd));
    }

    /// Measures a round trip by the echo of a timestamp in a full-sized segment. `rcv_mss` is the
    /// size of such a segment.
    #[inline]
    pub(super) fn measure_by_echo(&mut self, tcb: &Tcb, header: &TcpHeader, rcv_mss: u32) {
        if !header.timestamps {
            return;
        }
        let is_new = header.ts_ecr != self.last_echo;
        self.last_echo = header.ts_ecr;
        if header.payload < rcv_mss {
            return;
        }
        let millis = tcb.clock.timestamp().wrapping_sub(header.ts_ecr);
        let counts = is_new & (header.ts_ecr != 0) & (millis < i32::MAX as u32 / 1_000);
        let rtt = u64::from(millis.max(1)) * 1_000_000;
        let updated = self.with_sample(rtt, Measured::ByEcho);
        self.rtt8 = select_unpredictable(counts, updated, self.rtt8);
    }

    /// Returns whether the current round trip is over at `now`; false before the first sample.
    #[inline]
    fn ends_round(&self, now: Instant) -> bool {
        now.since(self.since).as_nanos() >= self.rtt8 / 8
    }

    /// Records that the application has read up to `end`. If this read ends a round trip with more
    /// data than the maximum so far, returns the number of bytes read in the round trip and the
    /// previous maximum. Otherwise, or if the buffer may not grow, returns `None`.
    #[inline]
    fn on_read(&mut self, now: Instant, end: u64) -> Option<(u64, u64)> {
        if !self.ends_round(now) {
            return None;
        }
        rare();
        let copied = end.saturating_sub(self.from);
        let before = self.space;
        self.from = end;
        self.since = now;
        if copied <= before {
            return None;
        }
        self.space = copied;
        self.is_on.then_some((copied, before))
    }
}

/// The method by which a round-trip time was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measured {
    ByEcho,
    ByWindow,
}

impl Linux {
    /// Grows the buffer if necessary after the application has read (`tcp_rcv_space_adjust`). The
    /// application reads buffer by buffer. The check follows the first buffer, which ends at `end`.
    /// Data in later buffers counts in the next round trip.
    #[inline]
    pub(super) fn adjust_rcv_space(&mut self, tcb: &Tcb, end: u64) {
        if let Some((copied, before)) = self.autotune.on_read(tcb.clock.now, end) {
            self.enlarge_buffer(tcb, copied, before);
        }
    }

    /// Grows the buffer so that it holds twice the data of the last round trip and sixteen
    /// segments. The sender may be in slow start, so this amount is increased by twice the relative
    /// growth of the data.
    fn enlarge_buffer(&mut self, tcb: &Tcb, copied: u64, before: u64) {
        let advmss = u64::from(tcb.options.advmss.max(1));
        let steady = 2 * copied + 16 * advmss;
        let growth = u128::from(steady) * u128::from(copied - before) / u128::from(before);
        let window = u128::from(steady) + 2 * growth;
        // The memory of a full-sized segment is increased until the part of it that is offered as
        // window is at least the payload.
        let mut memory = advmss + OVERHEAD;
        while self.rcv_window.window_in(memory) < advmss {
            memory += 128;
        }
        let wanted = window / u128::from(advmss) * u128::from(memory);
        let buffer = wanted.min(u128::from(tcb.profile.receive_buffer_max)) as u64;
        self.rcv_window.grow_buffer(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_round_trip_counts_at_once_and_a_higher_one_by_an_eighth_or_not_at_all() {
        let mut autotune = RcvAutotune::new(&Profile::linux(), None);
        for (ms, by, want_us) in [
            (100, Measured::ByEcho, 100_000),
            (180, Measured::ByEcho, 110_000),
            (180, Measured::ByWindow, 110_000),
            (40, Measured::ByEcho, 40_000),
            (30, Measured::ByWindow, 30_000),
        ] {
            autotune.rtt8 = autotune.with_sample(ms * 1_000_000, by);
            assert_eq!(autotune.rtt(), Some(Duration::from_micros(want_us)), "after {ms} ms");
        }
    }
}
