//! Reno: slow start and congestion avoidance.
//!
//! Source: RFC 5681, RFC 3465; Linux 6.1 `net/ipv4/tcp_cong.c` (`reno`).

use aqmlab_core::Kind;

use crate::cc::{Ack, Congestion, CongestionControl, Window};

/// Registers `reno`.
pub const KINDS: &[Kind<dyn CongestionControl>] = &[Kind {
    name: "reno",
    summary: "Slow start and additive increase, halving on loss",
    source: "RFC 5681; Linux 6.1 net/ipv4/tcp_cong.c",
    params: &[],
    build: |_| Box::new(Reno::default()),
}];

/// The Reno controller, which counts segments as Linux does.
#[derive(Debug, Default)]
pub(super) struct Reno {
    /// The number of segments acknowledged since the window last grew in congestion avoidance.
    counted: u64,
}

impl Reno {
    /// Returns the number of segments by which a window of `cwnd` grows for `acked`
    /// (`tcp_cong_avoid_ai`).
    fn additive_increase(&mut self, cwnd: u64, acked: u64) -> u64 {
        let mut grown = 0;
        // The credit from a time with a larger window already covers this window, so a segment is
        // due.
        if self.counted >= cwnd {
            self.counted = 0;
            grown = 1;
        }
        self.counted += acked;
        if self.counted >= cwnd {
            grown += self.counted / cwnd;
            self.counted %= cwnd;
        }
        grown
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            let grown = (window.cwnd + acked).min(window.ssthresh);
            acked -= grown - window.cwnd;
            window.cwnd = grown.min(window.clamp);
        }
        let grown = self.additive_increase(window.cwnd, acked);
        window.cwnd = (window.cwnd + grown * window.segment).min(window.clamp);
    }

    fn ssthresh(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        self.counted = 0;
        (window.cwnd / 2).max(2 * window.segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_gathered_under_a_larger_window_is_worth_one_segment() {
        let mut reno = Reno::default();
        assert_eq!(reno.additive_increase(20, 19), 0);
        assert_eq!(reno.additive_increase(10, 1), 1, "19 credits at ten each are worth one");
        assert_eq!(reno.counted, 1);
        assert_eq!(reno.additive_increase(10, 25), 2, "a stretched acknowledgement counts whole");
        assert_eq!(reno.counted, 6);
    }
}
