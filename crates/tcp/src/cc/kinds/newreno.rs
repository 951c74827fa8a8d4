//! FreeBSD's NewReno, with appropriate byte counting.
//!
//! Sources: RFC 5681; FreeBSD 10.4 `sys/netinet/cc/cc_newreno.c`.

use aqmlab_core::{Instant, Kind};

use crate::cc::byte_counting::{self, ByteCounter};
use crate::cc::{Ack, CcEvent, Congestion, CongestionControl, Window};

/// Registers `newreno`.
pub const KINDS: &[Kind<dyn CongestionControl>] = &[Kind {
    name: "newreno",
    summary: "FreeBSD's Reno: appropriate byte counting, halving to whole segments on loss",
    source: "RFC 5681, RFC 3465; FreeBSD 10.4 sys/netinet/cc/cc_newreno.c",
    params: &[],
    build: |_| Box::new(NewReno::default()),
}];

/// The NewReno controller of FreeBSD.
#[derive(Debug, Default)]
struct NewReno {
    counter: ByteCounter,
}

impl NewReno {
    /// Returns the acknowledged data in the unit of the window: bytes, unless the host counts
    /// segments.
    fn acknowledged(window: &Window, ack: &Ack) -> u64 {
        if window.segment == 1 {
            ack.bytes.div_ceil(u64::from(window.mss.max(1)))
        } else {
            ack.bytes
        }
    }
}

impl CongestionControl for NewReno {
    fn on_sample(&mut self, window: &mut Window, ack: &Ack) {
        self.counter.record(window, Self::acknowledged(window, ack));
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        if byte_counting::is_slow_start(window) {
            byte_counting::slow_start(window, ack, Self::acknowledged(window, ack));
        } else if self.counter.take_window() {
            window.cwnd = (window.cwnd + window.segment).min(window.clamp);
        }
    }

    fn ssthresh(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        (window.cwnd / 2 / window.segment).max(2) * window.segment
    }

    fn on_event(&mut self, window: &mut Window, event: CcEvent, _now: Instant) {
        match event {
            CcEvent::RtoEntered | CcEvent::RecoveryLeft => self.counter.restart(),
            CcEvent::IdleRestart => byte_counting::restart_after_idle(window),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Args;

    use super::*;
    use crate::cc::Signal;

    const MSS: u64 = 1_448;

    fn window(cwnd: u64, ssthresh: u64) -> Window {
        Window { cwnd, ssthresh, segment: MSS, mss: MSS as u32, clamp: 1 << 40 }
    }

    fn ack(bytes: u64, snd_nxt: u64, in_flight: u64) -> Ack {
        Ack { acked: bytes, bytes, in_flight, cwnd_limited: true, snd_nxt, ..Ack::default() }
    }

    fn fresh() -> Box<dyn CongestionControl> {
        (KINDS[0].build)(&Args::defaults(KINDS[0].params))
    }

    #[test]
    fn slow_start_counts_two_segments_an_ack_and_one_after_a_timeout() {
        let mut cc = fresh();
        let mut window = window(10 * MSS, u64::MAX);
        cc.on_ack(&mut window, &ack(3 * MSS, 100 * MSS, 100 * MSS));
        assert_eq!(window.cwnd, 12 * MSS);
        cc.on_ack(&mut window, &ack(3 * MSS, 50 * MSS, 100 * MSS));
        assert_eq!(window.cwnd, 13 * MSS);
        cc.on_ack(&mut window, &ack(100, 100 * MSS, 100 * MSS));
        assert_eq!(window.cwnd, 13 * MSS + 100);
    }

    #[test]
    fn congestion_avoidance_grows_by_a_segment_a_window() {
        let mut cc = fresh();
        let mut window = window(10 * MSS, 5 * MSS);
        for i in 1..=10 {
            let ack = ack(2 * MSS, i * MSS, i * MSS);
            cc.on_sample(&mut window, &ack);
            cc.on_ack(&mut window, &ack);
            assert_eq!(window.cwnd, if i < 5 { 10 } else { 11 } * MSS, "{i}");
            if i == 5 {
                break;
            }
        }
    }

    #[test]
    fn c81_a_loss_halves_to_whole_segments_and_at_least_two() {
        let mut cc = fresh();
        let congestion =
            Congestion { now: Instant::ZERO, in_flight: 0, signal: Signal::Loss, srtt: None };
        for (cwnd, want) in [(20 * MSS, 10), (21 * MSS, 10), (3 * MSS, 2), (MSS, 2)] {
            assert_eq!(cc.ssthresh(&window(cwnd, 0), &congestion), want * MSS);
        }
    }
}
