//! Dynamic right-sizing: the receive buffer follows what arrives in a round trip.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_rcv_rtt_measure`, `tcp_rcv_space_adjust`;
//! `tcp_rcv_rtt_update` as of 6.1.142, which takes a lower sample at once).

use aqmlab_core::{Duration, Instant, TcpHeader};

use crate::Connection;
use crate::linux::tso::MAX_TCP_HEADER;

/// What a buffer costs beyond its payload where right-sizing reckons with it: `SKB_TRUESIZE` of
/// its headers.
const TRUE_SIZE: u64 = 576 + MAX_TCP_HEADER;

/// What the receiver measures to size its buffer.
#[derive(Debug, Default)]
pub(crate) struct RcvAutotune {
    /// Eight times the receiver's round-trip time in nanoseconds; zero while unknown.
    rtt8: u64,
    /// A round trip without timestamps: a window's worth of data from here.
    round: Option<(Instant, u64)>,
    last_echo: u32,
    /// What was read in a round trip, at most, so far.
    space: u64,
    /// Where and when the round trip being counted began.
    from: u64,
    since: Instant,
}

impl RcvAutotune {
    pub(crate) fn start(&mut self, space: u64, nxt: u64, now: Instant) {
        self.space = space.max(1);
        self.from = nxt;
        self.since = now;
    }

    /// The receiver's estimate of the round-trip time.
    pub(crate) fn rtt(&self) -> Option<Duration> {
        (self.rtt8 != 0).then(|| Duration::from_nanos(self.rtt8 / 8))
    }

    /// Takes a sample: a lower one at once; a higher one smoothed if it is from a timestamp, else
    /// not at all.
    fn sample(&mut self, rtt: Duration, smoothed: bool) {
        let rtt = rtt.as_nanos().max(1_000);
        if self.rtt8 == 0 || rtt * 8 < self.rtt8 {
            self.rtt8 = rtt * 8;
        } else if smoothed {
            self.rtt8 = self.rtt8 - self.rtt8 / 8 + rtt;
        }
    }
}

impl Connection {
    /// Measures a round trip as the time in which a full window arrives.
    #[inline]
    pub(crate) fn measure_receiver_rtt(&mut self) {
        let now = self.clock.now;
        let nxt = self.rcv.nxt;
        if let Some((since, end)) = self.rcv_window.autotune.round {
            if nxt < end {
                return;
            }
            self.rcv_window.autotune.sample(now.since(since), false);
        }
        self.rcv_window.autotune.round = Some((now, nxt + self.rcv_window.advertised));
    }

    /// Measures a round trip by the echo of our timestamp in a full-sized segment.
    #[inline]
    pub(crate) fn measure_receiver_rtt_by_echo(&mut self, header: &TcpHeader) {
        let sizing = &mut self.rcv_window.autotune;
        if !header.timestamps || header.ts_ecr == sizing.last_echo {
            return;
        }
        sizing.last_echo = header.ts_ecr;
        if header.payload >= self.delack.rcv_mss && header.ts_ecr != 0 {
            let millis = self.clock.timestamp().wrapping_sub(header.ts_ecr);
            if millis < i32::MAX as u32 / 1_000 {
                sizing.sample(Duration::from_millis(u64::from(millis.max(1))), true);
            }
        }
    }

    /// Sizes the buffer, once a round trip, when the application has read. It reads buffer by
    /// buffer, and looks after the first, which ends at `end`: what else was waiting, in buffers
    /// of its own, is counted in the next round trip.
    #[inline]
    pub(crate) fn adjust_receive_space(&mut self, end: u64) {
        let now = self.clock.now;
        let sizing = &mut self.rcv_window.autotune;
        if sizing.rtt8 == 0 || now.since(sizing.since).as_nanos() < sizing.rtt8 / 8 {
            return;
        }
        let copied = end.saturating_sub(sizing.from);
        let before = sizing.space;
        sizing.from = end;
        sizing.since = now;
        if copied <= before {
            return;
        }
        sizing.space = copied;
        if self.profile.receive_tuning && self.rcv_window.fixed.is_none() {
            self.enlarge_receive_buffer(copied, before);
        }
    }

    /// Twice what was read in the last round trip and, as the sender may be in slow start, as
    /// much again as it grew by.
    fn enlarge_receive_buffer(&mut self, copied: u64, before: u64) {
        let advmss = u64::from(self.options.advmss.max(1));
        let steady = 2 * copied + 16 * advmss;
        let growth = u128::from(steady) * u128::from(copied - before) / u128::from(before);
        let window = u128::from(steady) + 2 * growth;
        // What a full-sized segment costs: at least so much that its share is its payload.
        let mut memory = advmss + TRUE_SIZE;
        while self.rcv_window.window_in(memory) < advmss {
            memory += 128;
        }
        let wanted = window / u128::from(advmss) * u128::from(memory);
        let buffer = wanted.min(u128::from(self.profile.receive_buffer_max)) as u64;
        if buffer > self.rcv_window.buffer {
            self.rcv_window.buffer = buffer;
            self.rcv_window.clamp = self.rcv_window.window_in(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_round_trip_counts_at_once_and_a_higher_one_by_an_eighth_or_not_at_all() {
        let mut sizing = RcvAutotune::default();
        for (ms, by_echo, want_us) in [
            (100, true, 100_000),
            (180, true, 110_000),
            (180, false, 110_000),
            (40, true, 40_000),
            (30, false, 30_000),
        ] {
            sizing.sample(Duration::from_millis(ms), by_echo);
            assert_eq!(sizing.rtt(), Some(Duration::from_micros(want_us)), "after {ms} ms");
        }
    }
}
